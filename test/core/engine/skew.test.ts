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
