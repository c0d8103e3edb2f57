// What must not be possible, by the numbers of the list of negative tests: closed when in doubt, nothing changed, nothing
// told, and kept in the audit. What is said of every route is tried on every route: the list is the API's own.
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { api, type Endpoint, isAudited, isUnsafe } from "../../../apps/api/mod.ts"
import { createToken } from "../../../apps/server/Credentials.ts"
import { serve, type ServerEvent } from "../../../apps/server/mod.ts"
import { createKey, revokeKey } from "../../../apps/server/Keys.ts"
import { parseKey } from "../../../apps/server/Token.ts"
import { job } from "../../../apps/sdk/mod.ts"
import { type Answered, type Asking, startWorld, type World } from "./api/world.ts"
import { config, until } from "./project.ts"

const endpoints: ReadonlyArray<Endpoint> = Object.values(api)
const closed = endpoints.filter(({ role }) => role !== "public")
const ranks = { public: 0, viewer: 1, operator: 2, admin: 3 } as const
const named = (of: ReadonlyArray<Endpoint>) => of.map((endpoint) => [endpoint.name, endpoint] as const)
const hasParams = ({ path }: Endpoint): boolean => path.includes("{")

let world: World
let admin = ""
let operator = ""
let viewer = ""
let stranger = ""
let token = ""
let foreign = ""
beforeAll(async () => {
  world = await startWorld({
    jobs: [job("mail.digest", { run: () => 3 }), job<unknown, number>("shop.count", { run: () => 1 })],
    storage: "memory:",
  })
  const [a, b, c, d] = await Promise.all([
    world.makeKey({ name: "boss" }),
    world.makeKey({ name: "hand", role: "operator" }),
    world.makeKey({ name: "guest", role: "viewer" }),
    world.makeKey({ name: "mailer", namespace: "mail" }),
  ])
  admin = a
  operator = b
  viewer = c
  stranger = d
  token = (await createToken(world.store, { name: "w" })).token
  foreign = (await world.ask("POST", "/v1/runs", { job: "shop.count", delay: "9h" }, { key: admin })).body.id
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

/** A request of a route, with `value` for its parameters. */
const send = (
  { method, path, body }: Endpoint,
  {
    value = "x",
    query = "",
    given = {},
    ...asking
  }: Asking &
    Readonly<{
      value?: string
      query?: string
      given?: unknown
    }>,
): Promise<Answered> =>
  world.ask(
    method.toUpperCase(),
    `${path.replaceAll(/\{\w+\}/g, value)}${query}`,
    body === undefined ? undefined : given,
    asking,
  )

/** All that a refused request must leave as it is. */
const state = async (): Promise<string> =>
  JSON.stringify([
    await world.engine.counts(),
    await world.engine.runs({}),
    await world.store.credentials(),
    await world.store.schedules(),
    await world.store.records({ kind: "idempotency", order: "ascending", limit: 100 }),
  ])

const audited = async (): Promise<number> =>
  (await world.store.records({ kind: "audit", order: "ascending", limit: 1_000 })).length

/** A problem without what is another one each time. */
const told = ({ status, body }: Answered): unknown => ({ ...body, requestId: null, status })

const expectRefused = async (work: () => Promise<Answered>, status: number, code: string): Promise<void> => {
  const before = await state()
  const answer = await work()
  expect([answer.status, answer.body?.code]).toEqual([status, code])
  expect(await state()).toBe(before)
}

test("the list of routes is the API's", () => {
  expect(closed.length).toBeGreaterThan(10)
  expect(new Set(endpoints.map(({ name }) => name)).size).toBe(endpoints.length)
})

test("1: no start on an address that others reach without credentials", async () => {
  for (const hostname of ["0.0.0.0", "::"])
    await expect(serve({ ...config }, { hostname, port: 0, guard: false })).rejects.toMatchObject({
      _tag: "InvalidInput",
      field: "hostname",
    })
})

describe("2: without a key", () => {
  test.each(named(closed))("%s: 401", async (_, endpoint) => {
    for (const from of ["127.0.0.1", "192.0.2.7"])
      await expectRefused(() => send(endpoint, { from }), 401, "unauthenticated")
    const { headers } = await send(endpoint, {})
    expect(headers.get("www-authenticate")).toBe("Bearer")
  })

  test("nor can it be found out which addresses there are", async () => {
    const there = await world.ask("GET", "/v1/runs/x")
    const [nowhere, otherMethod] = [
      await world.ask("GET", "/v1/nowhere"),
      await world.ask("PATCH", "/v1/runs/x"),
    ]
    for (const answer of [nowhere, otherMethod]) expect(told(answer)).toEqual(told(there))
  })

  test("health is open all the same, and says nothing", async () => {
    for (const path of ["/livez", "/readyz"])
      expect(await world.ask("GET", path, undefined, { from: "192.0.2.7" })).toMatchObject({
        status: 200,
        text: "ok\n",
      })
  })
})

describe("3: a key that is nearly one", () => {
  test("with any byte changed: 401, and the same answer whatever was wrong", async () => {
    const changed = admin.split("").map((char, at) => {
      const other = char === "a" ? "b" : "a"
      return `${admin.slice(0, at)}${other}${admin.slice(at + 1)}`
    })
    const others = [
      "",
      "x",
      admin.slice(0, -1),
      `${admin}x`,
      `${parseKey(viewer)?.id}`,
      `uhr_api_${admin.slice(8)}`.toUpperCase(),
    ]
    const answers = await Promise.all(
      [...changed, ...others].map((key) => world.ask("GET", "/v1/me", undefined, { key })),
    )
    // The last character of 256 bits carries 4 of them, and another text of the same bits is another text.
    expect(answers.filter(({ status }) => status !== 401)).toEqual([])
    expect(new Set(answers.map((answer) => JSON.stringify(told(answer)))).size).toBe(1)
    expect((await world.ask("GET", "/v1/me", undefined, { key: admin })).status).toBe(200)
  })

  test.each([
    ["Basic", (key: string) => `Basic ${Buffer.from(`x:${key}`).toString("base64")}`],
    ["no scheme", (key: string) => key],
    ["two keys", (key: string) => `Bearer ${key}, Bearer ${key}`],
    ["a blank within", (key: string) => `Bearer ${key.slice(0, 30)} ${key.slice(30)}`],
  ])("sent otherwise (%s): 401", async (_, header) => {
    const headers = { authorization: header(admin) }
    expect((await world.ask("GET", "/v1/me", undefined, { headers })).status).toBe(401)
  })

  test("nor is it taken from the address", async () => {
    expect((await world.ask("GET", `/v1/me?key=${admin}&access_token=${admin}`)).status).toBe(401)
  })

  test("one that has expired", async () => {
    const key = await world.makeKey({ name: "short", expires: "1s" })
    await until(
      "it is over",
      () => world.ask("GET", "/v1/me", undefined, { key }),
      ({ status }) => status === 401,
      5_000,
    )
  })
})

describe("4: a role that may not", () => {
  for (const [role, key] of [
    ["viewer", () => viewer],
    ["operator", () => operator],
  ] as const)
    test.each(named(closed.filter((endpoint) => ranks[endpoint.role] > ranks[role])))(
      `${role}, %s: 403, and kept`,
      async (_, endpoint) => {
        const before = await audited()
        await expectRefused(() => send(endpoint, { key: key() }), 403, "forbidden")
        // Before the body is read: what is in it is nothing to who may not send it.
        await expectRefused(() => send(endpoint, { key: key(), given: "{" }), 403, "forbidden")
        expect(await audited()).toBe(before + (isAudited(endpoint) ? 2 : 0))
      },
    )

  test("a viewer changes nothing, by no route", () => {
    const may = closed.filter((endpoint) => isUnsafe(endpoint) && endpoint.role === "viewer")
    // Questions with a body, such as previews, may be for viewers; then they are said not to be audited.
    expect(may.filter(isAudited).map(({ name }) => name)).toEqual([])
  })
})

describe("5: what is of another namespace", () => {
  const unknown = { run: "01997f3e-8a00-7000-8000-0000000000ff", name: "shop.other" }
  test.each(named(closed.filter(hasParams)))("%s: as if it was not there", async (_, endpoint) => {
    const isRun = /^\/v1\/(runs|flow-runs|dead)\//.test(endpoint.path)
    const [there, nowhere] = isRun ? [foreign, unknown.run] : ["shop.count", unknown.name]
    const ask = async (value: string): Promise<unknown> =>
      JSON.parse(
        JSON.stringify(told(await send(endpoint, { key: stranger, value }))).replaceAll(value, "VALUE"),
      )
    const before = await state()
    expect(await ask(there)).toEqual(await ask(nowhere))
    expect(await state()).toBe(before)
  })

  test("a run by its id: 404; its own it reads", async () => {
    await expectRefused(
      () => world.ask("GET", `/v1/runs/${foreign}`, undefined, { key: stranger }),
      404,
      "notFound",
    )
    const own = await world.ask("POST", "/v1/runs", { job: "mail.digest", delay: "9h" }, { key: stranger })
    expect((await world.ask("GET", `/v1/runs/${own.body.id}`, undefined, { key: stranger })).status).toBe(200)
    // Nor by sending it again under that id: that it is taken is all that is told.
    const taken = await world.ask(
      "POST",
      "/v1/runs",
      { job: "mail.digest", delay: "9h", id: foreign },
      { key: stranger },
    )
    expect([404, 409]).toContain(taken.status)
    expect(taken.text).not.toContain("shop")
  })
})

test("6: a key that was revoked on one node is refused by another within five seconds", async () => {
  const { key, view } = await createKey(world.store, { name: "leaver" })
  const other = await world.another()
  const status = async () =>
    (
      await other.app.request(
        "http://127.0.0.1/v1/me",
        { headers: { authorization: `Bearer ${key}` } },
        { remoteAddress: "127.0.0.1" },
      )
    ).status
  expect(await status()).toBe(200)
  await revokeKey(world.store, view.id)
  await vi.waitFor(async () => expect(await status()).toBe(401), { timeout: 5_000, interval: 100 })
  other.stop()
})

describe("7: the token of a worker", () => {
  test.each(named(closed))("%s: 403", (_, endpoint) =>
    expectRefused(() => send(endpoint, { key: token }), 403, "forbidden"),
  )
  test("one that is none gets the same answer, so nobody learns which are good", async () => {
    const [good, bad] = [
      await world.ask("GET", "/v1/me", undefined, { key: token }),
      await world.ask("GET", "/v1/me", undefined, { key: `uhrw_0123456789abcdef_${"a".repeat(43)}` }),
    ]
    expect(told(bad)).toEqual(told(good))
  })
})

describe("11, 15: a web page of another origin, though the browser has a good key", () => {
  test.each(named(closed))("%s: 403", async (_, endpoint) => {
    for (const origin of ["https://evil.example", "null"])
      await expectRefused(
        () => send(endpoint, { key: admin, headers: { origin, cookie: "session=x" } }),
        403,
        "foreignOrigin",
      )
  })

  test.each(named(closed.filter(({ body }) => body !== undefined)))(
    "%s, sent as a form may be: 415",
    async (_, endpoint) => {
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
      ])
        await expectRefused(
          () => send(endpoint, { key: admin, headers: { "content-type": type } }),
          415,
          "notJson",
        )
    },
  )
})

