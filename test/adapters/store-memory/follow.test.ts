// What follows from one change goes as far as it goes, without recursion: flows in flows in flows.
import { expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Expansion } from "../../../core/domain/Flow.ts"
import type { Run } from "../../../core/domain/Run.ts"

const depth = 20_000

const one: Expansion = {
  kind: "flow",
  definition: {
    name: "one",
    version: "1",
    steps: [{ id: "only", needs: [], job: "report", queue: "default", priority: 0, attemptMax: 1 }],
    output: "only",
    failFast: false,
    timeoutMillis: null,
  },
}

/** A flow in whose only step is a flow, and so on; answers the run of the innermost step. */
const nested = () => {
  const store = memoryDriver({ now: () => 1_000 })
  const wish = { node: "n1", queues: ["default"], jobs: ["report"], limit: 1, acknowledged: true }
  void store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
  void store.enqueue([newRun(1)])
  for (let level = 0; level < depth; level++) {
    const [{ id, token }] = store.claim(wish) as [Run]
    void store.settle([{ id, token, kind: "expanded", expansion: one, retryInMillis: null }])
  }
  return { store, innermost: (store.claim(wish) as [Run])[0] }
}

test("follow > the end of the innermost of 20,000 flows ends all of them, with its output", () => {
  const { store, innermost } = nested()
  void store.settle([{ id: innermost.id, token: innermost.token, kind: "succeeded", output: "7" }])
  expect(store.get([runId(1)])).toMatchObject([{ state: "succeeded", output: "7" }])
  expect(store.counts()).toEqual([{ job: "report", state: "succeeded", count: depth + 1 }])
})

test("follow > the cancel of the outermost of 20,000 flows cancels all of them", () => {
  const { store, innermost } = nested()
  void store.cancel([runId(1)], "Not wanted")
  expect(store.counts()).toEqual([{ job: "report", state: "cancelled", count: depth + 1 }])
  expect(store.started([innermost])).toEqual([false])
})
