// A worker against a scripted server over real sockets, on whichever runtime this is: what becomes of runs when all goes
// well, and when frames, connections, servers and handlers do not.
import { type AddressInfo, createServer } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { flow, job, NonRetryable, onWorkers, RetryAfter, type RunContext } from "../../apps/sdk/mod.ts"
import {
  type JobsOptions,
  type RunningWorker,
  worker,
  type WorkerEvent,
  WorkerRefused,
} from "../../apps/worker/mod.ts"
import {
  ofRun,
  type ScriptedServer,
  scriptedServer,
  type ScriptOptions,
  until,
} from "../common/scriptedServer.ts"

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

// What handlers were given, and gates that they wait at.
const contexts: Array<RunContext> = []
const gates = new Map<string, () => void>()
const gate = (run: string): Promise<void> => new Promise((resolve) => gates.set(run, resolve))
let deafOpen: () => void = () => {}

const echo = job("echo", {
  run: (input: unknown, ctx) => {
    contexts.push(ctx)
    return { input }
  },
})
const needing = job("needing", { needs: { first: echo }, run: (_: void, { needs }) => needs.first })
const failing = job("failing", {
  run: (kind: string): void => {
    if (kind === "error") throw new TypeError("no such thing")
    if (kind === "never") throw new NonRetryable("never")
    if (kind === "later") throw new RetryAfter("2m", "later")
    throw new Error("unknown")
  },
})
const snoozing = job("snoozing", { run: (_: void, ctx) => ctx.snooze("5m") })
const gated = job("gated", { run: (_: void, ctx) => gate(ctx.run.id) })
const obeying = job("obeying", {
  run: async (_: void, ctx) => {
    await ctx.sleep("1h")
  },
})
const deaf = job("deaf", { run: () => new Promise<void>((resolve) => (deafOpen = resolve)) })
const unkept = job("unkept", { run: (big: boolean) => (big ? "x".repeat(2_000) : () => 1) })
const speaking = job("speaking", {
  run: async (lines: number, ctx) => {
    for (let line = 0; line < lines; line++) {
      ctx.log(`line ${line}`)
      ctx.progress((100 * line) / lines, "on the way")
      if (line % 100 === 99) await pause(1)
    }
    ctx.progress(101)
    await pause(300)
  },
})
const rejecting = job("rejecting", {
  run: () => {
    void Promise.reject(new Error("nobody waits for this"))
  },
})
const etl = flow("etl", {}, (f) => {
  const extract = f.step("extract", { run: (_: {}, ctx) => ({ rows: 10, given: ctx.input }) })
  f.step("load", { needs: { extract }, run: ({ extract }) => extract.rows * 2 })
})
const jobs = [echo, needing, failing, snoozing, gated, obeying, deaf, unkept, speaking, rejecting, etl]

const quick = {
  heartbeatMillis: 100,
  suspectMillis: 400,
  lostMillis: 1_600,
  graceMillis: 1_000,
  restartMillis: 1_500,
  resendMillis: 200,
}

let running: Array<RunningWorker> = []
let servers: Array<ScriptedServer> = []
afterEach(async () => {
  for (const open of gates.values()) open()
  deafOpen()
  await Promise.all(running.map((each) => each.stop({ grace: 0 })))
  await Promise.all(servers.map((each) => each.close()))
  running = []
  servers = []
  gates.clear()
  contexts.length = 0
})

