// Reading runs: by id, in pages by key, their counts and their attempts. Nothing here scans the history.
import { and, asc, desc, eq, isNull, lt, ne, type SQL, sql } from "drizzle-orm"
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { type Attempt, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { QueueDepth, RunCount, RunFilter, RunStoreDriver } from "../../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax, refusal } from "../../../core/ports/StoreLimits.ts"
import { depthOf, depthsByQueue, jobsAskedFor } from "../listing.ts"
import { decodeAttempt, decodeDeadLetter, decodeRun } from "../rows.ts"
import type { Session } from "./Session.ts"
import { makeRunPages } from "./runPages.ts"
import { attempts, deadLetters, runCounts } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

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

  const pageOf = makeRunPages(database)

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
      return pageOf(filter).map(decodeRun)
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
