// The SQLite store against the memory store: random sequences of operations of the whole port, on one clock that the
// sequence moves, must give the same answers and leave the same behind. Each difference is a fault of one of the two,
// or something that the port does not say; then it becomes a case of the contract kit (core/contract).
// A sequence comes of its seed alone. To repeat one: SEED=123 vitest run test/adapters/store-sql/model
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { expectedOften } from "./expected.ts"
import { openPair, replay, report } from "./replay.ts"
import { runSeed } from "./sequence.ts"
import { Tally } from "./tally.ts"

// Bun and Deno run the same seeds, but not as many: the sequences are about the stores, not about the runtime.
const isNode = !("Deno" in globalThis) && !("Bun" in globalThis)
const sequenceCount = isNode ? 2_000 : 300
const atOnce = isNode ? 200 : 100
const seedGiven = Number(process.env["SEED"] ?? Number.NaN)

/** Runs the sequences of some seeds; fails with the report of the first that makes a difference. */
const expectAlike = async (pair: ReturnType<typeof openPair>, seeds: Iterable<number>, tally: Tally) => {
  for (const seed of seeds) {
    const stores = pair.fresh()
    const { operations, found } = await runSeed(stores, seed, tally.note)
    if (found !== null) expect.fail(await report(pair.fresh, seed, operations))
    await tally.end(stores.memory)
  }
}

const seedsFrom = (first: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => first + index)

describe.runIf(Number.isNaN(seedGiven))("random sequences", () => {
  const tally = new Tally()
  let pair: ReturnType<typeof openPair>
  beforeAll(() => void (pair = openPair()))
  afterAll(() => pair.close())

  for (let first = 1; first <= sequenceCount; first += atOnce) {
    test(`have equal answers and results in both stores, seeds ${first} to ${first + atOnce - 1}`, () =>
      expectAlike(pair, seedsFrom(first, atOnce), tally))
  }

  test("do all that the port has, and come upon every answer that is of interest", () => {
    // Of few sequences, those that are rare come once.
    const often = isNode ? sequenceCount / 100 : 1
    const rare = expectedOften.filter((what) => (tally.counts.get(what) ?? 0) < often)
    expect(rare.map((what) => `${what}: ${tally.counts.get(what) ?? 0} times, not ${often}`)).toEqual([])
  })
})

test.skipIf(Number.isNaN(seedGiven))("the sequence of the seed that is given", async () => {
  const pair = openPair()
  try {
    await expectAlike(pair, [seedGiven], new Tally())
  } finally {
    await pair.close()
  }
})

describe("a store with a fault", () => {
  /** Stores with one operation that is not as it should be, and after how many sequences that must be known. */
  const faults: Readonly<Record<string, (store: StoreDriver) => Partial<StoreDriver>>> = {
    "settles under any token": (store) => ({
      settle: async (settlements) => {
        const runs = await store.get(settlements.map(({ id }) => id))
        const tokens = new Map(runs.map(({ id, token }) => [id, token]))
        return store.settle(
          settlements.map((each) => ({ ...each, token: tokens.get(each.id) ?? each.token })),
        )
      },
    }),
    "fires under any version": (store) => ({
      fire: async (fires) => {
        const versions = new Map((await store.schedules()).map(({ id, version }) => [id, version]))
        return store.fire(
          fires.map((each) => ({ ...each, version: versions.get(each.scheduleId) ?? each.version })),
        )
      },
    }),
    "forgets the priority of what it stores": (store) => ({
      enqueue: (runs) => store.enqueue(runs.map((run) => ({ ...run, priority: 0 }))),
    }),
    "does a part of a batch that it refuses": (store) => ({
      enqueue: async (runs) => {
        if (runs.length > 1) await store.enqueue(runs.slice(0, 1))
        return store.enqueue(runs)
      },
    }),
    "calls a re-run step skipped where it should run": (store) => ({
      rerunFlow: (runId, newId, from) => store.rerunFlow(runId, newId, from === "failed" ? "skipped" : from),
    }),
  }

  for (const [what, doctor] of Object.entries(faults)) {
    test(`that ${what} is found, and the report has few operations that repeat it`, async () => {
      const pair = openPair((store) => ({ ...store, ...doctor(store) }))
      try {
        for (const seed of seedsFrom(1, 300)) {
          const { operations, found } = await runSeed(pair.fresh(), seed)
          if (found === null) continue
          expect(await replay(pair.fresh(), operations)).not.toBeNull()
          const text = await report(pair.fresh, seed, operations)
          expect(text).toContain(`SEED=${seed}`)
          expect(Number(/The (\d+) operations/.exec(text)?.[1])).toBeLessThan(15)
          return
        }
        expect.fail("300 sequences found no difference")
      } finally {
        await pair.close()
      }
    })
  }
})
