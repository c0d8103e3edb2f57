// Texts on their way into PostgreSQL and back: whatever a handler or a person says is stored, or one run of a batch
// would keep all others from being settled.
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, expect, test } from "vitest"
import { literal } from "../../../../adapters/store-sql/postgres/Statement.ts"
import { newRun } from "../../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { pgliteConnection } from "./pglite.ts"
import { openStores } from "./schemas.ts"

let database: PGlite
let store: StoreDriver
beforeAll(async () => {
  database = await PGlite.create()
  store = await openStores(pgliteConnection(database), () => "uhrwerk")()
})
afterAll(() => database.close())

test.each(["", "a,b", '"', "\\", "{}", "NULL", "null", " a ", "'", "\n\t", "ä€😀", "$1", '{"a":"\\"}'])(
  "in a list, %j comes back as it was",
  async (text) => {
    const { rows } = await database.query("select unnest($1::text[]) as text", [literal([text, null, text])])
    expect(rows).toEqual([{ text }, { text: null }, { text }])
  },
)

test("a reason with a character that the server refuses is stored without it, with the rest of the batch", async () => {
  await store.enqueue([newRun(1), newRun(2)])
  const wish = { node: "n", queues: ["default"], jobs: ["report"], limit: 2, acknowledged: true }
  await store.join({ id: "n", host: "h", pid: 1, runtime: "r" }, 60_000)
  const [first, second] = await store.claim(wish)
  const settled = await store.settle([
    { id: first!.id, token: first!.token, kind: "declined", reason: "a\0b" },
    { id: second!.id, token: second!.token, kind: "declined", reason: "half \ud800 of one" },
  ])
  expect(settled.map(({ result }) => result)).toEqual(["settled", "settled"])
  const reasons = (await store.get([first!.id, second!.id])).map(({ reason }) => reason)
  expect(reasons).toEqual(["a\ufffdb", "half \ufffd of one"])
  await store.enqueue([newRun(3, { key: "k\0" }), newRun(4)])
  expect(await store.enqueue([newRun(5, { key: "k\0" })])).toMatchObject([
    { result: "exists", id: newRun(3).id },
  ])
  expect(await store.cancel([newRun(3).id], "\0")).toMatchObject([{ result: "cancelled" }])
})
