// Tokens: their text, their rows, what a server makes of them, and what refused connections cost.
import { createHash } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import {
  createToken,
  listTokens,
  queuesOf,
  revokeToken,
  type TokenStore,
} from "../../../apps/server/Credentials.ts"
import {
  addressesMax,
  addressMax,
  type Denied,
  eventsMax,
  makeDenials,
  networkOf,
} from "../../../apps/server/Denials.ts"
import { hasHash, hashOf, makeToken, parseToken, tokenText } from "../../../apps/server/Token.ts"
import { openTokenBook, type TokenBook } from "../../../apps/server/TokenBook.ts"

let clock = 1_800_000_000_000
let store: TokenStore
beforeEach(() => {
  clock = 1_800_000_000_000
  store = memoryDriver({ now: () => clock })
})

describe("the text", () => {
  test("it has 256 random bits, and is taken apart again", () => {
    const all = Array.from({ length: 100 }, makeToken)
    expect(new Set(all.flatMap(({ id, secret }) => [id, secret])).size).toBe(200)
    for (const token of all) {
      expect(Buffer.from(token.secret, "base64url")).toHaveLength(32)
      expect(tokenText(token)).toMatch(/^uhrw_/)
      expect(parseToken(tokenText(token))).toEqual(token)
    }
  })

  test.each([
    "",
    "uhrw_",
    "uhrw__",
    "Bearer x",
    `uhrw_0123456789abcdef_${"a".repeat(42)}`,
    `uhrw_0123456789abcdef_${"a".repeat(44)}`,
    `uhrw_0123456789ABCDEF_${"a".repeat(43)}`,
    `uhr_0123456789abcdef_${"a".repeat(43)}`,
    `uhrw_0123456789abcdef_${"a".repeat(43)}\n`,
    `uhrw_0123456789abcdef_${"é".repeat(43)}`,
    "x".repeat(1_000_000),
  ])("text %# of those that are none", (text) => expect(parseToken(text)).toBeNull())

  test("a hash is of one secret only", () => {
    const { secret } = makeToken()
    expect(hashOf(secret)).toBe(createHash("sha256").update(secret).digest("hex"))
    expect(hasHash(secret, hashOf(secret))).toBe(true)
    for (const other of [makeToken().secret, `${secret}x`, ""])
      expect(hasHash(other, hashOf(secret))).toBe(false)
    for (const hash of ["", "short", "é".repeat(64)]) expect(hasHash(secret, hash)).toBe(false)
  })
})

