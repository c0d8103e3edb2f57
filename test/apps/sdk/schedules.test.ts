// What a schedule does beside its times, in the real engine on a clock that moves only when told: catch-up after an
// absence, overlap, limits, pause, skip, run now, and edits. An absence is a second engine over the same store.
import * as Layer from "effect/Layer"
import { afterEach, describe, expect, test } from "vitest"
import { after, at, type Config, cron, every, job, type RunContext } from "uhrwerk"
import { type TestEngine, testEngine } from "uhrwerk/testing"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import type { Occurrence } from "../../../core/domain/Schedule.ts"
import { contextDriver } from "../../../core/ports/Store.ts"

const origin = Date.UTC(2026, 0, 1)
const minute = 60_000

const started: Array<TestEngine> = []
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop({ grace: 0 })
})

/** A store that outlives its engines. */
const makeLife = () => {
  let now = (): number => origin
  const driver = memoryDriver({ now: () => now() })
  const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(driver)) }
  return {
    driver,
    start: async (config: Config, startAt = origin): Promise<TestEngine> => {
      now = () => startAt
      const engine = await testEngine({ ...config, storage }, { startAt })
      now = () => engine.now().getTime()
      started.push(engine)
      return engine
    },
    ledger: async (scheduleId: string): Promise<ReadonlyArray<Occurrence>> =>
      [...(await driver.occurrences({ scheduleId, limit: 200 }))].reverse(),
  }
}

/** What became of each instant, in minutes from the beginning. */
const told = (rows: ReadonlyArray<Occurrence>): Array<string> =>
  rows.map(({ at: instant, reason }) => `${(instant - origin) / minute} ${reason ?? "run"}`)

const startsOf = (engine: TestEngine, name: string): Array<number> =>
  engine.events.flatMap((event) =>
    event.kind === "started" && event.run.job === name ? [(event.at - origin) / minute] : [],
  )

/** Runs at once at most, by the handler's own count. */
const makeGauge = (span: string) => {
  const gauge = {
    now: 0,
    max: 0,
    run: async (_: void, ctx: RunContext): Promise<void> => {
      gauge.max = Math.max(gauge.max, ++gauge.now)
      try {
        await ctx.sleep(span as "1s")
      } finally {
        gauge.now--
      }
    },
  }
  return gauge
}

describe("catch-up", () => {
  const absence = async (options: Parameters<typeof every>[1], run: (nominal: number) => void = () => {}) => {
    const life = makeLife()
    const tick = job("tick", {
      on: every("1m", options),
      run: (_: void, ctx) => run(((ctx.run.nominalAt?.getTime() ?? 0) - origin) / minute),
    })
    const first = await life.start({ jobs: [tick] })
    await first.advance("30s")
    await first.stop()
    // Back in the middle of minute 3, so that 1, 2 and 3 were missed.
    const second = await life.start({ jobs: [tick] }, origin + 3.5 * minute)
    await second.advance("1m")
    return { life, second }
  }

  test("SC-S24 skip runs none of them, and the ledger has all", async () => {
    const { life, second } = await absence({ catchUp: "skip" })
    expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 missed", "2 missed", "3 missed", "4 run"])
    expect(startsOf(second, "tick")).toEqual([4])
  })

  test("SC-S24 latest runs the newest, below fresh work", async () => {
    const { life, second } = await absence({})
    expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 missed", "2 missed", "3 run", "4 run"])
    const priorities = (await second.runs()).map(({ priority }) => priority)
    expect(priorities).toEqual([0, -1, 0])
  })

  for (const overlap of ["skip", "allow", "queueOne", "queueAll"] as const)
    test(`SC-S24 all, ${overlap}: runs each, in order, with its own instant`, async () => {
      const nominal: Array<number> = []
      const { life } = await absence({ catchUp: "all", overlap }, (instant) => nominal.push(instant))
      expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 run", "2 run", "3 run", "4 run"])
      expect(nominal).toEqual([0, 1, 2, 3, 4])
    })

  test("SC-S24 a window of 90 s catches up the newest two of three only", async () => {
    const { life } = await absence({ catchUp: "all", catchUpWindow: "90s" })
    expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 missed", "2 run", "3 run", "4 run"])
  })

  test("SC-S26 200 schedules after two hours: a late run each by default, at most the cap with all", async () => {
    for (const [options, most] of [
      [{}, 200],
      [{ catchUp: "all", catchUpMax: 10 }, 2000],
    ] as const) {
      const life = makeLife()
      const jobs = Array.from({ length: 200 }, (_, n) =>
        job(`tick${n}`, { on: cron("* * * * *", options), run: () => {} }),
      )
      const first = await life.start({ jobs })
      await first.stop()
      const second = await life.start({ jobs }, origin + 120 * minute + 30_000)
      await second.advance("1s")
      expect(startsOf(second, "tick7")).toHaveLength(most / 200)
      expect(second.events.filter(({ kind }) => kind === "started")).toHaveLength(most)
    }
  })

  test("a chain of jobs is caught up in steps that a store takes", async () => {
    const life = makeLife()
    const chain = [job("part0", { run: () => {} })]
    for (let n = 1; n < 5; n++) {
      const need = chain[n - 1] as (typeof chain)[number]
      chain.push(job(`part${n}`, { needs: { need }, run: () => {} }))
    }
    const options = { catchUp: "all", catchUpMax: 500, overlap: "allow", catchUpWindow: "30d" } as const
    const last = chain[4] as (typeof chain)[number]
    const whole = job("whole", { needs: { last }, on: cron("* * * * *", options), run: () => {} })
    const first = await life.start({ jobs: [...chain, whole] })
    await first.stop()
    const second = await life.start({ jobs: [...chain, whole] }, origin + 600 * minute + 30_000)
    await second.advance("1s", { realMax: "20s" })
    expect(startsOf(second, "whole")).toHaveLength(500)
  })
})

