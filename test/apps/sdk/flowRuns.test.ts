// What happens to flow runs as a whole, on the real engine in virtual time: attempts, limits, stops in the middle,
// schedules, and what people do to one by hand.
import * as Layer from "effect/Layer"
import { afterEach, describe, expect, test } from "vitest"
import { after, type Config, every, flow, type Flow, job, NonRetryable } from "uhrwerk"
import { contextDriver, type StoreDriver } from "uhrwerk/effect"
import { type TestEngine, testEngine } from "uhrwerk/testing"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"

const startAt = Date.UTC(2026, 0, 1)
const started: Array<TestEngine> = []
const start = async (config: Config, at = startAt): Promise<TestEngine> => {
  const engine = await testEngine(config, { startAt: at })
  started.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop({ grace: 0 })
})

/** A store that outlives its engines, on the clock of the last one. */
const sharedStore = () => {
  const clock = { engine: undefined as TestEngine | undefined }
  const driver = memoryDriver({ now: () => clock.engine?.now().getTime() ?? startAt })
  const storage = { name: "shared", layer: Layer.succeedContext(contextDriver(driver)) }
  return async (jobs: Config["jobs"], rest: Partial<Config> = {}): Promise<TestEngine> => {
    const at = clock.engine?.now().getTime() ?? startAt
    clock.engine = await start({ jobs, storage, ...rest }, at)
    return clock.engine
  }
}

const statesOf = async (engine: TestEngine, runId: string): Promise<Record<string, string>> =>
  Object.fromEntries(((await engine.flow(runId))?.steps ?? []).map(({ id, state }) => [id, state]))
const endsOf = (engine: TestEngine, name: string) =>
  engine.events.flatMap((event) =>
    event.kind === "ended" && event.run.job === name
      ? [{ state: event.state, seconds: ((event.run.endedAt ?? engine.now().getTime()) - startAt) / 1000 }]
      : [],
  )
const startsOf = (engine: TestEngine, name: string): Array<number> =>
  engine.events.flatMap((event) =>
    event.kind === "started" && event.run.job === name ? [(event.at - startAt) / 1000] : [],
  )
const once = { max: 1 }
/** A flow of one step that takes so many seconds. */
const lasting = (name: string, seconds: number, options: Parameters<typeof flow>[1] = {}) =>
  flow(name, options as object, (f) =>
    f.step("work", {
      run: async (_, ctx) => {
        await ctx.sleep(seconds * 1000)
        return seconds
      },
    }),
  )

describe("events", () => {
  test("a flow run starts, expands and ends once, with its output and how long it took", async () => {
    const slow = lasting("slow", 5)
    const engine = await start({ jobs: [slow] })
    const sent = await slow.send()
    const result = sent.result()
    await engine.advance("5s")
    expect(await result).toBe(5)
    const told = engine.events.filter((event) => "run" in event && event.run.id === sent.id)
    expect(told.map(({ kind }) => kind)).toEqual(["started", "expanded", "ended"])
    expect(told[1]).toMatchObject({ steps: 1 })
    expect(told[2]).toMatchObject({
      state: "succeeded",
      output: "5",
      durationMillis: 5000,
      error: null,
      dueAt: null,
    })
  })

  test("flows within flows and lists end with an event of their own, the inner one first", async () => {
    const inner = flow("inner", {}, (f) => void f.map("list", { over: () => [1, 2], run: (n) => n }))
    const outer = flow("outer", {}, (f) => void f.flow("sub", inner))
    const engine = await start({ jobs: [outer, inner] })
    await (await outer.send()).result()
    const names = new Set(["outer", "outer/sub", "inner/list"])
    const ends = engine.events.flatMap((event) =>
      event.kind === "ended" && names.has(event.run.job) ? [event.run.job] : [],
    )
    expect(ends).toEqual(["inner/list", "outer/sub", "outer"])
  })

  test("a flow without steps, and one whose steps are all skipped, end at once", async () => {
    const empty = flow("empty", {}, () => {})
    const skipped = flow("skipped", {}, (f) => f.step("a", { when: () => false, run: () => 1 }))
    const engine = await start({ jobs: [empty, skipped] })
    expect(await (await empty.send()).result()).toBeUndefined()
    expect(await (await skipped.send()).result()).toBeUndefined()
    expect(endsOf(engine, "empty")).toEqual([{ state: "succeeded", seconds: 0 }])
    expect(endsOf(engine, "skipped")).toEqual([{ state: "succeeded", seconds: 0 }])
  })
})

