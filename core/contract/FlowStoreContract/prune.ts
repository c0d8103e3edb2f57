// What `prune` promises about flows: a flow run and what it is made of stay whole, and go together.
import * as Effect from "effect/Effect"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectSame } from "../Case.ts"
import { claim, claimOne, failing, runId, settle, statesOf } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  expanding,
  expectTrueCounts,
  failSteps,
  flowOf,
  mapOf,
  step,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const chain = flowOf([step("a"), step("b", ["a"])])

/** Prunes until nothing is left to prune; answers how many went. */
const pruneAll = Effect.gen(function* () {
  const runs = yield* RunStore
  const { now } = yield* ContractClock
  let sum = 0
  for (let count = -1; count !== 0; sum += count) count = yield* runs.prune(now(), 100)
  return sum
})

/** Cases of `prune`. */
export const flowPruneCases: ReadonlyArray<Case> = [
  {
    name: "prune > ended steps of a flow run that lives stay, also those of an earlier round",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, chain, {}, 0)
      yield* succeedSteps("a")
      yield* failSteps("b")
      clock.advance(60_000)
      const before = yield* viewOf(runId(1))
      yield* expectSame("between rounds", yield* pruneAll, 0)
      yield* expectSame("view", yield* viewOf(runId(1)), before)
      yield* settle(expanding(yield* claimOne({ jobs: ["flow-1"] }), chain))
      clock.advance(60_000)
      yield* expectSame("in the next round", yield* pruneAll, 0)
      yield* expectSame("runs", (yield* runs.list({ limit: 10 })).length, 4)
      yield* succeedSteps("b")
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "succeeded"])
    }),
  },
  {
    name: "prune > steps stay while their flow run does: not ended long enough, or held by its letter",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, chain)
      yield* succeedSteps("a")
      clock.advance(1_000)
      const cut = clock.now()
      yield* failSteps("b")
      const before = yield* viewOf(runId(1))
      yield* expectSame("younger", yield* runs.prune(cut, 100), 0)
      clock.advance(60_000)
      yield* expectSame("letter", yield* pruneAll, 0)
      yield* expectSame("view", yield* viewOf(runId(1)), before)
      yield* runs.drop([runId(1)])
      yield* expectSame("all", yield* pruneAll, 3)
    }),
  },
  {
    name: "prune > a flow run goes with all that hangs on it, at any depth",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      const clock = yield* ContractClock
      yield* beginFlow(1, chain)
      const a = yield* claimStep("a")
      yield* settle(expanding(a, flowOf([step("x"), step("y")])))
      const x = yield* claimStep("x")
      yield* settle(expanding(x, mapOf(["1", "2"])))
      for (const item of yield* claim({ jobs: ["item"] })) yield* settle(failing(item))
      yield* succeedSteps("y")
      yield* expectSame("ended", yield* statesOf(runId(1)), ["dead"])
      yield* runs.drop([runId(1)])
      clock.advance(1)
      yield* expectSame("gone", yield* pruneAll, 6)
      yield* expectSame("flows", [yield* flows.flowOf(runId(1)), yield* flows.flowOf(a.id)], [null, null])
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
      yield* expectSame("counts", yield* runs.counts(), [])
      yield* expectSame("attempts", yield* runs.attempts(x.id), [])
      const marked = { runId: runId(1), step: "a", end: "skipped", reason: "", output: null } as const
      yield* expectSame("mark", yield* flows.markStep(marked), "unknown")
    }),
  },
  {
    name: "prune > at most the limit, and the rest in the next calls",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, chain)
      yield* succeedSteps("a", "b")
      clock.advance(1)
      const first = yield* runs.prune(clock.now(), 2)
      yield* expectSame("first", first >= 1 && first <= 2, true)
      yield* expectSame("all", first + (yield* pruneAll), 3)
      yield* expectTrueCounts
    }),
  },
  {
    name: "prune > the runs that a re-run kept stay while it is there, whatever becomes of the old flow run",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("a"), step("b", ["a"])]), { input: "1" })
      yield* succeedSteps("a")
      yield* failSteps("b")
      clock.advance(60_000)
      yield* flows.rerunFlow(runId(1), runId(2), "failed")
      yield* pruneAll
      const b = yield* claimStep("b")
      const needs = [{ id: "a", state: "succeeded", output: '"a"' }]
      yield* expectSame("b reads", yield* flows.stepInputs([b.id]), [{ runId: b.id, input: "1", needs }])
      yield* settle(failing(b))
      clock.advance(60_000)
      yield* flows.rerunFlow(runId(2), runId(3), "failed")
      yield* pruneAll
      const again = yield* claimStep("b")
      yield* expectSame("again", yield* flows.stepInputs([again.id]), [
        { runId: again.id, input: "1", needs },
      ])
      yield* settle({ id: again.id, token: again.token, kind: "succeeded", output: null })
      clock.advance(60_000)
      yield* pruneAll
      yield* expectSame("nothing is left", yield* runs.list({ limit: 10 }), [])
      yield* expectTrueCounts
    }),
  },
  {
    name: "prune > a flow run that was re-run goes, with the runs that the re-run did not keep",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c", ["b"])]))
      yield* succeedSteps("a")
      yield* failSteps("b")
      const [a, b] = (yield* viewOf(runId(1))).steps.map((each) => each.runId ?? "")
      yield* flows.rerunFlow(runId(1), runId(2), "failed")
      clock.advance(60_000)
      yield* expectSame("pruned", yield* pruneAll, 2)
      yield* expectSame("left", yield* statesOf(runId(1), runId(2), a ?? "", b ?? ""), [
        "blocked",
        "succeeded",
      ])
      yield* succeedSteps("b", "c")
      clock.advance(60_000)
      yield* expectSame("the rest", yield* pruneAll, 4)
      yield* expectSame("nothing is left", yield* runs.list({ limit: 10 }), [])
      yield* expectTrueCounts
    }),
  },
  {
    name: "prune > so do those of a flow run that had no letter",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      const clock = yield* ContractClock
      yield* beginFlow(1, chain)
      yield* succeedSteps("a", "b")
      yield* flows.rerunFlow(runId(1), runId(2), ["b"])
      clock.advance(60_000)
      yield* pruneAll
      const b = yield* claimStep("b")
      const needs = [{ id: "a", state: "succeeded", output: '"a"' }]
      yield* expectSame("b reads", yield* flows.stepInputs([b.id]), [{ runId: b.id, input: null, needs }])
      yield* runs.cancel([runId(2)], "Not wanted")
      clock.advance(60_000)
      yield* pruneAll
      yield* expectSame("nothing is left", yield* runs.list({ limit: 10 }), [])
    }),
  },
]
