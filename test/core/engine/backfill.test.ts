// Catching up by hand, in whole engines on virtual time.
import { expect, test } from "vitest"
import type { BackfillRequest } from "../../../core/engine/Backfill.ts"
import { jobRow, makeWorld, scheduleRow, startAt } from "./world.ts"

const hour = 3_600_000
const slow = { pollMillis: 600_000, leaseMillis: 86_400_000 }

/** An hourly schedule that was away from 02:30 to 12:30, and caught up with the newest instant only. */
const absent = async () => {
  const world = makeWorld()
  const trigger = { kind: "every", periodMillis: hour, startAt } as const
  const common = { jobs: [jobRow("hourly")], schedules: [scheduleRow("hourly", trigger)], ...slow, slots: 1 }
  const one = await world.start(common)
  await world.advance(2.5 * hour)
  await one.close()
  world.time.moveTo(startAt + 12.5 * hour)
  const member = await world.start(common)
  await world.advance(1000)
  const backfill = (request: Partial<BackfillRequest> = {}) =>
    member.run(member.engine.backfill("hourly", { from: startAt, ...request }))
  const hours = () => world.executions.map(({ nominalAt }) => ((nominalAt ?? 0) - startAt) / hour)
  return { world, member, backfill, hours }
}

test("a dry run says what it would do, and does nothing", async () => {
  const { world, member, backfill, hours } = await absent()
  expect(hours()).toEqual([0, 1, 2, 12])
  const before = await world.ledger("hourly")
  const { instants, more } = (await backfill({ dryRun: true })) ?? { instants: [], more: true }
  expect(more).toBe(false)
  expect(instants.map(({ at, before: was, result }) => [(at - startAt) / hour, was, result])).toEqual([
    ...[0, 1, 2].map((at) => [at, "run", "exists"]),
    ...[3, 4, 5, 6, 7, 8, 9, 10, 11].map((at) => [at, "missed", "planned"]),
    [12, "run", "exists"],
  ])
  await world.advance(60_000)
  expect(hours()).toEqual([0, 1, 2, 12])
  expect(await world.ledger("hourly")).toEqual(before)
  await member.close()
})

