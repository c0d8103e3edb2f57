// A whole server over real sockets, on whichever runtime runs this file: its HTTP side, workers with and without tokens,
// the life of a token, and how it starts and stops.
import { mkdtempSync, rmSync } from "node:fs"
import { connect as open } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { createToken, revokeToken, type TokenStore } from "../../../apps/server/Credentials.ts"
import { createKey } from "../../../apps/server/Keys.ts"
import { type RunningServer, serve, type ServerEvent, type ServerOptions } from "../../../apps/server/mod.ts"
import { type Config, every, job } from "../../../apps/sdk/mod.ts"
import { worker } from "../../../apps/worker/mod.ts"
import { type RawOptions, rawWorker } from "./RawWorker.ts"
import { type Answer, config, until } from "./project.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-server-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const started: Array<RunningServer> = []
afterEach(async () => {
  await Promise.all(started.map((each) => each.stop({ grace: 0 })))
  started.length = 0
})

let files = 0
const newFile = (): string => join(folder, `${files++}.db`)
const start = async (more: Partial<Config> = {}, options: ServerOptions = {}) => {
  const events: Array<ServerEvent> = []
  const server = await serve(
    { ...config, ...more },
    { port: 0, guard: false, onEvent: (event) => events.push(event), ...options },
  )
  started.push(server)
  const denied = () => events.filter((event) => event.kind === "denied")
  return { ...server, events, denied }
}
/** A server whose own process does nothing, on a file, with tokens made as the CLI does it. */
const startTokens = async (options: ServerOptions = {}) => {
  const file = newFile()
  const withTool = async <A>(work: (store: ReturnType<typeof sqliteDriver>) => Promise<A>): Promise<A> => {
    const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  const first = await withTool((store) => createToken(store, { name: "first" }))
  if (options.hostname !== undefined)
    await withTool((store) => createKey(store, { name: "first", role: "admin" }))
  const server = await start({ storage: `sqlite:${file}`, worker: { concurrency: 0 } }, options)
  return { ...server, file, withTool, first }
}
const send = async (url: string, body: unknown): Promise<Answer> => {
  const response = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as Answer
}
const ended = (url: string, id: string): Promise<Answer> =>
  until(
    `run ${id}`,
    async () => (await (await fetch(`${url}/v1/runs/${id}`)).json()) as Answer,
    ({ state }) => state === "succeeded",
  )

describe("one port", () => {
  test("serves health, runs and workers; what a worker does is what the run comes to", async () => {
    const { url, workerUrl, asksForTokens } = await start({ worker: { concurrency: 0 } })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(workerUrl).toBe(`${url.replace("http", "ws")}/v1/worker`)
    expect(asksForTokens()).toBe(false)
    expect(await (await fetch(`${url}/livez`)).text()).toBe("ok\n")
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const worker = await rawWorker(workerUrl, { name: "mailer" })
    await worker.welcome
    const { items: workers } = (await (await fetch(`${url}/v1/workers`)).json()) as Answer
    expect(workers).toMatchObject([{ name: "mailer", jobs: ["echo"], slots: 4, credential: null }])
    const { id } = await send(url, { job: "echo", input: { a: [1, "ü"] } })
    expect(await ended(url, id as string)).toMatchObject({ output: { a: [1, "ü"] }, attempt: 1 })
    worker.close()
  })

  test("a server without a slot leaves all to its workers: flows, what is delayed, what a schedule starts", async () => {
    const ticks = job("ticks", { on: every("200ms"), run: () => process.pid })
    const jobs = [...config.jobs, ticks]
    const { url, workerUrl, engine } = await start({ jobs, worker: { concurrency: 0 } })
    const hand = await worker({ url: workerUrl, jobs, name: "hand", guard: false }).start()
    try {
      const flow = await send(url, { job: "pair" })
      const later = await send(url, { job: "double", input: { n: 21 }, delay: "300ms" })
      expect(await ended(url, later["id"] as string)).toMatchObject({ output: 42 })
      await ended(url, flow["id"] as string)
      await until(
        "a run of the schedule",
        () => engine.runs({ job: "ticks", state: "succeeded" }),
        (runs) => runs.length > 0,
      )
      expect(engine.load().slots).toBe(0)
    } finally {
      await hand.stop({ grace: 0 })
    }
  })

  test("a body over the limit is refused, and the server goes on", async () => {
    const { url } = await start()
    const whole = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "x".repeat(2 * 1_048_576),
    }).catch(() => null)
    // A server may answer and close before all is sent, which some clients take for a failure.
    if (whole !== null) expect(whole.status).toBe(413)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
  })

  test("a Host that is none of the server's is refused, whatever the address", async () => {
    const { url } = await start()
    const { hostname, port } = new URL(url)
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ""
      const socket = open(Number(port), hostname, () =>
        socket.write("GET /v1/workers HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
      )
      socket.on("data", (data) => (text += String(data)))
      socket.on("error", reject)
      socket.on("close", () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1\.1 421 /)
    expect(answer).toContain("foreignHost")
  })

  test("a web page of another origin gets no connection; one that is named gets it", async () => {
    const { workerUrl } = await start({}, { origins: ["https://jobs.example.org"] })
    await expect(rawWorker(workerUrl, { headers: { Origin: "https://evil.example" } })).rejects.toThrow()
    const { welcome, close } = await rawWorker(workerUrl, { headers: { Origin: "https://jobs.example.org" } })
    await welcome
    close()
  })
})

