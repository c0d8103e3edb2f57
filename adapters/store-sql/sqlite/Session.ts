// What all operations of one open file share: its database and clock, its tables, and its transactions.
import { Definitions } from "../Definitions.ts"
import type { RunWork, Transaction } from "../operations.ts"
import { runSync } from "../Sql.ts"
import type { Tables } from "../Tables.ts"
import { Work } from "../Work.ts"
import type { Database } from "./Database.ts"
import { makeFlowTable } from "./FlowTable.ts"
import { makeRunTable } from "./RunTable.ts"
import { makeScheduleTable } from "./ScheduleTable.ts"

/** An open file, as its operations use it. */
export type Session = ReturnType<typeof openSession>

/** Compiles what all operations share. `now` is the store's clock. */
export const openSession = (database: Database, now: () => number) => {
  const tables = {
    now,
    runs: makeRunTable(database),
    flows: makeFlowTable(database),
    schedules: makeScheduleTable(database),
  } satisfies Tables
  const definitions = new Definitions()

  /** Runs `body`, which may use statements of its own beside the work, in one transaction. */
  const transaction = <A>(body: (work: Work) => A, { repeatable = false }: Transaction = {}): A =>
    database.transaction(() => {
      tables.runs.begin()
      const work = new Work(tables, definitions)
      const value = body(work)
      runSync(work.finish())
      return value
    }, repeatable)

  /** Runs logic that all databases share in one transaction. */
  const run = ((body, options) => transaction((work) => runSync(body(work)), options)) satisfies RunWork

  return { database, now, tables, transaction, run }
}
