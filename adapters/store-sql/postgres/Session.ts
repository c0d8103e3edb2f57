// What all operations of one open store share: its connection and clock, its tables, and its transactions. Several
// transactions of one store may be under way at a time, so each has its own view of the tables.
import { Definitions } from "../Definitions.ts"
import type { RunWork } from "../operations.ts"
import { runAsync } from "../Sql.ts"
import { Work } from "../Work.ts"
import type { Connection, Queryable } from "./Connection.ts"
import { makeFolding } from "./counts.ts"
import { isDuplicate } from "./failures.ts"
import { compileFlows, flowTable } from "./FlowTable.ts"
import { runTable } from "./RunTable.ts"
import { compileRuns } from "./runStatements.ts"
import { compileSchedules, scheduleTable } from "./ScheduleTable.ts"
import { tablesOf } from "./schema.ts"
import { clock as clockOf, prepare, sql } from "./Statement.ts"

// How often a transaction is tried that finds others' rows in its way.
const tryMax = 5

/** An open store, as its operations use it. */
export type Session = ReturnType<typeof openSession>

/** Compiles what all operations share. `now` is the store's clock if it is not the server's. */
export const openSession = (connection: Connection, schema: string, now: (() => number) | undefined) => {
  const tables = tablesOf(schema)
  const statements = {
    runs: compileRuns(tables),
    flows: compileFlows(tables),
    schedules: compileSchedules(tables),
  }
  const readClock = prepare(sql`select ${clockOf} as now`)
  const definitions = new Definitions()
  const fold = makeFolding(connection, tables)
  /** `null`: the server's clock counts. */
  const given = (): number | null => now?.() ?? null
  const nowOf = async (queryable: Queryable): Promise<number> =>
    given() ?? ((await readClock(queryable, { now: null }))[0]?.["now"] as number)

  /**
   * Runs `body`, which may use statements of its own beside the work, in one transaction. It runs again after a deadlock,
   * and when somebody else was faster to store a row that was not there when it looked: then it is.
   */
  const transaction = async <A>(body: (work: Work, queryable: Queryable) => Promise<A>): Promise<A> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await transactionOnce(body)
      } catch (error) {
        if (!isDuplicate(error) || attempt === tryMax) throw error
      }
    }
  }
  const transactionOnce = async <A>(body: (work: Work, queryable: Queryable) => Promise<A>): Promise<A> => {
    const answer = await connection.transaction(async (queryable) => {
      const clock = { given: given(), now: await nowOf(queryable) }
      const work = new Work(
        {
          now: () => clock.now,
          runs: runTable(statements.runs, queryable, clock),
          flows: flowTable(statements.flows, queryable),
          schedules: scheduleTable(statements.schedules, queryable),
        },
        definitions,
      )
      const value = await body(work, queryable)
      await runAsync(work.finish())
      return value
    })
    fold()
    return answer
  }

  /** Runs logic that all databases share in one transaction. */
  const run = ((body) => transaction((work) => runAsync(body(work)))) satisfies RunWork

  return { connection, tables, given, now: () => nowOf(connection), transaction, run, fold }
}
