// Definitions that flow runs share: one for a name and version as long as somebody uses it, and none after that.
import { expect, test } from "vitest"
import { Plans } from "../../../adapters/store-memory/FlowRun.ts"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Expansion } from "../../../core/domain/Flow.ts"
import type { Run } from "../../../core/domain/Run.ts"

const flow = (...ids: ReadonlyArray<string>): Expansion & { readonly kind: "flow" } => ({
  kind: "flow",
  definition: {
    name: "nightly",
    version: "1",
    steps: ids.map((id) => ({ id, needs: [], job: "work", queue: "default", priority: 0, attemptMax: 1 })),
    output: null,
    failFast: false,
    timeoutMillis: null,
  },
})

test("Plans > flow runs of one version share definition and graph, not their input", () => {
  const plans = new Plans()
  const first = plans.take(plans.check({ ...flow("a"), input: "1" }))
  const second = plans.take(plans.check({ ...flow("a"), input: "2" }))
  expect(second.graph).toBe(first.graph)
  expect(second.expansion).toMatchObject({ input: "2" })
  expect(first.expansion).toMatchObject({ input: "1" })
  if (first.expansion.kind === "flow" && second.expansion.kind === "flow")
    expect(second.expansion.definition).toBe(first.expansion.definition)
  // The last one turns off the light.
  plans.giveBack(first)
  expect(plans.check(flow("b")).graph).toBe(first.graph)
  plans.giveBack(second)
  expect(plans.check(flow("b")).graph.ids).toEqual(["b"])
})

test("prune > with the last flow run of a version, its definition goes", () => {
  let millis = 1_000
  const store = memoryDriver({ now: () => millis })
  void store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
  const run = (n: number, expansion: Expansion): void => {
    void store.enqueue([newRun(n)])
    const wish = { node: "n1", queues: ["default"], jobs: ["report"], limit: 1, acknowledged: true }
    const [{ id, token }] = store.claim(wish) as [Run]
    void store.settle([{ id, token, kind: "expanded", expansion, retryInMillis: null }])
  }
  const graphOf = (n: number) => {
    const view = store.flowOf(runId(n))
    return view instanceof Promise || view?.expansion.kind !== "flow" ? [] : view.expansion.definition.steps
  }
  run(1, flow("a"))
  run(2, flow("b"))
  expect(graphOf(2)).toMatchObject([{ id: "a" }])
  void store.cancel([runId(1), runId(2)], "Not wanted")
  millis++
  expect(store.prune(millis, 100)).toBe(4)
  run(3, flow("b"))
  expect(graphOf(3)).toMatchObject([{ id: "b" }])
})
