// A node whose clock is not the store's, in whole engines on virtual time.
import { expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { jobRow, makeWorld, scheduleRow, startAt, turn } from "./world.ts"

test("a node whose clock is ahead sleeps until the instant has come by the store's clock", async () => {
  const world = makeWorld()
  const behindMillis = 5000
  const storeNow = (): number => world.now() - behindMillis
  let looks = 0
  const honest = memoryDriver({ now: storeNow })
  const driver: StoreDriver = {
    ...honest,
    dueSchedules: (limit) => {
      // One that asks without an end must fail here, and not take the test with it.
      if (++looks > 1000) throw new Error("asked too often")
      return honest.dueSchedules(limit)
    },
  }
  const firedAt: Array<number> = []
  const trigger = { kind: "every", periodMillis: 20_000, startAt } as const
  const { close } = await world.start({
    jobs: [jobRow("j")],
    schedules: [scheduleRow("j", trigger)],
    driver,
    handler: () => {
      firedAt.push(storeNow())
    },
  })
  // Its own clock is past the instant, the store's is not.
  await world.advance(3000)
  looks = 0
  for (let turns = 0; turns < 100; turns++) await turn()
  expect(looks).toBeLessThanOrEqual(1)
  await world.advance(30_000)
  expect(firedAt).toEqual([startAt, startAt + 20_000])
  await close()
})

test("a node whose own clock is set back leaves a skipped instant skipped", async () => {
  const world = makeWorld()
  const storeNow = (): number => world.time.now()
  const firedAt: Array<number> = []
  const trigger = { kind: "every", periodMillis: 10_000, startAt } as const
  const { engine, run, events, close } = await world.start({
    jobs: [jobRow("j")],
    schedules: [scheduleRow("j", trigger)],
    driver: memoryDriver({ now: storeNow }),
    handler: () => {
      firedAt.push(storeNow())
    },
  })
  await world.advance(3000)
  expect(await run(engine.skipNext("j"))).toMatchObject({ result: "skipped", at: startAt + 10_000 })
  world.step(-60_000)
  await world.advance(30_000)
  expect(firedAt).toEqual([startAt, startAt + 20_000, startAt + 30_000])
  expect(events.filter(({ kind }) => kind === "clockBack")).toEqual([])
  await close()
})

test("a store whose clock is set back alone is noticed: a fixed rate goes on", async () => {
  const world = makeWorld()
  let stepped = 0
  const firedAt: Array<number> = []
  const trigger = { kind: "every", periodMillis: 10_000, startAt } as const
  const { events, close } = await world.start({
    jobs: [jobRow("j")],
    schedules: [scheduleRow("j", trigger)],
    driver: memoryDriver({ now: () => world.time.now() + stepped }),
    handler: () => {
      firedAt.push(world.time.now())
    },
  })
  await world.advance(12_000)
  stepped = -3_600_000
  await world.advance(25_000)
  expect(events.filter(({ kind }) => kind === "clockBack")).toHaveLength(1)
  expect(firedAt.length).toBeGreaterThanOrEqual(4)
  await close()
})

test("a fixed delay that is over in a moment which is decided, as the clock was set back, goes on with the next one", async () => {
  const world = makeWorld()
  let looks = 0
  const driver: StoreDriver = {
    ...world.driver,
    dueSchedules: (limit) => {
      // One that asks without an end must fail here, and not take the test with it.
      if (++looks > 1000) throw new Error("asked too often")
      return world.driver.dueSchedules(limit)
    },
  }
  const { close } = await world.start({
    jobs: [jobRow("j")],
    schedules: [scheduleRow("j", { kind: "after", delayMillis: 5000 })],
    driver,
  })
  await world.advance(10_000)
  const before = world.executions.map(({ at }) => at - startAt)
  expect(before).toEqual([0, 5000, 10_000])
  // Noticed with the next poll, a second later; and five seconds from there a run was started already.
  world.step(-11_000)
  await world.advance(12_000)
  expect(world.executions.slice(3).map(({ at }) => at - startAt)).toEqual([5001, 10_001])
  expect(looks).toBeLessThan(200)
  const ledger = await world.ledger("j")
  expect(ledger.map(({ at }) => at - startAt)).toEqual([0, 5000, 5001, 10_000, 10_001])
  await close()
})