describe("the rows", () => {
  test("the secret is nowhere in the store, and in no list", async () => {
    const { token } = await createToken(store, { name: "mailers", queues: ["mail", "mail"], expires: "90d" })
    const secret = parseToken(token)?.secret as string
    const rows = await store.credentials()
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(rows).toMatchObject([{ kind: "worker", name: "mailers", expiresAt: clock + 90 * 86_400_000 }])
    const listed = await listTokens(store)
    expect(JSON.stringify(listed)).not.toContain(rows[0]?.hash)
    expect(listed).toMatchObject([{ name: "mailers", queues: ["mail"], state: "valid", createdAt: clock }])
  })

  test("one that has expired is listed as such; one whose scope cannot be read allows nothing", async () => {
    await createToken(store, { name: "short", expires: "1s" })
    clock += 1
    const row = { kind: "worker", hash: hashOf("x"), expiresAt: null } as const
    await store.putCredential({ ...row, id: "b", name: "odd", scope: "[]" })
    await store.putCredential({ ...row, id: "c", name: "key", kind: "api", scope: "{}" })
    clock += 1_000
    expect(await listTokens(store)).toMatchObject([
      { name: "short", queues: null, state: "expired" },
      { name: "odd", queues: [], state: "broken" },
    ])
  })

  test.each([
    [{ name: "" }, "name"],
    [{ name: " a" }, "name"],
    [{ name: "a\u001b[31m" }, "name"],
    [{ name: "x".repeat(129) }, "name"],
    [{ name: "a", queues: [] }, "queues"],
    [{ name: "a", queues: Array.from({ length: 101 }, String) }, "queues"],
    [{ name: "a", queues: ["x".repeat(129)] }, "queues"],
    [{ name: "a", expires: 999 }, "expires"],
    [{ name: "a", expires: "soon" as never }, "expires"],
  ] as const)("options %# are refused by their field, and stored is nothing", async (options, field) => {
    await expect(createToken(store, options)).rejects.toMatchObject({ _tag: "InvalidInput", field })
    expect(await store.credentials()).toEqual([])
  })

  test("a name is taken once, and free again when it is revoked, by name or id", async () => {
    const first = await createToken(store, { name: "a" })
    await expect(createToken(store, { name: "a" })).rejects.toMatchObject({
      field: "name",
      next: /token revoke a/,
    })
    await createToken(store, { name: "b" })
    expect(await revokeToken(store, "a")).toEqual({ id: first.view.id, name: "a", left: 1 })
    const again = await createToken(store, { name: "a" })
    expect(await revokeToken(store, again.view.id)).toMatchObject({ name: "a" })
    await expect(revokeToken(store, "a")).rejects.toMatchObject({ _tag: "NotFound", next: /token list/ })
    expect((await listTokens(store)).map(({ name }) => name)).toEqual(["b"])
  })

  test.each(["", "{", "null", "[]", "{}", '{"queues":1}', '{"queues":[1]}', '{"queues":"a"}'])(
    "the scope %o is none",
    (scope) => expect(queuesOf(scope)).toBeUndefined(),
  )
})

describe("the book of a server", () => {
  let book: TokenBook | undefined
  let troubles = 0
  let fails = false
  let looks = 0
  afterEach(() => book?.stop())
  const open = async (options: { readonly everyMillis?: number; readonly holdMillis?: number } = {}) => {
    troubles = 0
    fails = false
    looks = 0
    book = await openTokenBook({
      store: {
        now: () => store.now(),
        credentials: () => {
          looks++
          if (fails) throw new Error("The store is away")
          return store.credentials()
        },
      },
      onTrouble: () => troubles++,
      ...options,
    })
    return book
  }

  test("without any token none is asked for; a wrong one is refused all the same", async () => {
    const { worthOf, isRequired } = await open()
    expect(await worthOf(null)).toEqual({ kind: "open" })
    expect(await worthOf("x")).toEqual({ kind: "invalid", why: "malformed", id: null })
    expect(isRequired()).toBe(false)
  })

  test("a token is good with all of its bits, and for its queues", async () => {
    const { token, view } = await createToken(store, { name: "a", queues: ["mail"] })
    const { worthOf, isRequired } = await open()
    expect(isRequired()).toBe(true)
    expect(await worthOf(token)).toEqual({ kind: "valid", id: view.id, queues: ["mail"] })
    expect(await worthOf(null)).toEqual({ kind: "invalid", why: "missing", id: null })
    const changed = `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`
    expect(await worthOf(changed)).toEqual({ kind: "invalid", why: "wrong", id: view.id })
    const { token: other } = await createToken(store, { name: "b" })
    const mixed = `${token.slice(0, 22)}${other.slice(22)}`
    expect(await worthOf(mixed)).toMatchObject({ why: "wrong" })
  })

  test("a token that was made a moment ago is found, and unknown ones cause a look a second at most", async () => {
    const { worthOf } = await open({ everyMillis: 600_000 })
    const { token } = await createToken(store, { name: "a" })
    const since = performance.now()
    const answers = await Promise.all([
      worthOf(token),
      ...Array.from({ length: 50 }, () => worthOf(tokenText(makeToken()))),
    ])
    expect(answers.map(({ kind }) => kind)).toEqual(["valid", ...Array.from({ length: 50 }, () => "invalid")])
    // Also one after the other: each has to wait for its second.
    for (let each = 0; each < 2; each++)
      expect(await worthOf(tokenText(makeToken()))).toMatchObject({ why: "unknown" })
    expect(looks).toBeLessThanOrEqual(2 + Math.floor((performance.now() - since) / 1_000))
  })

  test("one that expires is over by the store's clock", async () => {
    const { token } = await createToken(store, { name: "a", expires: "1s" })
    clock += 999_000
    clock -= 998_900
    const { worthOf } = await open()
    expect(await worthOf(token)).toMatchObject({ kind: "valid" })
    await vi.waitFor(async () => expect(await worthOf(token)).toMatchObject({ why: "expired" }), 3_000)
  })

  test("each look tells which are good; to revoke the last one does not open the door", async () => {
    const kept = await createToken(store, { name: "kept" })
    const gone = await createToken(store, { name: "gone" })
    const { watch, worthOf, isRequired } = await open({ everyMillis: 20 })
    let good: ReadonlySet<string> = new Set()
    watch((valid) => (good = valid))
    await vi.waitFor(() => expect([...good].sort()).toEqual([kept.view.id, gone.view.id].sort()))
    await revokeToken(store, "gone")
    await vi.waitFor(() => expect([...good]).toEqual([kept.view.id]))
    await revokeToken(store, "kept")
    await vi.waitFor(() => expect([...good]).toEqual([]))
    expect(isRequired()).toBe(true)
    expect(await worthOf(null)).toMatchObject({ why: "missing" })
    expect(await worthOf(kept.token)).toMatchObject({ why: "unknown" })
  })

  test("a store that is away: what is known holds for a while, and nothing else is guessed", async () => {
    const { token, view } = await createToken(store, { name: "a" })
    const { worthOf } = await open({ everyMillis: 10, holdMillis: 300 })
    fails = true
    await vi.waitFor(() => expect(troubles).toBe(1))
    expect(await worthOf(token)).toEqual({ kind: "valid", id: view.id, queues: null })
    expect(await worthOf(tokenText(makeToken()))).toEqual({ kind: "unknowable" })
    await vi.waitFor(async () => expect(await worthOf(token)).toEqual({ kind: "unknowable" }), 3_000)
    expect(await worthOf(null)).toEqual({ kind: "unknowable" })
    expect(troubles).toBe(1)
    fails = false
    await vi.waitFor(async () => expect(await worthOf(token)).toMatchObject({ kind: "valid" }), 3_000)
  })
})

