// Everything that a store promises about records, as cases that every driver must pass.
import * as Effect from "effect/Effect"
import { RecordStore } from "../ports/Store.ts"
import type { PutRecord, RecordFilter } from "../ports/StoreDriver.ts"
import { recordBytesMax } from "../ports/StoreLimits.ts"
import { type Case, ContractClock, expectLimit, expectSame } from "./Case.ts"

/** The kind of the records of cases that look at all that is there. */
export const recordKind = "note"

/** A record of that kind, which stays until it is deleted. */
export const newRecord = (id: string, fields: Partial<PutRecord> = {}): PutRecord => ({
  kind: recordKind,
  id,
  body: "{}",
  expiresAt: null,
  expected: null,
  ...fields,
})

/** Puts records; answers their versions. */
export const putRecords = (...records: ReadonlyArray<PutRecord>) =>
  Effect.flatMap(RecordStore, (store) => store.putRecords(records))

/** A page, of the cases' kind and from its beginning unless told otherwise. */
export const recordPage = (filter: Partial<RecordFilter> = {}) =>
  Effect.flatMap(RecordStore, (store) =>
    store.records({ kind: recordKind, order: "ascending", limit: 1_000, ...filter }),
  )

/** Removes records of that kind. */
export const deleteRecords = (...ids: ReadonlyArray<string>) =>
  Effect.flatMap(RecordStore, (store) => store.deleteRecords(recordKind, ids))

/** Removes some that have expired. */
export const pruneRecords = (limit: number) =>
  Effect.flatMap(RecordStore, (store) => store.pruneRecords(limit))

const idsOf = (filter: Partial<RecordFilter> = {}) =>
  Effect.map(recordPage(filter), (rows) => rows.map(({ id }) => id))

// In the order of their codes, and what a database might take for the same or for something else.
const alike = [
  "%",
  "' OR 1=1 --",
  "A",
  "Z",
  "\\",
  "__proto__",
  "a",
  "a ",
  "a  ",
  "a%",
  "a/b",
  "ab",
  "b",
  "~",
].sort()

