// Operations on a SQLite file: what they need of a store, a real one does, too.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { askedStore } from "../../../apps/server/api/askedStore.ts"
import { beginBulk } from "../../../apps/server/api/bulk.ts"
import { readOperation } from "../../../apps/server/OperationRecord.ts"
import { leaseMillis, makeOperations } from "../../../apps/server/Operations.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import { killRuns, operator } from "./bulkWorld.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-operations-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("a server dies in the middle, another one ends it, and nothing is done or counted twice", async () => {
  let clock = 1_800_000_000_000
  const driver = sqliteDriver({ file: join(folder, "uhrwerk.db"), now: () => clock })
  const jobs = ["team.mail", "other"]
  await killRuns(
    driver,
    Array.from({ length: 900 }, (_, n) => newRun(n + 1, { job: jobs[n % 2] ?? "", attemptMax: 1 })),
  )
  const store = askedStore(contextDriver(driver))
  const caller = { ...operator, namespace: "team" }
  const filter = { createdBefore: "2099-01-01T00:00:00Z", error: "Error" }
  const { body } = await beginBulk({ store }, caller, { kind: "replayDeadLetters", filter })
  if (!("id" in body)) throw new Error("It was a dry run")
  expect(body.total.value).toBe(450)
  let replays = 0
  const dying = makeOperations({
    store: {
      ...store,
      replay: async (...args) => {
        const done = await store.replay(...args)
        if (++replays === 2) throw new Error("It died after this was done")
        return done
      },
      putRecords: (...args) => {
        if (replays >= 2) throw new Error("It is dead")
        return store.putRecords(...args)
      },
    },
    self: "a",
    onTrouble: () => undefined,
  })
  for (let tick = 0; tick < 3; tick++) await dying.tick().catch(() => undefined)
  clock += leaseMillis + 1
  const next = makeOperations({ store, self: "b", onTrouble: () => undefined })
  for (let tick = 0; tick < 10; tick++) clock += await next.tick()
  expect((await readOperation(store, body.id))?.operation).toMatchObject({
    state: "succeeded",
    done: 450,
    skipped: 0,
    failed: 0,
    total: { value: 450, exact: true },
  })
  const counts = await driver.counts()
  expect(counts.filter(({ state }) => state === "ready")).toEqual([
    { job: "team.mail", state: "ready", count: 450 },
  ])
  await driver.close()
})
