// The routes over a real engine, without sockets: what is answered to what, and that bad requests change nothing.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { makeApp } from "../../../apps/server/app.ts"
import type { AskedStore } from "../../../apps/server/api/ApiParts.ts"
import { makeRunWaits } from "../../../apps/server/RunWaits.ts"
import { makeOutlets } from "../../../apps/server/Outlets.ts"
import { openSharedStore } from "../../../apps/server/SharedStore.ts"
import { type KeyBook, openKeyBook } from "../../../apps/server/TokenBook.ts"
import { bodyBytesMax } from "../../../apps/server/guards.ts"
import { checkConfig, type Project } from "../../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../../apps/sdk/engine.ts"
import type { NodeWorkers } from "../../../core/ports/StoreDriver.ts"
import { stopped } from "../../../core/run/Enqueue.ts"
import { type Answer, config, until } from "./project.ts"

const here = { remoteAddress: "127.0.0.1" }
const elsewhere = { remoteAddress: "192.0.2.7" }
const faults: Array<string> = []
let reports: ReadonlyArray<NodeWorkers> = []
let ready = true
let isUp = true
let project: Project
let store: AskedStore
let engine: RunningEngine
let keys: KeyBook
let app: ReturnType<typeof makeApp>
beforeAll(async () => {
  const shared = await openSharedStore(await checkConfig(config))
  project = shared.project
  store = shared.store
  engine = await startProject(project)
  keys = await openKeyBook({ store, onTrouble: (error) => faults.push(String(error)) })
  app = makeApp({
    project,
    engine: () => {
      if (isUp) return engine
      throw stopped()
    },
    store,
    reports: async () => reports,
    waits: makeRunWaits(store),
    outlets: makeOutlets({ store, rules: project.works.rules, onTrouble: () => undefined }),
    isReady: async () => ready,
    hosts: new Set(["jobs.example.org"]),
    origins: new Set(["https://jobs.example.org"]),
    keys,
    rate: null,
    isLocal: true,
    onFault: (doing, error) => faults.push(`${doing}: ${String(error)}`),
  })
})
afterAll(async () => {
  keys.stop()
  await engine.stop({ grace: 0 })
})
beforeEach(() => {
  ready = true
  isUp = true
  faults.length = 0
})

const base = "http://127.0.0.1:8080"
const get = (path: string, headers: Record<string, string> = {}, peer = here) =>
  app.request(`${base}${path}`, { headers }, peer)
const post = (body: unknown, headers: Record<string, string> = {}, peer = here, url = `${base}/v1/runs`) =>
  app.request(
    url,
    {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    },
    peer,
  )
const total = async (): Promise<number> => (await engine.counts()).reduce((sum, { count }) => sum + count, 0)

const expectProblem = async (
  answer: Response | Promise<Response>,
  status: number,
  code: string,
  pointers?: ReadonlyArray<string>,
): Promise<Answer> => {
  const response = await answer
  const problem = (await response.json()) as Answer
  expect({ status: response.status, code: problem["code"], body: problem["status"] }).toEqual({
    status,
    code,
    body: status,
  })
  expect(response.headers.get("content-type")).toBe("application/problem+json")
  expect(problem["type"]).toBe(`urn:uhrwerk:problem:${code}`)
  expect(problem["requestId"]).toBe(response.headers.get("x-request-id"))
  expect(typeof problem["retryable"]).toBe("boolean")
  expect(problem["title"]).not.toBe("")
  expect(problem["detail"]).not.toBe("")
  if (pointers !== undefined)
    expect((problem["errors"] as Array<Answer>).map(({ pointer }) => pointer as string).sort()).toEqual(
      [...pointers].sort(),
    )
  return problem
}

