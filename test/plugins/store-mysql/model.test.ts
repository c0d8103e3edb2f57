// MySQL against the memory store: the random sequences of test/adapters/store-sql/model, which see where the two differ.
// To repeat one: SEED=123 vitest run test/plugins/store-mysql/model
import { afterAll, beforeAll, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { driverOver } from "../../../plugins/store-mysql/mod.ts"
import { after, type Pair, report, startAt } from "../../adapters/store-sql/model/replay.ts"
import { runSeed } from "../../adapters/store-sql/model/sequence.ts"
import { dropDatabases, durable, empty, makeDatabase, missing, placeOf } from "./server.ts"

// Each commit waits for a disk, so these are few, and some go at a time; the contract kit has what many found. The
// sequences are about the store, and not about the runtime.
const isNode = !("Deno" in globalThis) && !("Bun" in globalThis)
const sequenceCount = isNode ? 40 : 12
const atOnce = 6
const seedGiven = process.env["SEED"]

const lanes: Array<{ readonly connection: Connection; readonly fresh: () => Pair }> = []

const openLane = async () => {
  const connection = connect(placeOf(await makeDatabase()), { connectionsMax: 1 })
  const clock = { millis: startAt }
  const now = (): number => clock.millis
  const store = driverOver(connection, durable, now)
  const fresh = (): Pair => {
    clock.millis = startAt
    return { memory: memoryDriver({ now }), sqlite: after(empty(connection), store), clock }
  }
  return { connection, fresh }
}

beforeAll(async () => {
  if (missing === null)
    lanes.push(...(await Promise.all(Array.from({ length: seedGiven === undefined ? atOnce : 1 }, openLane))))
})
afterAll(async () => {
  for (const { connection } of lanes) await connection.close()
  await dropDatabases()
})

test.skipIf(missing !== null)(
  `random sequences have equal answers and results in MySQL and in memory${missing === null ? "" : ` (${missing})`}`,
  async () => {
    const seeds =
      seedGiven === undefined
        ? Array.from({ length: sequenceCount }, (_, index) => 20_001 + index)
        : [Number(seedGiven)]
    const replayed = await Promise.all(
      lanes.map(async ({ fresh }) => {
        let count = 0
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
          const { operations, found } = await runSeed(fresh(), seed)
          if (found !== null) expect.fail(await report(fresh, seed, operations))
          count += operations.length
        }
        return count
      }),
    )
    expect(replayed.reduce((sum, count) => sum + count)).toBeGreaterThan(
      seedGiven === undefined ? sequenceCount * 10 : 0,
    )
  },
  240_000,
)
