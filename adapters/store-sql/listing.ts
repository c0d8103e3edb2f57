// Reading runs: by id, in pages by key, their counts and their attempts. Nothing here scans the history.
import { asc, eq, ne, sql } from "drizzle-orm"
import { type Attempt, type Run, type RunState, runStates } from "../../core/domain/Run.ts"
import type { RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax, refusal } from "../../core/ports/StoreLimits.ts"
import { decodeAttempt, decodeRun } from "./rows.ts"
import type { Session } from "./Session.ts"
import { attempts, runCounts } from "./schema.ts"
import { at, build, prepare, type Statement } from "./Statement.ts"

/** The part of a store that answers questions about runs. */
export const makeListing = (session: Session) => {
  const { database } = session
  const attemptsOf = prepare(
    database,
    build
      .select()
      .from(attempts)
      .where(eq(attempts.runId, at("runId")))
      .orderBy(asc(attempts.seq)),
  )
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
      return ids.flatMap((id) => session.find(id)?.run ?? [])
    },
    list: (filter: RunFilter): ReadonlyArray<Run> => {
      checkLimit(filter.limit, pageMax)
      if (filter.state !== undefined && !runStates.includes(filter.state)) {
        throw refusal(`state: "${filter.state as string}" is none of ${runStates.join(", ")}`)
      }
      const { job = null, chainId = null, before = "\u{10ffff}", limit } = filter
      return page(filter).all({ job, chainId, before, limit }).map(decodeRun)
    },
    counts: (): ReadonlyArray<RunCount> =>
      counts.all().map((row) => ({
        job: row["job"] as string,
        state: row["state"] as RunState,
        count: row["count"] as number,
      })),
    attempts: (runId: string): ReadonlyArray<Attempt> => attemptsOf.all({ runId }).map(decodeAttempt),
  }
}
