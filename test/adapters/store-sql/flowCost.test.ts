// What flows in a file cost: as much for each step of a large flow as for one of a small one.
import { describe, expect, test } from "vitest"
import { runId } from "../../../core/contract/Fixtures.ts"
import { chain, claim, drain, expand, flowOf, layers, lost, memory, stepOf, won } from "./flowFixtures.ts"

/** CPU time, in milliseconds. */
const cpuOf = async (body: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage()
  await body()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe("cost", () => {
  /** How much more CPU 10,000 steps take than 1,000; the bar is 12, and loaded machines get some more. */
  const ratioOf = async (what: string, run: (size: number) => Promise<void>): Promise<number> => {
    const small = Math.min(
      await cpuOf(() => run(1_000)),
      await cpuOf(() => run(1_000)),
      await cpuOf(() => run(1_000)),
    )
    const large = await cpuOf(() => run(10_000))
    const ratio = large / small
    console.log(
      `${what}: ${small.toFixed(0)} ms for 1,000 and ${large.toFixed(0)} ms for 10,000 steps`,
      ratio,
    )
    return ratio
  }

  test.each([
    ["a chain, one settlement a transaction", chain, 500],
    ["layers of a hundred, in batches", layers, 100],
  ])(
    "%s: ten times the steps take about ten times the CPU",
    { timeout: 120_000 },
    async (what, steps, limit) => {
      const ratio = await ratioOf(what, async (size) => {
        const { store } = memory()
        await expand(store, 1, flowOf("large", steps(size)))
        expect(await drain(store, won, limit)).toBe(size)
        expect((await store.get([runId(1)]))[0]?.state).toBe("succeeded")
      })
      expect(ratio).toBeLessThan(20)
    },
  )

  test(
    "a failure at the top of a long chain ends all of it in one transaction",
    { timeout: 60_000 },
    async () => {
      const ratio = await ratioOf("a failed chain", async (size) => {
        const { store, count } = memory()
        await expand(store, 1, flowOf("large", chain(size)))
        expect(await drain(store, lost)).toBe(1)
        expect((await store.get([runId(1)]))[0]?.state).toBe("dead")
        expect(count("steps where state = 'upstream_failed'")).toBe(size - 1)
      })
      expect(ratio).toBeLessThan(20)
    },
  )

  test(
    "flows in flows, 1,500 deep: the end of the last ends all, and so does a cancel of the first",
    { timeout: 60_000 },
    async () => {
      const depth = 1_500
      const nested = flowOf("nested", [stepOf("inner")])
      for (const how of ["succeed", "fail", "cancel"]) {
        const { store, count } = memory()
        await expand(store, 1, nested)
        for (let level = 1; level < depth; level++) {
          const [run] = await claim(store)
          const held = { id: run?.id ?? "", token: run?.token ?? 0 }
          await store.settle([{ ...held, kind: "expanded", expansion: nested, retryInMillis: null }])
        }
        expect(count("runs where state = 'blocked'")).toBe(depth)
        if (how === "cancel") await store.cancel([runId(1)], "why")
        else await drain(store, how === "fail" ? lost : won)
        const state = how === "succeed" ? "succeeded" : how === "fail" ? "dead" : "cancelled"
        expect(count(`runs where state = '${state}'`)).toBe(depth + 1)
        expect(count("dead_letters")).toBe(how === "fail" ? 1 : 0)
      }
    },
  )
})
