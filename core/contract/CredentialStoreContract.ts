// Everything that a store promises about credentials, as cases that every driver must pass.
import * as Effect from "effect/Effect"
import { CredentialStore } from "../ports/Store.ts"
import type { PutCredential } from "../ports/StoreDriver.ts"
import { type Case, ContractClock, expectLimit, expectRefused, expectSame, expectTrue } from "./Case.ts"

/** The n-th credential: of a worker, without an end. */
export const newCredential = (n: number, fields: Partial<PutCredential> = {}): PutCredential => ({
  id: `c${n}`,
  kind: "worker",
  name: `worker ${n}`,
  hash: n.toString(16).padStart(64, "0"),
  scope: "{}",
  expiresAt: null,
  ...fields,
})

/** Stores one. */
export const putCredential = (credential: PutCredential) =>
  Effect.flatMap(CredentialStore, (store) => store.putCredential(credential))

const all = Effect.flatMap(CredentialStore, (store) => store.credentials())
const remove = (...ids: ReadonlyArray<string>) =>
  Effect.flatMap(CredentialStore, (store) => store.deleteCredentials(ids))

// Names that a database might take for the same.
const alike = ["edge", "Edge", "edge ", "édge", "e\u0301dge", "__proto__"]

/** The cases of `CredentialStoreDriver`. */
export const credentialStoreContract: ReadonlyArray<Case> = [
  {
    name: "putCredential > it is kept as it was given, with the store's time; all of them, by id",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* expectSame("none", yield* all, [])
      const scope = JSON.stringify({ queues: ["default", "wörker 😀"], jobs: null })
      const second = newCredential(2, { kind: "api", scope, expiresAt: clock.now() + 1_000 })
      const first = newCredential(1, { name: "n".repeat(255), id: "a".repeat(64) })
      const secondAt = clock.now()
      yield* expectSame("second", yield* putCredential(second), "created")
      clock.advance(500)
      yield* expectSame("first", yield* putCredential(first), "created")
      yield* expectSame("rows", yield* all, [
        { ...first, createdAt: clock.now() },
        { ...second, createdAt: secondAt },
      ])
    }),
  },
  {
    name: "putCredential > an id, and a name among those of its kind, is there once: whoever comes later changes nothing",
    run: Effect.gen(function* () {
      const given = newCredential(1)
      yield* putCredential(given)
      const before = yield* all
      ;(yield* ContractClock).advance(30)
      const hash = "f".repeat(64)
      yield* expectSame("again", yield* putCredential(given), "exists")
      yield* expectSame("its id", yield* putCredential({ ...newCredential(2), id: "c1" }), "exists")
      yield* expectSame("its name", yield* putCredential({ ...given, id: "c2", hash }), "exists")
      yield* expectSame("rows", yield* all, before)
      yield* expectSame("another kind", yield* putCredential({ ...given, id: "c3", kind: "api" }), "created")
    }),
  },
  {
    name: "putCredential > names that differ in case, blanks or accents only are different",
    run: Effect.gen(function* () {
      for (const [n, name] of alike.entries())
        yield* expectSame(JSON.stringify(name), yield* putCredential(newCredential(n, { name })), "created")
      for (const [n, name] of alike.entries())
        yield* expectSame("again", yield* putCredential(newCredential(n + 50, { name })), "exists")
      const names = (yield* all).map(({ name }) => name)
      yield* expectSame("names", names, alike)
    }),
  },
  {
    name: "credentials > one that has expired is there until it is deleted",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const short = newCredential(1, { expiresAt: clock.now() + 1 })
      const past = newCredential(2, { expiresAt: clock.now() - 1 })
      const createdAt = clock.now()
      yield* putCredential(short)
      yield* putCredential(past)
      clock.advance(60_000)
      yield* expectSame("its name is taken", yield* putCredential({ ...short, id: "c9" }), "exists")
      yield* expectSame("rows", yield* all, [
        { ...short, createdAt },
        { ...past, createdAt },
      ])
    }),
  },
  {
    name: "deleteCredentials > answers how many there were, and their names are free",
    run: Effect.gen(function* () {
      for (const n of [1, 2, 3]) yield* putCredential(newCredential(n))
      yield* expectSame("none", yield* remove(), 0)
      yield* expectSame("two, one of them twice", yield* remove("c1", "c9", "c3", "c1"), 2)
      yield* expectSame("again", yield* remove("c1", "c3"), 0)
      yield* expectSame(
        "left",
        (yield* all).map(({ id }) => id),
        ["c2"],
      )
      yield* expectSame("its name", yield* putCredential({ ...newCredential(1), id: "c4" }), "created")
    }),
  },
  {
    name: "deleteCredentials > at most 1,000 in one call",
    run: Effect.gen(function* () {
      yield* putCredential(newCredential(1))
      const many = Array.from({ length: 1_001 }, (_, n) => `c${n}`)
      yield* expectLimit("ids", remove(...many))
      yield* expectSame("still there", (yield* all).length, 1)
      yield* expectSame("one less", yield* remove(...many.slice(1)), 1)
    }),
  },
  {
    name: "putCredential > a field that is not as it must be is named and refused, and no error has the hash",
    run: Effect.gen(function* () {
      const secret = "deadbeef".repeat(8)
      const wrong: ReadonlyArray<[string, Partial<PutCredential>]> = [
        ["id", { id: "" }],
        ["id", { id: "i".repeat(65) }],
        ["kind", { kind: "person" as "api" }],
        ["name", { name: "" }],
        ["name", { name: "n".repeat(256) }],
        ["hash", { hash: "" }],
        ["hash", { hash: `${secret}0` }],
        ["hash", { hash: secret.toUpperCase() }],
        ["hash", { hash: `${secret.slice(1)}g` }],
        ["scope", { scope: "ö".repeat(32_769) }],
        ["expiresAt", { expiresAt: 0.5 }],
        ["expiresAt", { expiresAt: Number.NaN }],
      ]
      for (const [field, fields] of wrong) {
        const put = putCredential({ ...newCredential(1), hash: secret, ...fields })
        yield* expectLimit(field, put)
        const error = yield* expectRefused(field, put)
        const texts = [error.message, String(error), JSON.stringify(error), String(error.cause)].join(" ")
        yield* expectTrue(`no hash in the error of ${field}`, !texts.toLowerCase().includes("deadbeef"))
      }
      yield* expectSame("rows", yield* all, [])
    }),
  },
]
