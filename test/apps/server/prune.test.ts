// Records that have expired are taken out, a little every minute, and a store that is away is told of once.
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { startPruning } from "../../../apps/server/prune.ts"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test("every minute, as long as there are many, with a bound; and not after the stop", async () => {
  const limits: Array<number> = []
  let left = 2_500
  const store = {
    pruneRecords: async (limit: number) => {
      limits.push(limit)
      const count = Math.min(limit, left)
      left -= count
      return count
    },
  }
  const { stop } = startPruning(store, () => undefined)
  await vi.advanceTimersByTimeAsync(59_999)
  expect(limits).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect([limits, left]).toEqual([[1_000, 1_000, 1_000], 0])
  left = 1_000_000
  await vi.advanceTimersByTimeAsync(60_000)
  expect(limits).toHaveLength(23)
  stop()
  await vi.advanceTimersByTimeAsync(600_000)
  expect(limits).toHaveLength(23)
})

test("the first failure of several in a row is told", async () => {
  let fails = true
  const told: Array<string> = []
  const pruneRecords = async () => {
    if (fails) throw new Error("away")
    return 0
  }
  const { stop } = startPruning({ pruneRecords }, (doing) => told.push(doing))
  await vi.advanceTimersByTimeAsync(180_000)
  expect(told).toEqual(["remove records that have expired"])
  fails = false
  await vi.advanceTimersByTimeAsync(60_000)
  fails = true
  await vi.advanceTimersByTimeAsync(120_000)
  expect(told).toHaveLength(2)
  stop()
})