describe("what is kept of runs, and waiting for them", () => {
  const read = async (url: string, path: string) => (await (await fetch(`${url}${path}`)).json()) as Answer

  test("what a remote handler says can be read", async () => {
    const talk = job("talk", {
      run: (_input: unknown, ctx) => {
        ctx.log("one")
        ctx.progress(30, "begun")
        ctx.log("two, with token=abc")
      },
    })
    const { url, workerUrl } = await start({ jobs: [talk], worker: { concurrency: 0 } })
    const hand = await worker({ url: workerUrl, jobs: [talk], guard: false }).start()
    const { id } = await send(url, { job: "talk" })
    await ended(url, id as string)
    await hand.stop()
    const { items } = await until(
      "its log",
      () => read(url, `/v1/runs/${id}/logs`),
      ({ items }) => items.length >= 2,
    )
    expect(items.map(({ line }: Answer) => line)).toEqual(["one", "two, with token=[redacted]"])
    const { progress } = await until(
      "its progress",
      () => read(url, `/v1/runs/${id}?include=progress`),
      ({ progress }) => progress !== null,
    )
    expect(progress).toMatchObject({ attempt: 1, percent: 30, note: "begun" })
  })

  test("who waits for a run hears of its end, and is answered when the server stops", async () => {
    const held = Promise.withResolvers<string>()
    const slow = job("slow", { run: (name: string) => (name === "held" ? held.promise : name) })
    const { url, stop, engine } = await start({ jobs: [slow] })
    const first = await send(url, { job: "slow", input: "first", delay: "200ms" })
    expect(await read(url, `/v1/runs/${first["id"]}/wait`)).toMatchObject({ state: "succeeded" })
    const second = await send(url, { job: "slow", input: "held" })
    await until(
      "it runs",
      () => engine.run(second["id"] as string),
      (run) => run?.state === "running",
    )
    const waiting = read(url, `/v1/runs/${second["id"]}/wait?timeout=60s`)
    // The request is there when another one that was sent after it is answered.
    await read(url, `/v1/runs/${second["id"]}`)
    const stopped = stop({ grace: "20s" })
    expect(await waiting).toMatchObject({ state: "running", endedAt: null })
    held.resolve("over")
    await stopped
  })
})

describe("how it starts", () => {
  test("not where others can reach it without a token and a key in the store, and says what is missing", async () => {
    const refused = (next: ReadonlyArray<string>) => ({
      _tag: "InvalidInput",
      field: "hostname",
      next: `Make what is missing first: ${next.join(" and ")}. Or listen on 127.0.0.1.`,
    })
    const [token, key] = [
      "uhrwerk token create --name NAME",
      "uhrwerk key create --name NAME --role admin",
    ] as const
    await expect(start({}, { hostname: "0.0.0.0" })).rejects.toMatchObject(refused([token, key]))
    await expect(start({}, { hostname: "::" })).rejects.toMatchObject({ field: "hostname" })
    for (const [make, missing] of [
      [(store: TokenStore) => createToken(store, { name: "a" }), key],
      [(store: TokenStore) => createKey(store, { name: "a" }), token],
    ] as const) {
      const file = newFile()
      const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
      await make(store)
      await store.close()
      await expect(start({ storage: `sqlite:${file}` }, { hostname: "0.0.0.0" })).rejects.toMatchObject(
        refused([missing]),
      )
    }
  })

  test("with a token it does, and then asks for it from everywhere", async () => {
    const { workerUrl, first } = await startTokens({ hostname: "0.0.0.0" })
    const url = workerUrl.replace("0.0.0.0", "127.0.0.1")
    expect((await (await rawWorker(url)).closed).code).toBe(4401)
    const { welcome, close } = await rawWorker(url, { token: first.token })
    await welcome
    close()
    // So does the API, under a name that the server was told of.
    const port = new URL(url).port
    for (const [host, status] of [
      ["127.0.0.1", 401],
      ["evil.example", 421],
    ] as const) {
      const answer = await new Promise<string>((resolve, reject) => {
        let text = ""
        const socket = open(Number(port), "127.0.0.1", () =>
          socket.write(`GET /v1/me HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\n\r\n`),
        )
        socket.on("data", (data) => (text += String(data)))
        socket.on("error", reject)
        socket.on("close", () => resolve(text))
      })
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    }
  })

  test("not on a port that is taken, and then nothing of it is left", async () => {
    const { url } = await start()
    const port = Number(new URL(url).port)
    const file = newFile()
    await expect(start({ storage: `sqlite:${file}` }, { port })).rejects.toMatchObject({
      _tag: "InvalidInput",
      field: "port",
    })
    // The store is free, and no engine has joined it.
    const { url: other } = await start({ storage: `sqlite:${file}` })
    expect((await fetch(`${other}/readyz`)).status).toBe(200)
  })

  test("not at an address that this machine does not have", async () => {
    const hostname = "192.0.2.1"
    const file = newFile()
    const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
    await createToken(store, { name: "a" })
    await createKey(store, { name: "a" })
    await store.close()
    await expect(start({ storage: `sqlite:${file}` }, { hostname })).rejects.toMatchObject({
      message: expect.stringMatching(/listen on .*192\.0\.2\.1/),
    })
  })

  test("an engine without workers needs a slot", async () => {
    const { engine } = await import("../../../apps/sdk/mod.ts")
    await expect(engine({ ...config, worker: { concurrency: 0 } }).start()).rejects.toMatchObject({
      field: "worker.concurrency",
      next: expect.stringContaining("uhrwerk serve"),
    })
  })
})