/** The cases of `RecordStoreDriver`. */
export const recordStoreContract: ReadonlyArray<Case> = [
  {
    name: "putRecords > they are kept as they were given, with their version and the store's time",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* expectSame("none", yield* recordPage(), [])
      yield* expectSame("nothing", yield* putRecords(), [])
      const body = JSON.stringify({ text: "wörker 😀 \"'\\ \u0000", deep: [{}, null] })
      const given = [
        newRecord("b", { body, expiresAt: clock.now() + 9_000 }),
        newRecord("a"),
        newRecord("x", { kind: "other-kind" }),
      ]
      yield* expectSame("versions", yield* putRecords(...given), [1, 1, 1])
      const { expected: _b, ...b } = newRecord("b", { body, expiresAt: clock.now() + 9_000 })
      const { expected: _a, ...a } = newRecord("a")
      const firstAt = clock.now()
      clock.advance(500)
      yield* expectSame("again", yield* putRecords(newRecord("a", { body: "[1]" })), [2])
      yield* expectSame("rows", yield* recordPage(), [
        { ...a, body: "[1]", version: 2, updatedAt: clock.now() },
        { ...b, version: 1, updatedAt: firstAt },
      ])
      yield* expectSame("of the other kind", yield* idsOf({ kind: "other-kind" }), ["x"])
    }),
  },
  {
    name: "putRecords > one that expects another version than is there is not stored, and the others are",
    run: Effect.gen(function* () {
      yield* expectSame("expects one", yield* putRecords(newRecord("a", { expected: 1 })), [0])
      yield* expectSame("none", yield* recordPage(), [])
      yield* expectSame("expects none", yield* putRecords(newRecord("a", { expected: 0 })), [1])
      const before = yield* recordPage()
      ;(yield* ContractClock).advance(20)
      for (const expected of [0, 2, 7])
        yield* expectSame(
          `expects ${expected}`,
          yield* putRecords(newRecord("a", { expected, body: "1" })),
          [0],
        )
      yield* expectSame("as it was", yield* recordPage(), before)
      const mixed = [
        newRecord("b", { expected: 3 }),
        newRecord("a", { expected: 1, body: "2" }),
        newRecord("c", { expected: 0 }),
        newRecord("d"),
      ]
      yield* expectSame("mixed", yield* putRecords(...mixed), [0, 2, 1, 1])
      yield* expectSame("ids", yield* idsOf(), ["a", "c", "d"])
    }),
  },
  {
    name: "putRecords > one record several times in one call: in order, each upon the one before",
    run: Effect.gen(function* () {
      const puts = [
        newRecord("a", { expected: 0, body: "1" }),
        newRecord("a", { expected: 0, body: "2" }),
        newRecord("a", { expected: 1, body: "3" }),
        newRecord("a", { body: "4" }),
        newRecord("a", { expected: 1, body: "5" }),
      ]
      yield* expectSame("versions", yield* putRecords(...puts), [1, 0, 2, 3, 0])
      yield* expectSame(
        "body",
        (yield* recordPage()).map(({ body, version }) => [body, version]),
        [["4", 3]],
      )
    }),
  },
  {
    name: "records > one that has expired is not there: its version begins anew, and nothing counts it",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const expiresAt = clock.now() + 100
      const short = newRecord("a", { expiresAt })
      yield* putRecords(short, short, newRecord("b", { expiresAt }), newRecord("c"))
      clock.set(expiresAt - 1)
      yield* expectSame("just before", yield* idsOf(), ["a", "b", "c"])
      clock.set(expiresAt)
      yield* expectSame("from then on", yield* idsOf(), ["c"])
      yield* expectSame("is gone", yield* putRecords(newRecord("b", { expected: 1 })), [0])
      yield* expectSame("is new", yield* putRecords(newRecord("a", { expected: 0 })), [1])
      yield* expectSame("there", yield* idsOf(), ["a", "c"])
      yield* expectSame("deleted", yield* deleteRecords("a", "b"), 1)
      const past = newRecord("d", { expiresAt: clock.now() })
      yield* expectSame("expired when it came", yield* putRecords(past, past), [1, 1])
      yield* expectSame("left", yield* idsOf(), ["c"])
    }),
  },
  {
    name: "records > by the codes of their ids, both ways, within a prefix and between two ids",
    run: Effect.gen(function* () {
      yield* putRecords(...alike.toReversed().map((id) => newRecord(id)), newRecord("a", { kind: "other" }))
      yield* expectSame("ascending", yield* idsOf(), alike)
      yield* expectSame("descending", yield* idsOf({ order: "descending" }), alike.toReversed())
      for (const order of ["ascending", "descending"] as const) {
        const inOrder = (ids: ReadonlyArray<string>) => (order === "ascending" ? ids : ids.toReversed())
        const check = (what: string, filter: Partial<RecordFilter>, isIn: (id: string) => boolean) =>
          Effect.flatMap(idsOf({ ...filter, order }), (ids) =>
            expectSame(`${what} ${order}`, ids, inOrder(alike.filter(isIn))),
          )
        for (const prefix of [...alike, "", "a/", "nobody", "é"])
          yield* check(`prefix "${prefix}"`, { prefix }, (id) => id.startsWith(prefix))
        for (const id of [...alike, "", "az", "é"]) {
          yield* check(`after "${id}"`, { after: id }, (other) => other > id)
          yield* check(`before "${id}"`, { before: id }, (other) => other < id)
          yield* check(
            `prefix a after "${id}"`,
            { prefix: "a", after: id },
            (other) => other.startsWith("a") && other > id,
          )
          yield* check(
            `prefix a before "${id}"`,
            { prefix: "a", before: id },
            (other) => other.startsWith("a") && other < id,
          )
        }
        yield* check("between", { after: "A", before: "ab" }, (id) => id > "A" && id < "ab")
        yield* check("nothing between", { after: "b", before: "a" }, () => false)
      }
    }),
  },
  {
    name: "records > in pages that neither repeat nor leave out, and that pass over the expired",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const ids = Array.from({ length: 25 }, (_, n) => `n${String(n).padStart(2, "0")}`)
      yield* putRecords(...ids.map((id, n) => newRecord(id, { expiresAt: n % 3 === 0 ? now : null })))
      const there = ids.filter((_, n) => n % 3 !== 0)
      const read = Effect.fnUntraced(function* (order: RecordFilter["order"]) {
        const seen: Array<string> = []
        for (;;) {
          const last = seen.at(-1)
          const from = last === undefined ? {} : order === "ascending" ? { after: last } : { before: last }
          const page = yield* idsOf({ prefix: "n", order, limit: 3, ...from })
          if (page.length === 0) return seen
          seen.push(...page)
        }
      })
      yield* expectSame("ascending", yield* read("ascending"), there)
      yield* expectSame("descending", yield* read("descending"), there.toReversed())
    }),
  },
  {
    name: "deleteRecords > answers how many of its kind there were",
    run: Effect.gen(function* () {
      yield* putRecords(...["a", "b", "c"].map((id) => newRecord(id)), newRecord("a", { kind: "other" }))
      yield* expectSame("none", yield* deleteRecords(), 0)
      yield* expectSame("two, one of them twice", yield* deleteRecords("a", "nobody", "c", "a"), 2)
      yield* expectSame("again", yield* deleteRecords("a", "c"), 0)
      yield* expectSame("left", yield* idsOf(), ["b"])
      yield* expectSame("of the other kind", yield* idsOf({ kind: "other" }), ["a"])
      yield* expectSame("new again", yield* putRecords(newRecord("a")), [1])
    }),
  },
  {
    name: "pruneRecords > removes what has expired, of all kinds, at most as many as it is told",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const at = (millis: number) => ({ expiresAt: clock.now() + millis })
      yield* expectSame("none", yield* pruneRecords(10), 0)
      yield* putRecords(
        ...Array.from({ length: 7 }, (_, n) => newRecord(`a${n}`, at(100 + n))),
        newRecord("b", { kind: "other", ...at(100) }),
        newRecord("c", at(200)),
        newRecord("d"),
      )
      yield* expectSame("too early", yield* pruneRecords(10), 0)
      clock.advance(110)
      yield* expectSame("some", yield* pruneRecords(3), 3)
      yield* expectSame("the others", yield* pruneRecords(1_000), 5)
      yield* expectSame("no more", yield* pruneRecords(1_000), 0)
      yield* expectSame("left", yield* idsOf(), ["c", "d"])
      clock.advance(-110)
      yield* expectSame("they are gone", yield* idsOf(), ["c", "d"])
    }),
  },
  {
    name: "putRecords > a field that is not as it must be is named and refused, and nothing is stored",
    run: Effect.gen(function* () {
      const wrong: ReadonlyArray<[string, Partial<PutRecord>]> = [
        ["kind", { kind: "" }],
        ["kind", { kind: "k".repeat(33) }],
        ["kind", { kind: "Kind" }],
        ["id", { id: "" }],
        ["id", { id: "i".repeat(256) }],
        ["id", { id: "é" }],
        ["id", { id: "a\n" }],
        ["body", { body: `"${"ö".repeat(recordBytesMax / 2)}"` }],
        ["expiresAt", { expiresAt: 0.5 }],
        ["expiresAt", { expiresAt: Number.NaN }],
        ["expected", { expected: -1 }],
        ["expected", { expected: 1.5 }],
      ]
      for (const [field, fields] of wrong)
        yield* expectLimit(field, putRecords(newRecord("good"), { ...newRecord("a"), ...fields }))
      yield* expectSame("none", yield* recordPage(), [])
    }),
  },
  {
    name: "putRecords, records, deleteRecords, pruneRecords > the longest of everything, and not one more",
    run: Effect.gen(function* () {
      const body = `"${"ö".repeat(recordBytesMax / 2 - 1)}"`
      const longest = newRecord("~".repeat(255), { kind: "k".repeat(32), body })
      yield* expectSame("longest", yield* putRecords(longest), [1])
      const [row] = yield* recordPage({ kind: longest.kind })
      yield* expectSame("as it was", [row?.id, row?.body], [longest.id, body])
      const many = Array.from({ length: 1_001 }, (_, n) => newRecord(`n${n}`))
      const ids = many.map(({ id }) => id)
      yield* expectLimit("records", putRecords(...many))
      yield* expectLimit("ids", deleteRecords(...ids))
      for (const limit of [0, 1_001, -1, 2.5, Number.NaN]) {
        yield* expectLimit("limit", recordPage({ limit }))
        yield* expectLimit("limit", pruneRecords(limit))
      }
      const versions = yield* putRecords(...many.slice(1))
      yield* expectSame("versions", new Set(versions).size, 1)
      yield* expectSame("page", (yield* recordPage()).length, 1_000)
      yield* expectSame("deleted", yield* deleteRecords(...ids.slice(1)), 1_000)
    }),
  },
]
