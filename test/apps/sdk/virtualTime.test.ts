// The real engine on a clock that moves only when told: schedules, delays, retries and drains over days.
import { afterEach, describe, expect, test } from "vitest"
import { after, at, type Config, cron, every, job, NonRetryable, RetryAfter } from "uhrwerk"
import { type TestEngine, testEngine } from "uhrwerk/testing"

const started: Array<TestEngine> = []
const start = async (config: Config): Promise<TestEngine> => {
  const engine = await testEngine(config)
  started.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop({ grace: 0 })
})

const startsOf = (engine: TestEngine, name: string): Array<string> =>
  engine.events.flatMap((event) =>
    event.kind === "started" && event.run.job === name ? [new Date(event.at).toISOString()] : [],
  )

describe("schedules", () => {
  test("a cron job runs at each of its minutes of a day, and at no other", async () => {
    const nightly = job("nightly", { on: cron("30 2,14 * * *"), run: () => {} })
    const engine = await start({ jobs: [nightly] })
    await engine.advance("2d")
    expect(startsOf(engine, "nightly")).toEqual([
      "2026-01-01T02:30:00.000Z",
      "2026-01-01T14:30:00.000Z",
      "2026-01-02T02:30:00.000Z",
      "2026-01-02T14:30:00.000Z",
    ])
  })

  test("a cron job keeps to the clocks of its zone, and to its rules where they change", async () => {
    const tz = "Europe/Berlin"
    const usual = job("usual", { on: cron("30 2 * * *", { tz }), run: () => {} })
    const early = job("early", { on: cron("30 2 * * *", { tz, gap: "before" }), run: () => {} })
    const strict = job("strict", { on: cron("30 2 * * *", { tz, gap: "skip" }), run: () => {} })
    const engine = await start({ jobs: [usual, early, strict] })
    await engine.advance("88d")
    const lastOf = (name: string): Array<string> => startsOf(engine, name).slice(-2)
    expect(lastOf("usual")).toEqual(["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z"])
    expect(lastOf("early")).toEqual(["2026-03-28T01:30:00.000Z", "2026-03-29T00:59:00.000Z"])
    expect(lastOf("strict")).toEqual(["2026-03-27T01:30:00.000Z", "2026-03-28T01:30:00.000Z"])
  })

  test("a zone that is not known is refused before anything starts", async () => {
    const lost = job("lost", { on: cron("0 9 * * *", { tz: "Europe/Berln" }), run: () => {} })
    await expect(start({ jobs: [lost] })).rejects.toThrow(
      'the zone "Europe/Berln" is not known. Write "Europe/Berlin"',
    )
  })

  test("a fixed rate keeps its slots, however long a run takes", async () => {
    const sample = job("sample", {
      on: every("10s", { overlap: "allow" }),
      run: (_: void, ctx) => ctx.sleep("8s"),
    })
    const engine = await start({ jobs: [sample] })
    await engine.advance("1h")
    const starts = startsOf(engine, "sample").map((text) => Date.parse(text))
    expect(starts).toHaveLength(361)
    expect(starts.every((instant, slot) => instant === (starts[0] as number) + slot * 10_000)).toBe(true)
  })

  test("while the previous run is alive an occurrence is skipped, and the ledger says so", async () => {
    const slow = job("slow", { on: every("10s"), run: (_: void, ctx) => ctx.sleep("25s") })
    const engine = await start({ jobs: [slow] })
    await engine.advance("59s")
    expect(startsOf(engine, "slow")).toEqual(["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:30.000Z"])
    const skipped = engine.events.filter((event) => event.kind === "occurrence")
    expect(skipped.map(({ at: instant, reason }) => [new Date(instant).toISOString(), reason])).toEqual([
      ["2026-01-01T00:00:10.000Z", "overlap"],
      ["2026-01-01T00:00:20.000Z", "overlap"],
      ["2026-01-01T00:00:40.000Z", "overlap"],
      ["2026-01-01T00:00:50.000Z", "overlap"],
    ])
  })

  test("a fixed delay counts from the end of the previous run, also of one that died", async () => {
    let runs = 0
    const poll = job("poll", {
      on: after("1m"),
      retry: { max: 1 },
      run: async (_: void, ctx) => {
        await ctx.sleep("20s")
        if (++runs === 2) throw new Error("second one fails")
      },
    })
    const engine = await start({ jobs: [poll] })
    await engine.advance("5m")
    expect(startsOf(engine, "poll")).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:01:20.000Z",
      "2026-01-01T00:02:40.000Z",
      "2026-01-01T00:04:00.000Z",
    ])
  })

  test("an instant fires once, and one that has passed fires at once", async () => {
    const later = job("later", { on: at("2026-01-03T09:00:00Z"), run: () => {} })
    const past = job("past", { on: at("1969-07-20T20:17:00Z"), run: () => {} })
    const engine = await start({ jobs: [later, past] })
    await engine.advance("10d")
    expect(startsOf(engine, "later")).toEqual(["2026-01-03T09:00:00.000Z"])
    expect(startsOf(engine, "past")).toEqual(["2026-01-01T00:00:00.000Z"])
  })

  test("a paused schedule starts nothing, and resumed it goes on without catching up", async () => {
    const beat = job("beat", { on: every("1m"), run: () => {} })
    const engine = await start({ jobs: [beat] })
    await engine.advance("2m")
    await engine.pauseSchedule("beat")
    await engine.advance("1h")
    expect(startsOf(engine, "beat")).toHaveLength(3)
    await engine.pauseSchedule("beat", false)
    await engine.advance("90s")
    expect(startsOf(engine, "beat").slice(3)).toEqual(["2026-01-01T01:03:00.000Z"])
  })

  test("a week of a minute schedule is 10,081 runs and no more", async () => {
    let runs = 0
    const minute = job("minute", { on: every("1m"), run: () => void runs++ })
    const engine = await start({ jobs: [minute] })
    await engine.advance("7d")
    expect(runs).toBe(7 * 24 * 60 + 1)
  })
})

