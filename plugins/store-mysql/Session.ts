// What all operations of one open store share: its connection and clock, and its transactions. Several transactions of
// one store may be under way at a time, so each has its own view of the tables.
import { Definitions, runAsync, type RunWork, Work } from "uhrwerk/sql"
import type { Connection, Queryable } from "./Connection.ts"
import { makeFolding } from "./counts.ts"
import { isDuplicate } from "./failures.ts"
import { flowTable } from "./FlowTable.ts"
import { runTable } from "./RunTable.ts"
import { scheduleTable } from "./ScheduleTable.ts"
import { type Given, nowOf } from "./Statement.ts"

/** The store's clock within one transaction, which a wait for a lock puts forward. */
export interface TransactionClock {
  /** What `now` of the options says; `null`: the server's clock. */
  readonly given: Given
  now: number
}

// How often a transaction is tried that finds others' rows in its way.
const tryMax = 5

/** An open store, as its operations use it. */
export type Session = ReturnType<typeof openSession>

/** `now` is the store's clock if it is not the server's. */
export const openSession = (connection: Connection, now: (() => number) | undefined) => {
  const definitions = new Definitions()
  const fold = makeFolding(connection)
  /** `null`: the server's clock counts. */
  const given = (): Given => now?.() ?? null

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
      const clock: TransactionClock = { given: given(), now: await nowOf(queryable, given()) }
      const work = new Work(
        {
          now: () => clock.now,
          runs: runTable(queryable, clock),
          flows: flowTable(queryable),
          schedules: scheduleTable(queryable),
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

  return { connection, given, now: () => nowOf(connection, given()), transaction, run, fold }
}