describe("attempts at the whole", () => {
  const rounds = () => {
    const ran: Array<string> = []
    const twice = flow("twice", { retry: { max: 2, delay: "1m", jitter: "none" } }, (f) => {
      const good = f.step("good", { run: () => void ran.push("good") })
      const bad = f.step("bad", {
        needs: { good },
        retry: once,
        run: (_, ctx) => {
          ran.push("bad")
          if (ran.filter((step) => step === "bad").length === 1) throw new Error("not yet")
          return ctx.run.attempt
        },
      })
      return f.step("last", { needs: { bad }, run: () => ran.push("last") })
    })
    return { ran, twice }
  }

  test("a further attempt runs what failed and what is behind it again, at its due time", async () => {
    const { ran, twice } = rounds()
    const engine = await start({ jobs: [twice] })
    const sent = await twice.send()
    await engine.advance("59s")
    expect(ran).toEqual(["good", "bad"])
    expect(await engine.run(sent.id)).toMatchObject({
      state: "retrying",
      attempt: 1,
      dueAt: startAt + 60_000,
    })
    await engine.advance("1s")
    expect(ran).toEqual(["good", "bad", "bad", "last"])
    expect(endsOf(engine, "twice")).toEqual([
      { state: "retrying", seconds: expect.any(Number) },
      { state: "succeeded", seconds: 60 },
    ])
    expect(await engine.flow(sent.id)).toMatchObject({ round: 2, run: { attempt: 2 } })
    expect(await engine.deadLetters()).toEqual([])
  })

  test("within its time: a flow that takes longer is dead at its limit, and its steps are told", async () => {
    const heard: Array<string> = []
    const limited = flow("limited", { timeout: "1m" }, (f) => {
      f.step("slow", {
        run: async (_, ctx) => {
          ctx.signal.addEventListener("abort", () => heard.push((ctx.signal.reason as { why: string }).why))
          await ctx.sleep("1h")
        },
      })
    })
    // The only slot is taken: nobody claims, and the limit holds all the same.
    const engine = await start({ jobs: [limited], worker: { concurrency: 1 } })
    const sent = await limited.send()
    await engine.advance("59s")
    expect(heard).toEqual([])
    await engine.advance("1s")
    expect(heard).toEqual(["cancelled"])
    expect(await engine.run(sent.id)).toMatchObject({ state: "dead", error: { kind: "timeout" } })
    expect(endsOf(engine, "limited")).toEqual([{ state: "dead", seconds: 60 }])
    expect(engine.load().carried).toBe(0)
  })

  test("each attempt has the whole time", async () => {
    const limited = lasting("limited", 90, { timeout: "1m", retry: { max: 2, delay: "1s", jitter: "none" } })
    const engine = await start({ jobs: [limited] })
    await limited.send()
    await engine.advance("10m")
    expect(endsOf(engine, "limited").map(({ state }) => state)).toEqual(["retrying", "dead"])
    expect(endsOf(engine, "limited")[1]).toMatchObject({ seconds: 121 })
  })
})