describe("runs", () => {
  test("a delayed run starts at its instant, never before", async () => {
    const remind = job("remind", { run: (text: string) => text.length })
    const engine = await start({ jobs: [remind] })
    const sent = await remind.send("tea", { delay: "3d" })
    await engine.advance("2d23h59m")
    expect((await engine.run(sent.id))?.state).toBe("scheduled")
    await engine.advance("1m")
    expect(await sent.result()).toBe(3)
    expect(startsOf(engine, "remind")).toEqual(["2026-01-04T00:00:00.000Z"])
  })

  test("a failing run backs off by its policy, then succeeds", async () => {
    let tries = 0
    const flaky = job("flaky", {
      retry: { max: 5, delay: "1m", factor: 3, jitter: "none" },
      run: () => {
        if (++tries < 4) throw new Error(`try ${tries}`)
        return tries
      },
    })
    const engine = await start({ jobs: [flaky] })
    const sent = await flaky.send()
    await engine.advance("1h")
    expect(await sent.result()).toBe(4)
    expect(startsOf(engine, "flaky")).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:01:00.000Z",
      "2026-01-01T00:04:00.000Z",
      "2026-01-01T00:13:00.000Z",
    ])
  })

  test("a handler chooses the delay, or that there is no further attempt", async () => {
    const limited = job("limited", {
      retry: { max: 2 },
      run: (_: void, ctx) => {
        if (ctx.run.attempt === 1) throw new RetryAfter("7m")
      },
    })
    const hopeless = job("hopeless", {
      retry: { max: 9 },
      run: () => {
        throw new NonRetryable("no such account")
      },
    })
    const engine = await start({ jobs: [limited, hopeless] })
    await limited.send()
    const dead = await hopeless.send()
    await engine.advance("1h")
    expect(startsOf(engine, "limited")).toEqual(["2026-01-01T00:00:00.000Z", "2026-01-01T00:07:00.000Z"])
    await expect(dead.result()).rejects.toThrow("no such account")
    expect(await engine.deadLetters()).toMatchObject([{ job: "hopeless", attempt: 1 }])
  })

  test("an attempt that takes too long is aborted, recorded, and followed by another", async () => {
    const reasons: Array<unknown> = []
    const slow = job("slow", {
      timeout: "10s",
      retry: { max: 2, delay: "1m", jitter: "none" },
      run: async (_: void, ctx) => {
        try {
          await ctx.sleep(ctx.run.attempt === 1 ? "1h" : "9s")
        } catch (error) {
          reasons.push(error)
          throw error
        }
      },
    })
    const engine = await start({ jobs: [slow] })
    const sent = await slow.send()
    await engine.advance("2m")
    expect(reasons).toMatchObject([{ why: "timeout" }])
    expect(await engine.run(sent.id)).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(startsOf(engine, "slow")).toEqual(["2026-01-01T00:00:00.000Z", "2026-01-01T00:01:10.000Z"])
  })

  test("a snoozed run comes back and no attempt is used", async () => {
    let asked = 0
    const wait = job("wait", {
      retry: { max: 1 },
      run: (_: void, ctx) => {
        if (++asked < 4) ctx.snooze("15m")
        return ctx.run.attempt
      },
    })
    const engine = await start({ jobs: [wait] })
    const sent = await wait.send()
    await engine.advance("1h")
    expect(await sent.result()).toBe(1)
    expect(startsOf(engine, "wait")).toHaveLength(4)
  })

  test("a run that was not started within its span expires", async () => {
    const busy = job("busy", { run: (_: void, ctx) => ctx.sleep("1h") })
    const brief = job("brief", { run: () => {} })
    const engine = await start({ jobs: [busy, brief], worker: { concurrency: 1 } })
    await busy.send()
    await engine.advance(0)
    const sent = await brief.send(undefined, { startWithin: "10m" })
    await engine.advance("2h")
    expect(await engine.run(sent.id)).toMatchObject({ state: "expired" })
    expect(startsOf(engine, "brief")).toEqual([])
  })

  test("a chain runs its needs first, hands on their outputs, and is skipped when one dies", async () => {
    let broken = false
    const extract = job("extract", { run: () => ({ rows: 10 }) })
    const check = job("check", {
      retry: { max: 1 },
      run: () => {
        if (broken) throw new Error("disk gone")
        return true
      },
    })
    const load = job("load", {
      needs: { extract, check },
      run: (_: void, { needs }) => needs.extract.rows * 2,
    })
    const engine = await start({ jobs: [load, extract, check] })
    const good = await load.send()
    await engine.advance("1m")
    expect(await good.result()).toBe(20)
    broken = true
    const bad = await load.send()
    await engine.advance("1m")
    expect(await engine.run(bad.id)).toMatchObject({
      state: "skipped",
      reason: expect.stringContaining('"check"'),
    })
  })

  test("a cancelled run tells its handler, and its late result is not applied", async () => {
    const long = job("long", { run: (_: void, ctx) => ctx.sleep("1h") })
    const engine = await start({ jobs: [long] })
    const sent = await long.send()
    await engine.advance("1m")
    await engine.cancel(sent.id, "Not needed")
    await engine.advance("1m")
    expect(await engine.run(sent.id)).toMatchObject({ state: "cancelled", reason: "Not needed" })
    expect(engine.events.some((event) => event.kind === "stale")).toBe(true)
    expect(engine.load().carried).toBe(0)
  })

  test("a cancelled handler that never listens loses its slot after five seconds", async () => {
    const deaf = job("deaf", { run: () => new Promise<void>(() => {}) })
    const next = job("next", { run: () => "ran" })
    const engine = await start({ jobs: [deaf, next], worker: { concurrency: 1 } })
    const first = await deaf.send()
    await engine.advance(0, { realMax: 20 })
    const second = await next.send()
    await engine.cancel(first.id)
    await engine.advance("4s", { realMax: 20 })
    expect((await engine.run(second.id))?.state).toBe("ready")
    await engine.advance("2s", { realMax: 20 })
    expect(await second.result()).toBe("ran")
    expect((await engine.run(first.id))?.state).toBe("cancelled")
  })

  test("a dead run is replayed once, as a new run", async () => {
    let fixed = false
    const repair = job("repair", {
      retry: { max: 1 },
      run: () => {
        if (!fixed) throw new Error("not yet")
        return "done"
      },
    })
    const engine = await start({ jobs: [repair] })
    const sent = await repair.send()
    await engine.advance("1s")
    fixed = true
    const again = await engine.replay(sent.id)
    expect(await engine.replay(sent.id)).toBe(again)
    await engine.advance("1s")
    expect(await engine.run(again)).toMatchObject({ state: "succeeded", replayOf: sent.id, output: '"done"' })
    expect(await engine.deadLetters()).toEqual([])
  })

  test("no more runs at once than there are slots", async () => {
    let now = 0
    let most = 0
    const work = job("work", {
      run: async (_: void, ctx) => {
        most = Math.max(most, ++now)
        await ctx.sleep("1s")
        now--
      },
    })
    const engine = await start({ jobs: [work], worker: { concurrency: 7 } })
    for (let each = 0; each < 50; each++) await work.send()
    await engine.advance("10s")
    expect(most).toBe(7)
    expect(await engine.counts()).toEqual([{ job: "work", state: "succeeded", count: 50 }])
  })
})