describe("16: bodies that lie about their length", () => {
  let server: Awaited<ReturnType<typeof serve>>
  const events: Array<ServerEvent> = []
  beforeAll(async () => {
    server = await serve(config, { port: 0, guard: false, onEvent: (event) => events.push(event) })
  })
  afterAll(() => server.stop({ grace: 0 }))
  const total = async (): Promise<number> =>
    (await server.engine.counts()).reduce((sum, { count }) => sum + count, 0)

  /** What is answered to these very bytes; `""`: nothing, the connection ended. */
  const raw = (...pieces: ReadonlyArray<string>): Promise<string> => {
    const { hostname, port } = new URL(server.url)
    return new Promise((resolve) => {
      let text = ""
      const socket = connect(Number(port), hostname, async () => {
        for (const piece of pieces) if (socket.writable) socket.write(piece)
      })
      socket.setTimeout(15_000, () => socket.destroy())
      socket.on("data", (data) => {
        text += String(data)
        if (/^HTTP\/1\.1 [45]\d\d/.test(text)) socket.end()
      })
      socket.on("error", () => resolve(text))
      socket.on("close", () => resolve(text))
    })
  }
  const head = "POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
  const body = '{"job":"echo","delay":"1h"}'

  test.each([
    ["no number", "Content-Length: x\r\n\r\n", /^HTTP\/1\.1 400|^$/],
    ["less than nothing", "Content-Length: -1\r\n\r\n", /^HTTP\/1\.1 400|^$/],
    ["two lengths", `Content-Length: 5\r\nContent-Length: ${body.length}\r\n\r\n`, /^HTTP\/1\.1 4\d\d|^$/],
    ["shorter than the body", "Connection: close\r\nContent-Length: 5\r\n\r\n", /^HTTP\/1\.1 400/],
    ["longer than may be", "Content-Length: 99999999\r\n\r\n", /^HTTP\/1\.1 413/],
  ])("%s", async (_, length, answer) => {
    const before = await total()
    expect(await raw(`${head}${length}${body}`)).toMatch(answer)
    expect(await total()).toBe(before)
  })

  test("2 MiB in pieces, of no length that was said: 413 while they come", async () => {
    const piece = `10000\r\n${" ".repeat(0x10000)}\r\n`
    const before = await total()
    const answer = await raw(
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 32 }, () => piece),
      "0\r\n\r\n",
    )
    // A server may close while one still writes, and then the answer is lost on the way.
    expect(answer).toMatch(/^HTTP\/1\.1 413|^$/)
    expect(await total()).toBe(before)
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  })

  test("none of it is a fault of the server", () =>
    expect(events.filter(({ kind }) => kind === "trouble")).toEqual([]))
})

