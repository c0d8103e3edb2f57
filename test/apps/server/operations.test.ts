// Operations on a memory store and a clock that is moved by hand: whoever does them, and whatever breaks, the numbers add up.
import { beforeEach, describe, expect, test } from "vitest"
import { replayId } from "../../../apps/bulk/Act.ts"
import { beginBulk } from "../../../apps/server/api/bulk.ts"
import {
  openKind,
  openMax,
  operationKind,
  putOperation,
  readOperation,
} from "../../../apps/server/OperationRecord.ts"
import { leaseMillis } from "../../../apps/server/Operations.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { killRuns, makeBulkWorld, operator } from "./bulkWorld.ts"

let world: ReturnType<typeof makeBulkWorld>
beforeEach(() => {
  world = makeBulkWorld()
})

const all = { createdBefore: "2099-01-01T00:00:00Z" }
const replayAll = { kind: "replayDeadLetters", filter: all } as const

/** The runs that were made of letters, by what they replay. */
const replays = async () => {
  const found: Array<string> = []
  let before: string | undefined
  for (;;) {
    const page = await world.driver.list({ limit: 200, ...(before === undefined ? {} : { before }) })
    found.push(...page.flatMap(({ replayOf }) => (replayOf === null ? [] : [replayOf])))
    before = page.at(-1)?.id
    if (page.length < 200) return found.sort()
  }
}

const openLetters = async () => (await world.driver.deadLetters({ limit: 200 })).length
const signs = () => world.driver.records({ kind: openKind, order: "ascending", limit: 1_000 })