describe("POST /v1/runs", () => {
  test("a run is stored, carried out, and read again", async () => {
    const response = await post({ job: "greet", input: { name: "Ada" } })
    expect(response.status).toBe(201)
    const sent = (await response.json()) as Answer
    expect(sent).toMatchObject({ job: "greet", queue: "default", input: { name: "Ada" }, attempt: 0 })
    expect(response.headers.get("location")).toBe(`/v1/runs/${sent["id"]}`)
    const ended = await until(
      "the run",
      async () => (await (await get(`/v1/runs/${sent["id"]}`)).json()) as Answer,
      ({ state }) => state === "succeeded",
    )
    expect(ended).toMatchObject({ output: "hello Ada", input: { name: "Ada" }, error: null, attempt: 1 })
  })

  test("a flow is a job like others", async () => {
    const { id } = (await (await post({ job: "pair" })).json()) as Answer
    await until(
      "the flow",
      () => engine.run(id as string),
      (run) => run?.state === "succeeded",
    )
  })

  test("an id makes one run, however often it is sent; with other values it is refused", async () => {
    const id = "01997f3e-8a00-7000-8000-00000000aa01"
    const body = { job: "greet", input: { name: "once" }, id, delay: "1h" }
    expect((await post(body)).status).toBe(201)
    const before = await total()
    const again = await post(body)
    expect([again.status, ((await again.json()) as Answer)["id"]]).toEqual([200, id])
    await expectProblem(post({ ...body, input: { name: "twice" } }), 409, "idTaken", ["/input"])
    await expectProblem(post({ ...body, job: "echo" }), 409, "idTaken", ["/job"])
    expect(await total()).toBe(before)
  })

  test("a key answers the run that has not ended, whatever its input", async () => {
    const first = (await (
      await post({ job: "greet", input: { name: "a" }, key: "k", delay: "1h" })
    ).json()) as Answer
    const second = await post({ job: "greet", input: { name: "b" }, key: "k" })
    expect([second.status, await second.json()]).toMatchObject([
      200,
      { id: first["id"], input: { name: "a" } },
    ])
  })

  test.each([
    ["a delay as text", { delay: "1h" }],
    ["a delay in milliseconds", { delay: 3_600_000 }],
    ["an instant as text", { at: "2099-01-01T00:00:00Z" }],
    ["an instant in milliseconds", { at: 4_070_908_800_000 }],
  ])("when > %s", async (_, when) => {
    const run = (await (await post({ job: "echo", ...when, priority: 7 })).json()) as Answer
    expect(run).toMatchObject({ state: "scheduled", priority: 7, queue: "mail" })
    expect(run["dueAt"] as number).toBeGreaterThan(Date.now() + 3_500_000)
  })

  test("names of prototypes are data, in the input and nowhere else", async () => {
    const input = '{"__proto__":{"a":1},"constructor":2,"toString":null}'
    const response = await post(`{"job":"echo","input":${input},"delay":"1h"}`)
    expect(response.status).toBe(201)
    const { id } = (await response.json()) as Answer
    expect((await engine.run(id as string))?.input).toBe(input)
    expect(({} as Answer)["a"]).toBeUndefined()
    await expectProblem(post('{"job":"echo","__proto__":{"queue":"x"}}'), 422, "invalidBody", ["/__proto__"])
    await expectProblem(post({ job: "__proto__" }), 422, "unknownJob", ["/job"])
    await expectProblem(post({ job: "constructor" }), 422, "unknownJob", ["/job"])
  })
})

