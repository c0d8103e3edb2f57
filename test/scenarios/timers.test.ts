// Scenarios of timers, SC-S01 to SC-S04, in whole engines: nothing is armed for longer than a timer can be, nothing odd
// is taken for a delay, and a fixed rate keeps its grid.
import * as Layer from "effect/Layer"
import { afterEach, describe, expect, test } from "vitest"
import { at, cron, engine, every, InvalidInput, job } from "uhrwerk"
import { testEngine } from "uhrwerk/testing"
import { memoryDriver } from "../../adapters/store-memory/mod.ts"
import { contextDriver } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { jobRow, makeWorld, scheduleRow, startAt, turn } from "../core/engine/world.ts"

const second = 1000
const minute = 60_000
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

describe("delays beyond what a timer takes", () => {
  test("SC-S01 jobs of 25, 40 and 400 days and @yearly start once each, at their instants, and no sleep is near the limit", async () => {
    const world = newWorld()
    const days = [25, 40, 400]
    const names = days.map((each) => `in ${each} days`)
    const jobs = [...names, "yearly", "sent"].map((name) => jobRow(name))
    const { engine: core, run } = await world.start({
      jobs,
      schedules: [
        ...days.map((each, n) =>
          scheduleRow(names[n] as string, { kind: "at", at: startAt + each * day + 7 }),
        ),
        scheduleRow("yearly", { kind: "cron", expression: "@yearly", zone: "UTC" }),
      ],
      pollMillis: 3_600_000,
      leaseMillis: day,
    })
    await run(core.enqueue({ job: "sent", input: null, delayMillis: 40 * day }))
    await world.advance(500 * day)
    const starts = world.executions.map(({ job: name, at: instant }) => [name, instant - startAt])
    expect(starts).toEqual([
      ["in 25 days", 25 * day + 7],
      ["sent", 40 * day],
      ["in 40 days", 40 * day + 7],
      ["yearly", 365 * day],
      ["in 400 days", 400 * day + 7],
    ])
    expect(Math.max(...world.sleeps)).toBeLessThanOrEqual(day)
  })

  test("SC-S01 on the host's own timers: none is armed for longer than 2^31 - 1 ms, and nothing starts early", async () => {
    const armed: Array<unknown> = []
    const host = globalThis.setTimeout
    let started = 0
    const run = (): void => void started++
    const jobs = [25, 40, 400].map((days) => job(`in ${days} days`, { on: at(Date.now() + days * day), run }))
    const yearly = job("yearly", { on: cron("@yearly"), run })
    const sent = job("sent", { run })
    globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimeout>) => {
      armed.push(args[1] ?? 0)
      return host(...args)
    }, host) as typeof setTimeout
    try {
      const app = await engine({ jobs: [...jobs, yearly, sent], storage: "memory:" }).start({ guard: false })
      await app.send(sent, undefined, { delay: "40d" })
      await app.send(sent, undefined, { delay: "400d" })
      await new Promise((resolve) => host(resolve, 2 * second))
      await app.stop()
    } finally {
      globalThis.setTimeout = host
    }
    expect(started).toBe(0)
    expect(armed.length).toBeGreaterThan(0)
    // A timer of a loop would be one of 1 ms, thousands of times.
    expect(armed.length).toBeLessThan(200)
    for (const millis of armed) {
      expect(millis).toBeGreaterThanOrEqual(0)
      expect(millis).toBeLessThanOrEqual(60_000)
    }
  })
})