describe("stops in the middle", () => {
  const chain = (ran: Array<string>): Flow<void, string> =>
    flow("chain", {}, (f) => {
      const step = (name: string) => async (_: unknown, ctx: { sleep: (span: number) => Promise<void> }) => {
        ran.push(name)
        await ctx.sleep(10_000)
        return name
      }
      const a = f.step("a", { run: step("a") })
      const b = f.step("b", { needs: { a }, run: step("b") })
      const c = f.step("c", { needs: { b }, run: step("c") })
      return f.step("d", { needs: { a, b, c }, run: (needs) => `${needs.a}${needs.b}${needs.c}` })
    })

  test("a drain lets a running step end, and the next engine goes on behind it", async () => {
    const ran: Array<string> = []
    const open = sharedStore()
    const flowOnce = chain(ran)
    const first = await open([flowOnce])
    const sent = await flowOnce.send()
    await first.advance("15s")
    expect(ran).toEqual(["a", "b"])
    await first.stop({ grace: "30s" })
    expect(await flowOnce.send().catch((error: Error) => error.name)).toBe("EngineStopped")
    const again = chain(ran)
    const second = await open([again])
    await second.advance("1m")
    expect(await second.run(sent.id)).toMatchObject({ state: "succeeded", output: '"abc"', attempt: 1 })
    expect(ran).toEqual(["a", "b", "c"])
    // The end of a flow run that another engine began is told here, where its last step ran.
    expect(endsOf(second, "chain").map(({ state }) => state)).toEqual(["succeeded"])
  })

  test("a stop without grace hands a running step back, and it begins anew without an attempt more", async () => {
    const ran: Array<string> = []
    const open = sharedStore()
    const flowOnce = chain(ran)
    const first = await open([flowOnce])
    const sent = await flowOnce.send()
    await first.advance("15s")
    await first.stop({ grace: 0 })
    const second = await open([chain(ran)])
    await second.advance("1m")
    expect(await second.run(sent.id)).toMatchObject({ state: "succeeded", output: '"abc"' })
    expect(ran).toEqual(["a", "b", "b", "c"])
    const [b] = await second.runs({ job: "chain/b" })
    expect(b).toMatchObject({ attempt: 1, state: "succeeded" })
  })

  test("an engine that dies between the claim of a flow run and its steps costs no attempt", async () => {
    const clock = { engine: undefined as TestEngine | undefined }
    const driver = memoryDriver({ now: () => clock.engine?.now().getTime() ?? startAt })
    const storageOf = (over: StoreDriver) => ({
      name: "shared",
      layer: Layer.succeedContext(contextDriver(over)),
    })
    const settled: Array<string> = []
    // Dies with the write that would have begun the steps.
    const dying: StoreDriver = {
      ...driver,
      settle: (settlements) => {
        settled.push(...settlements.map(({ kind }) => kind))
        return new Promise(() => {})
      },
    }
    const before = lasting("frail", 5)
    clock.engine = await start({ jobs: [before], storage: storageOf(dying) })
    const sent = await before.send()
    await clock.engine.advance("0s", { realMax: "20ms" })
    expect(settled).toEqual(["expanded"])
    expect(await clock.engine.run(sent.id)).toMatchObject({ state: "running", startAcknowledged: false })
    clock.engine = await start({ jobs: [lasting("frail", 5)], storage: storageOf(driver) })
    // A lease lasts a day in virtual time.
    await clock.engine.advance("2d")
    expect(await clock.engine.run(sent.id)).toMatchObject({
      state: "succeeded",
      attempt: 1,
      attemptMax: 1,
      losses: 1,
    })
  })

  test("a flow run stays on the version that it began with", async () => {
    const ran: Array<string> = []
    const open = sharedStore()
    const two = (last: string) =>
      flow("two", {}, (f) => {
        const wait = f.step("wait", { run: (_, ctx) => ctx.sleep("10s") })
        f.step(last, { needs: { wait }, run: () => void ran.push(last) })
        f.step("kept", { needs: { wait }, run: () => void ran.push("kept") })
      })
    const before = two("old")
    const first = await open([before])
    const sent = await before.send()
    await first.advance("1s")
    await first.stop({ grace: "30s" })
    const now = two("new")
    const second = await open([now])
    const another = await now.send()
    await second.advance("1m")
    // Nobody has code for the old step: it waits, and all others go on.
    expect(await statesOf(second, sent.id)).toEqual({ wait: "succeeded", old: "released", kept: "succeeded" })
    expect(await statesOf(second, another.id)).toEqual({
      wait: "succeeded",
      new: "succeeded",
      kept: "succeeded",
    })
    const versions = [sent, another].map(async ({ id }) => (await second.flow(id))?.version)
    const [old, newer] = await Promise.all(versions)
    expect(old).toMatch(/^[0-9a-f]{24}$/)
    expect(newer).not.toBe(old)
    await second.markStep(sent.id, "old", { as: "skipped", reason: "its code is gone" })
    expect(await second.run(sent.id)).toMatchObject({ state: "succeeded" })
  })

  test("a limit of an earlier life is kept by the next engine", async () => {
    const open = sharedStore()
    const before = lasting("limited", 3600, { timeout: "1h" })
    const first = await open([before])
    const sent = await before.send()
    await first.advance("10m")
    await first.stop({ grace: 0 })
    const second = await open([lasting("limited", 36_000, { timeout: "1h" })])
    await second.advance("49m")
    expect(await second.run(sent.id)).toMatchObject({ state: "blocked" })
    // Its polls are an hour apart in virtual time.
    await second.advance("1h")
    expect(await second.run(sent.id)).toMatchObject({ state: "dead", error: { kind: "timeout" } })
    expect(endsOf(second, "limited").map(({ state }) => state)).toEqual(["dead"])
  })
})

