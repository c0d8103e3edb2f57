// Waiting for runs, and the removal of old records, on a clock of the test's own.
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { startRecordUpkeep } from "../../../apps/server/recordUpkeep.ts"
import { makeRunWaits } from "../../../apps/server/RunWaits.ts"
import { newRun, newRuns, runId } from "../../../core/contract/Fixtures.ts"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Waits over a memory store, with what each of them came to. */
const start = async () => {
  const store = memoryDriver({ now: () => Date.now() })
  await store.enqueue(newRuns(10))
  const looks: Array<ReadonlyArray<string>> = []
  const down = { isDown: false }
  const waits = makeRunWaits({
    get: async (ids) => {
      looks.push(ids)
      if (down.isDown) throw new Error("the store is away")
      return store.get(ids)
    },
  })
  const over: Array<string> = []
  const begin = (n: number, millis = 30_000, signal = new AbortController().signal) => {
    const wait = waits.begin(runId(n), millis, signal)
    void wait?.over.then(() => over.push(runId(n)))
    return wait
  }
  return { store, waits, looks, down, over, begin }
}

test("one look serves all who wait; who has heard is not told again, and nobody looks for nobody", async () => {
  const { store, looks, over, begin } = await start()
  const all = [begin(1), begin(1), begin(2)]
  await vi.advanceTimersByTimeAsync(500)
  expect(looks).toEqual([[runId(1), runId(2)]])
  await store.cancel([runId(1)], "enough")
  await vi.advanceTimersByTimeAsync(500)
  expect(over).toEqual([runId(1), runId(1)])
  for (const wait of all) wait?.end()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(looks.length).toBe(2)
  expect(vi.getTimerCount()).toBe(0)
})

test("a store that is away ends no wait; one that is back, or has the run no more, does", async () => {
  const { store, down, over, begin } = await start()
  begin(1)
  begin(11)
  await store.cancel([runId(1)], "enough")
  down.isDown = true
  await vi.advanceTimersByTimeAsync(5_000)
  expect(over).toEqual([])
  down.isDown = false
  await vi.advanceTimersByTimeAsync(500)
  expect(over).toEqual([runId(1), runId(11)])
})

test("an event ends it at once, if the run has ended with it", async () => {
  const { waits, over, begin } = await start()
  begin(1)
  const run = { ...newRun(1) } as never
  const ended = { kind: "ended", run, durationMillis: 1, error: null, output: null, dueAt: null } as const
  waits.hear({ ...ended, state: "retrying" })
  await Promise.resolve()
  expect(over).toEqual([])
  waits.hear({ ...ended, state: "succeeded" })
  await Promise.resolve()
  expect(over).toEqual([runId(1)])
})

test("ends with its time, with the client, with the server; later ones then at once", async () => {
  const { waits, over, begin } = await start()
  begin(1, 700)
  const gone = new AbortController()
  begin(2, 30_000, gone.signal)
  begin(3)
  await vi.advanceTimersByTimeAsync(699)
  expect(over).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  gone.abort()
  await Promise.resolve()
  expect(over).toEqual([runId(1), runId(2)])
  begin(4, 1e9)
  waits.close()
  begin(5)
  await vi.advanceTimersByTimeAsync(0)
  expect(over.slice(2).sort()).toEqual([runId(3), runId(4), runId(5)])
})

test("no wait is longer than a minute", async () => {
  const { over, begin } = await start()
  begin(1, 1e9)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(over).toEqual([runId(1)])
})

test("old records are removed once a minute, all of them, and a failure is told", async () => {
  const store = memoryDriver({ now: () => Date.now() })
  for (let batch = 0; batch < 3; batch++)
    await store.putRecords(
      Array.from({ length: 900 }, (_, n) => ({
        kind: "log",
        id: `${batch}:${n}`,
        body: "{}",
        expiresAt: Date.now() + 1_000,
        expected: null,
      })),
    )
  const removed: Array<number> = []
  const troubles: Array<unknown> = []
  const down = { isDown: false }
  const end = startRecordUpkeep(
    {
      pruneRecords: async (limit) => {
        if (down.isDown) throw new Error("the store is away")
        const count = await store.pruneRecords(limit)
        removed.push(count)
        return count
      },
    },
    (error) => troubles.push(error),
  )
  await vi.advanceTimersByTimeAsync(60_000)
  expect(removed).toEqual([1_000, 1_000, 700])
  down.isDown = true
  await vi.advanceTimersByTimeAsync(60_000)
  expect(troubles.length).toBe(1)
  end()
  await vi.advanceTimersByTimeAsync(600_000)
  expect([troubles.length, vi.getTimerCount()]).toEqual([1, 0])
})