describe("how it stops", () => {
  test("workers are told to come again, and nothing listens any more", async () => {
    const { url, workerUrl, stop } = await start()
    const worker = await rawWorker(workerUrl)
    await worker.welcome
    await Promise.all([stop({ grace: "100ms" }), stop()])
    expect((await worker.closed).code).toBe(1012)
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
  })

  test("while it drains it is alive and not ready, takes nothing, and lets what runs here end", async () => {
    const { promise: wait, resolve: finish } = Promise.withResolvers<void>()
    const slow = job("slow", { run: () => wait })
    const { url, workerUrl, stop, engine } = await start({ jobs: [...config.jobs, slow], grace: "10s" })
    const { id } = await send(url, { job: "slow" })
    await until(
      "it runs",
      () => engine.load().carried,
      (carried) => carried === 1,
    )
    const stopping = stop()
    await until(
      "not ready",
      async () => (await fetch(`${url}/readyz`)).status,
      (status) => status === 503,
    )
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    const refused = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"job":"echo"}',
    })
    expect([refused.status, ((await refused.json()) as Answer)["code"]]).toEqual([503, "notServing"])
    expect((await fetch(`${url}/v1/runs/${id}`)).status).toBe(200)
    expect((await (await rawWorker(workerUrl)).closed).code).toBe(1012)
    finish()
    await stopping
  })
})

describe("when it restarts", () => {
  test("a handler on a worker goes on, and its run ends with the attempt that it began with", async () => {
    let begun = 0
    const { promise: wait, resolve: finish } = Promise.withResolvers<string>()
    const long = job<void, string>("long", {
      run: () => {
        begun++
        return wait
      },
    })
    const more = {
      jobs: [long],
      storage: `sqlite:${newFile()}`,
      worker: { concurrency: 0 },
      lease: "20s",
    } as const
    const options = { workers: { terms: { restartMillis: 15_000 } } }
    const before = await start(more, options)
    const hand = await worker({ url: before.workerUrl, jobs: [long], name: "hand", guard: false }).start()
    try {
      const { id } = await send(before.url, { job: "long" })
      await until(
        "it runs",
        () => begun,
        (times) => times === 1,
      )
      await before.stop()
      const after = await start(more, { ...options, port: Number(new URL(before.url).port) })
      await until(
        "the worker is back",
        () => after.engine.workers?.inHandOf("hand") ?? [],
        (hand) => hand.length === 1,
      )
      finish("done")
      expect(await ended(after.url, id as string)).toMatchObject({ output: "done", attempt: 1, token: 1 })
      expect(begun).toBe(1)
    } finally {
      await hand.stop({ grace: 0 })
    }
  })
})

