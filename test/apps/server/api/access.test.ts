// Keys, tokens, the audit, and what the pipeline does for every route, over a real engine.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { job } from "uhrwerk"
import { parseKey, parseToken } from "../../../../apps/server/Token.ts"
import { until } from "../project.ts"
import { startWorld, type World } from "./world.ts"

const config = {
  jobs: [
    job("mail.digest", { run: () => ({ sent: 3 }) }),
    job<{ n: number }, number>("shop.count", { run: ({ n }) => n }),
  ],
  storage: "memory:",
} as const
let world: World
beforeEach(async () => {
  world = await startWorld(config)
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})
const later = { job: "mail.digest", delay: "1h" }
const runs = async (): Promise<number> =>
  (await world.engine.counts()).reduce((sum, { count }) => sum + count, 0)

describe("before there is a key", () => {
  test("this machine is an admin, and no other may", async () => {
    expect((await world.ask("GET", "/v1/me")).body).toEqual({
      kind: "local",
      id: null,
      name: "local",
      role: "admin",
      namespace: null,
    })
    const far = await world.ask("GET", "/v1/me", undefined, { from: "192.0.2.7" })
    expect([far.status, far.body.code]).toEqual([403, "notLocal"])
    expect(far.body.detail).toContain("uhrwerk key create")
  })

  test("what is sent as a key must be one all the same", async () => {
    const wrong = await world.ask("GET", "/v1/me", undefined, { key: "x" })
    expect([wrong.status, wrong.body.code]).toEqual([401, "unauthenticated"])
  })
})