describe("stopping", () => {
  test("a drain lets running handlers finish, and starts nothing new", async () => {
    const work = job("work", { run: (_: void, ctx) => ctx.sleep("5s") })
    const engine = await start({ jobs: [work], worker: { concurrency: 1 } })
    const first = await work.send()
    const second = await work.send()
    await engine.advance("1s")
    const stopping = engine.stop({ grace: "30s" })
    await engine.advance("10s")
    await stopping
    const ends = engine.events.flatMap((event) =>
      event.kind === "ended" ? [[event.run.id, event.state]] : [],
    )
    expect(ends).toEqual([[first.id, "succeeded"]])
    expect(startsOf(engine, "work")).toHaveLength(1)
    expect(second.created).toBe(true)
  })

  test("what does not finish within the grace period is told to stop and handed back, its attempt unused", async () => {
    let aborted: unknown
    const stuck = job("stuck", {
      run: async (_: void, ctx) => {
        ctx.signal.addEventListener("abort", () => (aborted = ctx.signal.reason))
        await ctx.sleep("1h")
      },
    })
    const engine = await start({ jobs: [stuck] })
    const sent = await stuck.send()
    await engine.advance("1s")
    const stopping = engine.stop({ grace: "10s" })
    await engine.advance("20s")
    await stopping
    expect(aborted).toMatchObject({ why: "drain" })
    expect(engine.events.at(-1)).toMatchObject({ kind: "ended", state: "ready", run: { id: sent.id } })
  })

  test("a stopping engine refuses new runs and says why", async () => {
    const work = job("work", { run: () => {} })
    const engine = await start({ jobs: [work] })
    const stopping = engine.stop()
    await expect(engine.send(work, undefined)).rejects.toMatchObject({ _tag: "EngineStopped" })
    await stopping
    await expect(engine.send(work, undefined)).rejects.toMatchObject({ _tag: "EngineStopped" })
    await expect(work.send()).rejects.toThrow("no engine with it is started")
  })
})