describe("overlap", () => {
  const start = async (overlap: "queueOne" | "queueAll" | "cancelRunning" | "skip", span: string) => {
    const life = makeLife()
    const gauge = makeGauge(span)
    const slow = job("slow", { on: every("1m", { overlap }), run: gauge.run })
    const engine = await life.start({ jobs: [slow] })
    return { life, gauge, engine, slow }
  }

  test("queueOne: one waits for the end of the last, the others are overlap", async () => {
    const { life, gauge, engine } = await start("queueOne", "150s")
    await engine.advance("7m45s")
    expect(startsOf(engine, "slow")).toEqual([0, 2.5, 5, 7.5])
    expect(told(await life.ledger("slow"))).toEqual([
      "0 run",
      "1 run",
      "2 overlap",
      "3 run",
      "4 overlap",
      "5 overlap",
      "6 run",
      "7 overlap",
    ])
    expect(gauge.max).toBe(1)
  })

  test("queueAll: each runs, one after the other", async () => {
    const { life, gauge, engine } = await start("queueAll", "150s")
    await engine.advance("25m1s")
    expect(startsOf(engine, "slow")).toEqual(Array.from({ length: 11 }, (_, n) => n * 2.5))
    expect(told(await life.ledger("slow"))).toEqual(Array.from({ length: 11 }, (_, n) => `${n} run`))
    expect(gauge.max).toBe(1)
  })

  test("cancelRunning: the last run is cancelled in the step that starts the next", async () => {
    const { engine } = await start("cancelRunning", "150s")
    await engine.advance("4m30s")
    expect(startsOf(engine, "slow")).toEqual([0, 1, 2, 3, 4])
    const states = (await engine.runs()).map(({ state }) => state)
    expect(states).toEqual(["running", "cancelled", "cancelled", "cancelled", "cancelled"])
  })

  test("what waits survives the engine, and does not start while the run that it waits for is alive", async () => {
    const { life, gauge, engine, slow } = await start("queueOne", "150s")
    await engine.advance("90s")
    // Cut off in the middle of the run: it is handed back and starts again.
    await engine.stop({ grace: 0 })
    const second = await life.start({ jobs: [slow] }, origin + 1.75 * minute)
    await second.advance("5m")
    expect(gauge.max).toBe(1)
    expect(told(await life.ledger("slow")).slice(0, 2)).toEqual(["0 run", "1 run"])
    expect(startsOf(second, "slow")).toEqual([1.75, 4.25, 6.75])
  })

  test("a run that is cancelled by hand lets the next one start", async () => {
    const { engine } = await start("queueOne", "1h")
    await engine.advance("90s")
    const [run] = await engine.runs()
    await engine.cancel(run?.id ?? "")
    await engine.advance("1s")
    expect(startsOf(engine, "slow")).toEqual([0, 1.5])
  })
})