const serve = async (options: ScriptOptions = {}): Promise<ScriptedServer> => {
  const server = await scriptedServer({ ...options, terms: { ...quick, ...options.terms } })
  servers.push(server)
  return server
}
const start = async (
  server: Pick<ScriptedServer, "url">,
  options: Partial<JobsOptions> = {},
): Promise<RunningWorker & { readonly events: ReadonlyArray<WorkerEvent> }> => {
  const events: Array<WorkerEvent> = []
  const started = await worker({ url: server.url, jobs, concurrency: 2, name: "w-1", ...options }).start({
    onEvent: (event) => events.push(event),
  })
  running.push(started)
  return { ...started, events }
}
const both = async (
  script: ScriptOptions = {},
  options: Partial<JobsOptions> = {},
): Promise<{ server: ScriptedServer; each: Awaited<ReturnType<typeof start>> }> => {
  const server = await serve(script)
  const each = await start(server, options)
  await until("a session", () => each.state().phase === "connected")
  return { server, each }
}
const kinds = (events: ReadonlyArray<WorkerEvent>): ReadonlyArray<string> => events.map(({ kind }) => kind)
const outcomesOf = (server: ScriptedServer) => server.effects.filter((effect) => effect.kind === "outcome")
const begun = (each: Awaited<ReturnType<typeof start>>, count = 1): Promise<void> =>
  until("the start", () => each.events.filter(({ kind }) => kind === "started").length >= count)
const settled = (each: Awaited<ReturnType<typeof start>>, count = 1): Promise<void> =>
  until("the end", () => each.events.filter(({ kind }) => kind === "acknowledged").length >= count)

describe("a run", () => {
  test("is begun, carried out and told, with all that the handler may know of it", async () => {
    const { server, each } = await both(
      {},
      { token: "secret", labels: { region: "eu", gpu: 2 }, queues: ["mail"], version: "1.4.0", prefetch: 1 },
    )
    const [hello] = server.all("hello")
    expect(hello).toMatchObject({
      worker: "w-1",
      session: null,
      slots: 2,
      prefetch: 1,
      labels: { region: "eu", gpu: 2 },
      queues: ["mail"],
      version: "1.4.0",
      capabilities: ["resume", "flows"],
    })
    expect(hello?.incarnation).toMatch(/^[0-9a-f]{32}$/)
    expect(hello?.jobs).toContain("etl/load")
    server.assign({
      run: "r1",
      job: "echo",
      input: '{"user":7}',
      attempt: 2,
      token: 5,
      attemptMax: 9,
      dueAt: 1_790_000_000_000,
      lateMillis: 120,
      nominalAt: 1_789_999_999_000,
      schedule: "nightly",
      shard: { index: 1, count: 3 },
    })
    await settled(each)
    expect(server.heard.map(({ type }) => type).filter((type) => type !== "heartbeat")).toEqual([
      "hello",
      "ack",
      "result",
    ])
    expect(server.all("ack")[0]?.acks).toEqual([{ run: "r1", attempt: 2, token: 5, result: "started" }])
    expect(server.all("result")[0]?.outcome).toEqual({
      kind: "succeeded",
      output: '{"input":{"user":7}}',
    })
    const [ctx] = contexts
    expect(ctx?.run).toMatchObject({ id: "r1", job: "echo", attempt: 2, attemptMax: 9, token: 5 })
    expect(ctx?.run.dueAt).toEqual(new Date(1_790_000_000_000))
    expect(ctx?.run.nominalAt).toEqual(new Date(1_789_999_999_000))
    expect(ctx?.run.late).toBeGreaterThanOrEqual(120)
    expect(ctx?.run.late).toBeLessThan(2_000)
    expect(ctx?.shard).toEqual({ index: 1, count: 3 })
    expect(kinds(each.events)).toEqual(["connected", "started", "ended", "acknowledged"])
    expect(each.state()).toMatchObject({ running: 0, inHand: [], strays: 0 })
  })

  test("says the token in the header, and nowhere else", async () => {
    let seen: string | undefined
    const { server } = await both(
      {
        deny: (authorization) => {
          seen = authorization
          return null
        },
      },
      { token: "secret" },
    )
    expect(seen).toBe("Bearer secret")
    expect(JSON.stringify(server.heard)).not.toContain("secret")
  })

  test("is given the outputs that it needs", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "needing", needs: [{ job: "echo", output: '{"input":1}' }] })
    await settled(each)
    expect(server.all("result")[0]?.outcome).toEqual({ kind: "succeeded", output: '{"input":1}' })
    expect(contexts).toEqual([])
  })

  test.each([
    [
      "error",
      { error: { name: "TypeError", message: "no such thing" }, retryable: true, retryAfterMillis: null },
    ],
    ["never", { error: { name: "NonRetryable" }, retryable: false }],
    ["later", { error: { message: "later" }, retryable: true, retryAfterMillis: 120_000 }],
  ])("that fails is told as it failed: %s", async (kind, failure) => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "failing", input: JSON.stringify(kind) })
    await settled(each)
    expect(server.all("failure")[0]).toMatchObject({ ...failure, ...ofRun("r1") })
  })

  test("that asks to run later does", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "snoozing" })
    await settled(each)
    expect(server.all("result")[0]?.outcome).toEqual({ kind: "snoozed", delayMillis: 300_000 })
  })

  test("whose output is none, or more than this server keeps, fails for good", async () => {
    const { server, each } = await both({ terms: { payloadBytesMax: 1_000 } })
    server.assign({ run: "r1", job: "unkept", input: "false" })
    server.assign({ run: "r2", job: "unkept", input: "true" })
    await settled(each, 2)
    const failures = server.all("failure")
    expect(failures.map(({ error, retryable }) => [error.kind, retryable])).toEqual([
      ["payload", false],
      ["payload", false],
    ])
    expect(failures.find(({ run }) => run === "r2")?.error.message).toContain("2002 bytes")
  })

  test("of a flow says which steps do the work, and its steps read what they need", async () => {
    const { server, each } = await both()
    server.assign({ run: "f1", job: "etl" })
    await settled(each)
    expect(server.all("result")[0]?.outcome).toMatchObject({
      kind: "expanded",
      expansion: { kind: "flow", definition: { name: "etl" } },
    })
    server.assign({
      run: "f2",
      job: "etl/load",
      step: {
        place: 1,
        parent: "f1",
        input: null,
        needs: [{ id: "extract", state: "succeeded", output: '{"rows":4}' }],
      },
    })
    await settled(each, 2)
    expect(server.all("result")[1]?.outcome).toEqual({ kind: "succeeded", output: "8" })
  })

  test("leaves a rejection unhandled: the worker lives, and says so", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "rejecting" })
    await settled(each)
    await until("trouble", () => kinds(each.events).includes("trouble"))
    server.assign({ run: "r2", job: "echo" })
    await settled(each, 2)
  })
})

