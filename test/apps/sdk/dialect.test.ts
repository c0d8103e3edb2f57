// Schedules in another dialect than the house's own: they run in the real engine with the instants that the library
// gives from which they come, and what the engine cannot read it names.
import { Cron as Croner } from "croner"
import * as Layer from "effect/Layer"
import { describe, expect, test } from "vitest"
import { cron, InvalidSchedule, job } from "uhrwerk"
import { testEngine } from "uhrwerk/testing"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { checkConfig } from "../../../apps/sdk/config.ts"
import { contextDriver } from "../../../core/ports/Store.ts"

const startAt = Date.UTC(2026, 2, 20)
const until = Date.UTC(2026, 3, 10)

/** What an engine starts for this text in 21 days, in which the clocks of Berlin go forward. */
const startsOf = async (text: "0,30 2 */2 * 1", dialect?: "croner"): Promise<Array<string>> => {
  const starts: Array<string> = []
  const tick = job("tick", {
    on: cron(text, { tz: "Europe/Berlin", ...(dialect === undefined ? {} : { dialect }) }),
    run: (_: void, ctx) => void starts.push(ctx.run.nominalAt?.toISOString() ?? "none"),
  })
  const engine = await testEngine({ jobs: [tick] }, { startAt })
  await engine.advance(until - startAt)
  await engine.stop()
  return starts
}

describe("croner's dialect", () => {
  test("starts what croner starts, where the house's own rules start something else", async () => {
    const text = "0,30 2 */2 * 1"
    const croner = new Croner(text, { timezone: "Europe/Berlin", paused: true })
    const expected = croner
      .nextRuns(100, new Date(startAt))
      .map((date) => date.toISOString())
      .filter((instant) => instant < new Date(until).toISOString())
    const starts = await startsOf(text, "croner")
    expect(starts).toEqual(expected)
    // Every odd day and every Monday there, odd Mondays here; the day of the change is an odd one.
    expect(starts.length).toBeGreaterThan(20)
    expect(await startsOf(text)).toEqual(["2026-03-23T01:00:00.000Z", "2026-03-23T01:30:00.000Z"])
  })

  test("catches up, skips and counts as any other schedule does", async () => {
    let now = (): number => startAt
    const store = memoryDriver({ now: () => now() })
    const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(store)) }
    const on = cron("0 * * * *", { dialect: "croner", catchUp: "all", catchUpMax: 3 })
    const tick = job("tick", { on, run: () => {} })
    const first = await testEngine({ jobs: [tick], storage }, { startAt })
    await first.stop()
    const back = startAt + 2000 * 3_600_000
    now = () => back
    const second = await testEngine({ jobs: [tick], storage }, { startAt: back })
    now = () => second.now().getTime()
    expect(await second.skipNext("tick")).toEqual(new Date(back + 3_600_000))
    await second.advance("3h")
    await second.stop()
    const rows = await store.occurrences({ scheduleId: "tick", limit: 200 })
    expect(rows.slice(0, 6).map(({ at, reason }) => [(at - back) / 3_600_000, reason])).toEqual([
      [3, null],
      [2, null],
      [1, "skipped"],
      [0, null],
      [-1, null],
      [-2, null],
    ])
    // Counting stops at a thousand, so that a long absence does not hold the engine up.
    const oldest = await store.occurrences({
      scheduleId: "tick",
      before: back - 300 * 3_600_000,
      limit: 200,
    })
    expect(oldest[oldest.length - 1]).toMatchObject({
      at: startAt + 3_600_000,
      count: 1000,
      reason: "missed",
    })
  })

  test("another dialect is another trigger: what the old one meant never starts", async () => {
    const store = memoryDriver({ now: () => startAt })
    const row = {
      id: "a",
      job: "a",
      input: null,
      overlap: "skip",
      fromConfig: true,
      cursor: startAt,
      createdAt: startAt,
    } as const
    const trigger = { kind: "cron", expression: "0 0 */2 * 1", zone: "UTC" } as const
    await store.putSchedules([{ ...row, trigger, nextAt: startAt + 1, zoneData: null }])
    await store.putSchedules([
      { ...row, trigger: { ...trigger, dialect: "croner" }, nextAt: startAt + 2, zoneData: null },
    ])
    expect((await store.schedules()).map(({ nextAt, version }) => [nextAt, version])).toEqual([
      [startAt + 2, 2],
    ])
  })
})

describe("a dialect is checked before anything starts", () => {
  const refusal = async (options: Record<string, unknown>, text = "0 9 * * *"): Promise<unknown> => {
    const tick = job("tick", { on: cron(text, options), run: () => {} })
    return checkConfig({ jobs: [tick], storage: "memory:" }).then(
      () => undefined,
      (error: unknown) => error,
    )
  }

  test("an unknown one is refused by name", async () => {
    const error = await refusal({ dialect: "quartz" })
    expect(error).toBeInstanceOf(InvalidSchedule)
    expect(error).toMatchObject({
      field: 'job "tick".on.dialect',
      reason: expect.stringContaining('"quartz"'),
    })
  })

  test("so is a text that croner does not read, and what its dialect has no rule for", async () => {
    expect(await refusal({ dialect: "croner" }, "61 * * * *")).toMatchObject({ field: 'job "tick".on.cron' })
    expect(await refusal({ dialect: "croner", tz: "Mars/Phobos" })).toMatchObject({
      field: 'job "tick".on.zone',
    })
    for (const rule of [{ gap: "skip" }, { ambiguous: "both" }])
      expect(await refusal({ dialect: "croner", ...rule })).toMatchObject({
        field: `job "tick".on.${Object.keys(rule)[0]}`,
      })
  })

  test("who names none loads none", async () => {
    const tick = job("tick", { on: cron("0 9 * * *"), run: () => {} })
    expect((await checkConfig({ jobs: [tick], storage: "memory:" })).dialects.size).toBe(0)
  })

  test("a stored schedule in a dialect that this engine does not know is trouble that names it, and no other waits for it", async () => {
    const store = memoryDriver({ now: () => engine?.now().getTime() ?? startAt })
    let engine: Awaited<ReturnType<typeof testEngine>> | undefined
    const row = {
      job: "tick",
      input: null,
      overlap: "skip",
      fromConfig: false,
      cursor: startAt,
      zoneData: null,
      createdAt: 0,
    } as const
    const trigger = { kind: "cron", expression: "* * * * *", zone: "UTC" } as const
    await store.putSchedules([
      { ...row, id: "strange", trigger: { ...trigger, dialect: "quartz" }, nextAt: startAt + 60_000 },
      { ...row, id: "usual", trigger, nextAt: startAt + 60_000 },
    ])
    const storage = { name: "memory", layer: Layer.succeedContext(contextDriver(store)) }
    engine = await testEngine({ jobs: [job("tick", { run: () => {} })], storage }, { startAt })
    await engine.advance("90s")
    await engine.stop()
    const troubles = engine.events.flatMap((event) => (event.kind === "trouble" ? [event] : []))
    expect(troubles[0]).toMatchObject({
      doing: 'plan schedule "strange"',
      error: expect.stringContaining('"quartz"'),
    })
    expect(await store.occurrences({ limit: 10 })).toMatchObject([{ scheduleId: "usual", reason: null }])
  })
})