describe("POST /v1/runs > what is refused changes nothing", () => {
  const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`
  const refused: ReadonlyArray<
    readonly [string, unknown, number, string, ReadonlyArray<string> | undefined]
  > = [
    ["no job", {}, 422, "invalidBody", ["/job"]],
    ["an unknown field", { job: "echo", retries: 3 }, 422, "invalidBody", ["/retries"]],
    ["a list", [], 422, "invalidBody", [""]],
    ["null", null, 422, "invalidBody", [""]],
    [
      "several wrong values, told at once",
      { job: 7, priority: 1.5, at: true, key: "", "a/b~c": 1 },
      422,
      "invalidBody",
      ["/job", "/priority", "/at", "/key", "/a~1b~0c"],
    ],
    ["a priority beyond the most", { job: "echo", priority: 1001 }, 422, "invalidBody", ["/priority"]],
    ["an unknown job", { job: "nope" }, 422, "unknownJob", ["/job"]],
    [
      "an input that the job does not take",
      { job: "double", input: { n: "1" } },
      422,
      "invalidPayload",
      ["/input"],
    ],
    ["no input where there must be one", { job: "double" }, 422, "invalidPayload", ["/input"]],
    ["an id that is none", { job: "echo", id: "1" }, 422, "invalidInput", ["/id"]],
    ["a delay that is none", { job: "echo", delay: "5 minutes" }, 422, "invalidInput", ["/delay"]],
    ["an instant that is none", { job: "echo", at: "tomorrow" }, 422, "invalidInput", ["/at"]],
    ["a delay and an instant", { job: "echo", at: 1, delay: 1 }, 422, "invalidInput", ["/at"]],
    ["a queue that no job has", { job: "echo", queue: "x' or 1=1 --" }, 422, "invalidInput", ["/queue"]],
    ["an input over 256 KiB", { job: "echo", input: "x".repeat(300_000) }, 422, "invalidPayload", ["/input"]],
    ["no JSON", "{", 400, "badJson", [""]],
    ["nothing", "", 400, "badJson", [""]],
    ["an input that nests too deep", `{"job":"echo","input":${deep(1_001)}}`, 400, "badJson", [""]],
    ["100,000 levels", `{"job":"echo","input":${deep(100_000)}}`, 400, "badJson", [""]],
    ["more than 1 MiB", { job: "echo", input: "x".repeat(2 * bodyBytesMax) }, 413, "tooLarge", undefined],
  ]
  test.each(refused)("%s", async (_, body, status, code, pointers) => {
    const before = await total()
    const problem = await expectProblem(post(body), status, code, pointers)
    expect(problem["retryable"]).toBe(false)
    expect(await total()).toBe(before)
    expect(faults).toEqual([])
  })

  test("the deepest input that a worker can be told is taken", async () => {
    expect((await post(`{"job":"echo","delay":"1h","input":${deep(1_000)}}`)).status).toBe(201)
  })

  test("values are not quoted in what is answered", async () => {
    const response = await post({ job: "double", input: { n: "s3cret-value" }, priority: "s3cret-value" })
    expect(await response.text()).not.toContain("s3cret")
  })

  test("a body that is no UTF-8", async () => {
    const body = new Uint8Array([0x22, 0xff, 0x22])
    const headers = { "content-type": "application/json" }
    await expectProblem(
      app.request(`${base}/v1/runs`, { method: "POST", headers, body }, here),
      400,
      "badJson",
    )
  })

  test("a body in pieces over 1 MiB, without a length", async () => {
    let pieces = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (++pieces > 1_000) controller.close()
        else controller.enqueue(new Uint8Array(65_536).fill(0x20))
      },
    })
    const init = { method: "POST", headers: { "content-type": "application/json" }, body, duplex: "half" }
    await expectProblem(app.request(`${base}/v1/runs`, init as RequestInit, here), 413, "tooLarge")
    expect(pieces).toBeLessThan(100)
  })

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/jsonp",
    "",
  ])("a body of the type %j, as a form of a web page may send it", async (type) => {
    await expectProblem(post({ job: "echo" }, { "content-type": type }), 415, "notJson")
  })
})

describe("who may ask", () => {
  const ask = (headers: Record<string, string>, peer = here, host = "127.0.0.1:8080") =>
    post({ job: "echo", delay: "1h" }, headers, peer, `http://${host}/v1/runs`)

  test.each([
    "localhost:8080",
    "127.0.0.1",
    "[::1]:8080",
    "127.0.0.2:99",
    "jobs.example.org",
    "JOBS.example.ORG:1",
  ])("the host %s is one of the server", async (host) => expect((await ask({}, here, host)).status).toBe(201))
  test.each([
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:8080",
    "192.0.2.1",
    "0.0.0.0:8080",
  ])("the host %s, which may point here, is refused everywhere", async (host) => {
    await expectProblem(ask({}, here, host), 421, "foreignHost")
    await expectProblem(app.request(`http://${host}/v1/workers`, {}, here), 421, "foreignHost")
    expect((await app.request(`http://${host}/livez`, {}, here)).status).toBe(421)
  })

  test.each(["http://127.0.0.1:8080", "https://jobs.example.org"])("the origin %s may", async (origin) =>
    expect((await ask({ origin })).status).toBe(201),
  )
  test.each([
    "https://evil.example",
    "null",
    "http://localhost:3000",
    "https://jobs.example.org.evil.example",
  ])("a page of the origin %s may not", async (origin) => {
    await expectProblem(ask({ origin }), 403, "foreignOrigin")
    await expectProblem(get("/v1/workers", { origin }), 403, "foreignOrigin")
  })

  test.each(["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.8.8"])(
    "the address %s is this machine",
    async (address) => expect((await ask({}, { remoteAddress: address })).status).toBe(201),
  )
  test.each(["192.0.2.7", "10.0.0.1", "::ffff:192.0.2.7", "fe80::1%eth0", "::", "0.0.0.0", ""])(
    "the address %s is not, and is told what to do",
    async (address) => {
      const problem = await expectProblem(ask({}, { remoteAddress: address }), 403, "notLocal")
      expect(problem["detail"]).toContain("ssh -L")
      await expectProblem(get("/v1/workers", {}, { remoteAddress: address }), 403, "notLocal")
    },
  )
  test.each(["x-forwarded-for", "forwarded", "via", "x-real-ip"])(
    "what a proxy brought is not (%s)",
    async (name) => {
      await expectProblem(ask({ [name]: "127.0.0.1" }), 403, "notLocal")
    },
  )
  test("a foreign page gets no permission by a preflight", async () => {
    const response = await app.request(
      `${base}/v1/runs`,
      {
        method: "OPTIONS",
        headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
      },
      here,
    )
    expect(response.ok).toBe(false)
    expect(response.headers.get("access-control-allow-origin")).toBeNull()
  })
})