describe("refused connections", () => {
  let now = 0
  const denied = (address: string) => ({ address, worker: "w", why: "unknown", token: "t" }) as const
  const start = () => {
    now = 1_000_000
    const events: Array<Denied> = []
    return {
      events,
      denials: makeDenials(
        (event) => events.push(event),
        () => now,
      ),
    }
  }

  test("an address has so many a minute; what is beyond is counted", () => {
    const { events, denials } = start()
    const answers = Array.from({ length: addressMax + 5 }, () => denials.add(denied("192.0.2.1")))
    expect(answers).toEqual([
      ...Array.from({ length: addressMax }, () => true),
      ...Array.from({ length: 5 }, () => false),
    ])
    expect(events).toHaveLength(addressMax)
    expect(denials.add(denied("192.0.2.2"))).toBe(true)
    expect(events.at(-1)).toEqual({ kind: "denied", at: now, ...denied("192.0.2.2"), more: 5 })
    now += 60_000
    expect(denials.add(denied("192.0.2.1"))).toBe(true)
  })

  test("many addresses fill neither the log nor the memory", () => {
    const { events, denials } = start()
    for (let each = 0; each < 3 * addressesMax; each++)
      denials.add(denied(`10.${each >> 16}.${(each >> 8) & 255}.${each & 255}`))
    expect(events).toHaveLength(eventsMax)
  })

  test("a clock that is set back does not hold anybody up for ever", () => {
    const { denials } = start()
    for (let each = 0; each <= addressMax; each++) denials.add(denied("192.0.2.1"))
    now -= 3_600_000
    expect(denials.add(denied("192.0.2.1"))).toBe(true)
  })

  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["", ""],
  ])("%s counts as %s", (address, network) => expect(networkOf(address)).toBe(network))
})