describe("schedules", () => {
  test("a flow run is a run of its schedule: what comes while it lives is an overlap", async () => {
    const slow = lasting("slow", 90, { on: every("1m") })
    const engine = await start({ jobs: [slow] })
    await engine.advance("5m")
    expect(startsOf(engine, "slow")).toEqual([0, 120, 240])
    const skipped = engine.events.flatMap((event) =>
      event.kind === "occurrence" ? [[event.reason, (event.at - startAt) / 1000]] : [],
    )
    expect(skipped).toEqual([
      ["overlap", 60],
      ["overlap", 180],
      ["overlap", 300],
    ])
  })

  test("queueOne starts the next one in the moment in which the last step has ended", async () => {
    const slow = lasting("slow", 90, { on: every("1m", { overlap: "queueOne" }) })
    const engine = await start({ jobs: [slow] })
    await engine.advance("5m")
    expect(startsOf(engine, "slow")).toEqual([0, 90, 180, 270])
  })

  test("a fixed delay counts from the end of the flow", async () => {
    const slow = lasting("slow", 10, { on: after("30s") })
    const engine = await start({ jobs: [slow] })
    await engine.advance("2m")
    expect(startsOf(engine, "slow")).toEqual([0, 40, 80, 120])
  })

  test("cancelRunning calls the steps of the last one off", async () => {
    const told: Array<string> = []
    const slow = flow("slow", { on: every("1m", { overlap: "cancelRunning" }) }, (f) => {
      f.step("work", {
        run: async (_, ctx) => {
          ctx.signal.addEventListener("abort", () => told.push((ctx.signal.reason as { why: string }).why))
          await ctx.sleep("90s")
        },
      })
    })
    const engine = await start({ jobs: [slow] })
    await engine.advance("2m")
    expect(startsOf(engine, "slow")).toEqual([0, 60, 120])
    expect(told).toEqual(["cancelled", "cancelled"])
  })

  test("the steps know the schedule's instant, and the input that it gives", async () => {
    const seen: Array<unknown> = []
    const given = flow("given", { on: every("1h", { input: "daily" }) }, (f) => {
      f.step("a", { run: (_, ctx) => void seen.push([ctx.input, ctx.run.nominalAt?.toISOString()]) })
    })
    const engine = await start({ jobs: [given] })
    await engine.advance("1s")
    expect(seen).toEqual([["daily", "2026-01-01T00:00:00.000Z"]])
  })
})

