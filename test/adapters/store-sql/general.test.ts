// The general way of a store, over the tables of the template: answering later, one transaction after the other, as
// those of a database with a network before it do; and for one engine at a time.
import { describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { makeStore, runAsync, runSync, type StoreTables } from "../../../adapters/store-sql/mod.ts"
import { registerCases } from "../../../apps/sdk/registerCases.ts"
import { newCredential } from "../../../core/contract/CredentialStoreContract.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { Database } from "../../../plugins/store-template/Database.ts"
import { makeFlows } from "../../../plugins/store-template/flows.ts"
import { makeCalendars, makeCredentials, makeNodes } from "../../../plugins/store-template/nodes.ts"
import { makeRecordTable } from "../../../plugins/store-template/records.ts"
import { makeRows } from "../../../plugins/store-template/rows.ts"
import { makeRuns } from "../../../plugins/store-template/runs.ts"
import { makeSchedules } from "../../../plugins/store-template/schedules.ts"

const tablesOf = (database: Database, now: () => number): StoreTables => {
  const rows = database.transaction(() => makeRows(database))
  return {
    now,
    runs: makeRuns(database, rows),
    flows: makeFlows(database, rows),
    schedules: makeSchedules(database, rows),
    calendars: makeCalendars(rows),
    nodes: makeNodes(rows),
    credentials: makeCredentials(rows),
    records: makeRecordTable(rows),
  }
}

/** The same table, of which every answer comes a turn later. */
const later = <T extends object>(table: T): T =>
  Object.fromEntries(
    Object.entries(table).map(([name, ask]) => [
      name,
      async (...args: ReadonlyArray<unknown>): Promise<unknown> => {
        await Promise.resolve()
        return (ask as (...args: ReadonlyArray<unknown>) => unknown)(...args)
      },
    ]),
  ) as T

const closed = (): void => {}

const openLater = (now: () => number): StoreDriver => {
  const database = new Database()
  const { runs, flows, schedules, calendars, nodes, credentials, records } = tablesOf(database, now)
  const tables: StoreTables = {
    now,
    runs: later(runs),
    flows: later(flows),
    schedules: later(schedules),
    calendars: later(calendars),
    nodes: later(nodes),
    credentials: later(credentials),
    records: later(records),
  }
  let last: Promise<unknown> = Promise.resolve()
  return makeStore({
    capabilities: { name: "later", durable: false, shared: true },
    now,
    close: closed,
    transaction: (logic) => {
      const answer = last.then(async () => {
        database.begin()
        try {
          const value = await runAsync(logic(tables))
          database.commit()
          return value
        } catch (error) {
          database.rollback()
          throw error
        }
      })
      last = answer.catch(closed)
      return answer
    },
  })
}

const openAlone = (now: () => number): StoreDriver => {
  const database = new Database()
  const tables = tablesOf(database, now)
  return makeStore({
    capabilities: { name: "alone", durable: false, shared: false },
    now,
    close: closed,
    transaction: (logic) => database.transaction(() => runSync(logic(tables))),
  })
}

describe("tables that answer later", () => registerCases(test, "later", openLater))
describe("a store for one engine", () =>
  registerCases(test, "alone", openAlone, { durable: false, shared: false }))

test("of credentials there are at most 10,000, and one that is there already is none more", async () => {
  for (const store of [openAlone(() => 1), memoryDriver({ now: () => 1 })]) {
    for (let n = 0; n < 10_000; n++) await store.putCredential(newCredential(n))
    expect(await store.putCredential(newCredential(1))).toBe("exists")
    expect(() => store.putCredential(newCredential(10_000))).toThrow(/^credentials: 10000 are stored/)
    expect(await store.deleteCredentials(["c1"])).toBe(1)
    expect(await store.putCredential(newCredential(10_000))).toBe("created")
    expect(await store.credentials()).toHaveLength(10_000)
  }
})
