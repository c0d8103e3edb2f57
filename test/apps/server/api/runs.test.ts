// `/v1/runs` over a real engine.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { flow, job, NonRetryable, type RunContext } from "uhrwerk"
import type { Caller } from "../../../../apps/server/api/Handler.ts"
import { runHandlers } from "../../../../apps/server/api/runs.ts"
import { Refused } from "../../../../apps/server/problems.ts"
import { waitsMax } from "../../../../apps/server/RunWaits.ts"
import { lowestId, makeIds } from "../../../../core/domain/Ids.ts"
import { until } from "../project.ts"
import { startWorld, type World } from "./world.ts"

const gates = new Map<string, () => void>()
/** Lets the run of `slow` with this name end. */
const open = (name: string): Promise<void> => until(name, () => gates.get(name), Boolean).then((go) => go?.())

let world: World
beforeAll(async () => {
  world = await startWorld({
    jobs: [
      job("mail.digest", { run: () => ({ sent: 3 }) }),
      job("mail.broken", {
        retry: { max: 2, delay: "10ms" },
        run: () => {
          throw new Error("cannot log in with password=hunter2")
        },
      }),
      job("mail.late", {
        retry: { max: 3, delay: "1h" },
        run: () => {
          throw new Error("not yet")
        },
      }),
      job("bill.refused", {
        run: () => {
          throw new NonRetryable("never")
        },
      }),
      job("talk", {
        run: (count: number, ctx: RunContext) => {
          for (let line = 1; line <= count; line++) ctx.log(`line ${line}`)
          ctx.log('sent {"token":"abc"} to https://me:pw@example.org/')
          ctx.progress(40, "half of it, secret=xyz")
          ctx.progress(80, "nearly")
        },
      }),
      job("slow", {
        run: (name: string, { signal }) =>
          new Promise<void>((resolve, reject) => {
            gates.set(name, resolve)
            signal.addEventListener("abort", () => reject(new Error("stopped")))
          }),
      }),
      job("bulk", { queue: "bulk", run: () => null }),
      flow("bill.pair", {}, (f) => {
        f.step("one", {
          retry: { max: 1 },
          run: () => {
            throw new Error("the first step")
          },
        })
      }),
    ],
    storage: "memory:",
    worker: { concurrency: 50 },
    poll: "50ms",
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

const send = async (job: string, more: Readonly<Record<string, unknown>> = {}): Promise<any> => {
  const { status, body } = await world.ask("POST", "/v1/runs", { job, ...more })
  expect(status).toBe(201)
  return body
}
const read = async (id: string, query = "") => (await world.ask("GET", `/v1/runs/${id}${query}`)).body
const ended = (id: string, state: string) =>
  until(
    `${id} is ${state}`,
    () => read(id),
    (run) => run.state === state,
  )
const caller = (namespace: string | null): Caller => ({
  kind: "key",
  id: "k",
  name: "tester",
  role: "admin",
  namespace,
})
/** Calls a handler for a caller of a namespace; answers its body, or the code of its refusal. */
const as = async (
  namespace: string,
  name: keyof typeof runHandlers,
  given: Readonly<Record<string, unknown>>,
): Promise<any> => {
  const call = { params: {}, query: {}, body: {}, headers: new Headers(), requestId: "r", ...given }
  const signal = new AbortController().signal
  try {
    const handler = runHandlers[name] as (call: unknown) => Promise<{ readonly body: unknown }>
    return (await handler({ ...call, signal, caller: caller(namespace), parts: world.parts })).body
  } catch (error) {
    return error instanceof Refused ? error.problem.code : `${(error as Error).name}: not refused`
  }
}
const newId = makeIds(
  () => Date.now(),
  () => Math.floor(Math.random() * 2 ** 32) | 0,
)
const unknownId = lowestId(1)

describe("sendRun", () => {
  test("what was sent can be read", async () => {
    const sent = await world.ask("POST", "/v1/runs", { job: "mail.digest", delay: "1h" })
    expect([sent.status, sent.body.state]).toEqual([201, "scheduled"])
    const read = await world.ask("GET", sent.headers.get("location") ?? "")
    expect([read.status, read.body]).toEqual([200, sent.body])
  })
})

describe("sendRuns", () => {
  test("runs of several jobs are answered in order, and are there", async () => {
    const runs = [
      { job: "mail.digest", delay: "1h" },
      { job: "bill.pair", at: "2090-01-01T00:00:00Z", key: "one" },
      { job: "mail.digest", delay: "1h", input: { a: 1 } },
      { job: "bill.pair", at: "2090-01-01T00:00:00Z", key: "one" },
    ]
    const { status, body } = await world.ask("POST", "/v1/runs/batch", { runs })
    expect(status).toBe(200)
    expect(body.items.map(({ created, problem }: any) => [created, problem])).toEqual([
      [true, null],
      [true, null],
      [true, null],
      [false, null],
    ])
    expect(body.items[3].id).toBe(body.items[1].id)
    const stored = await world.store.get(body.items.map(({ id }: any) => id))
    expect(stored.map(({ job, input }) => [job, input])).toEqual([
      ["mail.digest", null],
      ["bill.pair", null],
      ["mail.digest", '{"a":1}'],
      ["bill.pair", null],
    ])
  })

  test("one that is wrong refuses all, with its place, and nothing is stored", async () => {
    const before = await world.store.counts()
    const good = { job: "mail.digest", delay: "1h" }
    const wrong: ReadonlyArray<readonly [string, string, unknown]> = [
      ["invalidInput", "/runs/2/job", { job: "nobody" }],
      ["invalidInput", "/runs/2/delay", { job: "mail.digest", delay: "5 minutes" }],
      ["invalidInput", "/runs/2/queue", { job: "mail.digest", queue: "nowhere" }],
      ["invalidBody", "/runs/2/priority", { job: "mail.digest", priority: "high" }],
      ["invalidBody", "/runs/2/retries", { job: "mail.digest", retries: 1 }],
      ["invalidInput", "/runs/2/input", { job: "mail.digest", input: "a".repeat(262_144) }],
    ]
    for (const [code, pointer, run] of wrong) {
      const { status, body } = await world.ask("POST", "/v1/runs/batch", { runs: [good, good, run] })
      expect([status, body.code, body.errors[0].pointer]).toEqual([422, code, pointer])
    }
    const several = { runs: [{ job: "a" }, good, { job: "b" }] }
    const { body } = await world.ask("POST", "/v1/runs/batch", several)
    expect(body.errors.map(({ pointer }: any) => pointer)).toEqual(["/runs/0/job", "/runs/2/job"])
    expect(await world.store.counts()).toEqual(before)
  })

  test("an id that another run has is said of this item, and the others are stored", async () => {
    const [id, free] = [newId(), newId()]
    await send("mail.digest", { id, delay: "1h", input: 1 })
    const { status, body } = await world.ask("POST", "/v1/runs/batch", {
      runs: [
        { job: "mail.digest", id, delay: "1h", input: 1 },
        { job: "mail.digest", id, delay: "1h", input: 2 },
        { job: "mail.digest", id: free, delay: "1h", input: 2 },
      ],
    })
    expect(status).toBe(200)
    expect(body.items.map(({ created, problem }: any) => [created, problem?.code])).toEqual([
      [false, undefined],
      [false, "idTaken"],
      [true, undefined],
    ])
  })

  test("1 to 1,000 of them, each once", async () => {
    const runs = Array.from({ length: 1_000 }, () => ({ job: "bulk", delay: "2h" }))
    const { status, body } = await world.ask("POST", "/v1/runs/batch", { runs })
    expect([status, new Set(body.items.map(({ id }: any) => id)).size]).toEqual([200, 1_000])
    for (const wrong of [{ runs: [] }, { runs: [...runs, ...runs] }, {}])
      expect((await world.ask("POST", "/v1/runs/batch", wrong)).body.code).toBe("invalidBody")
  })
})

describe("listRuns", () => {
  const list = async (query: string) => world.ask("GET", `/v1/runs?${query}`)

  test("a cursor walks all of 500 runs once, newest first, while new ones come", async () => {
    const runs = Array.from({ length: 500 }, () => ({ job: "bulk", delay: "3h", priority: 7 }))
    const sent = (await world.ask("POST", "/v1/runs/batch", { runs })).body.items as ReadonlyArray<any>
    const from = new Date(Date.now() - 600_000).toISOString()
    const seen: Array<string> = []
    for (let cursor: string | null = "", pages = 0; cursor !== null; pages++) {
      expect(pages).toBeLessThan(100)
      const more = cursor === "" ? "" : `&cursor=${cursor}`
      const { body } = await list(`job=bulk&queue=bulk&state=scheduled&createdAfter=${from}&limit=33${more}`)
      seen.push(...body.items.map(({ id }: any) => id))
      cursor = body.cursor
      await send("bulk", { delay: "3h" })
    }
    expect(seen).toEqual([...seen].sort().reverse())
    expect(new Set(seen).size).toBe(seen.length)
    const wanted = new Set(sent.map(({ id }) => id))
    expect(seen.filter((id) => wanted.has(id)).length).toBe(500)
  })

  test("filters", async () => {
    const first = await send("talk", { input: 1 })
    await ended(first.id, "succeeded")
    const { body } = await list("job=talk&state=succeeded")
    expect(body.items.map(({ id }: any) => id)).toContain(first.id)
    expect(body.items[0]).not.toHaveProperty("input")
    expect((await list("job=talk&state=dead")).body).toEqual({ items: [], cursor: null })
    expect((await list("job=nobody")).body.items).toEqual([])
    expect((await list("queue=bulk&limit=200")).body.items.every(({ job }: any) => job === "bulk")).toBe(true)
  })

  test("instants bound the ids: the first is in, the end is not", async () => {
    const at = (await send("talk", { input: 0, id: lowestId(5_000_000).replace(/0$/, "1") })).id
    const ids = async (query: string) => (await list(`job=talk&${query}`)).body.items.map(({ id }: any) => id)
    expect(await ids("createdAfter=5000000&createdBefore=5000001")).toEqual([at])
    expect(await ids("createdAfter=5000001&createdBefore=1970-01-02T00:00:00Z")).toEqual([])
    expect(await ids("createdBefore=5000000")).toEqual([])
    expect(await ids("createdAfter=-5&createdBefore=5000001")).toEqual([at])
  })

  test("a cursor of another filter or list, and one that is none, are refused; so are wrong queries", async () => {
    const { cursor } = (await list("job=bulk&limit=2")).body
    expect((await list(`job=bulk&limit=3&cursor=${cursor}`)).status).toBe(200)
    for (const query of [`job=talk&cursor=${cursor}`, `cursor=${cursor}`, "cursor=abc", "cursor=%C3%A4"])
      expect((await list(query)).body.code).toBe("badCursor")
    for (const query of [
      "state=odd",
      "limit=0",
      "limit=201",
      "createdAfter=soon",
      "odd=1",
      "job=",
      "job=a%00b",
    ])
      expect([query, (await list(query)).body.code]).toEqual([query, "invalidRequest"])
    expect((await list("createdBefore=yesterday")).body.errors[0].pointer).toBe("/query/createdBefore")
  })
})

describe("getRun, listAttempts, explainRun", () => {
  test("a dead run with its attempts and why; secrets are left out", async () => {
    const { id } = await send("mail.broken")
    await ended(id, "dead")
    const run = await read(id, "?include=attempts,explain,progress")
    expect(run.attempts.map(({ attempt }: any) => attempt)).toEqual([1, 2])
    expect(run.explanation).toEqual({
      why: expect.stringMatching(/^Dead at \d{4}-.*Z, because all 2 attempts failed/),
      next: expect.stringContaining(`uhrwerk dead replay ${id}`),
    })
    expect(run.progress).toBeNull()
    expect(JSON.stringify(run)).not.toContain("hunter2")
    expect(run.error.message).toBe("cannot log in with password=[redacted]")
    expect(await read(id)).not.toHaveProperty("attempts")

    const pages = [await read(id, "/attempts?limit=1")]
    pages.push(await read(id, `/attempts?limit=1&cursor=${pages[0].cursor}`))
    expect(pages.map(({ items }) => items[0].attempt)).toEqual([1, 2])
    expect(pages[1].cursor).toBeNull()
    expect((await read(id, "/explain")).why).toBe(run.explanation.why)
    const other = await send("mail.digest", { delay: "1h" })
    expect((await read(other.id, `/attempts?cursor=${pages[0].cursor}`)).code).toBe("badCursor")
    expect((await read(other.id, "/explain")).why).toMatch(/^Waits for its time: due at .*Z, in /)
  })

  test("what is not there, and what cannot be included", async () => {
    for (const path of ["", "/attempts", "/logs", "/explain", "/wait?timeout=1s"]) {
      for (const id of [unknownId, "..%2f..", "1' or 1=1"]) {
        const { status, body } = await world.ask("GET", `/v1/runs/${encodeURI(id)}${path}`)
        expect([status, body.code]).toEqual([404, "notFound"])
      }
    }
    const { id } = await send("mail.digest", { delay: "1h" })
    for (const query of ["include=", "include=all", "include=explain,", "includes=explain"])
      expect((await read(id, `?${query}`)).code).toBe("invalidRequest")
  })
})

describe("getRunLogs", () => {
  test("lines in order over pages, the latest progress, and no secret", async () => {
    const { id } = await send("talk", { input: 500 })
    await ended(id, "succeeded")
    await world.log.flush()
    const lines: Array<any> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await read(id, `/logs?limit=150${cursor === "" ? "" : `&cursor=${cursor}`}`)
      lines.push(...page.items)
      cursor = page.cursor
    }
    expect(lines.slice(0, 500).map(({ line }) => line)).toEqual(
      Array.from({ length: 500 }, (_, line) => `line ${line + 1}`),
    )
    expect(lines[500]).toEqual({
      attempt: 1,
      seq: expect.any(Number),
      at: expect.any(Number),
      line: 'sent {"token":"[redacted]"} to https://me:[redacted]@example.org/',
      leftOut: 0,
    })
    expect(lines.length).toBe(501)
    const run = await read(id, "?include=progress")
    expect(run.progress).toEqual({ attempt: 1, at: expect.any(Number), percent: 80, note: "nearly" })

    expect((await read(id, "/logs?attempt=1&limit=1")).items.length).toBe(1)
    expect((await read(id, "/logs?attempt=2")).items).toEqual([])
    const { cursor } = await read(id, "/logs?limit=1")
    expect((await read(id, `/logs?attempt=1&cursor=${cursor}`)).code).toBe("badCursor")
    // Whoever knows how a cursor is made gets no further with another place in it.
    const changed = btoa(`${atob(cursor.replaceAll("-", "+").replaceAll("_", "/")).slice(0, 49)}1\0`)
    expect((await read(id, `/logs?cursor=${encodeURIComponent(changed)}`)).code).toBe("badCursor")
  })
})

describe("waitRun", () => {
  test("answers at the end of the run, or at the end of the time", async () => {
    const { id } = await send("slow", { input: "wait" })
    const early = await world.ask("GET", `/v1/runs/${id}/wait?timeout=20ms`)
    expect([early.status, early.body.endedAt]).toEqual([200, null])
    const waiting = world.ask("GET", `/v1/runs/${id}/wait`, undefined, { headers: { prefer: "wait=900" } })
    await open("wait")
    const late = await waiting
    expect([late.status, late.body.state]).toEqual([200, "succeeded"])
    expect(late.headers.get("preference-applied")).toBe("wait=60")
    expect((await read(id, "/wait")).state).toBe("succeeded")
  })

  test("who sends a run may wait for it, too", async () => {
    const wait = { headers: { prefer: "respond-async, wait=30" } }
    const sent = await world.ask("POST", "/v1/runs", { job: "mail.digest" }, wait)
    expect([sent.status, sent.body.state, sent.body.output]).toEqual([201, "succeeded", { sent: 3 }])
    expect(sent.headers.get("preference-applied")).toBe("wait=30")
    const odd = await world.ask(
      "POST",
      "/v1/runs",
      { job: "mail.digest", delay: "1h" },
      { headers: { prefer: "wait=soon" } },
    )
    expect([odd.status, odd.headers.get("preference-applied")]).toEqual([201, null])
  })

  test("an end that no event tells of is found in the store", async () => {
    const { id } = await send("mail.digest", { delay: "1h" })
    const waiting = read(id, "/wait?timeout=60s")
    await world.store.cancel([id], "by another node")
    expect(await waiting).toMatchObject({ state: "cancelled", reason: "by another node" })
  })

  test("no longer than a minute, and not too many; who goes makes room", async () => {
    const { id } = await send("mail.digest", { delay: "1h" })
    for (const timeout of ["61s", "-1", "soon", ""])
      expect((await read(id, `/wait?timeout=${timeout}`)).code).toBe("invalidRequest")
    const gone = new AbortController()
    const waits = Array.from({ length: waitsMax }, () => world.waits.begin(id, 60_000, gone.signal))
    const refused = await world.ask("GET", `/v1/runs/${id}/wait?timeout=1ms`)
    expect([refused.status, refused.body.code, refused.body.retryable]).toEqual([429, "tooMany", true])
    expect(refused.headers.get("retry-after")).toBe("2")
    gone.abort()
    for (const wait of waits) {
      await wait?.over
      wait?.end()
    }
    expect((await world.ask("GET", `/v1/runs/${id}/wait?timeout=1ms`)).status).toBe(200)
  })
})

describe("cancelRun, retryRun, replayRun", () => {
  const post = (id: string, what: string, body?: unknown) => world.ask("POST", `/v1/runs/${id}/${what}`, body)

  test("a run that waits or runs is cancelled; again, it is answered as it is", async () => {
    const waiting = await send("mail.digest", { delay: "1h" })
    const first = await post(waiting.id, "cancel", { reason: "not needed" })
    expect([first.status, first.body.state, first.body.reason]).toEqual([200, "cancelled", "not needed"])
    const again = await post(waiting.id, "cancel", { reason: "another" })
    expect([again.status, again.body.reason]).toEqual([200, "not needed"])

    const running = await send("slow", { input: "cancel" })
    await ended(running.id, "running")
    const { status, body } = await post(running.id, "cancel")
    expect([status, body.state, body.reason]).toEqual([200, "cancelled", "Cancelled by local"])
  })

  test("one that ended otherwise is a conflict; unknown ones and fields are refused", async () => {
    const { id } = await send("mail.digest")
    await ended(id, "succeeded")
    for (const what of ["cancel", "retry", "replay"]) {
      const { status, body } = await post(id, what)
      expect([status, body.code, body.detail]).toEqual([
        409,
        "conflict",
        expect.stringContaining("succeeded"),
      ])
      expect((await post(unknownId, what)).body.code).toBe("notFound")
    }
    expect((await post(id, "cancel", { why: "x" })).body.code).toBe("invalidBody")
    expect((await post(id, "cancel", { reason: "" })).body.code).toBe("invalidBody")
  })

  test("a dead run is replayed once, by either name", async () => {
    const { id } = await send("bill.refused", { input: { n: 1 } })
    await ended(id, "dead")
    const made = await post(id, "retry")
    expect([made.status, made.body.replayOf, made.body.input]).toEqual([201, id, { n: 1 }])
    expect(made.headers.get("location")).toBe(`/v1/runs/${made.body.id}`)
    const again = await post(id, "replay")
    expect([again.status, again.body.id]).toEqual([200, made.body.id])
  })

  test("a run that waits for its next attempt, a dropped letter and a step say why not", async () => {
    const late = await send("mail.late")
    await ended(late.id, "retrying")
    expect((await post(late.id, "retry")).body).toMatchObject({
      code: "conflict",
      detail: expect.stringMatching(/by itself, at \d{4}-/),
    })

    const dropped = await send("bill.refused")
    await ended(dropped.id, "dead")
    await world.store.drop([dropped.id])
    expect((await post(dropped.id, "replay")).body.detail).toContain("was dropped")

    const whole = await send("bill.pair")
    await ended(whole.id, "dead")
    const [step] = await world.store.list({ job: "bill.pair/one", limit: 1 })
    expect((await post(step?.id ?? "", "replay")).body.detail).toContain(`flow run ${whole.id}`)
    expect((await post(whole.id, "replay")).status).toBe(201)
  })
})

describe("namespaces", () => {
  test("a caller sees runs of its own, and of others not even that they are", async () => {
    const mine = await send("mail.broken")
    const other = await send("bill.refused")
    await ended(mine.id, "dead")
    await ended(other.id, "dead")
    const body = (name: keyof typeof runHandlers, id: string, more = {}) =>
      as("mail", name, { params: { id }, ...more })

    const names = [
      "getRun",
      "listAttempts",
      "getRunLogs",
      "explainRun",
      "waitRun",
      "cancelRun",
      "retryRun",
      "replayRun",
    ] as const
    for (const name of names) expect([name, await body(name, other.id)]).toEqual([name, "notFound"])
    expect((await world.store.get([other.id]))[0]?.state).toBe("dead")
    expect(await body("getRun", mine.id)).toMatchObject({ id: mine.id })

    const { items } = await as("mail", "listRuns", { query: { limit: 200 } })
    const jobs = new Set<string>(items.map(({ job }: any) => job))
    expect([...jobs].every((job) => job.startsWith("mail."))).toBe(true)
    expect(jobs.has("mail.broken")).toBe(true)
    expect((await as("mail", "listRuns", { query: { job: "bill.refused" } })).items).toEqual([])
    expect((await as("mai", "listRuns", {})).items).toEqual([])
    expect(await as("mail", "sendRuns", { body: { runs: [{ job: "bill.refused" }] } })).toBe("invalidInput")
    expect(await as("mail", "sendRun", { body: { job: "mail.digest", id: other.id } })).toBe("idTaken")
    expect(await as("mail", "sendRun", { body: { job: "bill.refused" } })).toMatch(/^UnknownJob/)
  })
})
