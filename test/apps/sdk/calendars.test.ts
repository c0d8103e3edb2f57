// Calendars as people write them, from a config to the runs and the ledger, in virtual time; and what becomes of
// stored schedules when a calendar is another one at the next start.
import * as Layer from "effect/Layer"
import { describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { calendar, cron, every, after, at, job, type CalendarSpec } from "../../../apps/sdk/mod.ts"
import { checkConfig, type Config } from "../../../apps/sdk/config.ts"
import { testEngine, type TestEngine } from "../../../apps/sdk/testing.ts"
import type { TriggerSpec } from "../../../apps/sdk/triggers.ts"
import { contextDriver } from "../../../core/ports/Store.ts"

const noop = () => {}
const workdays = calendar("workdays", {
  zone: "Europe/Berlin",
  weekdays: ["mon", "tue", "wed", "thu", "fri"],
})
const freeze = calendar("freeze", { spans: [{ from: "2026-12-23T00:00Z", to: "2026-12-28T08:00Z" }] })
const config = (on: TriggerSpec, more: Partial<Config> = {}): Config => ({
  jobs: [job("report", { on, run: noop })],
  ...more,
})
const startsOf = ({ events }: TestEngine): ReadonlyArray<string> =>
  events.flatMap((event) => (event.kind === "started" ? [new Date(event.at).toISOString().slice(0, 16)] : []))
const refusalOf = async (made: Config): Promise<string> =>
  checkConfig(made).then(
    () => expect.unreachable("it is accepted"),
    (error: Error) => error.message,
  )

describe("a schedule with calendars", () => {
  test("starts on working days only, and tells of each other day when it passes", async () => {
    const engine = await testEngine(config(cron("0 9 * * *", { tz: "Europe/Berlin", only: workdays })), {
      startAt: "2026-12-18T00:00:00Z",
    })
    await engine.advance("4d")
    expect(startsOf(engine)).toEqual(["2026-12-18T08:00", "2026-12-21T08:00"])
    const left = engine.events.filter((event) => event.kind === "occurrence")
    expect(left).toMatchObject([{ reason: "calendar" }, { reason: "calendar" }])
    await engine.stop()
  })

  test("held in a freeze, starts once when it ends; the run knows its nominal instant", async () => {
    const engine = await testEngine(config(cron("0 6 * * *", { except: freeze, closed: "hold" })), {
      startAt: "2026-12-22T12:00:00Z",
    })
    await engine.advance("6d")
    expect(startsOf(engine)).toEqual(["2026-12-28T08:00"])
    const [run] = await engine.runs()
    expect(run?.nominalAt).toBe(Date.parse("2026-12-28T06:00:00Z"))
    expect(run?.dueAt).toBe(Date.parse("2026-12-28T08:00:00Z"))
    await engine.stop()
  })

  test("rolls to the next business day, spreads by jitter, and leaves out the next one by hand", async () => {
    const on = cron("0 9 1 * *", { tz: "Europe/Berlin", only: workdays, closed: "next", jitter: "10m" })
    const engine = await testEngine(config(on), { startAt: "2026-07-15T00:00:00Z" })
    await engine.advance("50d")
    // 1 August 2026 is a Saturday, 1 September a Tuesday.
    const starts = engine.events.flatMap((event) => (event.kind === "started" ? [event.at] : []))
    const [first, second] = [Date.parse("2026-08-03T07:00:00Z"), Date.parse("2026-09-01T07:00:00Z")]
    const offset = (starts[0] ?? 0) - first
    expect(offset).toBeGreaterThanOrEqual(0)
    expect(offset).toBeLessThan(600_000)
    expect(starts).toEqual([first + offset, second + offset])
    expect((await engine.skipNext("report"))?.getTime()).toBe(Date.parse("2026-10-01T07:00:00Z") + offset)
    await engine.stop()
  })

  test("skipNext leaves out the next start, and not an instant that is closed anyway", async () => {
    const engine = await testEngine(config(cron("0 9 * * *", { only: workdays })), {
      startAt: "2026-12-18T10:00:00Z",
    })
    expect((await engine.skipNext("report"))?.toISOString()).toBe("2026-12-21T09:00:00.000Z")
    await engine.advance("5d")
    expect(startsOf(engine)).toEqual(["2026-12-22T09:00", "2026-12-23T09:00"])
    await engine.stop()
  })

  test("every, after and at keep to them too", async () => {
    const night = calendar("night", {
      weekdays: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
      from: "22:00",
      to: "06:00",
    })
    const runs = async (on: TriggerSpec): Promise<ReadonlyArray<string>> => {
      const engine = await testEngine(config(on), { startAt: "2026-12-18T20:00:00Z" })
      await engine.advance("4h")
      const starts = startsOf(engine)
      await engine.stop()
      return starts
    }
    expect(await runs(every("1h", { only: night }))).toEqual([
      "2026-12-18T22:00",
      "2026-12-18T23:00",
      "2026-12-19T00:00",
    ])
    expect(await runs(after("100m", { only: night, closed: "hold" }))).toEqual([
      "2026-12-18T22:00",
      "2026-12-18T23:40",
    ])
    expect(await runs(at("2026-12-18T21:00:00Z", { only: night, closed: "hold" }))).toEqual([
      "2026-12-18T22:00",
    ])
    expect(await runs(at("2026-12-18T21:00:00Z", { except: night }))).toEqual(["2026-12-18T21:00"])
  })
})

describe("a calendar that is another one at the next start", () => {
  /** Engines one after the other over one store, whose clock is that of the engine at work. */
  const oneStore = () => {
    const clock = { now: () => 0 }
    const driver = memoryDriver({ now: () => clock.now() })
    const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(driver)) }
    return async (made: Config, startAt: string): Promise<TestEngine> => {
      clock.now = () => Date.parse(startAt)
      const engine = await testEngine({ ...made, storage }, { startAt })
      clock.now = () => engine.now().getTime()
      return engine
    }
  }
  const frozen = (to: string): CalendarSpec =>
    calendar("freeze", { spans: [{ from: "2026-12-23T00:00Z", to }] })
  const on = (freezing: CalendarSpec) => cron("0 6 * * *", { except: freezing, closed: "hold" })

  test("moves the next start of what is held, and never decides again what was decided", async () => {
    const start = oneStore()
    const first = await start(config(on(frozen("2026-12-28T08:00Z"))), "2026-12-22T05:00:00Z")
    await first.advance("2d")
    expect(startsOf(first)).toEqual(["2026-12-22T06:00"])
    await first.stop()
    const second = await start(config(on(frozen("2026-12-25T20:00Z"))), "2026-12-24T06:00:00Z")
    expect(second.events).toContainEqual({
      kind: "calendar",
      name: "freeze",
      change: "changed",
      schedules: 1,
    })
    await second.advance("2d")
    expect(startsOf(second)).toEqual(["2026-12-25T20:00", "2026-12-26T06:00"])
    await second.stop()
    // Lifted from its beginning on: what was held and not decided is late, and what has run does not run again.
    const lifted = { calendars: [frozen("2026-12-23T01:00Z")] }
    const third = await start(
      config(cron("0 6 * * *", { except: "freeze", closed: "hold" }), lifted),
      "2026-12-26T12:00:00Z",
    )
    await third.advance("1d")
    expect(startsOf(third)).toEqual(["2026-12-27T06:00"])
    await third.stop()
  })

  test("is removed when the config has it no longer, and what names it then is refused", async () => {
    const start = oneStore()
    const first = await start(config(on(freeze)), "2026-12-22T05:00:00Z")
    await first.stop()
    await expect(
      start(config(cron("0 6 * * *", { except: "freeze" })), "2026-12-22T06:00:00Z"),
    ).rejects.toThrow('schedule "report".except: there is no calendar "freeze"')
    const second = await start(config(cron("0 6 * * *")), "2026-12-22T07:00:00Z")
    expect(second.events).toContainEqual({
      kind: "calendar",
      name: "freeze",
      change: "removed",
      schedules: 0,
    })
    await second.stop()
  })
})

