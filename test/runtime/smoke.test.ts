// The engine as a library, in real time, on whichever runtime runs this file, over both stores: what a handler may
// do wrong harms its own attempt only, and what the SDK promises holds. Short spans, generous bounds.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, test } from "vitest"
import {
  after,
  type Config,
  engine,
  type EngineEvent,
  every,
  job,
  NonRetryable,
  RetryAfter,
  RunFailed,
  type RunningEngine,
  StopSignal,
} from "../../apps/sdk/mod.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-smoke-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const started = new Set<RunningEngine>()
afterEach(async () => {
  await Promise.all([...started].map((each) => each.stop({ grace: 0 })))
  started.clear()
})

let files = 0
const stores = {
  memory: () => "memory:" as const,
  sqlite: () => `sqlite:${join(folder, `${files++}.db`)}` as const,
}

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
const until = async (what: string, look: () => unknown): Promise<void> => {
  const end = performance.now() + 8000
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not within 8 s`)
    await pause(10)
  }
}
const gate = () => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}
const failure = (result: Promise<unknown>): Promise<RunFailed> =>
  result.then(
    () => Promise.reject(new Error("It succeeded")),
    (error: unknown) => (error instanceof RunFailed ? error : Promise.reject(error as Error)),
  )

const quick = { max: 3, backoff: "fixed", delay: "20ms", jitter: "none" } as const
const wait = { timeout: "8s" } as const

describe.each(["memory", "sqlite"] as const)("the engine over %s", (store) => {
  const start = async (jobs: Config["jobs"], more: Partial<Config> = {}) => {
    const events: Array<EngineEvent> = []
    const running = await engine({
      jobs,
      storage: stores[store](),
      poll: "100ms",
      grace: "2s",
      ...more,
    }).start({ onEvent: (event) => events.push(event) })
    started.add(running)
    const troubles = () => events.flatMap((event) => (event.kind === "trouble" ? [event.error] : []))
    return { ...running, events, troubles }
  }

  test("send > the result is what the handler returned of the input", async () => {
    const double = job<{ n: number }, { n: number }>("double", { run: ({ n }) => ({ n: n * 2 }) })
    const { run } = await start([double])
    const sent = await double.send({ n: 21 })
    expect(sent.created).toBe(true)
    expect(await sent.result(wait)).toEqual({ n: 42 })
    expect(await run(sent.id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
  })

  test("send > an id of yours makes one run, however often it is sent", async () => {
    let calls = 0
    const once = job<void, number>("once", { run: () => ++calls })
    await start([once])
    const id = "01900000-0000-7000-8000-000000000001"
    const answers = await Promise.all([once.send(undefined, { id }), once.send(undefined, { id })])
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
    for (const { result } of answers) expect(await result(wait)).toBe(1)
    expect((await once.send(undefined, { id })).created).toBe(false)
    expect(calls).toBe(1)
  })

  test("send > a key makes one run until that has ended", async () => {
    const { open, opened } = gate()
    const keyed = job<void>("keyed", { run: () => opened })
    await start([keyed])
    const first = await keyed.send(undefined, { key: "k" })
    const second = await keyed.send(undefined, { key: "k" })
    expect(second).toMatchObject({ id: first.id, created: false })
    open()
    await first.result(wait)
    expect(await keyed.send(undefined, { key: "k" })).toMatchObject({ created: true })
  })

  test("send > a delayed run never starts early", async () => {
    const late = job<void, number>("late", { run: () => Date.now() })
    const { run } = await start([late])
    const from = Date.now()
    const sent = await late.send(undefined, { delay: "150ms" })
    expect(await sent.result(wait)).toBeGreaterThanOrEqual(from + 150)
    expect((await run(sent.id))?.dueAt).toBeGreaterThanOrEqual(from + 150)
  })

  test("retry > it fails twice and succeeds at the third attempt, with growing tokens", async () => {
    const seen: Array<readonly [number, number]> = []
    const flaky = job<void, string>("flaky", {
      retry: quick,
      run: (_, { run }) => {
        seen.push([run.attempt, run.token])
        if (run.attempt === 2) throw new RetryAfter("30ms")
        if (run.attempt < 3) throw new Error("Not yet")
        return "done"
      },
    })
    await start([flaky])
    expect(await (await flaky.send()).result(wait)).toBe("done")
    expect(seen).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
  })

  test("dead letter > out of attempts and NonRetryable make one each, and a replay runs again", async () => {
    let mended = false
    const broken = job<void>("broken", {
      retry: quick,
      run: () => {
        if (!mended) throw new TypeError("Broken")
      },
    })
    const refused = job<void>("refused", {
      retry: quick,
      run: () => {
        throw new NonRetryable("Never")
      },
    })
    const { deadLetters, replay, run } = await start([broken, refused])
    const [a, b] = [await broken.send(), await refused.send()]
    expect((await failure(a.result(wait))).run).toMatchObject({ state: "dead", attempt: 3 })
    expect((await failure(b.result(wait))).run).toMatchObject({ state: "dead", attempt: 1 })
    const letters = await deadLetters()
    expect(letters.map(({ runId }) => runId).toSorted()).toEqual([a.id, b.id].toSorted())
    expect(letters.find(({ runId }) => runId === a.id)?.error).toMatchObject({
      name: "TypeError",
      message: "Broken",
    })
    mended = true
    const again = await replay(a.id)
    await until("the replay", async () => (await run(again))?.state === "succeeded")
    expect(await replay(a.id)).toBe(again)
  })

  test("timeout > the signal is aborted with its reason, and the attempt fails as a timeout", async () => {
    let reason: unknown
    const slow = job<void>("slow", {
      timeout: "60ms",
      retry: { max: 1 },
      run: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason
            reject(signal.reason as Error)
          })
        }),
    })
    await start([slow])
    const { run } = await failure((await slow.send()).result(wait))
    expect(run).toMatchObject({ state: "dead", error: { name: "Timeout", kind: "timeout" } })
    expect(reason).toBeInstanceOf(StopSignal)
    expect(reason).toMatchObject({ why: "timeout" })
  })

  test("timeout > a handler that never settles and never listens does not keep its slot", async () => {
    const deaf = job<void>("deaf", { timeout: "60ms", retry: { max: 1 }, run: () => new Promise(() => {}) })
    const next = job<void, string>("next", { run: () => "went on" })
    const { load } = await start([deaf, next], { worker: { concurrency: 1 } })
    const sent = await deaf.send()
    expect(await (await next.send()).result(wait)).toBe("went on")
    expect((await failure(sent.result(wait))).run.error?.kind).toBe("timeout")
    await until("no load", () => load().carried === 0)
  })

  test("timeout > a handler that blocks its thread past it counts as timed out", async () => {
    const blocks = job<void, string>("blocks", {
      timeout: "40ms",
      retry: { max: 1 },
      run: () => {
        const end = performance.now() + 120
        while (performance.now() < end);
        return "too late"
      },
    })
    await start([blocks])
    const { run } = await failure((await blocks.send()).result(wait))
    expect(run).toMatchObject({ state: "dead", output: null, error: { kind: "timeout" } })
  })

  test.each([
    ["text", "just text", "just text"],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["an object", { code: 7 }, '{"code":7}'],
    [
      "an object that cannot be read",
      Object.freeze({
        get a() {
          throw new Error("No")
        },
      }),
      "",
    ],
  ])("handler > it may throw %s, which is kept as a NonError", async (_, thrown, text) => {
    const odd = job<void>("odd", {
      retry: { max: 1 },
      run: () => {
        throw thrown
      },
    })
    await start([odd])
    const { run } = await failure((await odd.send()).result(wait))
    expect(run).toMatchObject({ state: "dead", error: { name: "NonError" } })
    expect(run.error?.message).toContain(text)
  })

  test.each([
    ["a function", () => () => 1],
    ["a bigint", () => 1n],
    [
      "a circle",
      () => {
        const a: { self?: unknown } = {}
        a.self = a
        return a
      },
    ],
    ["NaN", () => ({ n: Number.NaN })],
    ["more than 256 KiB", () => "x".repeat(300_000)],
    [
      "a throwing toJSON",
      () => ({
        toJSON: () => {
          throw new Error("No")
        },
      }),
    ],
  ])("handler > returning %s makes the run dead at once: to do it again would not help", async (_, make) => {
    let calls = 0
    const odd = job<void, unknown>("odd", {
      retry: quick,
      run: () => {
        calls++
        return make()
      },
    })
    await start([odd])
    const { run } = await failure((await odd.send()).result(wait))
    expect(run).toMatchObject({ state: "dead", attempt: 1, error: { kind: "payload" } })
    expect(calls).toBe(1)
  })

  test("handler > unhandled rejections and exceptions of user code are trouble, and the engine works on", async () => {
    const careless = job<void>("careless", {
      run: () => {
        void Promise.reject(new Error("Rejected in the background"))
      },
    })
    const worse = job<void>("worse", {
      run: () => {
        setTimeout(() => {
          throw new Error("Thrown in a callback")
        }, 0)
      },
    })
    // The runner counts such errors as failures of its own, so for a moment only the engine hears them.
    const names = ["unhandledRejection", "uncaughtException"] as const
    const others = names.map((name) => [name, process.listeners(name as "exit")] as const)
    for (const name of names) process.removeAllListeners(name)
    try {
      const { troubles } = await start([careless, worse])
      await (await careless.send()).result(wait)
      await (await worse.send()).result(wait)
      await until("two troubles", () => troubles().length >= 2)
      expect(troubles().toSorted()).toEqual([
        "Error: Rejected in the background",
        "Error: Thrown in a callback",
      ])
      await (await careless.send()).result(wait)
      await until("the third", () => troubles().length >= 3)
    } finally {
      for (const [name, listeners] of others)
        for (const listener of listeners) process.on(name as "exit", listener as () => void)
    }
  })

  test("cancel > a running run is told, ends as cancelled, and its late outcome is not applied", async () => {
    const { open, opened } = gate()
    let why: unknown
    const long = job<void, string>("long", {
      run: async (_, { signal }) => {
        signal.addEventListener("abort", () => {
          why = (signal.reason as StopSignal).why
          open()
        })
        await opened
        return "finished all the same"
      },
    })
    const { cancel, events, load } = await start([long])
    const sent = await long.send()
    await until("it runs", () => load().carried === 1)
    await cancel(sent.id, "No longer wanted")
    const { run } = await failure(sent.result(wait))
    expect(run).toMatchObject({ state: "cancelled", reason: "No longer wanted", output: null })
    await until("stale", () => events.some(({ kind }) => kind === "stale"))
    expect(why).toBe("cancelled")
    await cancel(sent.id)
    await expect(cancel("01900000-0000-7000-8000-00000000dead")).rejects.toMatchObject({ _tag: "NotFound" })
  })

  test("cancel > a run that waits never starts", async () => {
    let calls = 0
    const later = job<void>("later", { run: () => void calls++ })
    const { cancel } = await start([later])
    const sent = await later.send(undefined, { delay: "100ms" })
    await cancel(sent.id)
    await pause(250)
    expect((await failure(sent.result(wait))).run).toMatchObject({ state: "cancelled", attempt: 0 })
    expect(calls).toBe(0)
  })

  test("snooze > the run waits and starts again, and no attempt is used", async () => {
    const seen: Array<readonly [number, number]> = []
    const lazy = job<void, string>("lazy", {
      retry: { max: 1 },
      run: (_, { run, snooze }) => {
        seen.push([run.attempt, run.token])
        return run.token < 3 ? snooze("100ms") : "awake"
      },
    })
    await start([lazy])
    expect(await (await lazy.send()).result(wait)).toBe("awake")
    expect(seen).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ])
  })

  test("needs > a chain starts in order and hands outputs on; a dead need skips what waits for it", async () => {
    let fails = false
    const order: Array<string> = []
    const read = job<void, number>("read", {
      run: () => {
        order.push("read")
        if (fails) throw new NonRetryable("Unreadable")
        return 20
      },
    })
    const add = job("add", {
      needs: { read },
      run: (_, { needs }) => {
        order.push("add")
        return needs.read + 1
      },
    })
    const tell = job("tell", {
      needs: { read, sum: add },
      run: (what: string, { needs }) => {
        order.push("tell")
        return `${what}: ${needs.read}, ${needs.sum}`
      },
    })
    const { runs } = await start([read, add, tell])
    expect(await (await tell.send("numbers")).result(wait)).toBe("numbers: 20, 21")
    expect(order).toEqual(["read", "add", "tell"])
    fails = true
    const { run } = await failure((await tell.send("nothing")).result(wait))
    expect(run.state).toBe("skipped")
    expect(run.reason).toContain('"read"')
    const states = (await runs()).map(({ job, state }) => `${job} ${state}`).toSorted()
    expect(states.filter((text) => !text.endsWith("succeeded"))).toEqual([
      "add skipped",
      "read dead",
      "tell skipped",
    ])
  })

  test("startWithin > a run that finds no slot in time expires and never starts", async () => {
    const { open, opened } = gate()
    const holds = job<void>("holds", { run: () => opened })
    let calls = 0
    const hurried = job<void>("hurried", { run: () => void calls++ })
    const { load } = await start([holds, hurried], { worker: { concurrency: 1 } })
    const first = await holds.send()
    await until("it runs", () => load().carried === 1)
    const sent = await hurried.send(undefined, { startWithin: "50ms" })
    await pause(80)
    open()
    await first.result(wait)
    expect((await failure(sent.result(wait))).run).toMatchObject({ state: "expired", attempt: 0 })
    expect(calls).toBe(0)
  })

  test("concurrency > never more at once than there are slots, and all get their turn", async () => {
    let [now, most] = [0, 0]
    const busy = job<number, number>("busy", {
      run: async (n) => {
        most = Math.max(most, ++now)
        await pause(5)
        now--
        return n
      },
    })
    const { load } = await start([busy], { worker: { concurrency: 4 } })
    let carriedMost = 0
    const watch = setInterval(() => (carriedMost = Math.max(carriedMost, load().carried)), 1)
    const sent = await Promise.all(Array.from({ length: 60 }, (_, n) => busy.send(n)))
    const results = await Promise.all(sent.map(({ result }) => result(wait)))
    clearInterval(watch)
    expect(results).toEqual(Array.from({ length: 60 }, (_, n) => n))
    expect(most).toBe(4)
    expect(carriedMost).toBeLessThanOrEqual(4)
  })

  test("priority > with one slot, higher starts first", async () => {
    const { open, opened } = gate()
    const order: Array<number> = []
    const holds = job<void>("holds", { run: () => opened })
    const ranked = job<number>("ranked", { run: (n) => void order.push(n) })
    const { load } = await start([holds, ranked], { worker: { concurrency: 1 } })
    await holds.send()
    await until("it runs", () => load().carried === 1)
    const sent = []
    for (const n of [1, 3, 2]) sent.push(await ranked.send(n, { priority: n }))
    open()
    for (const { result } of sent) await result(wait)
    expect(order).toEqual([3, 2, 1])
  })

  test("schedules > a fixed rate keeps its grid, a fixed delay counts from the end", async () => {
    const instants: Array<number> = []
    const spans: Array<readonly [number, number]> = []
    const rate = job<void>("rate", {
      on: every("50ms"),
      run: (_, { run }) => void instants.push(run.nominalAt?.getTime() ?? 0),
    })
    const delay = job<void>("delay", {
      on: after("60ms"),
      run: async () => {
        const from = Date.now()
        await pause(30)
        spans.push([from, Date.now()])
      },
    })
    await start([rate, delay])
    await until("some of each", () => instants.length >= 5 && spans.length >= 3)
    const [first = 0] = instants
    expect(instants.filter((at) => (at - first) % 50 !== 0)).toEqual([])
    expect(new Set(instants).size).toBe(instants.length)
    for (const [place, [from]] of spans.entries())
      if (place > 0) expect(from - (spans[place - 1]?.[1] ?? 0)).toBeGreaterThanOrEqual(59)
  })

  test("stop > waits for what finishes in time, hands back the rest unfinished, and refuses new work", async () => {
    const { open, opened } = gate()
    let why: unknown
    const finishes = job<void>("finishes", { run: () => opened })
    const stubborn = job<void>("stubborn", {
      retry: { max: 1 },
      run: (_, { signal }) => {
        signal.addEventListener("abort", () => (why = (signal.reason as StopSignal).why))
        return new Promise(() => {})
      },
    })
    const storage = stores[store]()
    const running = await start([finishes, stubborn], { storage })
    const [a, b] = [await finishes.send(), await stubborn.send()]
    await until("both run", () => running.load().carried === 2)
    const stopped = running.stop({ grace: "300ms" })
    await expect(running.send(finishes, undefined)).rejects.toMatchObject({ _tag: "EngineStopped" })
    open()
    await stopped
    await running.stop()
    expect(why).toBe("drain")
    const ended = running.events.flatMap((event) =>
      event.kind === "ended" ? [`${event.run.job} ${event.state}`] : [],
    )
    expect(ended).toEqual(["finishes succeeded", "stubborn ready"])
    if (store === "memory") return
    // What was handed back goes on with the next engine, as if the attempt had not been.
    const again = job<void, number>("stubborn", { retry: { max: 1 }, run: (_, { run }) => run.attempt })
    const next = await start([again, finishes], { storage })
    await until("it goes on", async () => (await next.run(b.id))?.state === "succeeded")
    expect(await next.run(b.id)).toMatchObject({ attempt: 1, output: "1" })
    expect(await next.run(a.id)).toMatchObject({ state: "succeeded", attempt: 1 })
  })
})
