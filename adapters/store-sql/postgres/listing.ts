// Reading runs: by id, in pages by key, their counts, attempts and letters. Nothing here scans the history.
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { type Attempt, isFinal, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { QueueDepth, RunCount, RunFilter, RunStoreDriver } from "../../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkLimit,
  pageMax,
  refusal,
  windowMax,
  batchMax,
} from "../../../core/ports/StoreLimits.ts"
import { depthOf, depthsByQueue, jobsAskedFor } from "../listing.ts"
import { decodeAttempt, decodeDeadLetter, decodeRun } from "../rows.ts"
import type { Connection } from "./Connection.ts"
import { runOf, runsOf } from "./runRows.ts"
import type { Tables } from "./schema.ts"
import { at, literal, prepare, type SQL, sql, type Statement } from "./Statement.ts"

// Every id sorts below this one.
const last = "\u{10ffff}"

/** The part of a store that answers questions about runs. */
export const makeListing = (connection: Connection, tables: Tables) => {
  const { runs, live, ended, attempts, deadLetters, runCounts, expansions } = tables
  const byId = prepare(sql`select run.* from ${runsOf(tables, at("ids", "text[]"))}`)
  const carried = prepare(sql`select run.* from (select id from ${live}
      where state = 'running' and node = ${at("node", "text")} and id > ${at("after", "text")}
      order by id limit ${at("limit", "integer")}) as held
    ${runOf(tables, sql`held.id`)} order by held.id`)
  const waiting = sql`select distinct due_at from ${live} where state in ('scheduled', 'retrying')
    and due_at > ${at("from", "bigint")} and due_at <= ${at("until", "bigint")}
    order by due_at limit ${at("limit", "integer")}`
  const deadlines = sql`select distinct deadline_at from ${expansions} where deadline_at is not null
    and deadline_at > ${at("from", "bigint")} and deadline_at <= ${at("until", "bigint")}
    order by deadline_at limit ${at("limit", "integer")}`
  const due = prepare(sql`(${waiting}) union (${deadlines}) order by due_at limit ${at("limit", "integer")}`)
  const counts = prepare(
    sql`select job, state, sum(count)::bigint as count from ${runCounts} group by job, state having sum(count) <> 0`,
  )
  const attemptsOf = prepare(
    sql`select * from ${attempts} where run_id = ${at("runId", "text")} order by seq`,
  )
  const letterPage = (which: SQL) =>
    prepare(sql`select * from ${deadLetters} where replayed_by is null and run_id < ${at("before", "text")} ${which}
      order by run_id desc limit ${at("limit", "integer")}`)
  const letters = {
    all: letterPage(sql``),
    ofJob: letterPage(sql`and job = ${at("job", "text")}`),
    ofJobs: letterPage(sql`and job = any(${at("jobs", "text[]")})`),
  }
  // Along the partial indexes of what is ready and of what runs.
  const depths = prepare(sql`select queue, sum(ready)::bigint as ready, min(due_at) as oldest_due_at,
    sum(running)::bigint as running from (
      select queue, count(*) as ready, min(due_at) as due_at, 0 as running from ${live} where state = 'ready' group by queue
      union all select queue, 0, null, count(*) from ${live} where state = 'running' group by queue
    ) as parts group by queue`)

  // One statement for each state and set of other conditions, compiled when it is first asked for: 132 at most.
  const pages = new Map<string, Statement>()
  const page = (
    { state, queue, chainId }: RunFilter,
    jobs: "all of them" | "one of them" | "some of them",
  ): Statement => {
    const name = `${state} ${queue === undefined} ${chainId === undefined} ${jobs}`
    const known = pages.get(name)
    if (known !== undefined) return known
    // The table that has the state leads, by its partial index. Where all states are asked for, or one that nearly all
    // runs have, and within a chain, the runs themselves lead.
    const ofState =
      state !== undefined && chainId === undefined && !(state === "succeeded" && jobs !== "all of them")
    const asked = sql.raw(ofState ? "run" : "lead")
    const within = sql`lead.id < ${at("before", "text")} and lead.id > ${at("after", "text")}`
    const ofQueue = queue === undefined ? [] : [sql`${asked}.queue = ${at("queue", "text")}`]
    const statement = prepare(
      !ofState && chainId === undefined && jobs === "some of them"
        ? ofEach(state, [within, ...ofQueue])
        : sql`select run.* from ${ofState ? (isFinal(state) ? ended : live) : runs} as lead
            ${runOf(tables, sql`lead.id`)} where ${sql.join(
              [
                within,
                ...ofQueue,
                ...(jobs === "one of them" ? [sql`${asked}.job = ${at("job", "text")}`] : []),
                ...(jobs === "some of them" ? [sql`${asked}.job = any(${at("jobs", "text[]")})`] : []),
                ...(chainId === undefined ? [] : [sql`${asked}.chain_id = ${at("chainId", "text")}`]),
                ...(state === undefined ? [] : [sql.raw(`${ofState ? "lead" : "run"}.state = '${state}'`)]),
              ],
              sql` and `,
            )} order by lead.id desc limit ${at("limit", "integer")}`,
    )
    pages.set(name, statement)
    return statement
  }
  // Along the index of jobs, whatever their history: the newest run of each, of which those with the newest may be on the
  // page, and of each of these as many as a page has.
  const ofEach = (state: RunState | undefined, conditions: ReadonlyArray<SQL>): SQL => {
    const limit = at("limit", "integer")
    const isSo =
      state === undefined
        ? sql``
        : sql`and exists (select 1 from ${ended} as e where e.id = lead.id and e.state = ${sql.raw(`'${state}'`)})`
    const first = (
      job: SQL,
      count: SQL,
    ): SQL => sql`(select lead.id from ${runs} as lead where lead.job = ${job}
      and ${sql.join([...conditions], sql` and `)} ${isSo} order by lead.id desc limit ${count})`
    return sql`select run.* from (select lead.id from (
          select wanted.job from unnest(${at("jobs", "text[]")}) as wanted(job)
          cross join lateral ${first(sql`wanted.job`, sql`1`)} as newest order by newest.id desc limit ${limit}) as newest
        cross join lateral ${first(sql`newest.job`, limit)} as lead order by lead.id desc limit ${limit}) as lead
      ${runOf(tables, sql`lead.id`)} order by lead.id desc`
  }

  return {
    get: async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<Run>> => {
      checkBatch("ids", ids)
      if (ids.length === 0) return []
      const found = new Map(
        (await byId(connection, { ids: literal(ids) })).map((row) => [row["id"], decodeRun(row)]),
      )
      return ids.flatMap((id) => found.get(id) ?? [])
    },
    list: async (filter: RunFilter): Promise<ReadonlyArray<Run>> => {
      checkLimit(filter.limit, pageMax)
      if (filter.state !== undefined && !runStates.includes(filter.state)) {
        throw refusal(`state: "${filter.state as string}" is none of ${runStates.join(", ")}`)
      }
      const { queue = null, chainId = null, before = last, after = "", limit } = filter
      const jobs = jobsAskedFor(filter)
      if (jobs?.length === 0) return []
      const which = jobs === null ? "all of them" : jobs.length === 1 ? "one of them" : "some of them"
      const values = {
        queue,
        chainId,
        before,
        after,
        limit,
        job: jobs?.[0] ?? null,
        jobs: literal(jobs ?? []),
      }
      return (await page(filter, which)(connection, values)).map(decodeRun)
    },
    counts: async (): Promise<ReadonlyArray<RunCount>> =>
      (await counts(connection)).map((row) => ({
        job: row["job"] as string,
        state: row["state"] as RunState,
        count: row["count"] as number,
      })),
    queueDepths: async (): Promise<ReadonlyArray<QueueDepth>> =>
      depthsByQueue((await depths(connection)).map(depthOf)),
    attempts: async (runId: string): Promise<ReadonlyArray<Attempt>> =>
      (await attemptsOf(connection, { runId })).map(decodeAttempt),
    deadLetters: async (
      filter: Parameters<RunStoreDriver["deadLetters"]>[0],
    ): Promise<ReadonlyArray<DeadLetter>> => {
      checkLimit(filter.limit, pageMax)
      const jobs = jobsAskedFor(filter)
      const page = jobs === null ? letters.all : jobs.length === 1 ? letters.ofJob : letters.ofJobs
      const { before = last, limit } = filter
      const values = { job: jobs?.[0] ?? null, jobs: literal(jobs ?? []), before, limit }
      return (await page(connection, values)).map(decodeDeadLetter)
    },
    carried: async (node: string, limit: number, after = ""): Promise<ReadonlyArray<Run>> => {
      checkLimit(limit, batchMax)
      return (await carried(connection, { node, limit, after })).map(decodeRun)
    },
    dueWithin: async (from: number, until: number, limit: number): Promise<ReadonlyArray<number>> => {
      checkLimit(limit, windowMax)
      return (await due(connection, { from, until, limit })).map((row) => row["due_at"] as number)
    },
  }
}
