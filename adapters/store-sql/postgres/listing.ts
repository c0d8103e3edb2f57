// Reading runs: by id, in pages by key, their counts, attempts and letters. Nothing here scans the history.
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { type Attempt, isFinal, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { RunCount, RunFilter } from "../../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkLimit,
  pageMax,
  refusal,
  windowMax,
  batchMax,
} from "../../../core/ports/StoreLimits.ts"
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
  const letters = { all: letterPage(sql``), ofJob: letterPage(sql`and job = ${at("job", "text")}`) }

  // One statement for each state and set of other conditions, compiled when it is first asked for: 44 at most.
  const pages = new Map<string, Statement>()
  const page = ({ state, job, chainId }: RunFilter): Statement => {
    const name = `${state} ${job === undefined} ${chainId === undefined}`
    const known = pages.get(name)
    if (known !== undefined) return known
    // The table that has the state leads, by its partial index. Where all states are asked for, or one that nearly all
    // runs have, and within a chain, the runs themselves lead.
    const ofState =
      state !== undefined && chainId === undefined && !(state === "succeeded" && job !== undefined)
    const lead = ofState ? (isFinal(state) ? ended : live) : runs
    const asked = sql.raw(ofState ? "run" : "lead")
    const conditions = [
      sql`lead.id < ${at("before", "text")}`,
      ...(job === undefined ? [] : [sql`${asked}.job = ${at("job", "text")}`]),
      ...(chainId === undefined ? [] : [sql`${asked}.chain_id = ${at("chainId", "text")}`]),
      ...(state === undefined ? [] : [sql.raw(`${ofState ? "lead" : "run"}.state = '${state}'`)]),
    ]
    const query = sql`select run.* from ${lead} as lead ${runOf(tables, sql`lead.id`)}
      where ${sql.join(conditions, sql` and `)} order by lead.id desc limit ${at("limit", "integer")}`
    const statement = prepare(query)
    pages.set(name, statement)
    return statement
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
      const { job = null, chainId = null, before = last, limit } = filter
      return (await page(filter)(connection, { job, chainId, before, limit })).map(decodeRun)
    },
    counts: async (): Promise<ReadonlyArray<RunCount>> =>
      (await counts(connection)).map((row) => ({
        job: row["job"] as string,
        state: row["state"] as RunState,
        count: row["count"] as number,
      })),
    attempts: async (runId: string): Promise<ReadonlyArray<Attempt>> =>
      (await attemptsOf(connection, { runId })).map(decodeAttempt),
    deadLetters: async (filter: {
      readonly job?: string
      readonly before?: string
      readonly limit: number
    }): Promise<ReadonlyArray<DeadLetter>> => {
      checkLimit(filter.limit, pageMax)
      const { job = null, before = last, limit } = filter
      const page = job === null ? letters.all : letters.ofJob
      return (await page(connection, { job, before, limit })).map(decodeDeadLetter)
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