describe("the rest", () => {
  test("health is terse, and for everybody who can reach the server", async () => {
    expect(await (await get("/livez", {}, elsewhere)).text()).toBe("ok\n")
    expect(await (await get("/readyz", {}, elsewhere)).text()).toBe("ok\n")
    ready = false
    const response = await get("/readyz", {}, elsewhere)
    expect([response.status, await response.text()]).toEqual([503, "not ready\n"])
    expect((await get("/livez")).status).toBe(200)
  })

  test("a run that is not there, and an id that is none", async () => {
    await expectProblem(get("/v1/runs/01997f3e-8a00-7000-8000-0000000000ff"), 404, "notFound")
    await expectProblem(get("/v1/runs/..%2f..%2fetc%2fpasswd"), 404, "notFound")
    await expectProblem(get("/v1/runs/%00"), 404, "notFound")
  })

  test("workers of other nodes are listed as these said last; what is no report is none", async () => {
    const worker = {
      name: "far",
      node: "n2",
      status: "alive",
      runtime: "python 3.11",
      version: "1",
      jobs: ["echo"],
      unable: [],
      queues: null,
      labels: { region: "eu" },
      slots: 4,
      prefetch: 0,
      inHand: 0,
      load: null,
      credential: null,
      address: "192.0.2.7",
      connectedAt: 1,
      heardAt: 2,
    }
    reports = [
      { node: "n2", workers: JSON.stringify({ workers: [worker], leftOut: 3 }) },
      { node: "n3", workers: "[" },
      // What was said of this very node is older than what it knows.
      { node: engine.node(), workers: JSON.stringify({ workers: [worker], leftOut: 1 }) },
    ]
    expect(await (await get("/v1/workers")).json()).toEqual({ items: [worker], cursor: null, leftOut: 3 })
    reports = []
  })

  test("no workers, and the address where they connect", async () => {
    expect(await (await get("/v1/workers")).json()).toEqual({ items: [], cursor: null, leftOut: 0 })
    const response = await get("/v1/worker")
    expect(response.headers.get("upgrade")).toBe("websocket")
    await expectProblem(response, 426, "upgradeRequired")
  })

  test("other addresses and methods", async () => {
    await expectProblem(get("/v1/nothing"), 404, "noRoute")
    await expectProblem(get("/"), 404, "noRoute")
    const response = await app.request(`${base}/v1/runs`, { method: "DELETE" }, here)
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST")
    await expectProblem(response, 405, "methodNotAllowed")
  })

  test("every answer is harmless in a browser", async () => {
    for (const path of ["/livez", "/v1/workers", "/v1/nothing", "/v1/runs/x"]) {
      const { headers } = await get(path)
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("content-security-policy")).toContain("default-src 'none'")
      expect(headers.get("x-frame-options")).toBe("DENY")
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("content-type")).not.toContain("html")
    }
  })

  test("a request's id is echoed if it is a sane one, and made otherwise", async () => {
    expect((await get("/livez", { "x-request-id": "abc-123_=" })).headers.get("x-request-id")).toBe(
      "abc-123_=",
    )
    for (const bad of ["a b", "<script>", "x".repeat(129), "ä"])
      expect((await get("/livez", { "x-request-id": bad })).headers.get("x-request-id")).toMatch(
        /^[\da-f-]{36}$/,
      )
  })

  test("before the start and after the end it says that later is better", async () => {
    isUp = false
    for (const response of [await post({ job: "greet" }), await get("/v1/workers")]) {
      expect(response.headers.get("retry-after")).toBe("2")
      expect((await expectProblem(response, 503, "notServing"))["retryable"]).toBe(true)
    }
  })

  test("an error that nobody expected is told to the log, and to the client only that it was", async () => {
    const failing = makeApp({
      project,
      store,
      engine: () => {
        throw new TypeError("secret inside")
      },
      reports: async () => [],
      waits: makeRunWaits(store),
      outlets: makeOutlets({ store, rules: project.works.rules, onTrouble: () => undefined }),
      isReady: async () => true,
      hosts: new Set(),
      origins: new Set(),
      keys,
      isLocal: true,
      onFault: (doing, error) => faults.push(`${doing}: ${String(error)}`),
    })
    const response = await failing.request(`${base}/v1/workers`, { headers: { "x-request-id": "r1" } }, here)
    const problem = await expectProblem(response, 500, "internal")
    expect(JSON.stringify(problem)).not.toContain("secret")
    expect(faults).toEqual(["answer GET /v1/workers (request r1): TypeError: secret inside"])
  })
})
