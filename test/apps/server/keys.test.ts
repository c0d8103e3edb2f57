// Keys in the store, and when they are used: what is written, and what a store that fails does to it.
import { beforeEach, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { createKey, keyScopeOf, listKeys, makeKeyUse, revokeKey } from "../../../apps/server/Keys.ts"
import { keyText, makeToken, parseKey, parseToken, tokenText } from "../../../apps/server/Token.ts"
import { openKeyBook } from "../../../apps/server/TokenBook.ts"

let clock = 0
let store = memoryDriver({ now: () => clock })
beforeEach(() => {
  clock = 1_800_000_000_000
  store = memoryDriver({ now: () => clock })
})

test("a key is no token, and a token no key", () => {
  const made = makeToken()
  expect(parseKey(keyText(made))).toEqual(made)
  expect(parseKey(tokenText(made))).toBeNull()
  expect(parseToken(keyText(made))).toBeNull()
})

test("the secret is nowhere in the store; role, namespace and end are", async () => {
  const { key } = await createKey(store, {
    name: "a",
    role: "operator",
    namespace: "mail",
    expires: "90d",
  })
  const rows = await store.credentials()
  expect(JSON.stringify(rows)).not.toContain(parseKey(key)?.secret)
  expect(await listKeys(store)).toMatchObject([
    { name: "a", role: "operator", namespace: "mail", state: "valid", expiresAt: clock + 90 * 86_400_000 },
  ])
})

test("a put that was done and reported failed, and so tried again, makes one key that is good", async () => {
  const twice = {
    ...store,
    putCredential: async (row: Parameters<typeof store.putCredential>[0]) => {
      await store.putCredential(row)
      return store.putCredential(row)
    },
  }
  const { key } = await createKey(twice, { name: "a" })
  await expect(createKey(store, { name: "a" })).rejects.toMatchObject({ field: "name", next: /key revoke a/ })
  const book = await openKeyBook({ store, onTrouble: () => undefined })
  expect(await book.worthOf(key)).toMatchObject({ kind: "valid", name: "a", role: "viewer", namespace: null })
  book.stop()
})

test("a crash between the door and the key leaves the door shut", async () => {
  let puts = 0
  const dying = {
    ...store,
    putCredential: (row: Parameters<typeof store.putCredential>[0]) => {
      if (++puts === 2) throw new Error("died")
      return store.putCredential(row)
    },
  }
  await expect(createKey(dying, { name: "a" })).rejects.toThrow("died")
  expect(await listKeys(store)).toEqual([])
  const book = await openKeyBook({ store, onTrouble: () => undefined })
  expect(book.isRequired()).toBe(true)
  expect(await book.worthOf(null)).toMatchObject({ kind: "invalid", why: "missing" })
  book.stop()
})

test.each([
  "",
  "{}",
  "null",
  '{"role":"admin"}',
  '{"role":"root","namespace":null}',
  '{"role":"admin","namespace":""}',
  '{"role":"admin","namespace":7}',
])("the scope %o allows nothing", (scope) => expect(keyScopeOf(scope)).toBeUndefined())

test("a use is written once a minute, and goes with its key", async () => {
  let puts = 0
  const use = makeKeyUse(
    {
      putRecords: (records) => {
        puts++
        return store.putRecords(records)
      },
    },
    () => clock,
  )
  const { view } = await createKey(store, { name: "a" })
  const used = async () => (await listKeys(store))[0]?.lastUsedAt
  expect(await used()).toBeNull()
  const first = clock
  for (let each = 0; each < 100; each++) use(view.id)
  await Promise.resolve()
  expect([puts, await used()]).toEqual([1, first])
  clock += 59_999
  use(view.id)
  await Promise.resolve()
  expect([puts, await used()]).toEqual([1, first])
  clock += 1
  use(view.id)
  await Promise.resolve()
  expect([puts, await used()]).toEqual([2, clock])
  await revokeKey(store, "a")
  expect(await store.records({ kind: "key-use", order: "ascending", limit: 10 })).toEqual([])
})

test("a use that cannot be written is nobody's trouble, nor is one that cannot be removed", async () => {
  const failing = {
    putRecords: () => {
      throw new Error("away")
    },
  }
  makeKeyUse(failing, () => clock)("a")
  makeKeyUse({ putRecords: () => Promise.reject(new Error("away")) }, () => clock)("a")
  await Promise.resolve()
  const { view } = await createKey(store, { name: "a" })
  const deleteRecords = () => Promise.reject(new Error("away"))
  expect(await revokeKey({ ...store, deleteRecords }, view.id)).toMatchObject({ name: "a", left: 0 })
})