describe("delays that are none", () => {
  /** An engine in virtual time whose calls to the store are counted. */
  const counted = async () => {
    let now = (): number => startAt
    let calls = 0
    const driver = memoryDriver({ now: () => now() })
    const counting = new Proxy(driver, {
      get: (target, name) => {
        const value = target[name as keyof StoreDriver] as unknown
        if (typeof value !== "function" || name === "now") return value
        return (...args: ReadonlyArray<unknown>): unknown => {
          calls++
          return (value as (...all: ReadonlyArray<unknown>) => unknown).apply(target, [...args])
        }
      },
    })
    const starts: Array<number> = []
    const work = job("work", { run: () => void starts.push(now() - startAt) })
    const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(counting)) }
    const app = await testEngine({ jobs: [work], storage }, { startAt })
    now = () => app.now().getTime()
    return { app, work, starts, calls: () => calls }
  }

  test.each([
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["-Infinity", Number.NEGATIVE_INFINITY],
    ['"5"', "5"],
    ["null", null],
    ["1e300", 1e300],
    ["an invalid date", new Date(Number.NaN)],
  ])("SC-S02 %s is refused as delay and as instant, by name, and nothing is stored", async (_, value) => {
    const { app, work } = await counted()
    for (const field of ["delay", "at"]) {
      const error = await app.send(work, undefined, { [field]: value }).then(
        () => undefined,
        (refusal: unknown) => refusal,
      )
      expect(error).toBeInstanceOf(InvalidInput)
      expect((error as InvalidInput).field).toBe(field)
    }
    expect(await app.runs()).toEqual([])
    await app.stop()
  })

  // A delay below zero is a mistake of whoever computed it, and refused as one; an instant that has passed is not.
  test.each([-1, -1e15])("SC-S02 a delay of %d is refused, by name, and nothing is stored", async (delay) => {
    const { app, work } = await counted()
    await expect(app.send(work, undefined, { delay })).rejects.toMatchObject({ field: "delay" })
    expect(await app.runs()).toEqual([])
    await app.stop()
  })

  test.each([
    ["-1", -1],
    ["-1e15", -1e15],
    ["a date of 1969", new Date(Date.UTC(1969, 6, 20))],
  ])("SC-S02 the instant %s is due now: one run, and the engine idles afterwards", async (_, instant) => {
    const { app, work, starts, calls } = await counted()
    await app.send(work, undefined, { at: instant })
    await app.advance(0)
    expect(starts).toEqual([0])
    const before = calls()
    await app.advance("2s")
    expect(calls() - before).toBeLessThan(10)
    await app.advance("1d")
    expect(starts).toEqual([0])
    await app.stop()
  })
})

describe("a fixed rate", () => {
  test("SC-S03 1,000 slots of 20 ms with 8 ms of work are start + k x 20, and lateness does not grow", async () => {
    const world = newWorld()
    await world.start({
      jobs: [jobRow("tick")],
      schedules: [scheduleRow("tick", { kind: "every", periodMillis: 20, startAt })],
      handler: (_, signal) => world.sleep(8, signal),
    })
    await world.advance(1000 * 20 - 1)
    const slots = world.executions.map(({ nominalAt }) => nominalAt)
    expect(slots).toEqual(Array.from({ length: 1000 }, (_, slot) => startAt + slot * 20))
    const late = world.executions.map(({ at: instant, nominalAt }) => instant - (nominalAt ?? 0))
    const mean = (some: ReadonlyArray<number>): number =>
      some.reduce((sum, each) => sum + each, 0) / some.length
    expect(mean(late.slice(-100))).toBeLessThanOrEqual(mean(late.slice(0, 100)) + 5)
  })

  test("SC-S04 a job that ends within its own instant runs once, however long the clock stands there", async () => {
    for (const trigger of [
      { kind: "cron", expression: "* * * * *", zone: "UTC" },
      { kind: "every", periodMillis: minute, startAt: startAt + minute },
    ] as const) {
      const world = newWorld()
      const { engine: core, run } = await world.start({
        jobs: [jobRow("tick")],
        schedules: [scheduleRow("tick", trigger)],
      })
      await world.advance(minute + 7)
      for (let look = 0; look < 500; look++) {
        // Resuming what is not paused makes the planner look.
        if (look % 10 === 0) await run(core.pauseSchedule("tick", false))
        await turn()
      }
      expect(world.executions.map(({ nominalAt }) => nominalAt)).toEqual([startAt + minute])
      await world.advance(minute)
      expect(world.executions).toHaveLength(2)
    }
  })

  test("SC-S04 every: the SDK's engine starts a handler that ends at once no more often than its minutes", async () => {
    let starts = 0
    const tick = job("tick", { on: every("1m"), run: () => void starts++ })
    const app = await testEngine({ jobs: [tick] }, { startAt })
    await app.advance("30s")
    for (let look = 0; look < 200; look++) await turn()
    expect(starts).toBe(1)
    await app.stop()
  })
})