describe("a handler that is told to stop", () => {
  test("for its limit of time: reported at once, its signal aborted", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "obeying", timeoutMillis: 100 })
    await settled(each)
    expect(server.all("failure")[0]).toMatchObject({
      error: {
        name: "Timeout",
        kind: "timeout",
        message: "The attempt took longer than its limit of 100 ms",
      },
      retryable: true,
    })
    expect(server.all("failure")).toHaveLength(1)
    expect(each.state()).toMatchObject({ running: 0, strays: 0 })
  })

  test("and does not: it takes its slot as a stray, and what it comes to is dropped", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "deaf", timeoutMillis: 50 })
    await settled(each)
    expect(each.state()).toMatchObject({ running: 1, strays: 1, inHand: [] })
    await until("one slot less", () => server.all("heartbeat").some(({ slots }) => slots === 1))
    deafOpen()
    await until("its slot", () => each.state().strays === 0)
    await pause(50)
    expect(outcomesOf(server)).toHaveLength(1)
  })

  test("for a cancel: it ends, and reports how", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "obeying" })
    await begun(each)
    server.stop("r1", "cancelled")
    await settled(each)
    expect(server.all("failure")[0]).toMatchObject({ error: { kind: "cancelled" } })
    expect(each.events).toContainEqual(
      expect.objectContaining({ kind: "stopping", reason: "cancelled", run: "r1" }),
    )
  })

  test("for a cancel, and does not: the attempt is reported without it", async () => {
    const { server, each } = await both({}, { stopGrace: 100 })
    server.assign({ run: "r1", job: "deaf" })
    await begun(each)
    server.stop("r1", "cancelled")
    await settled(each)
    expect(server.all("failure")[0]).toMatchObject({
      error: { name: "Cancelled", kind: "cancelled" },
      retryable: false,
    })
    expect(each.state()).toMatchObject({ strays: 1 })
  })
})