describe("17: names of prototypes", () => {
  const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
  test.each(named(closed.filter(({ body }) => body !== undefined)))(
    "%s: no fields of its body",
    async (_, endpoint) => {
      const before = await state()
      const { status } = await send(endpoint, { key: admin, given: evil })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined()
      expect(await state()).toBe(before)
    },
  )

  test.each(named(closed))("%s: no parameters", async (_, endpoint) => {
    for (const key of ["__proto__", "constructor", "__proto__[polluted]"]) {
      const { status } = await send(endpoint, { key: admin, query: `?${key}=1`, given: evil })
      expect([400, 404, 409, 422]).toContain(status)
    }
    if (hasParams(endpoint) && !isUnsafe(endpoint))
      for (const value of ["__proto__", "constructor", "toString"])
        expect([400, 404, 422]).toContain((await send(endpoint, { key: admin, value })).status)
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined()
  })

  test("as a name they are data", async () => {
    const made = await world.ask("POST", "/v1/tokens", { name: "__proto__" }, { key: admin })
    expect([made.status, made.body.name]).toEqual([201, "__proto__"])
    expect((await world.ask("DELETE", `/v1/tokens/${made.body.id}`, undefined, { key: admin })).status).toBe(
      204,
    )
  })
})

describe("18: SQL in filters and cursors", () => {
  const fieldsOf = ({ query }: Endpoint): ReadonlyArray<string> =>
    Object.keys((query as { readonly fields?: object } | undefined)?.fields ?? {})
  const tried = closed.filter((endpoint) => !isUnsafe(endpoint) && fieldsOf(endpoint).length > 0)
  test.each(named(tried))("%s: refused, or taken as it stands", async (_, endpoint) => {
    const before = await state()
    for (const field of fieldsOf(endpoint))
      for (const value of [
        "' or 1=1 --",
        '"; drop table runs; --',
        "a%' union select 1,2",
        "\\'; --",
        "\u0000",
      ]) {
        const query = `?${field}=${encodeURIComponent(value)}`
        const { status } = await send(endpoint, { key: admin, query })
        expect([field, value, [200, 400, 404, 422].includes(status)]).toEqual([field, value, true])
      }
    expect(await state()).toBe(before)
  })
})

