// Reading runs: by id, in pages by key, their counts and their attempts. Nothing here scans the history.
import { and, asc, desc, eq, isNull, lt, ne, type SQL, sql } from "drizzle-orm"
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { type Attempt, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { RunCount, RunFilter, RunStoreDriver } from "../../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax, refusal } from "../../../core/ports/StoreLimits.ts"
import { decodeAttempt, decodeDeadLetter, decodeRun } from "../rows.ts"
import type { Session } from "./Session.ts"
import { attempts, deadLetters, runCounts } from "./schema.ts"
import { at, build, prepare, type Statement } from "./Statement.ts"

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
    ofJob: letterPage(and(open, older, eq(deadLetters.job, at("job")))),
  }
  const counts = prepare(database, build.select().from(runCounts).where(ne(runCounts.count, 0)))

  // One statement for each state and set of other conditions, compiled when it is first asked for: 44 at most.
  const pages = new Map<string, Statement>()
  const page = ({ state, job, chainId }: RunFilter): Statement => {
    const name = `${state} ${job === undefined} ${chainId === undefined}`
    let statement = pages.get(name)
    if (statement === undefined) {
      // The state is written out and its index named: a partial index serves no parameter, and without statistics
      // SQLite would rather read the history backwards. Succeeded runs are the history; they have none.
      const index = state === undefined || state === "succeeded" ? sql`` : sql.raw(`indexed by runs_${state}`)
      const conditions = [
        sql`id < ${at("before")}`,
        ...(state === undefined ? [] : [sql.raw(`state = '${state}'`)]),
        ...(job === undefined ? [] : [sql`job = ${at("job")}`]),
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
      const { job = null, chainId = null, before = aboveAll, limit } = filter
      return page(filter).all({ job, chainId, before, limit }).map(decodeRun)
    },
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
      const rows =
        filter.job === undefined
          ? letterPages.all.all(values)
          : letterPages.ofJob.all({ ...values, job: filter.job })
      return rows.map(decodeDeadLetter)
    },
  }
}