describe("what is lost", () => {
  test("an acknowledgement: the result is told again, and counts once", async () => {
    const { server, each } = await both({ terms: { graceMillis: 1_500 } })
    server.lose(({ type }) => type === "ack")
    server.assign({ run: "r1", job: "echo" })
    await until("the result", () => server.all("result").length > 0)
    await pause(50)
    server.lose(null)
    server.cut()
    await settled(each)
    expect(outcomesOf(server)).toHaveLength(1)
    expect(each.state().inHand).toEqual([])
  })

  test("a result: told again after the cut, of the same attempt, which was begun once", async () => {
    const { server, each } = await both({ terms: { graceMillis: 1_500 } })
    server.ignore(({ type }) => type === "result")
    server.assign({ run: "r1", job: "echo" })
    await until("the end", () => kinds(each.events).includes("ended"))
    await pause(50)
    server.ignore(null)
    server.cut()
    await settled(each)
    expect(server.all("result")).toHaveLength(1)
    expect(contexts).toHaveLength(1)
    expect(server.state()?.session).toBe("S1")
  })

  test("an assignment that comes twice is begun once", async () => {
    const { server, each } = await both()
    server.ignore(({ type }) => type === "ack")
    server.assign({ run: "r1", job: "gated" })
    await until("the start", () => gates.has("r1"))
    server.ignore(null)
    // It comes again, as no acknowledgement did.
    await until("an acknowledgement", () => server.all("ack").length > 0)
    gates.get("r1")?.()
    await settled(each)
    expect(each.events.filter(({ kind }) => kind === "started")).toHaveLength(1)
  })

  test("the connection: the attempt goes on over it, in the same session", async () => {
    const { server, each } = await both({ terms: { graceMillis: 1_500 } })
    server.assign({ run: "r1", job: "gated" })
    await until("the start", () => gates.has("r1"))
    server.cut()
    await until("the cut", () => kinds(each.events).includes("lost"))
    await until("a new connection", () => server.all("hello").length === 2)
    expect(server.all("hello")[1]).toMatchObject({
      session: "S1",
      connection: 2,
      incarnation: server.all("hello")[0]?.incarnation,
      inHand: [{ ...ofRun("r1"), state: "running" }],
    })
    gates.get("r1")?.()
    await settled(each)
    expect(server.all("result")).toHaveLength(1)
    expect(each.events.filter(({ kind }) => kind === "stopping")).toEqual([])
    expect(each.events).toContainEqual(expect.objectContaining({ kind: "connected", resumed: true }))
  })

  test("the connection for longer than the grace: the handler is told, and its end counts for nobody", async () => {
    const server = await serve()
    const { port } = server
    const each = await start(server)
    await until("a session", () => each.state().phase === "connected")
    server.assign({ run: "r1", job: "obeying" })
    await begun(each)
    server.cut()
    await server.close()
    await until("the signal", () => kinds(each.events).includes("stopping"), 5_000)
    expect(each.events).toContainEqual(
      expect.objectContaining({ kind: "stopping", reason: "leaseLost", run: "r1" }),
    )
    const later = await serve({ port })
    await until("another session", () => each.state().phase === "connected", 15_000)
    expect(later.all("hello")[0]?.inHand).toEqual([{ ...ofRun("r1"), state: "ended" }])
    await until("the verdict", () => each.state().inHand.length === 0)
    expect(each.events).toContainEqual(expect.objectContaining({ kind: "acknowledged", result: "stale" }))
  })

  test("the server, for a restart: handlers go on, and the next server takes their attempts over", async () => {
    const server = await serve({ terms: { graceMillis: 0, restartMillis: 1_600 } })
    const { port } = server
    const each = await start(server)
    await until("a session", () => each.state().phase === "connected")
    server.assign({ run: "r1", job: "gated" })
    await until("the start", () => gates.has("r1"))
    server.end("restart", "the server restarts", true)
    await server.close()
    await until("the cut", () => kinds(each.events).includes("lost"))
    expect(each.events).toContainEqual(expect.objectContaining({ kind: "lost", code: 1012 }))
    const later = await serve({
      port,
      verdicts: ({ inHand }) =>
        inHand.map(({ run, attempt, token }) => ({ run, attempt, token, verdict: "keep" })),
    })
    await until("another session", () => each.state().phase === "connected", 15_000)
    gates.get("r1")?.()
    await settled(each)
    expect(outcomesOf(later)).toMatchObject([{ run: "r1", outcome: { kind: "succeeded" } }])
  })
})

