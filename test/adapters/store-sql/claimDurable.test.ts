// What a power failure may take back: a claim that is the start, as all that was started is gone with it; never one for a
// worker, who lives on elsewhere, or two would hold one token.
import { expect, test } from "vitest"
import { makeStore, runSync } from "../../../adapters/store-sql/mod.ts"
import { type Database, openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import { newRuns, wishOf } from "../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { Database as Rows } from "../../../plugins/store-template/Database.ts"
import { makeFlows } from "../../../plugins/store-template/flows.ts"
import { makeCalendars, makeCredentials, makeNodes } from "../../../plugins/store-template/nodes.ts"
import { makeRecordTable } from "../../../plugins/store-template/records.ts"
import { makeRows } from "../../../plugins/store-template/rows.ts"
import { makeRuns } from "../../../plugins/store-template/runs.ts"
import { makeSchedules } from "../../../plugins/store-template/schedules.ts"
import { now } from "./folder.ts"

/** Whether a transaction may be taken back, of each that there was. */
type Seen = Array<boolean>

const sqlite = (seen: Seen): StoreDriver => {
  const opened = openDatabase({ file: ":memory:" })
  const database: Database = {
    ...opened,
    transaction: (body, repeatable = false) => {
      seen.push(repeatable)
      return opened.transaction(body, repeatable)
    },
  }
  return driverOver(database, { file: ":memory:", now })
}

const general = (seen: Seen): StoreDriver => {
  const database = new Rows()
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
    capabilities: { name: "general", durable: true, shared: true },
    now,
    close: () => {},
    transaction: (logic, { repeatable = false } = {}) => {
      seen.push(repeatable)
      return database.transaction(() => runSync(logic(tables)))
    },
  })
}

test.each([
  ["SQLite", sqlite],
  ["the general way", general],
])("%s: a claim for a worker is on the disk before it is answered", async (_, open) => {
  const seen: Seen = []
  const store = open(seen)
  await store.join({ id: "n1", host: "h", pid: 1, runtime: "test" }, 60_000)
  await store.enqueue(newRuns(2))
  const claimed = async (acknowledged: boolean): Promise<Seen> => {
    seen.length = 0
    expect(await store.claim(wishOf({ limit: 1, acknowledged }))).toHaveLength(1)
    return [...seen]
  }
  expect(await claimed(true)).toEqual([true])
  expect(await claimed(false)).toEqual([false])
  seen.length = 0
  const [run] = await store.carried("n1", 1)
  if (run === undefined) throw new Error("It carries two runs")
  seen.length = 0
  await store.adopt("n1", [{ id: run.id, token: run.token }])
  expect(seen).toEqual([false])
  await store.close()
})
