// A broadcast through the memory store: one run for each worker, each told its part, and the input as it was written.
import { describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { itemMax } from "../../../core/domain/Flow.ts"
import type { Job } from "../../../core/domain/Job.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import { defaultRetryPolicy } from "../../../core/domain/RetryPolicy.ts"
import type { Run } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import { broadcastOf, shardOf } from "../../../core/worker/Broadcast.ts"

const job: Job = {
  name: "cache.clear",
  queue: "default",
  priority: 0,
  retry: { ...defaultRetryPolicy, attemptMax: 4 },
  timeoutMillis: null,
  needs: [],
  placement: { by: "leastLoaded", where: null, broadcast: true },
}
const one = (input: string | null): Run =>
  Transition.enqueued(newRun(1, { job: job.name, queue: "ops", priority: 3, input }), 0, 0)
const items = (outcome: Outcome): ReadonlyArray<string | null> => {
  if (outcome.kind !== "expanded" || outcome.expansion.kind !== "map") throw new Error(outcome.kind)
  return outcome.expansion.items
}

describe("broadcast", () => {
  test("one run for each worker, with its part; its output is the list of theirs", async () => {
    const driver = memoryDriver({ now: () => 1_000_000 })
    const workers = ["w1", 'odd "},"input":{" name', "w3"]
    const input = '{"at":1.0,"id":12345678901234567890}'
    await driver.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 60_000)
    await driver.enqueue([newRun(1, { job: job.name, queue: "ops", priority: 3, input })])
    const wish = { node: "n1", queues: ["ops"], jobs: [job.name], limit: 10, acknowledged: true }
    const [whole] = (await driver.claim(wish)) as [Run]
    expect(shardOf(whole)).toBe(null)
    const outcome = broadcastOf(whole, job, workers)
    if (outcome.kind !== "expanded") throw new Error(outcome.kind)
    expect(outcome.retryable).toBe(false)
    const { expansion } = outcome
    const { id, token } = whole
    await driver.settle([{ id, token, kind: "expanded", expansion, retryInMillis: null }])

    const parts = await driver.claim(wish)
    expect(parts).toHaveLength(3)
    for (const part of parts) {
      expect(part).toMatchObject({
        job: job.name,
        queue: "ops",
        priority: 3,
        attemptMax: 4,
        parentId: runId(1),
      })
      const index = part.step as number
      expect(shardOf(part)).toEqual({ shard: { index, count: 3, worker: workers[index] }, input })
    }
    await driver.settle(
      parts.map((part) => ({
        id: part.id,
        token: part.token,
        kind: "succeeded",
        output: JSON.stringify(shardOf(part)?.shard.worker),
      })),
    )
    const [ended] = await driver.get([runId(1)])
    expect(ended).toMatchObject({ state: "succeeded", output: JSON.stringify(workers) })
  })

  test("one part that fails for good does not call off the others", async () => {
    expect(items(broadcastOf(one(null), job, ["w1"]))).toHaveLength(1)
    expect(broadcastOf(one(null), job, ["w1"])).toMatchObject({
      expansion: { failFast: false, step: { job: job.name, queue: "ops", priority: 3, attemptMax: 4 } },
    })
    expect(items(broadcastOf(one(null), job, []))).toEqual([])
  })

  test("no input stays none, and an input of null stays null", () => {
    const read = (input: string | null) =>
      shardOf({ parentId: runId(9), input: items(broadcastOf(one(input), job, ["w"]))[0] ?? null })
    expect(read(null)).toEqual({ shard: { index: 0, count: 1, worker: "w" }, input: null })
    expect(read("null")?.input).toBe("null")
    expect(read('"}"')?.input).toBe('"}"')
    expect(read('{"uhrwerk.shard":{"index":5,"count":6,"worker":"x"},"input":1}')?.shard.worker).toBe("w")
  })

  test("what is no part of a broadcast is told from one", () => {
    const [item = null] = items(broadcastOf(one("1"), job, ["w"]))
    expect(shardOf({ parentId: null, input: item })).toBe(null)
    for (const input of [null, "1", "{}", '{"uhrwerk.shard":', '{"uhrwerk.shard":1}', '{"uhrwerk.shard":{}}'])
      expect(shardOf({ parentId: runId(9), input })).toBe(null)
    expect(
      shardOf({ parentId: runId(9), input: '{"uhrwerk.shard":{"index":0.5,"count":1,"worker":"w"}}' }),
    ).toBe(null)
  })

  test("too many workers, and an input that is too large for all, fail for good with the reason", () => {
    const names = Array.from({ length: itemMax + 1 }, (_, n) => `w${n}`)
    expect(items(broadcastOf(one("1"), job, names.slice(1)))).toHaveLength(itemMax)
    expect(broadcastOf(one("1"), job, names)).toMatchObject({
      kind: "failed",
      retryable: false,
      error: { kind: "payload", message: expect.stringContaining("1001 workers") },
    })
    const large = one(JSON.stringify("x".repeat(200_000)))
    expect(items(broadcastOf(large, job, names.slice(0, 20)))).toHaveLength(20)
    expect(broadcastOf(large, job, names.slice(0, 21))).toMatchObject({
      kind: "failed",
      retryable: false,
      error: { message: expect.stringContaining("pass a reference") },
    })
  })
})