test("missed instants get their runs once, in order, below fresh work, and the schedule goes on where it stood", async () => {
  const { world, member, backfill, hours } = await absent()
  const [before] = world.driver.schedules() as ReadonlyArray<{ version: number }>
  await backfill()
  await backfill()
  await world.advance(60_000)
  expect(hours()).toEqual([0, 1, 2, 12, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect((world.driver.schedules() as ReadonlyArray<{ version: number }>)[0]).toEqual(before)
  const ledger = await world.ledger("hourly")
  expect(ledger.map(({ at, reason }) => [(at - startAt) / hour, reason])).toEqual(
    Array.from({ length: 13 }, (_, at) => [at, null]),
  )
  await world.advance(hour)
  expect(hours().at(-1)).toBe(13)
  await member.close()
})

test("newest first, with a limit, it says that there is more", async () => {
  const { world, member, backfill, hours } = await absent()
  const answer = await backfill({ order: "newest", max: 3, to: startAt + 10 * hour })
  expect(answer?.more).toBe(true)
  await world.advance(60_000)
  expect(hours()).toEqual([0, 1, 2, 12, 10, 9, 8])
  await member.close()
})

test("instants are those of the schedule: there are none before it begins", async () => {
  const { world, member, backfill, hours } = await absent()
  await backfill({ from: startAt - 2 * hour, to: startAt - 1 })
  await world.advance(60_000)
  expect(hours()).toEqual([0, 1, 2, 12])
  await member.close()
})

test("what is wrong is refused with its field; a schedule that is not there is unknown", async () => {
  const { member, backfill, world } = await absent()
  const now = world.time.now()
  for (const [field, request] of [
    ["to", { to: now + 1 }],
    ["to", { to: Number.NaN }],
    ["from", { from: now, to: now - 1 }],
    ["max", { max: 0 }],
    ["max", { max: 10_001 }],
    ["order", { order: "random" as "newest" }],
  ] as const)
    await expect(backfill(request)).rejects.toMatchObject({ field })
  expect(await member.run(member.engine.backfill("nobody", { from: 0 }))).toBeUndefined()
  await member.close()
  const after = await makeWorld().start({
    jobs: [jobRow("delay")],
    schedules: [scheduleRow("delay", { kind: "after", delayMillis: hour })],
    ...slow,
  })
  await expect(after.run(after.engine.backfill("delay", { from: 0 }))).rejects.toMatchObject({
    reason: expect.stringContaining("fixed delay"),
  })
  await after.close()
})

test("an instant that was filled in a pause takes nothing from its neighbours", async () => {
  const world = makeWorld()
  const trigger = { kind: "every", periodMillis: hour, startAt } as const
  const schedules = [scheduleRow("hourly", trigger)]
  const { run, engine, close } = await world.start({ jobs: [jobRow("hourly")], schedules, ...slow })
  await world.advance(2.5 * hour)
  await run(engine.pauseSchedule("hourly", true))
  await world.advance(4 * hour)
  await run(engine.backfill("hourly", { from: startAt + 4 * hour, to: startAt + 4 * hour }))
  await run(engine.pauseSchedule("hourly", false))
  await world.advance(1000)
  const ledger = await world.ledger("hourly")
  expect(ledger.map(({ at, reason }) => [(at - startAt) / hour, reason])).toEqual([
    [0, null],
    [1, null],
    [2, null],
    [3, "paused"],
    [4, null],
    [5, "paused"],
    [6, "paused"],
  ])
  await close()
})

test("an instant that was filled while it waited does not end a schedule that has a run left", async () => {
  const world = makeWorld()
  const trigger = { kind: "every", periodMillis: hour, startAt, countMax: 2 } as const
  const { run, engine, close } = await world.start({
    ...slow,
    jobs: [jobRow("hourly")],
    schedules: [scheduleRow("hourly", trigger, "queueOne")],
    handler: ({ run: { nominalAt } }, signal) =>
      nominalAt === startAt ? world.sleep(1.5 * hour, signal) : undefined,
  })
  await world.advance(1.2 * hour)
  await run(engine.backfill("hourly", { from: startAt + hour, to: startAt + hour }))
  await world.advance(4 * hour)
  const ledger = await world.ledger("hourly")
  expect(ledger.map(({ at, reason }) => [(at - startAt) / hour, reason])).toEqual([
    [0, null],
    [1, null],
    [2, null],
  ])
  await close()
})

test("instants that were filled in a long pause are not counted again with the others", async () => {
  const world = makeWorld()
  const trigger = { kind: "every", periodMillis: 1000, startAt } as const
  const common = { jobs: [jobRow("often")], schedules: [scheduleRow("often", trigger)], ...slow }
  const member = await world.start(common)
  await world.advance(500)
  await member.run(member.engine.pauseSchedule("often", true))
  await world.advance(1_000_000)
  // The first that passed, one in the middle of those that share a row, and the last of these.
  for (const second of [1, 300, 600])
    await member.run(
      member.engine.backfill("often", { from: startAt + second * 1000, to: startAt + second * 1000 }),
    )
  await member.run(member.engine.pauseSchedule("often", false))
  await world.advance(400)
  const ledger = await world.ledger("often")
  const [many, ...others] = ledger.filter(({ lastAt, at }) => lastAt > at)
  expect(others).toEqual([])
  expect(many).toMatchObject({ at: startAt + 2000, lastAt: startAt + 599_000, count: 597, reason: "paused" })
  expect(ledger.filter(({ reason }) => reason === null).map(({ at }) => (at - startAt) / 1000)).toEqual([
    0, 1, 300, 600,
  ])
  expect(ledger.reduce((sum, { count }) => sum + count, 0)).toBe(1001)
  await member.close()
})