describe("limits", () => {
  test("startsAt, endsAt and countMax bound each kind of trigger", async () => {
    const limits = { startsAt: origin + 2 * minute, endsAt: origin + 10 * minute, countMax: 3 }
    const jobs = [
      job("rate", { on: every("1m", limits), run: () => {} }),
      job("clock", { on: cron("* * * * *", limits), run: () => {} }),
      job("delay", { on: after("1m", limits), run: () => {} }),
      job("short", { on: every("1m", { endsAt: origin + minute }), run: () => {} }),
    ]
    const engine = await makeLife().start({ jobs })
    await engine.advance("1h")
    for (const name of ["rate", "clock", "delay"]) expect(startsOf(engine, name)).toEqual([2, 3, 4])
    expect(startsOf(engine, "short")).toEqual([0, 1])
  })

  test("countMax counts the life of the schedule, and a higher one lets it go on", async () => {
    const life = makeLife()
    const make = (countMax: number) => job("tick", { on: every("1m", { countMax }), run: () => {} })
    const first = await life.start({ jobs: [make(2)] })
    await first.advance("5m")
    expect(startsOf(first, "tick")).toEqual([0, 1])
    await first.stop()
    const second = await life.start({ jobs: [make(2)] }, origin + 6 * minute)
    await second.advance("5m")
    expect(startsOf(second, "tick")).toEqual([])
    await second.stop()
    const third = await life.start({ jobs: [make(3)] }, origin + 12 * minute)
    await third.advance("5m")
    expect(startsOf(third, "tick")).toHaveLength(1)
  })
})

describe("by hand", () => {
  const tickAt = async (options: Parameters<typeof every>[1] = {}, span = "1s") => {
    const life = makeLife()
    const tick = job("tick", { on: every("1m", options), run: (_: void, ctx) => ctx.sleep(span as "1s") })
    return { life, engine: await life.start({ jobs: [tick] }) }
  }

  test("what passes in a pause is recorded as paused, and the pause has a note", async () => {
    const { life, engine } = await tickAt()
    await engine.advance("30s")
    await engine.pauseSchedule("tick", true, "the printer is empty")
    await engine.advance("3m")
    expect((await life.driver.schedules())[0]).toMatchObject({ pausedNote: "the printer is empty" })
    await engine.pauseSchedule("tick", false)
    await engine.advance("1m")
    expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 paused", "2 paused", "3 paused", "4 run"])
    expect((await life.driver.schedules())[0]).toMatchObject({ pausedNote: null, pausedAt: null })
  })

  test("skipNext leaves out one instant, which the ledger says at once", async () => {
    const { life, engine } = await tickAt()
    await engine.advance("30s")
    expect(await engine.skipNext("tick")).toEqual(new Date(origin + minute))
    expect(await engine.skipNext("tick")).toEqual(new Date(origin + 2 * minute))
    await engine.advance("3m")
    expect(told(await life.ledger("tick"))).toEqual(["0 run", "1 skipped", "2 skipped", "3 run"])
    await expect(engine.skipNext("nobody")).rejects.toThrow('there is no schedule "nobody"')
  })

  test("runNow starts a run beside the instants, also of a paused schedule", async () => {
    const { life, engine } = await tickAt()
    await engine.pauseSchedule("tick")
    await engine.advance("90s")
    const id = await engine.runNow("tick")
    await engine.advance("5s")
    expect(await engine.run(id)).toMatchObject({ state: "succeeded", scheduleId: "tick" })
    expect(told(await life.ledger("tick"))).toContain("1.5 run")
    await expect(engine.runNow("nobody")).rejects.toThrow('there is no schedule "nobody"')
  })

  test("runNow keeps to the overlap of the schedule", async () => {
    const { engine } = await tickAt({}, "40s")
    await engine.advance("30s")
    await expect(engine.runNow("tick")).rejects.toThrow("has not ended")
    const other = await tickAt({ overlap: "cancelRunning" }, "40s")
    await other.engine.advance("30s")
    await other.engine.runNow("tick")
    await other.engine.advance("1s")
    expect((await other.engine.runs()).map(({ state }) => state)).toEqual(["running", "cancelled"])
  })

  test("a fixed delay counts from a run that was started by hand", async () => {
    const life = makeLife()
    const poll = job("poll", { on: after("10m"), run: () => {} })
    const engine = await life.start({ jobs: [poll] })
    await engine.advance("5m")
    await engine.runNow("poll")
    await engine.advance("12m")
    expect(startsOf(engine, "poll")).toEqual([0, 5, 15])
  })
})

