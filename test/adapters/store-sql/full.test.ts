// A full disk, at the driver: the connection is told that the file may not grow, so that SQLite itself refuses.
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { type Database, openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, newRuns, runId } from "../../../core/contract/Fixtures.ts"
import { contextDriver, RunStore } from "../../../core/ports/Store.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()
const large = JSON.stringify("x".repeat(100_000))

const pragma = (database: Database, text: string): number =>
  Number(Object.values(database.prepare(`pragma ${text}`).get() ?? {})[0])

test("disk full > an enqueue fails as a whole, says that nothing was stored, and works when there is room", async () => {
  const path = file("full.db")
  const database = openDatabase({ file: path })
  const store = driverOver(database, { file: path, now })
  const services = contextDriver(store)
  const enqueue = (rows: ReturnType<typeof newRuns>) =>
    Effect.runPromise(
      Effect.provide(
        Effect.flatMap(RunStore, (runs) => Effect.result(runs.enqueue(rows))),
        services,
      ),
    )
  await store.join({ id: "n", host: "h", pid: 1, runtime: "r" }, 1e12)
  await store.enqueue([newRun(1)])
  pragma(database, `max_page_count = ${pragma(database, "page_count")}`)

  // The first two rows fit the pages that are there; they go with the third.
  const batch = [newRun(2), newRun(3), newRun(4, { input: large })]
  for (let each = 0; each < 3; each++) {
    expect(await enqueue(batch)).toMatchObject({
      _tag: "Failure",
      failure: {
        _tag: "StoreError",
        driver: "sqlite",
        operation: "enqueue",
        outcomeUnknown: false,
        message: expect.stringMatching(/^Cannot enqueue in the sqlite store: .*full/),
      },
    })
  }
  expect(await store.counts()).toEqual([{ job: "report", state: "ready", count: 1 }])
  expect(await store.list({ limit: 10 })).toHaveLength(1)
  expect(await store.get([runId(1), runId(2), runId(3), runId(4)])).toHaveLength(1)

  // Reading, and work that needs no new page, go on.
  const [claimed] = await store.claim({
    node: "n",
    queues: ["default"],
    jobs: ["report"],
    limit: 9,
    acknowledged: true,
  })
  expect(claimed?.id).toBe(runId(1))
  expect(
    await store.settle([{ id: runId(1), token: claimed?.token ?? 0, kind: "succeeded", output: null }]),
  ).toMatchObject([{ result: "settled" }])

  pragma(database, "max_page_count = 1000000")
  expect(await enqueue(batch)).toMatchObject({ _tag: "Success" })
  expect(await store.counts()).toEqual([
    { job: "report", state: "ready", count: 3 },
    { job: "report", state: "succeeded", count: 1 },
  ])
  await store.close()
  const again = openDatabase({ file: path, create: false })
  expect(pragma(again, "quick_check")).toBeNaN()
  expect(again.prepare("pragma quick_check").get()).toEqual({ quick_check: "ok" })
  again.close()
})

test("a transaction whose body throws, or ends in a promise, leaves nothing behind", () => {
  const database = openDatabase({ file: ":memory:" })
  const insert = database.prepare("insert into run_counts (job, state, count) values ('a', 'ready', 1)")
  const fail = (error: unknown) =>
    database.transaction(() => {
      insert.run()
      throw error
    })
  expect(() => fail(new Error("no"))).toThrow(expect.objectContaining({ outcomeUnknown: false }))
  expect(() => database.transaction(() => Promise.resolve(insert.run()))).toThrow(/must not be asynchronous/)
  expect(database.prepare("select count(*) as n from run_counts").get()).toEqual({ n: 0 })
  database.transaction(() => insert.run())
  expect(database.prepare("select count(*) as n from run_counts").get()).toEqual({ n: 1 })
  database.close()
})
