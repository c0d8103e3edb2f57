// Scenarios of clocks, SC-S06 to SC-S08: the wall clock is stepped while the monotonic one goes on, or stands still
// as it does in a machine that sleeps. The cap is the poll: the longest that the planner sleeps.
import { afterEach, expect, test } from "vitest"
import { type Member, jobRow, makeWorld, scheduleRow, startAt } from "../core/engine/world.ts"

const second = 1000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

const worlds: Array<ReturnType<typeof makeWorld>> = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})
const newWorld = () => {
  const world = makeWorld()
  worlds.push(world)
  return world
}
const send = ({ engine, run }: Member, delayMillis: number) =>
  run(engine.enqueue({ job: "sent", input: null, delayMillis }))

test("SC-S06 back by an hour: no hole above the cap, no slot twice, due work goes on", async () => {
  const world = newWorld()
  const member = await world.start({
    jobs: [jobRow("tick"), jobRow("delay"), jobRow("sent"), jobRow("once"), jobRow("daily")],
    schedules: [
      scheduleRow("tick", { kind: "every", periodMillis: 5 * second, startAt }),
      scheduleRow("delay", { kind: "after", delayMillis: 5 * second }),
      scheduleRow("once", { kind: "at", at: startAt + minute + 30 * second - hour + 2 * minute }),
      scheduleRow("daily", { kind: "cron", expression: "30 0 0 * * *", zone: "UTC" }),
    ],
    pollMillis: 30 * second,
  })
  await world.advance(minute)
  expect(world.executions.filter(({ job }) => job === "tick")).toHaveLength(13)
  world.step(-hour)
  // What is due by the clock as it stands goes on: sent now, and sent for later.
  for (let each = 0; each < 10; each++) {
    await send(member, 0)
    await send(member, 10 * second)
    await world.advance(30 * second)
  }
  expect(world.executions.filter(({ job }) => job === "sent")).toHaveLength(20)
  expect(Math.max(...world.sleeps)).toBeLessThanOrEqual(30 * second)
  const atOf = (name: string) => world.executions.filter(({ job }) => job === name).map(({ at }) => at)
  const back = startAt + minute - hour
  for (const name of ["tick", "delay"]) {
    const since = atOf(name)
      .slice(name === "tick" ? 13 : -55)
      .filter((at) => at >= back && at < startAt)
    // Five minutes with a start each five seconds, and the first of them within the cap.
    expect(since.length, name).toBeGreaterThanOrEqual((5 * minute - 30 * second) / (5 * second) - 1)
    const gaps = since.map((at, index) => at - (since[index - 1] ?? back))
    expect(Math.max(...gaps), name).toBeLessThanOrEqual(30 * second)
    expect(Math.max(...gaps.slice(1)), name).toBeLessThanOrEqual(5 * second)
  }
  expect(member.events.filter(({ kind }) => kind === "clockBack")).toMatchObject([{ schedules: 2 }])
  // The clock comes past the instants of the first minute again: they are decided, and stay so.
  await world.advance(hour + minute)
  const slots = world.executions.flatMap(({ job, nominalAt }) => (job === "tick" ? [nominalAt ?? 0] : []))
  expect(new Set(slots).size).toBe(slots.length)
  // Past the decided ones it is back on its own grid, without a hole.
  const own = slots.filter((at) => at > startAt + minute)
  expect(own).toEqual(
    Array.from({ length: own.length }, (_, slot) => startAt + minute + (slot + 1) * 5 * second),
  )
  expect(own.length).toBeGreaterThan(50)
  const early = world.executions.filter(({ at, nominalAt }) => nominalAt !== null && at < nominalAt)
  expect(early).toEqual([])
  expect(world.executions.filter(({ job }) => job === "once")).toHaveLength(1)
  // A time on a clock is not told twice by a clock that comes past it twice.
  expect(world.executions.filter(({ job }) => job === "daily")).toHaveLength(1)
})

test("SC-S07 forward by 30 days with a slot each 10 ms: bounded work, one run for the jump, the next slot on the grid, a stop at once", async () => {
  const world = newWorld()
  const member = await world.start({
    jobs: [jobRow("tick")],
    schedules: [scheduleRow("tick", { kind: "every", periodMillis: 10, startAt }, "skip")],
  })
  await world.advance(second - 1)
  expect(world.executions).toHaveLength(100)
  const before = process.cpuUsage()
  world.step(30 * day)
  await world.advance(10)
  const { user, system } = process.cpuUsage()
  // CPU time, which a busy machine does not stretch; this is all of the planning, the run and its end.
  expect((user + system - before.user - before.system) / 1000).toBeLessThan(50)
  expect(world.executions).toHaveLength(101)
  const [row] = await world.driver.schedules()
  expect(row?.nextAt).toBe(Math.floor((world.now() - startAt) / 10) * 10 + startAt + 10)
  // 259 million slots are few rows that count them all.
  const ledger = await world.ledger("tick")
  expect(ledger.length).toBeLessThan(600)
  expect(ledger.reduce((sum, { count }) => sum + count, 0)).toBe(((row?.nextAt ?? 0) - startAt) / 10)
  await world.advance(50)
  expect(world.executions).toHaveLength(106)
  await member.run(member.engine.drain(0))
  const stopped = world.executions.length
  await world.advance(second)
  expect(world.executions).toHaveLength(stopped)
})

test("SC-S08 asleep from 09:00 to 17:00: the job of 13:00 runs once by 17:01, and next day at 13:00", async () => {
  const world = newWorld()
  await world.start({
    jobs: [jobRow("daily"), jobRow("sent")],
    schedules: [scheduleRow("daily", { kind: "cron", expression: "0 13 * * *", zone: "UTC" }, "skip")],
    pollMillis: minute,
    leaseMillis: 10 * minute,
  })
  await world.advance(9 * hour)
  expect(world.executions).toEqual([])
  // The machine sleeps: its timers stand still.
  world.step(8 * hour)
  await world.advance(minute)
  expect(world.executions).toMatchObject([{ job: "daily", nominalAt: startAt + 13 * hour }])
  expect(world.executions[0]?.at).toBeLessThanOrEqual(startAt + 17 * hour + minute)
  await world.advance(day)
  expect(world.executions.map(({ nominalAt, at }) => [nominalAt, at]).slice(1)).toEqual([
    [startAt + day + 13 * hour, startAt + day + 13 * hour],
  ])
})

test("SC-S08 a run that was sent for 13:00 starts within the cap after the sleep, one for tomorrow on time", async () => {
  const world = newWorld()
  const member = await world.start({ jobs: [jobRow("sent")], pollMillis: minute, leaseMillis: 10 * minute })
  await world.advance(9 * hour)
  await send(member, 4 * hour)
  await send(member, 28 * hour)
  world.step(8 * hour)
  await world.advance(minute)
  expect(world.executions).toHaveLength(1)
  await world.advance(day)
  expect(world.executions[1]?.at).toBe(startAt + 37 * hour)
})
