// `/v1/dead-letters` over a real engine whose runs have died.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { job, NonRetryable } from "uhrwerk"
import { makeOperations } from "../../../../apps/server/Operations.ts"
import { maySee } from "../../../../apps/server/api/Handler.ts"
import { deadHandlers } from "../../../../apps/server/api/dead.ts"
import { operationHandlers } from "../../../../apps/server/api/operations.ts"
import { Refused } from "../../../../apps/server/problems.ts"
import { operator } from "../bulkWorld.ts"
import { startWorld, type World } from "./world.ts"

let world: World
let failing = true
const ids: Array<string> = []
const send = async (name: string, input: unknown): Promise<string> => {
  const { body } = await world.ask("POST", "/v1/runs", { job: name, input })
  return body.id
}
// A turn of the event loop between two looks: the engine needs it as well.
const until = async (what: () => Promise<boolean>): Promise<void> => {
  for (
    const end = Date.now() + 20_000;
    !(await what());
    await new Promise((resolve) => setImmediate(resolve))
  )
    if (Date.now() > end) throw new Error("It did not come about within 20 s")
}
const letters = async (query = "") => (await world.ask("GET", `/v1/dead-letters${query}`)).body

beforeAll(async () => {
  const fail = ({ n }: { n: number }): string => {
    if (failing) throw new NonRetryable(`Customer ${n} has no "plan-${n}", token=abc${n}`)
    return "sent"
  }
  world = await startWorld({
    jobs: [
      job("mail.digest", { run: fail }),
      job("mail.bill", {
        retry: { max: 2, delay: 1 },
        run: () => {
          throw new TypeError("It broke")
        },
      }),
      job("web", { run: fail }),
    ],
    storage: "memory:",
  })
  for (let n = 0; n < 5; n++) ids.push(await send(n < 3 ? "mail.digest" : n < 4 ? "mail.bill" : "web", { n }))
  await until(async () => (await letters()).items.length === 5)
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

const server = () =>
  makeOperations({
    store: world.store,
    self: "test",
    onTrouble: (doing, error) => {
      throw new Error(doing, { cause: error })
    },
  })

/** The call of a handler by somebody of a namespace. */
const callOf = (params: object, query: object, body: object, namespace: string) =>
  ({
    params,
    query,
    body,
    caller: { ...operator, namespace },
    requestId: "r",
    headers: new Headers(),
    signal: new AbortController().signal,
    parts: {
      store: world.store,
      engine: () => world.engine,
    },
  }) as never

describe("reading", () => {
  test("letters come page by page, the highest id first, each once", async () => {
    const seen: Array<string> = []
    let cursor: string | null = null
    do {
      const page: { items: ReadonlyArray<{ runId: string }>; cursor: string | null } = await letters(
        `?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`,
      )
      seen.push(...page.items.map(({ runId }) => runId))
      cursor = page.cursor
    } while (cursor !== null)
    expect(seen).toEqual(ids.toSorted().toReversed())
  })

  test("of a job, and of an error group", async () => {
    const { items } = await letters("?job=mail.digest")
    expect(items).toHaveLength(3)
    const [{ fingerprint, error }] = items
    expect(error.message).not.toContain("abc")
    expect((await letters(`?fingerprint=${fingerprint}`)).items).toHaveLength(4)
    expect((await letters(`?fingerprint=${fingerprint}&job=web`)).items).toHaveLength(1)
  })

  test("a cursor of another filter is refused", async () => {
    const { cursor } = await letters("?job=mail.digest&limit=1")
    expect((await world.ask("GET", `/v1/dead-letters?cursor=${cursor}`)).body.code).toBe("badCursor")
  })

  test("one letter has its input and every attempt", async () => {
    const { status, body } = await world.ask("GET", `/v1/dead-letters/${ids[3]}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ runId: ids[3], job: "mail.bill", input: { n: 3 }, attempt: 2 })
    expect(body.attempts.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 2])
    expect(body.attempts[0].error).toMatchObject({ name: "TypeError", stack: expect.any(String) })
    const sent = await send("mail.digest", { n: 77 })
    for (const id of ["nothing", "0199a1b2-0000-7000-8000-000000000001"])
      expect((await world.ask("GET", `/v1/dead-letters/${id}`)).status).toBe(404)
    await until(async () => (await letters("?job=mail.digest")).items.length === 4)
    expect((await world.ask("DELETE", `/v1/dead-letters/${sent}`)).status).toBe(204)
    expect((await world.ask("DELETE", `/v1/dead-letters/${sent}`)).status).toBe(404)
  })

  test("groups are those of the same error, the largest first", async () => {
    const { body } = await world.ask("GET", "/v1/dead-letters/groups?limit=1")
    expect(body).toMatchObject({ letters: 5, exact: true, leftOut: 1 })
    expect(body.items).toEqual([
      expect.objectContaining({
        pattern: expect.stringMatching(/^NonRetryable: Customer # has no "…", token=\[redacted\]$/),
        count: 4,
        jobs: ["web", "mail.digest"],
        sample: expect.objectContaining({ runId: ids[4] }),
      }),
    ])
    expect(body.items[0].firstAt).toBeLessThanOrEqual(body.items[0].lastAt)
  })

  test("the export is a line for each letter, whole, in the order of the list", async () => {
    const ask = (query = "") =>
      world.app.request(
        `http://127.0.0.1:8080/v1/dead-letters/export${query}`,
        {},
        { remoteAddress: "127.0.0.1" },
      )
    const answer = await ask()
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/x-ndjson"])
    const text = await answer.text()
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines.map(({ runId }) => runId)).toEqual(ids.toSorted().toReversed())
    expect(lines[0]).toEqual((await world.ask("GET", `/v1/dead-letters/${lines[0].runId}`)).body)
    expect(await (await ask("?job=nothing")).text()).toBe("")
  })
})

describe("a caller with a namespace", () => {
  test("sees, exports, groups and drops its own letters only", async () => {
    const listed = await deadHandlers.listDeadLetters(callOf({}, {}, {}, "mail"))
    expect(listed.body?.items.map((item) => item.job).sort()).toEqual([
      "mail.bill",
      "mail.digest",
      "mail.digest",
      "mail.digest",
    ])
    const grouped = await deadHandlers.groupDeadLetters(callOf({}, {}, {}, "web"))
    expect(grouped.body).toMatchObject({ letters: 1, exact: true })
    const { stream } = await deadHandlers.exportDeadLetters(callOf({}, {}, {}, "web"))
    expect((await new Response(stream).text()).trimEnd().split("\n")).toHaveLength(1)
    const foreign = callOf({ id: ids[4] }, {}, {}, "mail")
    for (const handler of [
      deadHandlers.getDeadLetter,
      deadHandlers.replayDeadLetter,
      deadHandlers.dropDeadLetter,
    ])
      await expect(handler(foreign)).rejects.toMatchObject({ problem: { code: "notFound" } })
    expect(maySee({ ...operator, namespace: "mail" }, "web")).toBe(false)
  })

  test("sees no operation of others, and touches nothing of theirs", async () => {
    const begun = await deadHandlers.dropDeadLetters(
      callOf({}, {}, { filter: { createdBefore: "2099-01-01T00:00:00Z" } }, "nobody"),
    )
    expect(begun.status).toBe(202)
    const { id } = begun.body as { id: string }
    await server().tick()
    await server().tick()
    const own = await operationHandlers.getOperation(callOf({ id }, {}, {}, "nobody"))
    expect(own.body).toMatchObject({ state: "succeeded", done: 0 })
    expect((await letters()).items).toHaveLength(5)
    for (const handler of [operationHandlers.getOperation, operationHandlers.cancelOperation])
      await expect(handler(callOf({ id }, {}, {}, "mail"))).rejects.toBeInstanceOf(Refused)
    const listed = await operationHandlers.listOperations(callOf({}, {}, {}, "mail"))
    expect(listed.body).toEqual({ items: [], cursor: null })
    expect((await operationHandlers.listOperations(callOf({}, {}, {}, "nobody"))).body?.items).toHaveLength(1)
  })
})

describe("replaying", () => {
  test("one: a new run, once", async () => {
    failing = false
    const first = await world.ask("POST", `/v1/dead-letters/${ids[0]}/replay`)
    expect([first.status, first.headers.get("location")]).toEqual([201, `/v1/runs/${first.body.runId}`])
    const second = await world.ask("POST", `/v1/dead-letters/${ids[0]}/replay`)
    expect([second.status, second.body]).toEqual([200, first.body])
    expect((await world.ask("POST", `/v1/dead-letters/${first.body.runId}/replay`)).status).toBe(404)
  })

  test("by a filter: first what it would do, then as an operation with a rate", async () => {
    const body = { filter: { job: "mail.digest" }, rate: "100/s" }
    const dry = await world.ask("POST", "/v1/dead-letters/replay", { ...body, dryRun: true })
    expect([dry.status, dry.body]).toEqual([
      200,
      { total: { value: 2, exact: true }, sample: [ids[2], ids[1]] },
    ])
    const begun = await world.ask("POST", "/v1/dead-letters/replay", body)
    expect([begun.status, begun.body.state, begun.body.perSecond]).toEqual([202, "queued", 100])
    const where = begun.headers.get("location") ?? ""
    const operations = server()
    operations.start()
    await until(async () => (await world.ask("GET", where)).body.state === "succeeded")
    await operations.stop()
    expect((await world.ask("GET", where)).body).toMatchObject({
      kind: "replayDeadLetters",
      filter: { job: "mail.digest" },
      done: 2,
      failed: 0,
      total: { value: 2, exact: true },
      startedBy: { name: "local" },
    })
    expect((await letters("?job=mail.digest")).items).toEqual([])
    // What the engine made of them.
    await until(
      async () => (await world.engine.runs({ job: "mail.digest", state: "succeeded" })).length === 3,
    )
  })

  test.each([
    ["a filter that says nothing", { filter: {} }, "invalidInput", "/filter"],
    ["no filter", {}, "invalidBody", "/filter"],
    ["a field that is not known", { filter: { jobs: "x" } }, "invalidBody", "/filter/jobs"],
    ["a wrong rate", { filter: { job: "x" }, rate: "0/s" }, "invalidInput", "/rate"],
    ["a wrong instant", { filter: { createdAfter: "soon" } }, "invalidInput", "/filter/createdAfter"],
  ])("%s is refused", async (_, body, code, where) => {
    const refused = await world.ask("POST", "/v1/dead-letters/replay", body)
    expect([refused.status, refused.body.code, refused.body.errors[0].pointer]).toEqual([422, code, where])
  })
})
