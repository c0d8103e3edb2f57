// A request with an `Idempotency-Key`: carried out once, whatever happens between.
import { beforeEach, describe, expect, test } from "vitest"
import { memoryDriver } from "../../../../adapters/store-memory/mod.ts"
import type { AskedStore } from "../../../../apps/server/api/ApiParts.ts"
import {
  type Answered,
  type Carried,
  keptMillis,
  leaseMillis,
  makeRepeats,
  type Repeatable,
} from "../../../../apps/server/access/Repeats.ts"
import { Refused, refuse } from "../../../../apps/server/problems.ts"

let clock = 0
let runs = 0
let faults: Array<string> = []
let store: AskedStore
beforeEach(() => {
  clock = 1_800_000_000_000
  runs = 0
  faults = []
  const driver = memoryDriver({ now: () => clock })
  store = {
    ...driver,
    putRecords: async (records) => driver.putRecords(records),
    records: async (filter) => driver.records(filter),
  } as AskedStore
})
const open = (of: Pick<AskedStore, "putRecords" | "records"> = store) =>
  makeRepeats({ store: of, now: () => clock, onFault: (doing) => faults.push(doing) })
const request: Repeatable = { caller: "k1", key: "a", parts: ["sendRun", "/v1/runs", "", "{}"] }
const carry = async (): Promise<Carried> => ({
  answered: { status: 201, headers: { location: "/x" }, body: `{"run":${++runs}}` },
})
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Refused ? error.problem.code : String(error)),
  )

test("the same again gets the first answer, on any server, for a day", async () => {
  const first = await open().once(request, carry)
  expect(first).toMatchObject({ answered: { status: 201, body: '{"run":1}' }, replayed: false })
  clock += keptMillis - 1
  expect(await open().once(request, carry)).toEqual({
    answered: {
      status: 201,
      headers: { location: "/x", "idempotency-replayed": "true" },
      body: '{"run":1}',
    },
    replayed: true,
  })
  clock += 1
  expect((await open().once(request, carry)).answered.body).toBe('{"run":2}')
})

test("the key of another caller is another key", async () => {
  const { once } = open()
  await once(request, carry)
  expect((await once({ ...request, caller: "k2" }, carry)).replayed).toBe(false)
  // Nor can names be cut so that they meet.
  expect((await once({ ...request, caller: "k", key: "1a" }, carry)).replayed).toBe(false)
  expect(runs).toBe(3)
})

test.each([
  [["createKey", "/v1/runs", "", "{}"]],
  [["sendRun", "/v1/runs/2", "", "{}"]],
  [["sendRun", "/v1/runs", "?a=1", "{}"]],
  [["sendRun", "/v1/runs", "", "{} "]],
  [["sendRun", "/v1/runs", "{}", ""]],
])("another request with the same key is refused: %j", async (parts) => {
  const { once } = open()
  await once(request, carry)
  expect(await codeOf(once({ ...request, parts }, carry))).toBe("keyReused")
  expect(runs).toBe(1)
})

test("who comes while it is carried out is told to wait, and carries out nothing", async () => {
  const { once } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = once(request, async () => {
    await promise
    return carry()
  })
  expect(await codeOf(open().once(request, carry))).toBe("inProgress")
  expect(await codeOf(open().once({ ...request, parts: [] }, carry))).toBe("keyReused")
  resolve()
  await first
  expect((await once(request, carry)).replayed).toBe(true)
  expect(runs).toBe(1)
})

test("of many at the same time one is carried out", async () => {
  const ends = await Promise.all(Array.from({ length: 50 }, () => codeOf(open().once(request, carry))))
  expect(runs).toBe(1)
  expect(ends.filter((end) => end === "inProgress")).toHaveLength(49)
})

test("a crash in between blocks for a minute and not for ever; who comes late does not undo who came after", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = open().once(request, async () => {
    await promise
    return carry()
  })
  await Promise.resolve()
  clock += leaseMillis - 1
  expect(await codeOf(open().once(request, carry))).toBe("inProgress")
  clock += 1
  expect((await open().once(request, carry)).answered.body).toBe('{"run":1}')
  resolve()
  await late
  expect((await open().once(request, carry)).answered.body).toBe('{"run":1}')
})