describe("a new schedule", () => {
  const begins = [1, 2, 3, 4, 5, 6].map((n) => origin - 333 * n)
  test.each(begins)(
    "a clock that goes on between the calls of a start, from %i: none is double",
    async (begin) => {
      let reads = 0
      let now = (): number => begin + 333 * reads++
      const driver = memoryDriver({ now: () => now() })
      const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(driver)) }
      const jobs = [
        job("rate", { on: every("1m"), run: () => {} }),
        job("second", { on: cron("* * * * * *"), run: () => {} }),
      ]
      const engine = await testEngine({ jobs, storage }, { startAt: begin })
      started.push(engine)
      now = () => engine.now().getTime()
      await engine.advance("150s")
      for (const { id, createdAt } of await driver.schedules()) {
        const rows = await driver.occurrences({ scheduleId: id, limit: 200 })
        const seconds = id === "rate" ? 60 : 1
        const first = id === "rate" ? createdAt : Math.floor(createdAt / 1000) * 1000 + 1000
        // Each row begins where the one before has ended, the first with the first instant since the creation.
        let next = first
        for (const { at: instant, lastAt, count } of [...rows].reverse()) {
          expect([id, instant, lastAt]).toEqual([id, next, next + (count - 1) * seconds * 1000])
          next = lastAt + seconds * 1000
        }
        expect(next).toBeGreaterThan(engine.now().getTime())
      }
    },
  )
})

describe("schedules that a program makes", () => {
  const jobs = [
    job<unknown, void>("mail", { run: () => {} }),
    job("tick", { on: cron("0 0 1 1 *"), run: () => {} }),
  ]

  test("one starts what it says, takes over at an edit without an instant of the old pattern, and ends with its removal", async () => {
    const life = makeLife()
    const engine = await life.start({ jobs })
    await engine.createSchedule("customer-7", { job: "mail", on: every("10m", { input: { to: 7 } }) })
    await engine.advance("25m")
    expect(startsOf(engine, "mail")).toEqual([0, 10, 20])
    const edited = await engine.editSchedule("customer-7", { job: "mail", on: cron("45 * * * *") })
    expect(edited).toMatchObject({
      id: "customer-7",
      fromConfig: false,
      createdAt: origin,
      nextAt: origin + 45 * minute,
    })
    await engine.advance("2h")
    expect(startsOf(engine, "mail")).toEqual([0, 10, 20, 45, 105])
    await engine.deleteSchedule("customer-7")
    await engine.advance("3h")
    expect(startsOf(engine, "mail")).toEqual([0, 10, 20, 45, 105])
    const texts = (await life.ledger("customer-7")).map(({ trigger }) => JSON.parse(trigger ?? "{}").kind)
    expect(texts).toEqual(["every", "every", "every", "cron", "cron"])
    expect((await engine.runs({ job: "mail" })).map(({ input }) => input).at(-1)).toBe('{"to":7}')
  })

  test("it outlives the engine, a pause too, and no start with the same config takes it away", async () => {
    const life = makeLife()
    const first = await life.start({ jobs })
    await first.createSchedule("own", { job: "mail", on: every("1h", { startAt: origin }) })
    await first.pauseSchedule("own", true, "later")
    await first.advance("90m")
    await first.stop()
    const second = await life.start({ jobs }, origin + 100 * minute)
    expect((await second.schedules()).map(({ id, pausedNote }) => [id, pausedNote])).toEqual([
      ["own", "later"],
      ["tick", null],
    ])
    await second.pauseSchedule("own", false)
    await second.advance("1h")
    expect(startsOf(second, "mail")).toEqual([120])
  })

  test("an id that is taken, one of the config, and what could never start, are refused and change nothing", async () => {
    const life = makeLife()
    const engine = await life.start({ jobs })
    await engine.createSchedule("own", { job: "mail", on: every("1h") })
    const before = await engine.schedules()
    const on = every("5m")
    const refusals = [
      [engine.createSchedule("own", { job: "mail", on }), "DuplicateName"],
      [engine.createSchedule("mail", { job: "mail", on }), "DuplicateName"],
      [engine.createSchedule("tick#2", { job: "mail", on }), "DuplicateName"],
      [engine.createSchedule("", { job: "mail", on }), "InvalidInput"],
      [engine.createSchedule("b", { job: "none", on }), "UnknownJob"],
      [engine.createSchedule("b", { job: "mail", on: cron("0 0 30 2 *") }), "InvalidSchedule"],
      [
        engine.createSchedule("b", { job: "mail", on: cron("0 9 * * *", { tz: "Mars/Base" }) }),
        "InvalidSchedule",
      ],
      [engine.createSchedule("b", { job: "mail", on: every("1h", { only: "nowhere" }) }), "InvalidSchedule"],
      [engine.createSchedule("b", { job: "mail", on: "hourly" as never }), "InvalidInput"],
      [engine.editSchedule("tick", { job: "mail", on }), "InvalidInput"],
      [engine.editSchedule("none", { job: "mail", on }), "NotFound"],
      [engine.deleteSchedule("tick"), "InvalidInput"],
      [engine.deleteSchedule("none"), "NotFound"],
    ] as const
    for (const [call, name] of refusals)
      expect(((await call.catch((error: unknown) => error)) as { readonly _tag?: string })._tag).toBe(name)
    expect(await engine.schedules()).toEqual(before)
  })
})