describe("holdOnFailure", () => {
  /** Fails at its first instant only. */
  const holding = (overlap?: "skip") => {
    const state = { broken: true }
    const held = flow(
      "held",
      { on: every("1m", overlap === undefined ? {} : { overlap }), holdOnFailure: true },
      (f) =>
        f.step("a", {
          retry: once,
          run: () => {
            if (state.broken) throw new NonRetryable("broken")
          },
        }),
    )
    return { state, held }
  }
  const deadRun = async (engine: TestEngine): Promise<string> =>
    (await engine.deadLetters())[0]?.runId as string

  test("the next occurrence waits until somebody re-runs what failed, and then starts at once", async () => {
    const { state, held } = holding()
    const engine = await start({ jobs: [held] })
    await engine.advance("5m")
    expect(startsOf(engine, "held")).toEqual([0])
    state.broken = false
    await engine.rerun(await deadRun(engine))
    await engine.advance("0s")
    expect(startsOf(engine, "held")).toEqual([0, 300])
    await engine.advance("1m")
    expect(startsOf(engine, "held")).toEqual([0, 300, 360])
  })

  test("a replay decides too", async () => {
    const { state, held } = holding()
    const engine = await start({ jobs: [held] })
    await engine.advance("150s")
    state.broken = false
    await engine.replay(await deadRun(engine))
    await engine.advance("0s")
    expect(startsOf(engine, "held")).toEqual([0, 150, 150])
  })

  test("with overlap skip what comes meanwhile is left out, and says so", async () => {
    const { state, held } = holding("skip")
    const engine = await start({ jobs: [held] })
    await engine.advance("150s")
    state.broken = false
    await engine.rerun(await deadRun(engine))
    await engine.advance("30s")
    expect(startsOf(engine, "held")).toEqual([0, 180])
    const reasons = engine.events.flatMap((event) =>
      event.kind === "occurrence" ? [[event.reason, (event.at - startAt) / 1000]] : [],
    )
    expect(reasons).toEqual([
      ["overlap", 60],
      ["overlap", 120],
    ])
  })

  test("a run by hand goes beside it, and a cancelled run holds nothing", async () => {
    const { state, held } = holding()
    const engine = await start({ jobs: [held] })
    await engine.advance("90s")
    state.broken = false
    await engine.runNow("held")
    await engine.advance("30s")
    expect(startsOf(engine, "held")).toEqual([0, 90, 90, 120])
    const slow = lasting("slow", 90, { on: every("1m"), holdOnFailure: true })
    const other = await start({ jobs: [slow] })
    await other.advance("1s")
    const [run] = await other.runs({ job: "slow" })
    await other.cancel(run?.id as string)
    await other.advance("1m")
    expect(startsOf(other, "slow")).toEqual([0, 60])
  })

  test("an overlap that waits for nothing is refused", async () => {
    const wrong = lasting("wrong", 1, { on: every("1m", { overlap: "allow" }), holdOnFailure: true })
    await expect(start({ jobs: [wrong] })).rejects.toThrow('flow "wrong".on.overlap')
  })
})

