// PostgreSQL (PGlite) against the memory store: the random sequences of ../model, which see where the two differ.
// To repeat one: SEED=123 vitest run test/adapters/store-sql/postgres/model
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, expect, test } from "vitest"
import { memoryDriver } from "../../../../adapters/store-memory/mod.ts"
import { driverOver } from "../../../../adapters/store-sql/postgres.ts"
import { migrate } from "../../../../adapters/store-sql/postgres/migrate.ts"
import { after, type Pair, report, startAt } from "../model/replay.ts"
import { runSeed } from "../model/sequence.ts"
import { pgliteConnection } from "./pglite.ts"
import { empty } from "./schemas.ts"

// A statement of PGlite takes a millisecond, so these are few; the contract kit has what many found.
const sequenceCount = 100
const seedGiven = process.env["SEED"]
const seeds =
  seedGiven === undefined
    ? Array.from({ length: sequenceCount }, (_, index) => 10_001 + index)
    : [Number(seedGiven)]

let database: PGlite
let fresh: () => Pair

beforeAll(async () => {
  database = await PGlite.create()
  const connection = pgliteConnection(database)
  await migrate(connection, "here", "uhrwerk")
  const clock = { millis: startAt }
  const now = (): number => clock.millis
  const store = driverOver(connection, "uhrwerk", now)
  fresh = () => {
    clock.millis = startAt
    return { memory: memoryDriver({ now }), sqlite: after(empty(connection, "uhrwerk"), store), clock }
  }
})
afterAll(() => database.close())

test("random sequences have equal answers and results in PostgreSQL and in memory", async () => {
  for (const seed of seeds) {
    const { operations, found } = await runSeed(fresh(), seed)
    if (found !== null) expect.fail(await report(fresh, seed, operations))
  }
}, 240_000)
