// A store for Uhrwerk over tables of your own. What a store must do with runs, flows and schedules is in `uhrwerk/sql`
// and the same for all; what is yours is rows, transactions and a clock. Copy this folder and see README.md.
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { layerDriver, makeStore, runSync, type Store, type StoreDriver } from "uhrwerk/sql"
import { Database } from "./Database.ts"
import { makeFlows } from "./flows.ts"
import { makeCalendars, makeCredentials, makeNodes } from "./nodes.ts"
import { makeRecordTable } from "./records.ts"
import { makeRows } from "./rows.ts"
import { makeRuns } from "./runs.ts"
import { makeSchedules } from "./schedules.ts"

/** What this store can promise. Say no more than is so: an engine believes it, and the kit checks what it can. */
export const capabilities = {
  /** As it is called in errors and logs. */
  name: "template",
  /** Whether what was acknowledged outlives the process and a power failure. These rows do not. */
  durable: false,
  /** Whether several engines may use it at once. Those of one process may, over one driver. */
  shared: true,
}

/** Opens a store without any row, on the clock that is given, in epoch milliseconds. */
export const templateDriver = ({ now }: { readonly now: () => number }): StoreDriver => {
  const database = new Database()
  const rows = database.transaction(() => makeRows(database))
  const tables = {
    now,
    runs: makeRuns(database, rows),
    flows: makeFlows(database, rows),
    schedules: makeSchedules(database, rows),
    calendars: makeCalendars(rows),
    nodes: makeNodes(rows),
    credentials: makeCredentials(rows),
    records: makeRecordTable(rows),
  }
  return makeStore({
    capabilities,
    now,
    close: () => {},
    // With a client that answers in promises: begin, `await runAsync(logic(tablesOf(client)))`, commit, or roll back.
    transaction: (logic) => database.transaction(() => runSync(logic(tables))),
  })
}

/** The same as the services of a store, on the clock of the surrounding program: `storage` of a config. */
export const layerTemplate: Layer.Layer<Store> = layerDriver(
  Effect.clockWith((clock) =>
    Effect.sync(() => templateDriver({ now: () => clock.currentTimeMillisUnsafe() })),
  ),
)
