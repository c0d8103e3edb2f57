// Reading runs: by id, in pages by key, their counts and their attempts. Nothing here scans the history.
import { and, asc, desc, eq, lt, ne, type SQL } from "drizzle-orm"
import type { Attempt, Run, RunState } from "../../core/domain/Run.ts"
import type { RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import { decodeAttempt, decodeRun } from "./rows.ts"
import type { Session } from "./Session.ts"
import { attempts, runCounts, runs } from "./schema.ts"
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

  // One statement for each set of conditions, compiled when it is first asked for: eight at most.
  const pages = new Map<string, Statement>()
  const page = (filter: RunFilter): Statement => {
    const given = (["state", "job", "chainId"] as const).filter((name) => filter[name] !== undefined)
    const name = given.join(" ")
    let statement = pages.get(name)
    if (statement === undefined) {
      const conditions: Array<SQL> = [
        lt(runs.id, at("before")),
        ...given.map((each) => eq(runs[each], at(each))),
      ]
      const query = build
        .select()
        .from(runs)
        .where(and(...conditions))
      statement = prepare(database, query.orderBy(desc(runs.id)).limit(at<number>("limit") as never))
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
      const { state = null, job = null, chainId = null, before = "\u{10ffff}", limit } = filter
      return page(filter).all({ state, job, chainId, before, limit }).map(decodeRun)
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