describe("edits", () => {
  test("SC-S28 an edited fixed rate goes on counting from its beginning, and starts nothing at once", async () => {
    const life = makeLife()
    const make = (period: "10m" | "20m") => job("poll", { on: every(period), run: () => {} })
    const first = await life.start({ jobs: [make("10m")] })
    await first.advance("25m")
    expect(startsOf(first, "poll")).toEqual([0, 10, 20])
    await first.stop()
    const second = await life.start({ jobs: [make("20m")] }, origin + 27 * minute)
    await second.advance("60m")
    expect(startsOf(second, "poll")).toEqual([40, 60, 80])
  })

  test("SC-S27 a new pattern replaces the old one, and the ledger keeps which text named each instant", async () => {
    const life = makeLife()
    const make = (text: "25 * * * *" | "*/15 * * * *") => job("tick", { on: cron(text), run: () => {} })
    const first = await life.start({ jobs: [make("25 * * * *")] })
    await first.advance("30m")
    await first.stop()
    const second = await life.start({ jobs: [make("*/15 * * * *")] }, origin + 31 * minute)
    await second.advance("60m")
    expect(startsOf(second, "tick")).toEqual([45, 60, 75, 90])
    const texts = (await life.ledger("tick")).map(({ trigger }) => JSON.parse(trigger ?? "{}").expression)
    expect(texts).toEqual(["25 * * * *", ...Array.from({ length: 4 }, () => "*/15 * * * *")])
    await second.stop()
    const third = await life.start({ jobs: [job("other", { run: () => {} })] }, origin + 100 * minute)
    await third.advance("2h")
    expect(third.events.filter(({ kind }) => kind === "started")).toEqual([])
    expect(await life.driver.schedules()).toEqual([])
  })

  test("SC-S28 an edit leaves a run in progress alone and starts nothing at once", async () => {
    const life = makeLife()
    const run = (_: void, ctx: RunContext) => ctx.sleep("10s")
    const first = await life.start({ jobs: [job("tick", { on: cron("* * * * *"), run })] })
    await first.advance("1m5s")
    const [before] = await first.runs()
    expect(before).toMatchObject({ state: "running" })
    // As another node's start with a new config does.
    const [row] = await life.driver.schedules()
    const trigger = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" } as const
    const place = { cursor: origin + minute, nextAt: origin + 8 * 60 * minute }
    if (row !== undefined) await life.driver.putSchedules([{ ...row, trigger, ...place }])
    await first.advance("7h")
    expect(startsOf(first, "tick")).toEqual([1])
    expect(await first.run(before?.id ?? "")).toMatchObject({ state: "succeeded" })
    await first.advance("1h")
    expect(startsOf(first, "tick")).toEqual([1, 8 * 60])
  })

  test("an edit drops what waits under the old pattern", async () => {
    const life = makeLife()
    const gauge = makeGauge("5m")
    const make = (period: "1m" | "1h") =>
      job("slow", { on: every(period, { overlap: "queueAll", startAt: origin }), run: gauge.run })
    const first = await life.start({ jobs: [make("1m")] })
    await first.advance("3m30s")
    await first.stop({ grace: "10m" })
    const second = await life.start({ jobs: [make("1h")] }, origin + 30 * minute)
    await second.advance("29m")
    expect(startsOf(second, "slow")).toEqual([])
    await second.advance("2m")
    expect(startsOf(second, "slow")).toEqual([60])
  })

  test("SC-S31 one in the past runs once, however often the engine starts", async () => {
    const life = makeLife()
    const once = job("once", { on: at(new Date(origin - 60 * minute)), run: () => {} })
    let starts = 0
    for (let restart = 0; restart < 4; restart++) {
      const engine = await life.start({ jobs: [once] }, origin + restart * minute)
      await engine.advance("30s")
      starts += startsOf(engine, "once").length
      await engine.stop()
    }
    expect(starts).toBe(1)
  })
})