describe("an operation", () => {
  test("does all of 10,001 letters, each once, and says first that there are at least 10,000", async () => {
    await world.letters(10_001)
    const begun = await world.begin(replayAll)
    expect(begun).toMatchObject({ state: "queued", total: { value: 10_000, exact: false } })
    await world.work(world.server("a"), begun.id)
    expect(await world.read(begun.id)).toMatchObject({
      state: "succeeded",
      total: { value: 10_001, exact: true },
      done: 10_001,
      skipped: 0,
      failed: 0,
      owner: null,
      page: [],
    })
    const made = await replays()
    expect([made.length, new Set(made).size, await openLetters()]).toEqual([10_001, 10_001, 0])
    expect(await signs()).toEqual([])
  })

  test("is frozen: letters of runs that die later are left alone, its own replays too", async () => {
    await world.letters(3)
    await world.driver.enqueue([newRun(9)])
    const { id } = await world.begin(replayAll)
    world.pass(1)
    // An older run that dies only now, and a replay that dies at once.
    await killRuns(world.driver, [newRun(9, { attemptMax: 1 })])
    const server = world.server("a")
    await server.tick()
    expect((await replays()).length).toBe(3)
    const remade = await world.driver.list({ state: "ready", limit: 10 })
    await killRuns(
      world.driver,
      remade.map((run) => ({ ...run, startWithinMillis: null })),
    )
    await world.work(server, id)
    expect(await world.read(id)).toMatchObject({ done: 3, skipped: 0 })
    expect(await openLetters()).toBe(4)
  })

  test("by job, error, fingerprint and the time of creation", async () => {
    await world.letters(4, (index) => ({
      name: index % 2 === 0 ? "Odd" : "Even",
      message: index < 2 ? `Low ${index}` : "High",
      kind: "error",
    }))
    const count = async (filter: object) =>
      (await beginBulk(world, operator, { kind: "dropDeadLetters", filter, dryRun: true })).body
    expect(await count({ error: "Odd" })).toEqual({
      total: { value: 2, exact: true },
      sample: [runId(3), runId(1)],
    })
    expect(await count({ job: "report" })).toMatchObject({ total: { value: 4 } })
    expect(await count({ job: "other" })).toMatchObject({ total: { value: 0, exact: true }, sample: [] })
    expect(await count({ createdBefore: 1_000 })).toMatchObject({ total: { value: 0 } })
    expect(await count({ createdAfter: world.now() })).toMatchObject({ total: { value: 0 } })
    expect(await count({ createdAfter: 0, createdBefore: world.now() })).toMatchObject({
      total: { value: 4 },
    })
    expect(await openLetters()).toBe(4)
  })

  test("cancels runs of a state, job and queue", async () => {
    await world.driver.enqueue([
      newRun(1, { queue: "slow" }),
      newRun(2, { queue: "slow", delayMillis: 60_000 }),
      newRun(3),
      newRun(4, { queue: "slow", job: "other" }),
    ])
    const { id } = await world.begin({
      kind: "cancelRuns",
      filter: { state: "ready", job: "report", queue: "slow" },
      reason: "Not wanted",
    })
    await world.work(world.server("a"), id)
    expect(await world.read(id)).toMatchObject({
      state: "succeeded",
      done: 1,
      total: { value: 1, exact: true },
    })
    const states = await world.driver.get([1, 2, 3, 4].map(runId))
    expect(states.map(({ state }) => state)).toEqual(["cancelled", "scheduled", "ready", "ready"])
    expect(states[0]?.reason).toBe(`Not wanted (operation ${id})`)
  })

  test("without a state goes through all of them, again while it finds some", async () => {
    await world.driver.enqueue([
      newRun(1),
      newRun(2, { delayMillis: 60_000 }),
      newRun(3, { needs: [runId(1)] }),
    ])
    const { id } = await world.begin({ kind: "cancelRuns", filter: { job: "report" } })
    // One goes into a state that was passed already.
    const server = world.server("a")
    await server.tick()
    expect((await world.read(id)).done).toBeGreaterThan(0)
    await world.work(server, id)
    const states = await world.driver.get([1, 2, 3].map(runId))
    expect(states.every(({ endedAt }) => endedAt !== null)).toBe(true)
    const ended = await world.read(id)
    expect(ended.done + ended.skipped).toBe(ended.total.value)
  })

  test("drops letters; the dead runs stay", async () => {
    await world.letters(201)
    const { id } = await world.begin({ kind: "dropDeadLetters", filter: all })
    await world.work(world.server("a"), id)
    expect(await world.read(id)).toMatchObject({ state: "succeeded", done: 201 })
    expect([await openLetters(), (await world.driver.list({ state: "dead", limit: 200 })).length]).toEqual([
      0, 200,
    ])
  })

  test("what others did meanwhile is skipped", async () => {
    await world.letters(3)
    const { id } = await world.begin(replayAll)
    const server = world.server("a")
    // After it found them, and before it replays them.
    world.breaks.set("replay", () => {
      world.breaks.clear()
      void world.driver.replay([runId(1)], [runId(1_000)])
      void world.driver.drop([runId(2)])
    })
    await world.work(server, id)
    expect(await world.read(id)).toMatchObject({ state: "succeeded", done: 1, skipped: 2, failed: 0 })
  })

  test("what the store refuses is failed, the rest is done, and it ends as failed with the reason", async () => {
    await world.letters(3)
    const begun = await world.begin(replayAll)
    // Somebody has the id that the second one is to get.
    await world.driver.enqueue([newRun(50, { id: replayId(begun, runId(2)), job: "other" })])
    await world.work(world.server("a"), begun.id)
    expect(await world.read(begun.id)).toMatchObject({
      state: "failed",
      done: 2,
      failed: 1,
      total: { value: 3, exact: true },
      error: expect.stringContaining("is there already"),
    })
  })

  test("a filter that says nothing is refused, and so are a wrong rate and a wrong instant", async () => {
    const begin = (asked: object) => beginBulk(world, operator, { ...replayAll, ...asked })
    await expect(begin({ filter: {} })).rejects.toThrow(/would mean everything/)
    await expect(begin({ rate: "fast" })).rejects.toThrow(/"fast" is no rate/)
    await expect(begin({ filter: { createdAfter: "yesterday" } })).rejects.toThrow(/yesterday/)
    expect(await signs()).toEqual([])
  })

  test("at most 100 are under way", async () => {
    for (let n = 0; n < openMax; n++) await world.begin(replayAll)
    await expect(world.begin(replayAll)).rejects.toThrow(/100 operations have not ended/)
    expect((await beginBulk(world, operator, { ...replayAll, dryRun: true })).status).toBe(200)
  })

  test("is forgotten 30 days after its end", async () => {
    const { id } = await world.begin(replayAll)
    await world.work(world.server("a"), id)
    world.pass(29 * 86_400_000)
    expect(await readOperation(world.store, id)).toBeDefined()
    world.pass(2 * 86_400_000)
    expect(await readOperation(world.store, id)).toBeUndefined()
  })
})