describe("by hand", () => {
  const mendable = () => {
    const state = { broken: true, ran: [] as Array<string> }
    const mend = flow("mend", {}, (f) => {
      const a = f.step("a", { run: () => state.ran.push("a") })
      const b = f.step("b", {
        needs: { a },
        retry: once,
        run: () => {
          state.ran.push("b")
          if (state.broken) throw new NonRetryable("broken")
          return "mended"
        },
      })
      f.step("other", { run: () => void state.ran.push("other") })
      f.step("no", { when: () => !state.broken, run: () => void state.ran.push("no") })
      return f.step("c", { needs: { b }, run: (needs) => `${needs.b}!` })
    })
    return { state, mend }
  }
  const ended = async (engine: TestEngine, id: string) => {
    await engine.advance("1s")
    return engine.run(id)
  }

  test("a re-run from what failed keeps the rest, and is a run of its own", async () => {
    const { state, mend } = mendable()
    const engine = await start({ jobs: [mend] })
    const sent = await mend.send()
    await expect(sent.result()).rejects.toThrow('"b", "c"')
    expect(state.ran).toEqual(["a", "other", "b"])
    state.broken = false
    const id = await engine.rerun(sent.id)
    expect(await ended(engine, id)).toMatchObject({
      state: "succeeded",
      output: '"mended!"',
      replayOf: sent.id,
    })
    expect(state.ran).toEqual(["a", "other", "b", "b"])
    expect(await engine.deadLetters()).toEqual([])
    expect(endsOf(engine, "mend").map(({ state: end }) => end)).toEqual(["dead", "succeeded"])
    // Doing it once more answers the run that did it.
    expect(await engine.rerun(sent.id)).toBe(id)
  })

  test("from a step by its id, and from what was skipped", async () => {
    const { state, mend } = mendable()
    state.broken = false
    const engine = await start({ jobs: [mend] })
    const sent = await mend.send()
    await sent.result()
    state.ran.length = 0
    await ended(engine, await engine.rerun(sent.id, ["b", "other"]))
    expect(state.ran.sort()).toEqual(["b", "other"])
    state.broken = true
    const failed = await mend.send()
    await failed.result().catch(() => {})
    state.broken = false
    state.ran.length = 0
    expect(await ended(engine, await engine.rerun(failed.id, "skipped"))).toMatchObject({ state: "dead" })
    expect(state.ran).toEqual(["no"])
  })

  test("what cannot be re-run says why, and what to do", async () => {
    const { state, mend } = mendable()
    state.broken = false
    const slow = lasting("slow", 60)
    const plain = job("plain", { run: () => 1 })
    const engine = await start({ jobs: [mend, slow, plain] })
    const running = await slow.send()
    const done = await mend.send()
    const other = await plain.send()
    await engine.advance("1s")
    await expect(engine.rerun(running.id)).rejects.toThrow("it has not ended")
    await expect(engine.rerun(done.id)).rejects.toThrow("none of its steps would start anew")
    await expect(engine.rerun(done.id, ["x"])).rejects.toThrow(/no step "x".*"a", "b"/)
    await expect(engine.rerun(other.id)).rejects.toThrow("there is no flow run")
    await expect(engine.rerun(done.id, [])).rejects.toThrow('from: an object is not "failed"')
    await expect(engine.rerun(done.id, "all" as never)).rejects.toThrow("from")
    expect(await engine.flow(other.id)).toBeUndefined()
  })

  test("a step that is marked ends as somebody said, its run is called off, and what needs it goes on", async () => {
    const told: Array<string> = []
    const stuck = flow("stuck", {}, (f) => {
      const wait = f.step("wait", {
        run: async (_, ctx): Promise<number> => {
          ctx.signal.addEventListener("abort", () => told.push((ctx.signal.reason as { why: string }).why))
          await ctx.sleep("1d")
          return 1
        },
      })
      return f.step("next", { needs: { wait }, run: (needs) => needs.wait + 1 })
    })
    const engine = await start({ jobs: [stuck] })
    const sent = await stuck.send()
    await engine.advance("1s")
    await engine.markStep(sent.id, "wait", { as: "succeeded", reason: "I looked", output: 41 })
    expect(await sent.result()).toBe(42)
    expect(told).toEqual(["cancelled"])
    expect((await engine.flow(sent.id))?.steps[0]).toMatchObject({ state: "succeeded", reason: "I looked" })
    await expect(engine.markStep(sent.id, "wait", { as: "skipped", reason: "again" })).rejects.toThrow(
      "has ended",
    )
    await expect(engine.markStep(sent.id, "x", { as: "skipped", reason: "r" })).rejects.toThrow('no step "x"')
    await expect(engine.markStep(sent.id, "wait", { as: "skipped", reason: "" })).rejects.toThrow("reason")
    await expect(engine.markStep(sent.id, "wait", { as: "failed" as never, reason: "r" })).rejects.toThrow(
      "as",
    )
    await expect(
      engine.markStep(sent.id, "wait", { as: "skipped", reason: "r", output: 1 } as never),
    ).rejects.toThrow("output")
  })

  test("a cancel ends the flow run, its waiting steps and the running one, which is told at once", async () => {
    const told: Array<string> = []
    const long = flow("long", {}, (f) => {
      const a = f.step("a", {
        run: async (_, ctx) => {
          ctx.signal.addEventListener("abort", () => told.push((ctx.signal.reason as { why: string }).why))
          await ctx.sleep("1d")
        },
      })
      f.step("b", { needs: { a }, run: () => {} })
    })
    const engine = await start({ jobs: [long] })
    const sent = await long.send()
    const result = sent.result().catch((error: Error) => error.message)
    await engine.advance("1s")
    await engine.cancel(sent.id, "not today")
    expect(await result).toContain("not today")
    expect(told).toEqual(["cancelled"])
    expect(endsOf(engine, "long").map(({ state }) => state)).toEqual(["cancelled"])
    expect(await statesOf(engine, sent.id)).toEqual({ a: "failed", b: "upstream_failed" })
    expect(await engine.deadLetters()).toEqual([])
  })

  test("a cancel is told where nothing of the flow run is under way, too", async () => {
    const waits = flow("waits", {}, (f) => {
      f.step("a", {
        retry: { max: 2, delay: "1h", jitter: "none" },
        run: () => {
          throw new Error("not yet")
        },
      })
    })
    const engine = await start({ jobs: [waits] })
    const sent = await waits.send()
    await engine.advance("1s")
    const result = sent.result().catch((error: Error) => error.message)
    await engine.cancel(sent.id, "not today")
    expect(await result).toContain("not today")
  })

  test("a replay of a dead flow run does all of it again", async () => {
    const { state, mend } = mendable()
    const engine = await start({ jobs: [mend] })
    const sent = await mend.send()
    await sent.result().catch(() => {})
    state.broken = false
    state.ran.length = 0
    expect(await ended(engine, await engine.replay(sent.id))).toMatchObject({ state: "succeeded" })
    expect(state.ran.sort()).toEqual(["a", "b", "no", "other"])
  })
})