describe("keys", () => {
  test("the first one is made here, and is asked for from then on, from wherever a request comes", async () => {
    const made = await world.ask("POST", "/v1/keys", { name: "ops", role: "admin", expires: "90d" })
    expect(made.status).toBe(201)
    const { key, ...view } = made.body
    expect(parseKey(key)?.id).toBe(view.id)
    expect(view).toMatchObject({ name: "ops", role: "admin", namespace: null, state: "valid" })
    expect(view.expiresAt - view.createdAt).toBe(90 * 86_400_000)
    await until(
      "it is asked for",
      () => world.ask("GET", "/v1/me"),
      ({ status }) => status === 401,
    )
    for (const from of ["127.0.0.1", "192.0.2.7"])
      expect((await world.ask("GET", "/v1/me", undefined, { key, from })).body).toEqual({
        kind: "key",
        id: view.id,
        name: "ops",
        role: "admin",
        namespace: null,
      })
    const read = await world.ask("GET", made.headers.get("location") ?? "", undefined, { key })
    expect(read.body).toEqual({ ...view, lastUsedAt: expect.any(Number) })
    expect(read.text).not.toContain(parseKey(key)?.secret)
  })

  test("one that is revoked is over, and to revoke the last one does not open the door, nor does a new start", async () => {
    const key = await world.makeKey({ name: "only" })
    const { body } = await world.ask("GET", "/v1/keys", undefined, { key })
    expect(body.items.map(({ name }: { name: string }) => name)).toEqual(["only"])
    const { id } = body.items[0]
    expect((await world.ask("DELETE", `/v1/keys/${id}`, undefined, { key })).status).toBe(204)
    await until(
      "it is over",
      () => world.ask("GET", "/v1/me", undefined, { key }),
      ({ status }) => status === 401,
    )
    expect((await world.ask("GET", "/v1/me")).status).toBe(401)
    const { openKeyBook } = await import("../../../../apps/server/TokenBook.ts")
    const again = await openKeyBook({ store: world.store, onTrouble: () => undefined })
    expect(again.isRequired()).toBe(true)
    again.stop()
  })

  test("lists come page by page, in the order in which they were made", async () => {
    const key = await world.makeKey({ name: "k0" })
    for (let each = 1; each < 5; each++) await world.makeKey({ name: `k${each}` })
    const names: Array<string> = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const page = await world.ask(
        "GET",
        `/v1/keys?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
        undefined,
        {
          key,
        },
      )
      expect(page.status).toBe(200)
      names.push(...page.body.items.map(({ name }: { name: string }) => name))
      cursor = page.body.cursor
    }
    // Of the same millisecond they are in the order of their ids.
    expect(names.sort()).toEqual(["k0", "k1", "k2", "k3", "k4"])
    const { body } = await world.ask("GET", "/v1/keys?limit=2", undefined, { key })
    for (const [path, cursor] of [
      ["/v1/tokens", body.cursor],
      ["/v1/audit", body.cursor],
      ["/v1/keys", "x"],
      ["/v1/keys", Buffer.from("keys:' or 1=1 --").toString("base64url")],
    ] as const) {
      const refused = await world.ask("GET", `${path}?cursor=${cursor}`, undefined, { key })
      expect([path, refused.status, refused.body.code]).toEqual([path, 400, "badCursor"])
    }
  })

  test.each([
    [{}, 422, "invalidBody"],
    [{ name: "a", role: "root" }, 422, "invalidBody"],
    [{ name: "a", admin: true }, 422, "invalidBody"],
    [{ name: " a" }, 422, "invalidInput"],
    [{ name: "a", expires: "soon" }, 422, "invalidInput"],
    [{ name: "a", namespace: " " }, 422, "invalidInput"],
  ])("%j makes none, and leaves the door as it is", async (body, status, code) => {
    const refused = await world.ask("POST", "/v1/keys", body)
    expect([refused.status, refused.body.code]).toEqual([status, code])
    expect(await world.store.credentials()).toEqual([])
  })

  test("a name is taken once; what is not there cannot be read or revoked", async () => {
    const key = await world.makeKey({ name: "a" })
    const taken = await world.ask("POST", "/v1/keys", { name: "a" }, { key })
    expect([taken.status, taken.body.errors[0].pointer]).toEqual([422, "/name"])
    for (const [method, path] of [
      ["GET", "/v1/keys/door"],
      ["DELETE", "/v1/keys/door"],
      ["DELETE", "/v1/tokens/nobody"],
    ] as const)
      expect((await world.ask(method, path, undefined, { key })).status).toBe(404)
  })

  test("when one was used is kept to the minute", async () => {
    const key = await world.makeKey({ name: "a" })
    let puts = 0
    const list = async () => (await world.ask("GET", "/v1/keys", undefined, { key })).body.items[0]
    for (; puts < 5; puts++) await list()
    expect((await list()).lastUsedAt).toBeLessThanOrEqual(await world.store.now())
    const [use, ...more] = await world.store.records({ kind: "key-use", order: "ascending", limit: 10 })
    expect([use?.version, more]).toEqual([1, []])
  })
})

describe("tokens of workers", () => {
  test("they are made, listed without their secret, and revoked", async () => {
    const made = await world.ask("POST", "/v1/tokens", { name: "mailers", queues: ["mail"] })
    const { token, ...view } = made.body
    expect(parseToken(token)?.id).toBe(view.id)
    const listed = await world.ask("GET", "/v1/tokens")
    expect(listed.body).toEqual({ items: [view], cursor: null })
    expect((await world.ask("DELETE", `/v1/tokens/${view.id}`)).status).toBe(204)
    expect((await world.ask("GET", "/v1/tokens")).body.items).toEqual([])
    // The door of the API is another one.
    expect((await world.ask("GET", "/v1/me")).status).toBe(200)
  })
})

describe("namespaces", () => {
  test("a key that is bound to one makes no other, and sees nothing of the whole store", async () => {
    const key = await world.makeKey({ namespace: "mail" })
    for (const [method, path, body] of [
      ["POST", "/v1/keys", { name: "x" }],
      ["GET", "/v1/keys"],
      ["GET", "/v1/keys/x"],
      ["DELETE", "/v1/keys/x"],
      ["POST", "/v1/tokens", { name: "x" }],
      ["GET", "/v1/tokens"],
      ["DELETE", "/v1/tokens/x"],
      ["GET", "/v1/audit"],
    ] as const) {
      const refused = await world.ask(method, path, body, { key })
      expect([method, path, refused.status, refused.body.code]).toEqual([method, path, 403, "forbidden"])
    }
    expect((await world.ask("POST", "/v1/runs", later, { key })).status).toBe(201)
    const other = await world.ask("POST", "/v1/runs", { job: "shop.count" }, { key })
    expect([other.status, other.body.code]).toEqual([422, "unknownJob"])
    expect(other.body.detail).toMatch(/Known: mail\.digest\./)
  })
})

describe("the audit", () => {
  const rows = async (key: string, query = "") =>
    (await world.ask("GET", `/v1/audit${query}`, undefined, { key })).body.items

  test("has a row for what was done and for what was refused, with who, where and what", async () => {
    const admin = await world.makeKey({ name: "boss" })
    const viewer = await world.makeKey({ name: "guest", role: "viewer" })
    const sent = await world.ask("POST", "/v1/runs", later, {
      key: admin,
      from: "192.0.2.7",
      headers: { "x-request-id": "r-1" },
    })
    await world.ask("POST", "/v1/runs", later, { key: viewer })
    await world.ask("POST", "/v1/runs", { job: 7 }, { key: admin })
    await world.ask("DELETE", "/v1/keys/abc", undefined, { key: viewer })
    await world.ask("GET", "/v1/me", undefined, { key: viewer })
    await world.ask("POST", "/v1/runs", later, { key: "nonsense" })
    const all = await rows(admin)
    expect(all).toMatchObject([
      {
        route: "revokeKey",
        status: 403,
        code: "forbidden",
        params: { id: "abc" },
        actor: { name: "guest" },
      },
      { route: "sendRun", status: 422, code: "invalidBody", actor: { name: "boss" } },
      { route: "sendRun", status: 403, code: "forbidden", actor: { name: "guest" }, detail: {} },
      {
        route: "sendRun",
        status: 201,
        code: null,
        replayed: false,
        address: "192.0.2.7",
        requestId: "r-1",
        actor: { kind: "key", name: "boss" },
        detail: { job: "mail.digest", run: sent.body.id },
      },
    ])
    expect(all).toHaveLength(4)
    expect((await rows(admin, "?actor=guest")).map(({ route }: { route: string }) => route)).toEqual([
      "revokeKey",
      "sendRun",
    ])
    expect(await rows(admin, "?route=sendRun&limit=1")).toHaveLength(1)
    expect(await rows(admin, `?to=${all[3].at}`)).toEqual([])
    expect((await world.ask("GET", "/v1/audit?from=soon", undefined, { key: admin })).body.code).toBe(
      "invalidInput",
    )
  })

  test("has no secret of a key that was made", async () => {
    const admin = await world.makeKey()
    const { body } = await world.ask("POST", "/v1/keys", { name: "x" }, { key: admin })
    const kept = JSON.stringify(await rows(admin))
    expect(kept).toContain(body.id)
    expect(kept).not.toContain(parseKey(body.key)?.secret)
    expect(kept).not.toContain(parseKey(admin)?.secret)
  })
})

describe("Idempotency-Key", () => {
  const again = { headers: { "idempotency-key": "order-7" } }

  test("one run, however often it is sent; the same answer, and a row each that says so", async () => {
    const first = await world.ask("POST", "/v1/runs", later, again)
    const second = await world.ask("POST", "/v1/runs", later, again)
    expect([second.status, second.text]).toEqual([first.status, first.text])
    expect(first.headers.get("idempotency-replayed")).toBeNull()
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    expect(second.headers.get("location")).toBe(first.headers.get("location"))
    expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"))
    expect(await runs()).toBe(1)
    const { body } = await world.ask("GET", "/v1/audit")
    expect(body.items.map(({ replayed }: { replayed: boolean }) => replayed)).toEqual([true, false])
  })

  test("another body or route is refused, and so is what is no key", async () => {
    await world.ask("POST", "/v1/runs", later, again)
    for (const [path, body] of [
      ["/v1/runs", { ...later, priority: 1 }],
      ["/v1/keys", { name: "a" }],
    ] as const) {
      const refused = await world.ask("POST", path, body, again)
      expect([refused.status, refused.body.code]).toEqual([422, "keyReused"])
    }
    for (const key of ["x".repeat(256), "ä", ""]) {
      const bad = await world.ask("POST", "/v1/runs", later, { headers: { "idempotency-key": key } })
      expect([bad.status, bad.body.code]).toEqual([400, "badHeader"])
    }
    expect(await runs()).toBe(1)
  })

  test("a refusal of the body uses no key up, one of the handler does", async () => {
    expect((await world.ask("POST", "/v1/runs", { job: 7 }, again)).body.code).toBe("invalidBody")
    expect((await world.ask("POST", "/v1/runs", { job: "nope" }, again)).body.code).toBe("unknownJob")
    const second = await world.ask("POST", "/v1/runs", { job: "nope" }, again)
    expect([second.body.code, second.headers.get("idempotency-replayed")]).toEqual(["unknownJob", "true"])
  })

  test("the text of a key is told once, and kept nowhere", async () => {
    const first = await world.ask("POST", "/v1/keys", { name: "ops", role: "admin" }, again)
    const { key } = first.body
    await until(
      "it is asked for",
      () => world.ask("GET", "/v1/me", undefined, { key }),
      ({ status }) => status === 200,
    )
    // Whoever sends it again is the key by now, and another caller.
    const own = await world.ask("POST", "/v1/tokens", { name: "w" }, { key, ...again })
    const repeated = await world.ask("POST", "/v1/tokens", { name: "w" }, { key, ...again })
    expect(repeated.body).toEqual({ ...own.body, token: null })
    expect(repeated.headers.get("idempotency-replayed")).toBe("true")
    const kept = JSON.stringify([
      await world.store.records({ kind: "idempotency", order: "ascending", limit: 100 }),
      await world.store.records({ kind: "audit", order: "ascending", limit: 100 }),
      await world.store.credentials(),
    ])
    expect(kept).not.toContain(parseKey(key)?.secret)
    expect(kept).not.toContain(parseToken(own.body.token)?.secret)
  })
})

describe("rate limits", () => {
  test("each key for itself; the headers say how much is left, and 429 when to come again", async () => {
    const limited = await startWorld(config, { perSecond: 0.01, burst: 3 })
    const [a, b] = [await limited.makeKey(), await limited.makeKey()]
    const ask = (key?: string) => limited.ask("GET", "/v1/me", undefined, key === undefined ? {} : { key })
    const answers = [await ask(a), await ask(a), await ask(a), await ask(a)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(answers[0]?.headers.get("ratelimit-policy")).toBe('"requests";q=3;w=300')
    expect(answers.map(({ headers }) => headers.get("ratelimit"))).toEqual([
      '"requests";r=2;t=0',
      '"requests";r=1;t=0',
      expect.stringMatching(/^"requests";r=0;t=\d+$/),
      expect.stringMatching(/^"requests";r=0;t=\d+$/),
    ])
    expect(answers[3]?.body).toMatchObject({ code: "tooMany", retryable: true })
    expect(Number(answers[3]?.headers.get("retry-after"))).toBeGreaterThan(90)
    expect((await ask(b)).status).toBe(200)
    // Without a good key it is the address that counts, and a good one is taken from there all the same.
    expect([(await ask()).status, (await ask("x")).status, (await ask()).status]).toEqual([401, 401, 401])
    expect((await ask()).status).toBe(429)
    expect((await ask(b)).status).toBe(200)
    await limited.stop()
  })
})
