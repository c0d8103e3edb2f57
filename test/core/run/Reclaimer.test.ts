// What has expired goes: the reclaimer of an engine removes records, a bounded number at a time, whatever else it is told.
import { afterEach, beforeEach, expect, test } from "vitest"
import { newRecord } from "../../../core/contract/RecordStoreContract.ts"
import { type Fault, faulty, jobRow, makeWorld, type World } from "../engine/world.ts"

let world: World
beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.end())

const minute = 60_000

const put = async (count: number, expiresAt: number | null): Promise<void> => {
  const records = Array.from({ length: count }, (_, n) => newRecord(`${expiresAt} ${n}`, { expiresAt }))
  for (let from = 0; from < count; from += 1_000)
    await world.driver.putRecords(records.slice(from, from + 1_000))
}

/** How many expired records are still there; they are gone afterwards. */
const expiredLeft = async (): Promise<number> => {
  let sum = 0
  for (;;) {
    const count = await world.driver.pruneRecords(1_000)
    if (count === 0) return sum
    sum += count
  }
}

test("records that have expired are removed within a minute, however many, and also where runs are kept for ever", async () => {
  await put(2_500, world.now() + minute)
  await put(3, world.now() + 9 * minute)
  await put(2, null)
  await world.start({ jobs: [jobRow("work")] })
  await world.advance(2 * minute)
  expect(await expiredLeft()).toBe(0)
  const rows = await world.driver.records({ kind: "note", order: "ascending", limit: 1_000 })
  expect(rows).toHaveLength(5)
})

test("a store that cannot remove them keeps nobody from working, and the engine tells of it", async () => {
  await put(1, world.now())
  const faults = new Map<"pruneRecords", Fault>([["pruneRecords", "before"]])
  const driver = faulty(world.driver, faults)
  const { engine, run, events } = await world.start({ jobs: [jobRow("work")], driver })
  await run(engine.enqueue({ job: "work", input: null }))
  await world.advance(2 * minute)
  expect(world.executions).toHaveLength(1)
  const troubles = events.filter((event) => event.kind === "trouble")
  expect(troubles.length).toBeGreaterThan(0)
  expect(troubles.length).toBeLessThan(5)
  expect(troubles[0]).toMatchObject({ doing: "remove expired records" })
  expect(await expiredLeft()).toBe(1)
})
