// What the hot operations read, counted by the server itself: as much as they take, however much has ended, waits for
// later or is blocked beside it.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { newRecord } from "../../../core/contract/RecordStoreContract.ts"
import { newSchedule } from "../../../core/contract/ScheduleStoreContract/fixtures.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { driverOver } from "../../../plugins/store-mysql/mod.ts"
import { dropDatabases, durable, makeDatabase, missing, placeOf } from "./server.ts"

const many = 2000

describe.skipIf(missing !== null)(`beside a long history${missing === null ? "" : ` (${missing})`}`, () => {
  let connection: Connection
  let store: StoreDriver
  const startAt = Date.UTC(2026, 0, 1)
  let millis = startAt
  let next = 1
  const runsOf = (count: number, fields: Parameters<typeof newRun>[1] = {}) =>
    Array.from({ length: count }, () => newRun(next++, fields))
  const enqueueMany = async (fields: Parameters<typeof newRun>[1]) => {
    for (let from = 0; from < many; from += 500) await store.enqueue(runsOf(500, fields))
  }
  const wish = { node: "n1", queues: ["default"], jobs: ["report"], limit: 500, acknowledged: true }

  beforeAll(async () => {
    // One connection: what a session has read is counted for it alone.
    connection = connect(placeOf(await makeDatabase()), { connectionsMax: 1 })
    store = driverOver(connection, durable, () => millis)
    await store.join({ id: "n1", host: "h", pid: 1, runtime: "test" }, 3_600_000)
    await enqueueMany({})
    for (;;) {
      const held = await store.claim(wish)
      if (held.length === 0) break
      const outcomes = held.map(({ id, token }) => ({ id, token }))
      await store.settle(outcomes.map((each) => ({ ...each, kind: "succeeded", output: null })))
    }
    await enqueueMany({ delayMillis: 86_400_000 })
    await enqueueMany({ queue: "other", startWithinMillis: 86_400_000 })
    const [need] = runsOf(1, { delayMillis: 86_400_000 })
    await store.enqueue([need!, ...runsOf(200, { needs: [need!.id] })])
    const schedules = Array.from({ length: 500 }, (_, index) =>
      newSchedule(`later${index}`, { cursor: millis, nextAt: millis + 86_400_000 }),
    )
    await store.putSchedules(schedules)
    for (const kind of ["note", "other"])
      await store.putRecords(
        Array.from({ length: 1_000 }, (_, n) =>
          newRecord(String(n), { kind, expiresAt: n % 2 === 0 ? null : millis + 86_400_000 }),
        ),
      )
    await connection.read("analyze table runs, live, ended, schedules, records")
  })
  afterAll(async () => {
    await store.close()
    await dropDatabases()
  })

  /** How many rows, and entries of indexes, an operation has read. */
  const readBy = async (operation: () => unknown): Promise<number> => {
    const count = async () => {
      const rows = await connection.read("show session status like 'Handler_read%'")
      return rows.reduce((sum, row) => sum + Number(row["Value"]), 0)
    }
    const before = await count()
    // The look itself reads the server's own list.
    const own = (await count()) - before
    const start = await count()
    await operation()
    return (await count()) - start - own
  }

  const claimed: Array<Run> = []
  const operations: Readonly<Record<string, () => unknown>> = {
    "a claim that finds nothing": () => store.claim(wish),
    enqueue: () => store.enqueue(runsOf(5)),
    "enqueue with a key": () => store.enqueue(runsOf(1, { key: "k" })),
    claim: async () => void claimed.push(...(await store.claim(wish))),
    started: () => store.started(claimed),
    adopt: () => store.adopt("n1", claimed),
    reportWorkers: () => store.reportWorkers("n1", "[]"),
    "settle as lost under another token": () =>
      store.settle(claimed.map(({ id }) => ({ id, token: 9, kind: "released", loss: true }))),
    settle: () =>
      store.settle(claimed.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null }))),
    promote: () => store.promote(100),
    "a first page": () => store.list({ limit: 5 }),
    "a page of a state": () => store.list({ state: "succeeded", limit: 5 }),
    "a page of a job": () => store.list({ job: "report", limit: 5 }),
    "a page of a state and a job": () => store.list({ state: "dead", job: "report", limit: 5 }),
    "a page of several jobs": () => store.list({ jobs: ["report", "load", "other"], limit: 5 }),
    "a page of several jobs that succeeded": () =>
      store.list({ jobs: ["report", "load"], state: "succeeded", limit: 5 }),
    "a page between two ids": () =>
      store.list({ after: newRun(many).id, before: newRun(many + 500).id, limit: 5 }),
    "letters of several jobs": () => store.deadLetters({ jobs: ["report", "load"], limit: 5 }),
    putRecords: () => store.putRecords([newRecord("5"), newRecord("new", { expected: 0 })]),
    records: () => store.records({ kind: "note", order: "descending", before: "5", limit: 5 }),
    "records of a prefix": () => store.records({ kind: "note", order: "ascending", prefix: "99", limit: 5 }),
    deleteRecords: () => store.deleteRecords("note", ["7", "8"]),
    pruneRecords: () => store.pruneRecords(100),
    carried: () => store.carried("n1", 100),
    reclaim: () => store.reclaim("n1", 100),
    dueSchedules: () => store.dueSchedules(100),
    nextScheduleAt: () => store.nextScheduleAt(),
    dueWithin: () => store.dueWithin(millis, millis + 60_000, 100),
    cancel: () => store.cancel([newRun(many + 5).id], "not any more"),
    "prune of what is too young": () => store.prune(startAt, 100),
  }
  // Of a few rows each, over three tables with their indexes.
  const readMax = 200

  test.each(Object.keys(operations))("%s reads a few rows", async (name) => {
    millis += 1000
    expect(await readBy(operations[name]!)).toBeLessThan(readMax)
  })

  test("what the operations did is there, or they read nothing for having nothing to do", async () => {
    expect(claimed).toHaveLength(6)
    expect((await store.get(claimed.map(({ id }) => id))).every(({ state }) => state === "succeeded")).toBe(
      true,
    )
    expect((await store.counts()).reduce((sum, { count }) => sum + count, 0)).toBe(many * 3 + 201 + 6)
  })

  test("a look at all that there is would be seen", async () => {
    expect(await readBy(() => connection.read("select max(output) from ended"))).toBeGreaterThanOrEqual(many)
  })
})