describe("what is refused when the config is loaded", () => {
  test.each([
    [cron("0 9 * * *", { closed: "hold" }), "no calendar closes anything"],
    [
      cron("0 9 * * *", { only: workdays, closed: "later" as never }),
      'one of "skip", "hold", "next", "previous"',
    ],
    [cron("* * * * *", { only: workdays, closed: "next" }), "more than 24 a day"],
    [every("10m", { only: workdays, closed: "previous" }), "more than 24 a day"],
    [at("2026-12-18T21:00:00Z", { only: workdays, closed: "next" }), 'one of "skip", "hold"'],
    [after("1h", { jitter: "5m" }), "nothing to spread"],
    [every("1h", { jitter: "1h" }), "less than the period"],
    [cron("0 9 * * *", { jitter: "25h" }), "24h"],
    [cron("0 9 * * *", { only: {} as never }), "a calendar made by"],
    [cron("0 9 * * *", { only: calendar("c", { minus: ["unknown"] }) }), 'no calendar "unknown"'],
    [cron("0 9 * * *", { only: calendar("c", { days: ["2026-02-30"] }) }), 'calendar "c".days[0]'],
    [cron("0 9 * * *", { only: calendar(" c", { days: ["2026-02-01"] }) }), "blanks at its ends"],
  ])("%#", async (spec, message) => {
    expect(await refusalOf(config(spec))).toContain(message)
  })

  test("two calendars of one name, and what is no calendar", async () => {
    const other = calendar("workdays", { weekdays: ["mon"] })
    expect(await refusalOf(config(cron("0 9 * * *", { only: workdays }), { calendars: [other] }))).toContain(
      "two calendars that differ",
    )
    expect(await refusalOf(config(cron("0 9 * * *"), { calendars: ["x"] as never }))).toContain(
      "calendars[0]",
    )
    expect(() => calendar("c", {})).toThrow("no dates and no times")
    expect(() => calendar("c", { from: "09:00" })).toThrow("none")
    expect(() => calendar("c", { day: ["2026-01-01"] } as never)).toThrow("no such part")
  })
})
