// The client: over a real server what it answers, and over scripted answers what it does when something goes wrong.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { job } from "uhrwerk"
import { ApiProblem, makeClient, NoAnswer } from "uhrwerk/client"
import { type RunningServer, serve } from "uhrwerk/server"
import { endpoint } from "../../../apps/api/mod.ts"
import { makeEventParser, streamOf } from "../../../apps/client/events.ts"
import type { Fetch, Sender } from "../../../apps/client/request.ts"

const key = "uhr_key_abc_verysecret"

describe("over a server", () => {
  let server: RunningServer
  beforeAll(async () => {
    const greet = job("greet", { run: ({ name }: { name: string }) => `hello ${name}` })
    server = await serve({ jobs: [greet], storage: "memory:" }, { port: 0, guard: false })
  })
  afterAll(() => server.stop({ grace: 0 }))

  test("a run is sent and read; the whole answer has status and headers", async () => {
    const client = makeClient({ url: `${server.url}/` })
    const body = { job: "greet", input: { name: "Ada" }, key: "a", delay: "1h" }
    const { status, headers, body: sent } = await client.full.sendRun({ body })
    expect([status, headers.get("location")]).toEqual([201, `/v1/runs/${sent.id}`])
    expect(await client.getRun({ params: { id: sent.id } })).toEqual(sent)
    const response = await client.open.getRun({ params: { id: sent.id } })
    expect(await response.json()).toEqual(sent)
    expect((await client.full.sendRun({ body })).status).toBe(200)
    expect((await client.listWorkers()).items).toEqual([])
  })

  test("a list is read page by page", async () => {
    const client = makeClient({ url: server.url })
    const runs = Array.from({ length: 5 }, (_, n) => ({
      job: "greet",
      input: { name: `n${n}` },
      delay: "2h",
    }))
    const { items } = await client.sendRuns({ body: { runs } })
    const wanted = new Set(items.map(({ id }) => id))
    const pages: Array<ReadonlyArray<string>> = []
    for await (const page of client.pages.listRuns({ query: { limit: 2, job: "greet", state: "scheduled" } }))
      pages.push(page.items.map(({ id }) => id))
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.flat().filter((id) => wanted.has(id))).toHaveLength(5)
  })

  test("a refusal is an ApiProblem with all that was told", async () => {
    const client = makeClient({ url: server.url })
    const headers = { "x-request-id": "mine" }
    const error = await client.sendRun({ body: { job: "none" }, headers }).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(ApiProblem)
    expect(error).toMatchObject({
      code: "unknownJob",
      status: 422,
      errors: [{ pointer: "/job" }],
      requestId: "mine",
      retryable: false,
    })
    await expect(client.getRun({ params: { id: "../workers" } })).rejects.toMatchObject({ code: "notFound" })
    await expect(client.getRun({ params: { id: ".." } })).rejects.toThrow("params.id")
  })

  test("a server that is not there: NoAnswer, and the key is not in it", async () => {
    const client = makeClient({ url: "http://127.0.0.1:9", key, retries: 0 })
    const error = await client.listWorkers().catch((each: unknown) => each)
    expect(error).toMatchObject({ name: "NoAnswer", why: "connection" })
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain("verysecret")
  })
})

interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly redirect: unknown
}

/** Answers one after the other; the last one for ever. */
const scripted = (...answers: ReadonlyArray<() => Response | Promise<Response>>) => {
  const sent: Array<Sent> = []
  const fetch: Fetch = async (url, init) => {
    sent.push({ url, method: init.method ?? "", headers: new Headers(init.headers), redirect: init.redirect })
    const answer = answers[Math.min(sent.length, answers.length) - 1]
    const wait = new Promise<never>((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error))
    })
    return Promise.race([answer?.() ?? Response.error(), wait])
  }
  return { sent, fetch, client: makeClient({ url: "http://host.test/base", key, fetch }) }
}
const ok =
  (body: unknown = {}) =>
  () =>
    Response.json(body)
const problem =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  () =>
    new Response(
      JSON.stringify({ code, detail: `it is ${code}`, retryable: status === 503 || status === 429 }),
      {
        status,
        headers: { "content-type": "application/problem+json", ...headers },
      },
    )
const cut = () =>
  Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } }))
const never = () => new Promise<Response>(() => undefined)
const run = { body: { job: "greet" } }

