// The audit: what is written, how long it is kept, and how it is read again.
import { beforeEach, describe, expect, test } from "vitest"
import { memoryDriver } from "../../../../adapters/store-memory/mod.ts"
import {
  type AuditFilter,
  auditMillis,
  type AuditView,
  detailMax,
  makeAudit,
  readAudit,
} from "../../../../apps/server/access/Audit.ts"

let clock = 0
let faults: Array<string> = []
let puts: Array<number> = []
let fails = false
let driver = memoryDriver({ now: () => clock })
beforeEach(() => {
  clock = 1_800_000_000_000
  faults = []
  puts = []
  fails = false
  driver = memoryDriver({ now: () => clock })
})
const open = () =>
  makeAudit({
    store: {
      putRecords: async (records) => {
        puts.push(records.length)
        if (fails) throw new Error("away")
        return driver.putRecords(records)
      },
    },
    now: () => clock,
    onFault: (doing) => faults.push(doing),
  })
const row = (more: Partial<AuditView> = {}): Omit<AuditView, "id" | "at"> => ({
  actor: { kind: "key", id: "k1", name: "ops" },
  address: "192.0.2.7",
  route: "sendRun",
  params: {},
  status: 201,
  code: null,
  replayed: false,
  detail: {},
  requestId: "r",
  ...more,
})
const read = (filter: Partial<AuditFilter> = {}) => readAudit(driver, { limit: 50, ...filter })

describe("writing", () => {
  test("a row is there when its promise ends, and for 90 days", async () => {
    await open().keep(row({ detail: { run: "x" } }))
    const { rows, next } = await read()
    expect(rows).toEqual([{ ...row({ detail: { run: "x" } }), id: rows[0]?.id, at: clock }])
    expect(rows[0]?.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(next).toBeNull()
    clock += auditMillis - 1
    expect((await read()).rows).toHaveLength(1)
    clock += 1
    expect((await read()).rows).toEqual([])
  })

  test("rows that wait are written together, all of them, in their order", async () => {
    const { keep } = open()
    await Promise.all(Array.from({ length: 250 }, (_, n) => keep(row({ requestId: String(n) }))))
    expect(puts.length).toBeLessThan(10)
    expect(Math.max(...puts)).toBeLessThanOrEqual(100)
    const { rows } = await read({ limit: 1_000 })
    expect(rows.map(({ requestId }) => Number(requestId))).toEqual(
      Array.from({ length: 250 }, (_, n) => 249 - n),
    )
  })

  test("one that cannot be written is told, with its request, and the next one is tried again", async () => {
    const { keep } = open()
    fails = true
    await keep(row({ requestId: "lost" }))
    expect(faults).toEqual(["keep in the audit 1 requests, such as sendRun (request lost)"])
    fails = false
    await keep(row({ requestId: "kept" }))
    expect((await read()).rows.map(({ requestId }) => requestId)).toEqual(["kept"])
  })

  test("what is too long is left out, and said to be", async () => {
    await open().keep(row({ detail: { ids: "x".repeat(detailMax) }, params: { id: "y".repeat(10_000) } }))
    const [kept] = (await read()).rows
    expect(kept?.detail).toEqual({ leftOut: "it is too long" })
    expect(kept?.params["id"]).toHaveLength(255)
  })
})

describe("reading", () => {
  test("by actor, route and time, the latest first", async () => {
    const { keep } = open()
    const began = clock
    for (const [n, more] of [
      { route: "a" },
      { route: "b", actor: { kind: "local", id: null, name: "local" } },
      { route: "a", actor: { kind: "key", id: "k2", name: "other" } },
    ].entries()) {
      clock = began + n * 1_000
      await keep(row(more as Partial<AuditView>))
    }
    const routes = async (filter: Partial<AuditFilter>) =>
      (await read(filter)).rows.map(({ route, at }) => `${route}${(at - began) / 1_000}`)
    expect(await routes({})).toEqual(["a2", "b1", "a0"])
    expect(await routes({ route: "a" })).toEqual(["a2", "a0"])
    expect(await routes({ actor: "local" })).toEqual(["b1"])
    expect(await routes({ actor: "k2" })).toEqual(["a2"])
    expect(await routes({ actor: "ops" })).toEqual(["a0"])
    expect(await routes({ from: began + 1_000 })).toEqual(["a2", "b1"])
    expect(await routes({ to: began + 1_000 })).toEqual(["a0"])
    expect(await routes({ from: began + 1_000, to: began + 2_000 })).toEqual(["b1"])
    expect(await routes({ from: -1, to: 8.64e15 })).toHaveLength(3)
  })

  test("page by page without a loss or a repetition, also where few of many are meant", async () => {
    const { keep } = open()
    await Promise.all(
      Array.from({ length: 1_200 }, (_, n) =>
        keep(row({ requestId: String(n), route: n % 100 === 0 ? "rare" : "often" })),
      ),
    )
    const all: Array<string> = []
    let before: string | null = null
    do {
      const page: Awaited<ReturnType<typeof read>> = await read({
        route: "rare",
        limit: 5,
        ...(before === null ? {} : { before }),
      })
      all.push(...page.rows.map(({ requestId }) => requestId))
      before = page.next
    } while (before !== null)
    expect(all).toEqual(Array.from({ length: 12 }, (_, n) => String(1_100 - n * 100)))
  })

  test("a look has an end, and says where to go on", async () => {
    const { keep } = open()
    await Promise.all(Array.from({ length: 5_100 }, () => keep(row())))
    const page = await read({ route: "nothing" })
    expect(page.rows).toEqual([])
    expect(page.next).not.toBeNull()
    expect(await read({ route: "nothing", before: page.next ?? "" })).toEqual({ rows: [], next: null })
  })
})