describe("a server that dies", () => {
  class Crash extends Error {}
  /** Lets the n-th call of a store operation, and all after it, fail. */
  const crashAt = (operation: string, n: number): void => {
    let calls = 0
    world.breaks.set(operation, () => {
      if (++calls >= n) throw new Crash()
    })
  }

  // Before a page is noted, before it is done, after it is done and before that is noted, and the same in the middle.
  test.each([
    ["putRecords", 1],
    ["replay", 1],
    ["putRecords", 2],
    ["putRecords", 3],
    ["replay", 2],
    ["putRecords", 4],
  ])(
    "at its %s number %i: another one goes on, and nothing is done or counted twice",
    async (operation, n) => {
      await world.letters(450)
      const { id } = await world.begin(replayAll)
      const first = world.server("a")
      crashAt(operation, n)
      for (let tick = 0; tick < 5; tick++) await first.tick().catch(() => undefined)
      expect((await world.read(id)).endedAt).toBeNull()
      world.breaks.clear()
      const second = world.server("b")
      // The lease of the dead one holds yet.
      if ((await world.read(id)).owner === "a") {
        const before = await replays()
        await second.tick()
        expect(await replays()).toEqual(before)
        world.pass(leaseMillis)
      }
      await world.work(second, id)
      expect(await world.read(id)).toMatchObject({
        state: "succeeded",
        done: 450,
        skipped: 0,
        failed: 0,
        total: { value: 450, exact: true },
      })
      const made = await replays()
      expect([made.length, new Set(made).size]).toEqual([450, 450])
    },
  )

  test.each(["cancelRuns", "dropDeadLetters"] as const)("%s: what it had done is counted", async (kind) => {
    if (kind === "cancelRuns")
      await world.driver.enqueue(Array.from({ length: 450 }, (_, index) => newRun(index + 1)))
    else await world.letters(450)
    const { id } = await world.begin({ kind, filter: kind === "cancelRuns" ? { state: "ready" } : all })
    crashAt("putRecords", 4)
    const first = world.server("a")
    for (let tick = 0; tick < 3; tick++) await first.tick().catch(() => undefined)
    world.breaks.clear()
    world.pass(leaseMillis)
    await world.work(world.server("b"), id)
    expect(await world.read(id)).toMatchObject({ state: "succeeded", done: 450, skipped: 0 })
  })

  test("was only slow: what it says of its page afterwards is not taken", async () => {
    await world.letters(300)
    const { id } = await world.begin(replayAll)
    const [slow, other] = [world.server("a"), world.server("b")]
    let others: Promise<number> | undefined
    world.breaks.set("replay", () => {
      world.breaks.clear()
      world.pass(leaseMillis)
      others = other.tick()
    })
    await slow.tick()
    await others
    await world.work(other, id)
    expect(await world.read(id)).toMatchObject({ state: "succeeded", done: 300, skipped: 0 })
  })

  test("stops as it should: the next one need not wait for the lease", async () => {
    await world.letters(450)
    const { id } = await world.begin(replayAll)
    const first = world.server("a")
    await first.tick()
    first.start()
    await first.stop()
    expect(await world.read(id)).toMatchObject({ owner: "a", leaseUntil: 0 })
    await world.work(world.server("b"), id)
    expect((await world.read(id)).done).toBe(450)
  })

  test("two at once share the work, and do no page twice", async () => {
    await world.letters(1_000)
    const { id } = await world.begin(replayAll)
    const [a, b] = [world.server("a"), world.server("b")]
    for (let round = 0; round < 20; round++) await Promise.all([a.tick(), b.tick()])
    expect(await world.read(id)).toMatchObject({ state: "succeeded", done: 1_000, skipped: 0 })
  })

  test("leaves a sign without an operation: it is removed after a minute", async () => {
    await world.store.putRecords([{ kind: openKind, id: "x", body: "{}", expiresAt: null, expected: null }])
    const server = world.server("a")
    await server.tick()
    expect(await signs()).toHaveLength(1)
    world.pass(2 * leaseMillis)
    await server.tick()
    expect(await signs()).toEqual([])
  })
})

describe("the store that fails", () => {
  test("holds up one operation, and no other; it goes on later", async () => {
    await world.letters(3)
    const broken = await world.begin(replayAll)
    const other = await world.begin({ kind: "dropDeadLetters", filter: { job: "none" } })
    world.breaks.set("replay", () => {
      throw new Error("connection lost")
    })
    const server = world.server("a")
    for (let tick = 0; tick < 3; tick++) await expect(server.tick()).rejects.toThrow()
    expect((await world.read(other.id)).state).toBe("succeeded")
    expect((await world.read(broken.id)).state).toBe("running")
    world.breaks.clear()
    await world.work(server, broken.id)
    expect(await world.read(broken.id)).toMatchObject({ state: "succeeded", done: 3 })
  })

  test("a kind of work that nobody knows ends it as failed, and the log knows why", async () => {
    await world.letters(3)
    const { id } = await world.begin(replayAll)
    const stored = await readOperation(world.store, id)
    if (stored === undefined) throw new Error("It is gone")
    await putOperation(
      world.store,
      { ...stored.operation, kind: "unknown" as never },
      stored.version,
      world.now(),
    )
    await world.work(world.server("a"), id)
    expect(await world.read(id)).toMatchObject({
      state: "failed",
      done: 0,
      error: expect.stringContaining("fault of the server"),
    })
    expect(world.troubles).toEqual([`do operation ${id}`])
    expect(await signs()).toEqual([])
  })
})