describe("when something goes wrong", () => {
  // No wait is a wait of up to nothing.
  beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0))
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test("a call that takes an Idempotency-Key is sent again, with the same key", async () => {
    const { sent, client } = scripted(cut, problem(503, "storeUnavailable"), ok({ id: "r" }))
    expect(await client.sendRun(run)).toEqual({ id: "r" })
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"))
    expect([keys.length, new Set(keys).size]).toEqual([3, 1])
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
    expect(sent[0]).toMatchObject({
      url: "http://host.test/base/v1/runs",
      method: "POST",
      redirect: "manual",
    })
    expect(sent[0]?.headers.get("authorization")).toBe(`Bearer ${key}`)
    await client.sendRun({ ...run, idempotencyKey: "mine" })
    expect(sent.at(-1)?.headers.get("idempotency-key")).toBe("mine")
  })

  test("so often and no more; what no other try can mend is not tried again", async () => {
    const busy = scripted(problem(503, "overloaded"))
    await expect(busy.client.sendRun(run)).rejects.toMatchObject({ code: "overloaded", retryable: true })
    expect(busy.sent).toHaveLength(4)
    const wrong = scripted(problem(422, "invalidBody"))
    await expect(wrong.client.sendRun(run)).rejects.toMatchObject({ code: "invalidBody" })
    expect(wrong.sent).toHaveLength(1)
    const once = scripted(cut)
    await expect(once.client.getRun({ params: { id: "r" }, retries: 0 })).rejects.toMatchObject({
      why: "connection",
      message: "GET http://host.test/base/v1/runs/r was not answered: ECONNRESET",
    })
  })

  test("Retry-After is waited for, but not for an hour", async () => {
    vi.useFakeTimers()
    const { sent, client } = scripted(problem(429, "tooMany", { "retry-after": "7" }), ok({ workers: [] }))
    const asked = client.listWorkers()
    await vi.advanceTimersByTimeAsync(6_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect([await asked, sent.length]).toEqual([{ workers: [] }, 2])
    const later = scripted(problem(429, "tooMany", { "retry-after": "3600" }))
    await expect(later.client.listWorkers()).rejects.toMatchObject({ retryAfterMillis: 3_600_000 })
    expect(later.sent).toHaveLength(1)
  })

  test("no answer in time is NoAnswer, after other tries", async () => {
    vi.useFakeTimers()
    const { sent, client } = scripted(never)
    const asked = client.listWorkers({ timeout: 100, retries: 1 }).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(1_000)
    const error = await asked
    expect(error).toBeInstanceOf(NoAnswer)
    expect(error).toMatchObject({ why: "timeout" })
    expect(sent).toHaveLength(2)
  })

  test("an abort ends the call and its waits, with the signal's reason", async () => {
    const reason = new Error("enough")
    const hanging = scripted(never)
    const first = new AbortController()
    const asked = hanging.client.listWorkers({ signal: first.signal })
    first.abort(reason)
    await expect(asked).rejects.toBe(reason)
    const second = new AbortController()
    const { client, sent } = scripted(problem(429, "tooMany", { "retry-after": "50" }))
    const waiting = client.listWorkers({ signal: second.signal })
    await vi.waitFor(() => expect(sent).toHaveLength(1))
    second.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(client.listWorkers({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test("pages are read one after the other; a server that goes in a circle is left", async () => {
    const { sent, client } = scripted(
      ok({ items: [1, 2], cursor: "a+b" }),
      ok({ items: [3], cursor: "c" }),
      ok({ items: [], cursor: null }),
    )
    // A list that there may be some day: the client makes a method of each route.
    const { listWorkers: pages } = client.pages as unknown as Record<
      "listWorkers",
      (call: object) => AsyncGenerator<{ readonly items: ReadonlyArray<number> }>
    >
    const items: Array<number> = []
    for await (const page of pages({ query: { limit: 2, state: ["x", "y"] } })) items.push(...page.items)
    expect(items).toEqual([1, 2, 3])
    expect(sent.map(({ url }) => new URL(url).search)).toEqual([
      "?limit=2&state=x&state=y",
      "?limit=2&state=x&state=y&cursor=a%2Bb",
      "?limit=2&state=x&state=y&cursor=c",
    ])
    const circle = scripted(ok({ items: [], cursor: "a" }))
    const round = (circle.client.pages as unknown as { readonly listWorkers: typeof pages }).listWorkers({})
    await round.next()
    await expect(round.next()).rejects.toThrow("the same cursor twice")
  })

  test("a redirect is not followed", async () => {
    const { sent, client } = scripted(() => Response.redirect("http://evil.test/"))
    await expect(client.listWorkers()).rejects.toMatchObject({ why: "redirect" })
    expect(sent).toHaveLength(1)
  })

  test("an answer of somebody else is `unknown`, and one that is no JSON is told", async () => {
    const proxy = scripted(() => new Response("<html>", { status: 404 }))
    await expect(proxy.client.listWorkers()).rejects.toMatchObject({
      code: "unknown",
      status: 404,
      retryable: false,
    })
    const half = scripted(() => new Response('{"a', { headers: { "content-type": "application/json" } }))
    await expect(half.client.listWorkers({ retries: 0 })).rejects.toMatchObject({ why: "unreadable" })
  })
})

test.each([
  [{ url: "ftp://a" }, "url"],
  [{ url: "host:8080" }, "url"],
  [{ url: "http://me:pass@host" }, "password"],
  [{ url: "http://host", key: "a b" }, "key holds"],
  [{ url: "http://host", timeout: 0 }, "timeout"],
  [{ url: "http://host", retries: -1 }, "retries"],
])("a wrong option is refused: %o", (options, text) => {
  expect(() => makeClient(options)).toThrow(text)
})

test("a key that is refused is not quoted", () => {
  expect(() => makeClient({ url: "http://host", key: "verysecret\n" })).toThrow(/^(?!.*verysecret)/)
})

describe("events", () => {
  const watch = endpoint({
    name: "watch",
    method: "get",
    path: "/v1/watch",
    tag: "t",
    role: "viewer",
    summary: "s",
    success: [{ status: 200, description: "d", type: "text/event-stream" }],
    problems: [],
  })
  const streaming = (text: string) => () =>
    new Response(text, { headers: { "content-type": "text/event-stream" } })
  const senderOf = (fetch: Fetch): Sender => ({
    base: "http://host.test",
    key,
    fetch,
    timeout: 1000,
    retries: 2,
  })
  beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0))
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test("in pieces of any size, with any line ends, comments passed over", () => {
    const text = ': hello\r\nid: 1\r\ndata: {"a":1}\r\n\r\nevent: x\rdata: one\rdata:two\r\rid: 3\n\ndata\n\n'
    const wanted = [
      { id: "1", event: "message", data: { a: 1 } },
      { id: "1", event: "x", data: "one\ntwo" },
      { id: "3", event: "message", data: "" },
    ]
    for (let size = 1; size <= text.length; size++) {
      const parse = makeEventParser()
      const found = Array.from({ length: Math.ceil(text.length / size) }, (_, place) =>
        parse(text.slice(place * size, (place + 1) * size)),
      )
      expect(found.flat()).toEqual(wanted)
    }
  })

  test("an event without an end is refused", () => {
    const parse = makeEventParser()
    expect(() => {
      for (let n = 0; n < 100; n++) parse("x".repeat(100_000))
    }).toThrow("too large")
  })

  test("it goes on after the last event when the connection ends, until the loop is left", async () => {
    const { sent, fetch } = scripted(
      streaming('id: 7\ndata: "a"\n\nid: 8\ndata: "b"\n\nid: 9\nda'),
      cut,
      problem(503, "notServing"),
      streaming('id: 9\ndata: "c"\n\n'),
    )
    const data: Array<unknown> = []
    for await (const event of streamOf(senderOf(fetch), watch, { lastEventId: "6" }))
      if (data.push(event.data) === 3) break
    expect(data).toEqual(["a", "b", "c"])
    expect(sent.map(({ headers }) => headers.get("last-event-id"))).toEqual(["6", "8", "8", "8"])
  })

  test("it goes on behind an id that came without an event, but never behind events that it did not pass on", async () => {
    const { sent, fetch } = scripted(
      streaming("retry: 1000\nid: 4\n\n"),
      streaming('id: 5\ndata: "a"\n\n:\nid: 6\n\nid: 7\n'),
      streaming('id: 7\ndata: "b"\n\n'),
    )
    const data: Array<unknown> = []
    for await (const event of streamOf(senderOf(fetch), watch, {})) if (data.push(event.data) === 2) break
    expect(data).toEqual(["a", "b"])
    expect(sent.map(({ headers }) => headers.get("last-event-id"))).toEqual([null, "4", "6"])
  })

  test("it ends on a refusal, after failures in a row, and by its signal", async () => {
    const drain = async (fetch: Fetch) => {
      for await (const _ of streamOf(senderOf(fetch), watch, { retries: 2 })) void _
    }
    await expect(drain(scripted(problem(403, "forbidden")).fetch)).rejects.toMatchObject({
      code: "forbidden",
    })
    const dead = scripted(cut)
    await expect(drain(dead.fetch)).rejects.toMatchObject({ why: "connection" })
    expect(dead.sent).toHaveLength(3)
    const empty = scripted(streaming(""))
    await expect(drain(empty.fetch)).rejects.toMatchObject({ why: "connection" })
    const leave = new AbortController()
    const open = new ReadableStream<Uint8Array>({
      start: (to) => to.enqueue(new TextEncoder().encode("data: 1\n\n")),
    })
    const events = streamOf(senderOf(scripted(() => new Response(open)).fetch), watch, {
      signal: leave.signal,
    })
    expect((await events.next()).value).toMatchObject({ data: 1 })
    const next = events.next()
    leave.abort(new Error("enough"))
    await expect(next).rejects.toThrow("enough")
  })
})
