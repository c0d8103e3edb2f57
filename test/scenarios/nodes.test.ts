// Scenarios of several nodes, crashes and long absences, SC-S21 to SC-S25 and SC-S29, in whole engines over one store
// in virtual time.
import { afterEach, describe, expect, test } from "vitest"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { jobRow, makeWorld, scheduleRow, startAt, tally, type World } from "../core/engine/world.ts"

const second = 1000
const minute = 60_000
const day = 86_400_000

const worlds: Array<World> = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})
const newWorld = (): World => {
  const world = makeWorld()
  worlds.push(world)
  return world
}

const seeded = (seed: number) => {
  let state = seed
  return (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** The driver with some operations wrapped. */
const wrapped = (
  driver: StoreDriver,
  wrap: (name: keyof StoreDriver, call: () => unknown) => unknown,
): StoreDriver =>
  new Proxy(driver, {
    get: (target, name) => {
      const value = target[name as keyof StoreDriver] as unknown
      if (typeof value !== "function" || name === "now" || name === "close") return value
      return (...args: ReadonlyArray<unknown>): unknown =>
        wrap(name as keyof StoreDriver, () =>
          (value as (...all: ReadonlyArray<unknown>) => unknown).apply(target, [...args]),
        )
    },
  })

test("SC-S21 three nodes, 100 schedules of a second, 60 s, random pauses between look and step: 6,000 occurrences, a run each", async () => {
  const world = newWorld()
  const jobs = Array.from({ length: 100 }, (_, n) => jobRow(`tick ${n}`))
  const schedules = jobs.map(({ name }): NewSchedule => ({
    ...scheduleRow(name, {
      kind: "every",
      periodMillis: second,
      startAt,
      endsAt: startAt + minute - second,
    }),
    catchUp: { mode: "all" },
  }))
  const random = seeded(21)
  const idle = new AbortController()
  for (const name of ["a", "b", "c"]) {
    // What a node has read is stale by the time it acts on it.
    const driver = wrapped(world.driver, (operation, call) => {
      const answer = call()
      if (operation !== "dueSchedules" || random() < 0.3) return answer
      return world.sleep(Math.floor(random() * 700), idle.signal).then(() => answer)
    })
    await world.start({ name, jobs, schedules, driver, slots: 100 })
  }
  await world.advance(70 * second)
  const instants = []
  for (const { name } of jobs) {
    const rows = await world.ledger(name)
    expect(rows.map(({ at }) => at)).toEqual(Array.from({ length: 60 }, (_, n) => startAt + n * second))
    instants.push(...rows)
  }
  expect(instants).toHaveLength(6000)
  expect(new Set(instants.map(({ runId }) => runId)).size).toBe(6000)
  expect(instants.filter(({ runId }) => runId === null)).toEqual([])
  expect(tally(world.executions.map(({ job, nominalAt }) => `${job} ${nominalAt}`)).size).toBe(6000)
  expect(world.executions).toHaveLength(6000)
  // All three take part, or nothing was raced.
  expect(tally(world.executions.map(({ engine }) => engine)).size).toBe(3)
})

describe("SC-S22 a crash after each write of the path", () => {
  const writes: ReadonlySet<keyof StoreDriver> = new Set([
    "putSchedules",
    "deleteSchedules",
    "fire",
    "enqueue",
    "claim",
    "started",
    "settle",
    "promote",
    "reclaim",
    "join",
    "leave",
  ])
  const minutes = { kind: "cron", expression: "* * * * *", zone: "UTC" } as const

  /** Kills the engine after its n-th write, which has happened, and starts another; answers whether there was one. */
  const crashAfter = async (last: number): Promise<boolean> => {
    const world = newWorld()
    const jobs = [jobRow("tick")]
    const schedules: ReadonlyArray<NewSchedule> = [
      { ...scheduleRow("tick", minutes, "queueAll"), catchUp: { mode: "all" } },
    ]
    let count = 0
    let dead = false
    const driver = wrapped(world.driver, (name, call) => {
      if (dead) throw new Error("the process is gone")
      const answer = call()
      if (writes.has(name) && ++count === last) {
        dead = true
        // Nobody hears of the answer either.
        throw new Error("the process is gone")
      }
      return answer
    })
    const first = await world
      .start({ name: "first", jobs, schedules, driver, pollMillis: 5000 })
      .catch(() => undefined)
    await world.advance(2 * minute + 10 * second)
    if (first !== undefined) await first.close()
    await world.start({ name: "second", jobs, schedules, pollMillis: 5000 })
    await world.advance(2 * minute)
    const ledger = await world.ledger("tick")
    const slots = [1, 2, 3, 4].map((n) => startAt + n * minute)
    // Whoever crashes before the schedule is saved has none to lose: it begins with the second engine.
    expect(slots.slice(slots.length - ledger.length), `after write ${last}`).toEqual(
      ledger.map(({ at }) => at),
    )
    if (count > 3) expect(ledger.length, `after write ${last}`).toBe(4)
    // A run for each, succeeded, and the runs that began are those of the ledger.
    const runs = await world.driver.get(ledger.flatMap(({ runId }) => (runId === null ? [] : [runId])))
    expect(runs.map(({ state }) => state)).toEqual(ledger.map(() => "succeeded"))
    expect(await world.driver.counts()).toEqual([{ job: "tick", state: "succeeded", count: ledger.length }])
    await world.end()
    return dead
  }

  test("SC-S22 every slot has one row and one run that ends, wherever the process ends", async () => {
    let crashes = 0
    while (await crashAfter(crashes + 1)) crashes++
    // The start, and then a fire, a claim and a settlement for each slot.
    expect(crashes).toBeGreaterThan(8)
  })
})

test("SC-S23 a slow first run and a second planner that passes in between: the slots are the series, no hole and no double", async () => {
  const world = newWorld()
  const jobs = [jobRow("tick")]
  const schedules = [scheduleRow("tick", { kind: "cron", expression: "*/5 * * * *", zone: "UTC" })]
  let slow = true
  const handler = async (_: unknown, signal: AbortSignal): Promise<void> => {
    const span = slow ? 12 * minute : 0
    slow = false
    if (span > 0) await world.sleep(span, signal)
  }
  const a = await world.start({ name: "a", jobs, schedules, handler })
  await world.advance(5 * minute)
  await world.start({ name: "b", jobs, schedules, handler })
  for (let pass = 0; pass < 60; pass++) {
    // Resuming what is not paused makes both planners look, also between two slots and while the run is alive.
    await a.run(a.engine.pauseSchedule("tick", false))
    await world.advance(minute)
  }
  const slots = Array.from({ length: 13 }, (_, n) => startAt + (n + 1) * 5 * minute)
  expect((await world.ledger("tick")).map(({ at }) => at)).toEqual(slots)
  expect(world.executions.map(({ nominalAt }) => nominalAt)).toEqual(slots)
})

test.each(["skip", "latest", "all"] as const)(
  "SC-S25 a schedule of each second, 30 days away, %s: few rows, the policy holds, the next slot is on time",
  async (mode) => {
    const world = newWorld()
    const jobs = [jobRow("tick")]
    const schedules: ReadonlyArray<NewSchedule> = [
      {
        ...scheduleRow("tick", { kind: "cron", expression: "* * * * * *", zone: "UTC" }),
        catchUp: { mode },
      },
    ]
    const first = await world.start({ jobs, schedules, slots: 200 })
    await world.advance(10 * second)
    await first.close()
    const before = world.executions.length
    world.step(30 * day)
    await world.start({ jobs, schedules, slots: 200 })
    await world.advance(0)
    const runs = { skip: 1, latest: 1, all: 100 }[mode]
    expect(world.executions.length - before).toBe(runs)
    const ledger = await world.ledger("tick")
    expect(ledger.length).toBeLessThan(1000)
    expect(ledger.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(100_000)
    await world.advance(second)
    const last = world.executions[world.executions.length - 1]
    expect(last).toMatchObject({ nominalAt: world.now(), at: world.now() })
  },
)

test.each([
  ["skip", 7, 1],
  ["queueOne", 9, 1],
  ["allow", 20, 3],
  // The one that is cancelled is told in the step that starts the next, and may still be at its last words.
  ["cancelRunning", 20, 2],
] as const)("SC-S29 a run of 2.5 intervals over 20 slots, %s", async (overlap, starts, most) => {
  const world = newWorld()
  let [running, max] = [0, 0]
  const cancelled: Array<string> = []
  const { events } = await world.start({
    jobs: [jobRow("slow")],
    schedules: [
      scheduleRow(
        "slow",
        { kind: "every", periodMillis: minute, startAt, endsAt: startAt + 19 * minute },
        overlap,
      ),
    ],
    handler: async ({ run }, signal) => {
      max = Math.max(max, ++running)
      await world.sleep(2.5 * minute, signal).catch(() => cancelled.push(run.id))
      running--
    },
  })
  await world.advance(30 * minute)
  expect(max).toBe(most)
  expect(world.executions).toHaveLength(starts)
  const ledger = await world.ledger("slow")
  expect(ledger.map(({ at }) => at)).toEqual(Array.from({ length: 20 }, (_, n) => startAt + n * minute))
  // What was left out has its reason in the ledger, and is told.
  const left = ledger.filter(({ reason }) => reason !== null)
  expect(left.map(({ reason }) => reason)).toEqual(Array.from({ length: 20 - starts }, () => "overlap"))
  const told = events.flatMap((event) => (event.kind === "occurrence" ? [event.count] : []))
  expect(told.reduce((sum, count) => sum + count, 0)).toBe(20 - starts)
  expect(cancelled).toHaveLength(overlap === "cancelRunning" ? 19 : 0)
})