describe("an end", () => {
  test.each([
    [4401, "unknown token", "denied", "Give it a token"],
    [4403, "not this queue", "denied", "Give it a token"],
    [4406, "no version", "protocol", "Upgrade"],
    [4409, "a newer one", "replaced", "another name"],
  ])("by the server, with %i: a typed error says what to do", async (code, reason, why, next) => {
    const server = await serve({ deny: () => [code, reason] })
    const each = await start(server)
    const end = await each.done
    expect(end).toMatchObject({ why, code })
    expect(end.error).toBeInstanceOf(WorkerRefused)
    expect(end.error?.code).toBe(code)
    expect(end.error?.message).toContain(reason)
    expect(end.error?.next).toContain(next)
    expect(each.state().phase).toBe("over")
    expect(kinds(each.events).at(-1)).toBe("over")
    expect(server.all("hello")).toHaveLength(1)
  })

  test("by a drain: what runs ends, what waits goes back, nothing more is taken", async () => {
    const { server, each } = await both({}, { concurrency: 1, prefetch: 1 })
    server.assign({ run: "r1", job: "gated" })
    server.assign({ run: "r2", job: "echo" })
    await until("both", () => each.state().inHand.length === 2)
    const end = each.stop({ grace: "10s" })
    await until("the drain", () => server.all("drain").length === 1)
    expect(server.all("result")).toMatchObject([{ run: "r2", outcome: { kind: "released" } }])
    gates.get("r1")?.()
    expect(await end).toEqual(await each.done)
    expect(await end).toMatchObject({ why: "drained", code: 1000, unacknowledged: 0, error: null })
    expect(server.all("bye")).toHaveLength(1)
    expect(server.all("result").at(-1)).toMatchObject({ run: "r1", outcome: { kind: "succeeded" } })
    expect(contexts).toEqual([])
  })

  test("by a drain whose time is over: handlers are stopped, their runs handed back", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "obeying" })
    server.assign({ run: "r2", job: "deaf" })
    await begun(each, 2)
    expect(await each.stop({ grace: 100 })).toMatchObject({ why: "drained", unacknowledged: 0 })
    expect(server.all("result").map(({ run, outcome }) => [run, outcome.kind])).toEqual([
      ["r1", "released"],
      ["r2", "released"],
    ])
  })

  test("by a second stop, which shortens the first", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "deaf" })
    await begun(each)
    void each.stop({ grace: "1h" })
    expect(await each.stop({ grace: 0 })).toMatchObject({ why: "drained" })
    expect(server.all("result")[0]?.outcome.kind).toBe("released")
  })

  test("of a server that drains: the worker says bye, and comes back", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "gated" })
    await until("the start", () => gates.has("r1"))
    server.drain(5_000)
    await until("the word", () => kinds(each.events).includes("draining"))
    gates.get("r1")?.()
    await until("another session", () => server.all("hello").length === 2)
    expect(server.all("bye")).toHaveLength(1)
    expect(each.state().phase === "over").toBe(false)
  })

  test("without a server: it tries for ever, and a stop ends it at once", async () => {
    const server = await serve()
    await server.close()
    const each = await start(server)
    await until("a try", () => kinds(each.events).includes("unreachable"))
    const from = performance.now()
    expect(await each.stop()).toMatchObject({ why: "drained" })
    expect(performance.now() - from).toBeLessThan(3_000)
  })

  test("with a server that never answers: a stop ends it at once", async () => {
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve))
    const { port } = mute.address() as AddressInfo
    const each = await start({ url: `ws://127.0.0.1:${port}/v1/worker` })
    await pause(100)
    const from = performance.now()
    expect(await each.stop()).toMatchObject({ why: "drained" })
    expect(performance.now() - from).toBeLessThan(3_000)
    mute.close()
  })

  test("without a server, when it is told to give up", async () => {
    const server = await serve()
    await server.close()
    const each = await start(server, { giveUp: 300 })
    const end = await each.done
    expect(end).toMatchObject({ why: "unreachable", code: null })
    expect(end.error?.message).toContain("within 300 ms")
  })
})

