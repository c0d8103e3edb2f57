// The check of flows can fail: a store that breaks one promise about dependents and steps is told, an honest one is not.
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { Spoil, WatchedRuns } from "../Ground.ts"
import { flowChecks } from "./flows.ts"
import { after, change, error, expansion, lost, rewriting, stage, type Stage, won } from "./Stage.ts"

const chain = ({ enqueue, claim, settle }: Stage): void => {
  enqueue(newRun(1), newRun(2, { needs: [runId(1)] }))
  settle(...claim().map(won))
  settle(...claim().map(won))
}
const flow = (
  { enqueue, claim, settle }: Stage,
  ends: ReadonlyArray<(run: Run) => Settlement> = [won],
): void => {
  enqueue(newRun(1, { job: "flow" }))
  const [parent] = claim() as [Run]
  settle({ id: parent.id, token: parent.token, kind: "expanded", expansion, retryInMillis: null })
  for (let turn = 0; turn < 4; turn++) settle(...claim().map(ends[turn] ?? won))
}
const parentOf = (table: WatchedRuns): Run | undefined => table.entries.get(runId(1))?.run
const childrenOf = (table: WatchedRuns): ReadonlyArray<Run> =>
  [...table.entries.values()].map(({ run }) => run).filter(({ parentId }) => parentId !== null)

test.each<[string, Spoil, (stage: Stage) => void, RegExp]>([
  [
    "a dependent that is released at once",
    {
      driver: after("enqueue", (table, now) =>
        change(table, runId(2), { state: "ready", waitingFor: 0 }, now),
      ),
    },
    chain,
    /was released, and .* did not succeed/,
  ],
  [
    "a dependent that is never released",
    {
      driver: after("settle", (table, now) =>
        change(table, runId(2), { state: "blocked", waitingFor: 1 }, now),
      ),
    },
    ({ enqueue, claim, settle }) => {
      enqueue(newRun(1), newRun(2, { needs: [runId(1)] }))
      settle(...claim().map(won))
    },
    /is blocked, and all its needs have succeeded/,
  ],
  [
    "a dependent that is skipped though its need succeeded",
    rewriting((next) =>
      next.id === runId(2) && next.state === "ready" ? { ...next, state: "skipped" } : next,
    ),
    chain,
    /was skipped, and its needs may succeed still/,
  ],
  [
    "a step that is started twice",
    {
      driver: after("settle", (table) => {
        const [first] = childrenOf(table)
        if (first?.state === "ready") table.insert({ ...first, id: runId(99) })
      }),
    },
    flow,
    /was made for step "a" a second time/,
  ],
  [
    "a step that is started before its rule holds",
    {
      driver: after("settle", (table) => {
        const [first] = childrenOf(table)
        if (first?.state === "ready") table.insert({ ...first, id: runId(99), step: 1 })
      }),
    },
    flow,
    /was made for step "b" while it is blocked by its rule/,
  ],
  [
    "a counter that is one too high",
    rewriting((next) =>
      next.id === runId(1) && next.state === "blocked" ? { ...next, waitingFor: next.waitingFor + 1 } : next,
    ),
    flow,
    /waits for 3 steps, and counts 4/,
  ],
  [
    "a cancelled flow run whose steps go on",
    {
      driver: after("claim", (table, now) => {
        const isBlocked = parentOf(table)?.state === "blocked"
        if (isBlocked) change(table, runId(1), { state: "cancelled", endedAt: now }, now)
      }),
    },
    flow,
    /is cancelled, and its step "a" is running/,
  ],
  [
    "a flow run with the output of another step",
    rewriting((next, isFlow) => (isFlow && next.state === "succeeded" ? { ...next, output: '"x"' } : next)),
    flow,
    /has the output "x" instead of/,
  ],
  [
    "a flow run that succeeds though a step failed",
    rewriting((next, isFlow) => (isFlow && next.state === "dead" ? { ...next, state: "succeeded" } : next)),
    (scene) => flow(scene, [(run) => lost(run, null)]),
    /succeeded, and a step of it failed/,
  ],
  [
    "a flow run that fails while its steps go on",
    rewriting((next, isFlow) =>
      isFlow && next.state === "blocked" && next.waitingFor === 2 ? { ...next, state: "dead", error } : next,
    ),
    flow,
    /failed with 2 steps open and no fault/,
  ],
])("I6: %s", (_, spoil, story, expected) => {
  const honest = stage(flowChecks)
  story(honest)
  honest.check.end?.()
  expect(honest.told()).toEqual([])
  const spoiled = stage(flowChecks, spoil)
  story(spoiled)
  expect(spoiled.told().join("\n")).toMatch(expected)
})

test("I6: a mark by hand counts as the end of its step, for the check as for the store", () => {
  const scene = stage(flowChecks)
  const { enqueue, claim, settle, flows, told } = scene
  enqueue(newRun(1, { job: "flow" }))
  const [parent] = claim() as [Run]
  settle({ id: parent.id, token: parent.token, kind: "expanded", expansion, retryInMillis: null })
  Effect.runSync(
    flows.markStep({ runId: parent.id, step: "b", end: "succeeded", reason: "By hand", output: '"mine"' }),
  )
  settle(...claim().map(won))
  settle(...claim().map(won))
  scene.check.end?.()
  expect(parentOf(scene.ground.table)).toMatchObject({ state: "succeeded", output: '"mine"' })
  expect(told()).toEqual([])
})