describe("what is kept", () => {
  test("a refusal is; a failure is not, and may be tried again at once", async () => {
    const { once } = open()
    const refusing = () => Promise.reject(refuse("unknownJob", "no"))
    expect(await codeOf(once(request, refusing))).toBe("unknownJob")
    expect(await codeOf(once(request, carry))).toBe("unknownJob")
    const other = { ...request, key: "b" }
    expect(await codeOf(once(other, () => Promise.reject(refuse("storeUnavailable", "no"))))).toBe(
      "storeUnavailable",
    )
    expect(await codeOf(once(other, () => Promise.reject(new TypeError("bug"))))).toBe("TypeError: bug")
    expect((await once(other, carry)).replayed).toBe(false)
    expect(runs).toBe(1)
  })

  test("in place of a secret what the handler says, and the secret is nowhere in the store", async () => {
    const { once } = open()
    const secret = async (): Promise<Carried> => ({
      answered: { status: 201, headers: {}, body: '{"key":"s3cret"}' },
      kept: '{"key":null}',
    })
    expect((await once(request, secret)).answered.body).toBe('{"key":"s3cret"}')
    expect((await once(request, secret)).answered.body).toBe('{"key":null}')
    const rows = await store.records({ kind: "idempotency", order: "ascending", limit: 10 })
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain("s3cret")
    // Nor is the key of the request, which may say something about it.
    expect(rows[0]?.id).toMatch(/^[\da-f]{64}$/)
  })

  test("a long answer as it was, one beyond all measure as the fact", async () => {
    const { once } = open()
    const big = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ id: n, text: "ü".repeat(20) })))
    const random = Array.from({ length: 40_000 }, () => Math.random().toString(36)).join("")
    const answer = (body: string) => async (): Promise<Carried> => ({
      answered: { status: 200, headers: { location: "/v1/x" }, body } satisfies Answered,
    })
    await once(request, answer(big))
    expect((await once(request, answer(""))).answered.body).toBe(big)
    await once({ ...request, key: "b" }, answer(random))
    await expect(once({ ...request, key: "b" }, answer(""))).rejects.toMatchObject({
      problem: { code: "conflict", headers: { location: "/v1/x", "idempotency-replayed": "true" } },
    })
    expect(faults).toEqual([])
  })

  test("no body stays none; what comes bit by bit is not kept", async () => {
    const { once } = open()
    const none = async (): Promise<Carried> => ({ answered: { status: 204, headers: {}, body: null } })
    await once(request, none)
    expect((await once(request, carry)).answered).toMatchObject({ status: 204, body: null })
    const stream = async (): Promise<Carried> => ({
      answered: { status: 200, headers: {}, body: new ReadableStream<Uint8Array>() },
    })
    await once({ ...request, key: "b" }, stream)
    expect((await once({ ...request, key: "b" }, carry)).replayed).toBe(false)
  })
})

describe("a store that is away", () => {
  test("before: nothing is carried out", async () => {
    const { once } = open({ ...store, putRecords: () => Promise.reject(new Error("away")) })
    expect(await codeOf(once(request, carry))).toBe("Error: away")
    expect(runs).toBe(0)
  })

  test("after: the answer tells what was done, and whoever runs the server hears of it", async () => {
    let puts = 0
    const putRecords: AskedStore["putRecords"] = (records) =>
      ++puts === 1 ? store.putRecords(records) : Promise.reject(new Error("away"))
    const { answered } = await open({ ...store, putRecords }).once(request, carry)
    expect(answered.body).toBe('{"run":1}')
    expect(faults).toEqual(["keep the answer of a request with an Idempotency-Key"])
  })

  test("a put that was done and reported failed, and so tried again, is one's own", async () => {
    const twice: AskedStore["putRecords"] = async (records) => {
      await store.putRecords(records)
      return store.putRecords(records)
    }
    let begun = false
    const putRecords: AskedStore["putRecords"] = (records) => {
      if (begun) return store.putRecords(records)
      begun = true
      return twice(records)
    }
    const { once } = open({ ...store, putRecords })
    expect((await once(request, carry)).replayed).toBe(false)
    expect((await once(request, carry)).replayed).toBe(true)
  })
})