describe("a rate", () => {
  test("of 50/s begins 50 letters in each second, on every server", async () => {
    await world.letters(300)
    const { id } = await world.begin({ ...replayAll, rate: "50/s" })
    const servers = [world.server("a"), world.server("b")]
    const from = world.now()
    const done: Array<number> = []
    for (let second = 0; second < 6; second++) {
      // Far more often than once a second, and by two.
      for (let part = 0; part < 10; part++) {
        for (const server of servers) await server.tick()
        world.pass(100)
      }
      done.push((await world.read(id)).done)
    }
    expect([world.now() - from, done]).toEqual([6_000, [50, 100, 150, 200, 250, 300]])
  })

  test("holds when another server takes over", async () => {
    await world.letters(10)
    const { id } = await world.begin({ ...replayAll, rate: "1/m" })
    await world.server("a").tick()
    // It is done once a minute, and its lease reaches over the pause.
    world.pass(59_999)
    const second = world.server("b")
    await second.tick()
    expect((await world.read(id)).done).toBe(1)
    world.pass(leaseMillis + 1)
    await second.tick()
    expect((await world.read(id)).done).toBe(2)
  })
})

describe("cancelling an operation", () => {
  const cancel = async (id: string): Promise<void> => {
    const stored = await readOperation(world.store, id)
    if (stored === undefined) throw new Error("It is gone")
    await putOperation(world.store, { ...stored.operation, cancelAsked: true }, stored.version, world.now())
  }

  test("before it began, nothing is done", async () => {
    await world.letters(3)
    const { id } = await world.begin(replayAll)
    await cancel(id)
    await world.server("a").tick()
    expect(await world.read(id)).toMatchObject({ state: "cancelled", done: 0, endedAt: world.now() })
    expect(await openLetters()).toBe(3)
  })

  test("in the middle of a page, that page is done and counted, and no other", async () => {
    await world.letters(450)
    const { id } = await world.begin(replayAll)
    const server = world.server("a")
    let asked: Promise<void> | undefined
    world.breaks.set("replay", () => {
      world.breaks.clear()
      asked = cancel(id)
    })
    await server.tick()
    await asked
    await world.work(server, id)
    expect(await world.read(id)).toMatchObject({ state: "cancelled", done: 200 })
    expect((await replays()).length).toBe(200)
  })

  test("does not wait for its rate", async () => {
    await world.letters(10)
    const { id } = await world.begin({ ...replayAll, rate: "1/m" })
    const server = world.server("a")
    await server.tick()
    await cancel(id)
    await server.tick()
    expect(await world.read(id)).toMatchObject({ state: "cancelled", done: 1 })
  })
})

describe("a namespace", () => {
  const of = (namespace: string) => ({ ...operator, namespace })

  test("bounds what is touched, also by a server that knows nothing of who asked", async () => {
    const jobs = ["team", "team.mail", "teamwork", "other"]
    await killRuns(
      world.driver,
      jobs.map((job, index) => newRun(index + 1, { job, attemptMax: 1 })),
    )
    const begun = await world.begin(replayAll, of("team"))
    expect(begun.total.value).toBe(2)
    await world.work(world.server("a"), begun.id)
    expect(await world.read(begun.id)).toMatchObject({ done: 2 })
    expect(await replays()).toEqual([runId(1), runId(2)])
    const foreign = await beginBulk(world, of("team"), {
      ...replayAll,
      filter: { job: "other" },
      dryRun: true,
    })
    expect(foreign.body).toEqual({ total: { value: 0, exact: true }, sample: [] })
  })

  test("of cancelled runs too", async () => {
    await world.driver.enqueue([newRun(1, { job: "team.a" }), newRun(2, { job: "other" })])
    const { id } = await world.begin({ kind: "cancelRuns", filter: { state: "ready" } }, of("team"))
    await world.work(world.server("a"), id)
    expect((await world.driver.get([runId(1), runId(2)])).map(({ state }) => state)).toEqual([
      "cancelled",
      "ready",
    ])
  })
})

test("operations are kept as records", async () => {
  const { id } = await world.begin(replayAll)
  const [row] = await world.driver.records({ kind: operationKind, order: "ascending", limit: 1 })
  expect(row).toMatchObject({ id, version: 1, expiresAt: world.now() + 30 * 86_400_000 })
  // What says that it is there stays until the end, be that in years.
  expect(await signs()).toMatchObject([{ id, expiresAt: null }])
})
