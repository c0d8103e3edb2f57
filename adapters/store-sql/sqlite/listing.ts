// Reading runs: by id, in pages by key, their counts and their attempts. Nothing here scans the history.
import { and, asc, desc, eq, isNull, lt, ne, type SQL, sql } from "drizzle-orm"
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { type Attempt, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { QueueDepth, RunCount, RunFilter, RunStoreDriver } from "../../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax, refusal } from "../../../core/ports/StoreLimits.ts"
import { depthOf, depthsByQueue, jobsAskedFor } from "../listing.ts"
import { decodeAttempt, decodeDeadLetter, decodeRun, type Row } from "../rows.ts"
import type { Session } from "./Session.ts"
import { attempts, deadLetters, runCounts } from "./schema.ts"
import { at, build, prepare, type Statement, type Values } from "./Statement.ts"

type LetterFilter = Parameters<RunStoreDriver["deadLetters"]>[0]

// Every id sorts below this one.
const aboveAll = "\u{10ffff}"

/** The part of a store that answers questions about runs. */
export const makeListing = ({ database, tables }: Session) => {
  const attemptsOf = prepare(
    database,
    build
      .select()
      .from(attempts)
      .where(eq(attempts.runId, at("runId")))
      .orderBy(asc(attempts.seq)),
  )
  const letterPage = (where: SQL | undefined) =>
    prepare(
      database,
      build
        .select()
        .from(deadLetters)
        .where(where)
        .orderBy(desc(deadLetters.runId))
        .limit(at<number>("limit") as never),
    )
  const open = isNull(deadLetters.replayedBy)
  const older = lt(deadLetters.runId, at("before"))
  const letterPages = {
    all: letterPage(and(open, older)),
    ofJobs: letterPage(and(open, older, sql`job in (select value from json_each(${at("jobs")}))`)),
  }
  const counts = prepare(database, build.select().from(runCounts).where(ne(runCounts.count, 0)))

  // Both indexes have the state; that of ready runs has the queue as well, and no row of a run is read for them.
  const depths = prepare(
    database,
    sql`select queue, sum(ready) as ready, min(due_at) as oldest_due_at, sum(running) as running from (
      select queue, count(*) as ready, min(due_at) as due_at, 0 as running from runs indexed by runs_ready
        where state = 'ready' group by queue
      union all select queue, 0, null, count(*) from runs indexed by runs_running
        where state = 'running' group by queue) group by queue`,
  )

  // One statement for each state and set of other conditions, compiled when it is first asked for: 88 at most.
  const pages = new Map<string, Statement>()
  const page = (
    { state, queue, chainId }: RunFilter,
    jobs: "all of them" | "one of them" | "some of them",
  ): Statement => {
    const name = `${state} ${queue === undefined} ${chainId === undefined} ${jobs}`
    let statement = pages.get(name)
    if (statement === undefined) {
      // The state is written out and its index named: a partial index serves no parameter, and without statistics
      // SQLite would rather read the history backwards. Succeeded runs are the history; they have none.
      const index = isHistory(state) ? sql`` : sql.raw(`indexed by runs_${state}`)
      const conditions = [
        sql`id > ${at("after")} and id < ${at("before")}`,
        ...(state === undefined ? [] : [sql.raw(`state = '${state}'`)]),
        ...(jobs === "one of them" ? [sql`job = ${at("job")}`] : []),
        ...(jobs === "some of them" ? [sql`job in (select value from json_each(${at("jobs")}))`] : []),
        ...(queue === undefined ? [] : [sql`queue = ${at("queue")}`]),
        ...(chainId === undefined ? [] : [sql`chain_id = ${at("chainId")}`]),
      ]
      statement = prepare(
        database,
        sql`select * from runs ${index} where ${sql.join(conditions, sql` and `)}
          order by id desc limit ${at("limit")}`,
      )
      pages.set(name, statement)
    }
    return statement
  }
  const rowsOf = (filter: RunFilter): ReadonlyArray<Row> => {
    const { queue = null, chainId = null, before = aboveAll, after = "", limit } = filter
    const values = { queue, chainId, before, after, limit }
    const jobs = jobsAskedFor(filter)
    if (jobs === null) return page(filter, "all of them").all(values)
    const [job, ...others] = jobs
    if (job === undefined) return []
    if (others.length === 0) return page(filter, "one of them").all({ ...values, job })
    if (!isHistory(filter.state) || filter.chainId !== undefined)
      return page(filter, "some of them").all({ ...values, jobs: JSON.stringify(jobs) })
    return firstOfEach(page(filter, "one of them"), jobs, values)
  }

  return {
    get: (ids: ReadonlyArray<string>): ReadonlyArray<Run> => {
      checkBatch("ids", ids)
      return tables.runs.read(ids).map(({ run }) => run)
    },
    list: (filter: RunFilter): ReadonlyArray<Run> => {
      checkLimit(filter.limit, pageMax)
      if (filter.state !== undefined && !runStates.includes(filter.state)) {
        throw refusal(`state: "${filter.state as string}" is none of ${runStates.join(", ")}`)
      }
      return rowsOf(filter).map(decodeRun)
    },
    queueDepths: (): ReadonlyArray<QueueDepth> => depthsByQueue(depths.all().map(depthOf)),
    counts: (): ReadonlyArray<RunCount> =>
      counts.all().map((row) => ({
        job: row["job"] as string,
        state: row["state"] as RunState,
        count: row["count"] as number,
      })),
    attempts: (runId: string): ReadonlyArray<Attempt> => attemptsOf.all({ runId }).map(decodeAttempt),
    deadLetters: (filter: LetterFilter): ReadonlyArray<DeadLetter> => {
      checkLimit(filter.limit, pageMax)
      const values = { before: filter.before ?? aboveAll, limit: filter.limit }
      const jobs = jobsAskedFor(filter)
      const rows =
        jobs === null
          ? letterPages.all.all(values)
          : letterPages.ofJobs.all({ ...values, jobs: JSON.stringify(jobs) })
      return rows.map(decodeDeadLetter)
    },
  }
}

// Whether there is no index of the state: of all, and of succeeded runs, which nearly all of them are.
const isHistory = (state: RunState | undefined): boolean => state === undefined || state === "succeeded"

/**
 * The first rows of several jobs, each read along the index of jobs: whatever its history, of each job only those are
 * read that come before the last one of what was found so far.
 */
const firstOfEach = (
  ofJob: Statement,
  jobs: ReadonlyArray<string>,
  { after, limit, ...values }: Values & { readonly after: string; readonly limit: number },
): ReadonlyArray<Row> => {
  let page: ReadonlyArray<Row> = []
  for (const job of jobs) {
    const last = page.length < limit ? after : (page.at(-1)?.["id"] as string)
    const found = ofJob.all({ ...values, job, after: last, limit })
    if (found.length > 0)
      page = [...page, ...found].sort((a, b) => (String(a["id"]) < String(b["id"]) ? 1 : -1)).slice(0, limit)
  }
  return page
}