describe("tokens", () => {
  const codeOf = async (url: string, options: RawOptions): Promise<{ code: number; reason: string }> => {
    const worker = await rawWorker(url, options)
    return Promise.race([worker.closed, worker.welcome.then(() => ({ code: 0, reason: "welcome" }))])
  }

  test("without one, with a wrong one, an expired one: 4401, and one and the same reason", async () => {
    const { workerUrl, withTool, first, denied } = await startTokens()
    const expired = await withTool((store) => createToken(store, { name: "short", expires: "1s" }))
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const { token } = first
    const wrong = `${token.slice(0, -2)}${token.endsWith("AA") ? "EE" : "AA"}`
    const answers = [
      await codeOf(workerUrl, {}),
      await codeOf(workerUrl, { token: "secret" }),
      await codeOf(workerUrl, { token: wrong }),
      await codeOf(workerUrl, { token: wrong, inHello: true }),
      await codeOf(workerUrl, { token: expired.token }),
      await codeOf(workerUrl, { token: `uhrw_0123456789abcdef_${"a".repeat(43)}` }),
    ]
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([4401]))
    expect(new Set(answers.map(({ reason }) => reason)).size).toBe(1)
    const told = denied()
    expect(told.map(({ why }) => why)).toEqual([
      "missing",
      "malformed",
      "wrong",
      "wrong",
      "expired",
      "unknown",
    ])
    expect(JSON.stringify(told)).not.toContain(token.slice(-43))
    expect(await codeOf(workerUrl, { token })).toMatchObject({ code: 0 })
    expect(await codeOf(workerUrl, { token, inHello: true, name: "b" })).toMatchObject({ code: 0 })
  })

  test("a queue that the token does not allow: 4403; one that it does: its runs and no others", async () => {
    const { url, workerUrl, withTool, engine } = await startTokens()
    const { token } = await withTool((store) => createToken(store, { name: "mail", queues: ["mail"] }))
    expect(await codeOf(workerUrl, { token, queues: ["default"] })).toMatchObject({ code: 4403 })
    expect(await codeOf(workerUrl, { token, queues: ["mail", "default"] })).toMatchObject({ code: 4403 })
    const worker = await rawWorker(workerUrl, { token, jobs: ["echo", "greet"] })
    await worker.welcome
    const other = await send(url, { job: "greet", input: { name: "x" } })
    const own = await send(url, { job: "echo", input: 1 })
    await ended(url, own["id"] as string)
    expect((await engine.run(other["id"] as string))?.state).toBe("ready")
    expect(worker.frames.filter(({ type }) => type === "assign")).toHaveLength(1)
  })

  test("too many wrong ones of an address are told to come later, and a good one is taken all the same", async () => {
    const { workerUrl, first, denied } = await startTokens()
    const codes: Array<number> = []
    for (let each = 0; each < 13; each++) codes.push((await codeOf(workerUrl, { token: "x" })).code)
    expect(codes).toEqual([...Array.from({ length: 10 }, () => 4401), 1013, 1013, 1013])
    expect(denied()).toHaveLength(10)
    expect((await codeOf(workerUrl, { token: first.token })).code).toBe(0)
  })

  test("one that is revoked ends its sessions within five seconds, and no others", async () => {
    const { workerUrl, withTool, first } = await startTokens()
    const second = await withTool((store) => createToken(store, { name: "second" }))
    const kept = await rawWorker(workerUrl, { token: first.token, name: "kept" })
    const gone = await rawWorker(workerUrl, { token: second.token, name: "gone" })
    await Promise.all([kept.welcome, gone.welcome])
    const since = performance.now()
    await withTool((store) => revokeToken(store, "second"))
    expect((await gone.closed).code).toBe(4401)
    expect(performance.now() - since).toBeLessThan(5_000)
    kept.send({ type: "heartbeat", at: Date.now(), slots: 4, running: 0, load: 0 })
    await until(
      "its answer",
      () => kept.frames,
      (all) => all.some(({ type }) => type === "heartbeat"),
    )
    expect((await codeOf(workerUrl, { token: second.token })).code).toBe(4401)
  })

  test("the first token ends the time without: who came before has to go", async () => {
    const file = newFile()
    const { workerUrl, asksForTokens } = await start({
      storage: `sqlite:${file}`,
      worker: { concurrency: 0 },
    })
    const early = await rawWorker(workerUrl)
    await early.welcome
    const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
    const { token } = await createToken(store, { name: "first" })
    await until("it asks", asksForTokens, (asks) => asks)
    expect((await codeOf(workerUrl, { name: "late" })).code).toBe(4401)
    expect((await early.closed).code).toBe(4401)
    expect((await codeOf(workerUrl, { token })).code).toBe(0)
    // To revoke the last one does not open the door.
    await revokeToken(store, "first")
    await until(
      "it is unknown",
      () => codeOf(workerUrl, { token }),
      ({ code }) => code === 4401,
    )
    expect((await codeOf(workerUrl, {})).code).toBe(4401)
    await store.close()
  })

  test("what a proxy brought is not of this machine", async () => {
    const { workerUrl, denied } = await start()
    expect((await codeOf(workerUrl, { headers: { "X-Forwarded-For": "192.0.2.7" } })).code).toBe(4401)
    expect(denied()).toMatchObject([{ why: "remote" }])
    expect((await codeOf(workerUrl, {})).code).toBe(0)
  })
})