describe("21: ways out of the path", () => {
  const ways = ["..%2f..%2fetc%2fpasswd", "%2e%2e", "..%5c..%5cx", "%00", "%2f", "a%2f..%2fb", "%c0%ae%c0%ae"]
  // A queue may have any name, this one too, and is what somebody sends runs to.
  const anyName: ReadonlySet<string> = new Set(["pauseQueue", "resumeQueue"])
  const tried = closed.filter((endpoint) => hasParams(endpoint) && !anyName.has(endpoint.name))
  test.each(named(tried))("%s: nothing is there", async (_, endpoint) => {
    const before = await state()
    for (const value of ways) {
      const { status, text } = await send(endpoint, { key: admin, value })
      expect([value, status >= 400 && status < 500]).toEqual([value, true])
      expect(text).not.toContain("root:")
    }
    expect(await state()).toBe(before)
  })

  test.each([
    "/v1/../../etc/passwd",
    "/v1/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/v1/runs/../../x",
    "/v1//runs",
  ])("%s: 404", async (path) =>
    expect((await world.ask("GET", path, undefined, { key: admin })).status).toBe(404),
  )
})

test("23: what is in headers is in no event, no audit and no answer", async () => {
  const events: Array<ServerEvent> = []
  const server = await serve(config, { port: 0, guard: false, onEvent: (event) => events.push(event) })
  const ask = async (path: string, init: RequestInit = {}): Promise<string> => {
    const response = await fetch(`${server.url}${path}`, init)
    return `${response.status} ${await response.text()}`
  }
  const json = { "content-type": "application/json" }
  const made = await ask("/v1/keys", { method: "POST", headers: json, body: '{"name":"a","role":"admin"}' })
  const key = /uhr_api_\w{16}_[\w-]{43}/.exec(made)?.[0] ?? ""
  const secret = parseKey(key)?.secret ?? "none"
  const authorization = `Bearer ${key}`
  const headers = {
    ...json,
    authorization,
    cookie: "session=c00kie-s3cret",
    "idempotency-key": "idem-s3cret",
  }
  const said = [
    await ask("/v1/runs", { method: "POST", headers, body: '{"job":"echo","delay":"1h"}' }),
    await ask("/v1/runs", { method: "POST", headers, body: '{"job":7}' }),
    await ask("/v1/runs", { method: "POST", headers, body: "{" }),
    await ask("/v1/me", { headers: { authorization: `${authorization.slice(0, -1)}~` } }),
    await ask("/v1/me", { headers: { authorization: `Basic b4sic-s3cret` } }),
    await ask(`/v1/me?token=qu3ry-s3cret`, { headers }),
    await ask(`/v1/keys?token=qu3ry-s3cret&limit=qu3ry-s3cret`, { headers }),
    await ask("/v1/nothing", { headers }),
    await ask("/v1/audit", { headers }),
  ]
  const everything = JSON.stringify([said, events])
  expect(said.filter((text) => text.startsWith("5"))).toEqual([])
  expect(events.length).toBeGreaterThan(0)
  expect(said.at(-1)).toContain('"sendRun"')
  for (const each of [secret, secret.slice(0, 20), "c00kie", "idem-s3cret", "b4sic", "qu3ry-s3cret"])
    expect(everything).not.toContain(each)
  await server.stop({ grace: 0 })
})