describe("what handlers say", () => {
  test("is collected, sent in order, and only the newest progress counts", async () => {
    const { server, each } = await both()
    server.assign({ run: "r1", job: "speaking", input: "5" })
    await settled(each)
    const logs = server.all("log")
    expect(logs.flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual([
      "line 0",
      "line 1",
      "line 2",
      "line 3",
      "line 4",
    ])
    expect(logs).toHaveLength(1)
    expect(server.all("progress")).toMatchObject([{ percent: 100, ...ofRun("r1") }])
    expect(each.events.filter(({ kind }) => kind === "progress")).toHaveLength(6)
  })

  test("stays below what the server allows, however much it is, and what is dropped is counted", async () => {
    const { server, each } = await both({ terms: { messagesPerSecondMax: 20 } })
    server.assign({ run: "r1", job: "speaking", input: "30000" })
    await settled(each)
    expect(server.closes).toEqual([])
    const sent = server.all("log").reduce((sum, { lines }) => sum + lines.length, 0)
    const counted = server.all("log").reduce((sum, { dropped }) => sum + (dropped ?? 0), 0)
    const local = each.events.reduce((sum, event) => sum + (event.kind === "dropped" ? event.lines : 0), 0)
    expect(sent + counted + local).toBe(30_000)
    expect(sent).toBeGreaterThan(0)
    expect(counted + local).toBeGreaterThan(0)
  })
})

describe("wrong options", () => {
  const refused = async (options: object): Promise<unknown> => {
    try {
      const started = await worker({
        url: "ws://127.0.0.1:9/v1/worker",
        jobs: [echo],
        ...options,
      }).start()
      await started.stop({ grace: 0 })
      return "taken"
    } catch (error) {
      return (error as { readonly field?: string }).field
    }
  }
  test.each([
    ["url", { url: "http://127.0.0.1:8080" }],
    ["url", { url: "ws://127.0.0.1:8080/?token=secret" }],
    ["url", { url: "ws://me:secret@127.0.0.1:8080/" }],
    ["token", { token: "two words" }],
    ["token", { token: "line\r\nEvil: yes" }],
    ["concurrency", { concurrency: 0 }],
    ["concurrency", { concurrency: 1_001 }],
    ["prefetch", { prefetch: -1 }],
    ["name", { name: " w" }],
    ["labels", { labels: { "not a word": 1 } }],
    ["queues[0]", { queues: [""] }],
    ["grace", { grace: "soon" }],
    ["giveUp", { giveUp: -1 }],
    ["jobs", { jobs: [] }],
    ["jobs[0]", { jobs: [{}] }],
    ["jobs", { jobs: [job("away", { run: onWorkers() })] }],
    ["handlers", { handlers: "thread" }],
    ["handlers", { handlers: "elsewhere" }],
    ["config", { jobs: undefined, config: "no/such/file.ts" }],
  ])("%s", async (field, options) => {
    expect(String(await refused(options))).toMatch(new RegExp(`^${field.replace(/[[\]]/g, "\\$&")}`))
  })

  test("no refusal shows a secret", async () => {
    for (const options of [{ url: "ws://127.0.0.1/?token=secret" }, { token: "secret word" }])
      await expect(worker({ url: "ws://127.0.0.1:9", jobs: [echo], ...options }).start()).rejects.not.toThrow(
        /secret/,
      )
  })
})
