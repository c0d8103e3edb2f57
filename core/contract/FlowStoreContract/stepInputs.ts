// What the run of a step may read.
import * as Effect from "effect/Effect"
import { FlowStore } from "../../ports/Store.ts"
import { type Case, expectFields, expectLimit, expectSame } from "../Case.ts"
import { claimOne, enqueue, failing, newRun, runId, settle } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  endStep,
  expanding,
  failSteps,
  flowOf,
  mapOf,
  step,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

/** Cases of `stepInputs`. */
export const stepInputCases: ReadonlyArray<Case> = [
  {
    name: "stepInputs > the flow's input, and each need once with its state and, if it succeeded, its output",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      const needs = ["d", "a", "b", "a", "c"]
      const steps = [
        step("a"),
        step("b"),
        step("c"),
        step("d", ["b"]),
        step("e", needs, { rule: "all_done" }),
      ]
      yield* beginFlow(1, flowOf(steps), { input: '{"day":"2026-01-01"}' })
      yield* succeedSteps("a")
      yield* failSteps("b")
      yield* endStep("c", declining)
      const e = yield* claimStep("e")
      yield* expectSame("inputs", yield* flows.stepInputs([e.id]), [
        {
          runId: e.id,
          input: '{"day":"2026-01-01"}',
          needs: [
            { id: "d", state: "upstream_failed", output: null },
            { id: "a", state: "succeeded", output: '"a"' },
            { id: "b", state: "failed", output: null },
            { id: "c", state: "skipped", output: null },
          ],
        },
      ])
    }),
  },
  {
    name: "stepInputs > a step that began early sees the needs that are open",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c", ["a", "b"], { rule: "one_success" })]))
      yield* succeedSteps("a")
      const c = yield* claimStep("c")
      const [inputs] = yield* (yield* FlowStore).stepInputs([c.id])
      yield* expectSame("needs", inputs?.needs, [
        { id: "a", state: "succeeded", output: '"a"' },
        { id: "b", state: "released", output: null },
      ])
    }),
  },
  {
    name: "stepInputs > of several, in the order asked for, without those that are no steps",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* enqueue(newRun(8))
      yield* beginFlow(1, flowOf([step("a"), step("b")]), { input: "1" })
      const outer = yield* claimStep("a")
      yield* settle(expanding(outer, flowOf([step("c")])))
      const b = yield* claimStep("b")
      const c = yield* claimStep("c")
      const asked = [c.id, runId(1), b.id, runId(7), runId(8), outer.id]
      yield* expectSame("inputs", yield* flows.stepInputs(asked), [
        { runId: c.id, input: null, needs: [] },
        { runId: b.id, input: "1", needs: [] },
        { runId: outer.id, input: "1", needs: [] },
      ])
      yield* expectSame("none", yield* flows.stepInputs([]), [])
    }),
  },
  {
    name: "stepInputs > the input that the expansion brought goes before the run's own, also when it is null",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c")]), { input: '"own"' })
      const [a, b, c] = [yield* claimStep("a"), yield* claimStep("b"), yield* claimStep("c")]
      const inner = { ...flowOf([step("x")]), input: '"given"' }
      yield* settle(expanding(a, inner))
      yield* expectSame("kept", (yield* viewOf(a.id)).expansion, inner)
      yield* settle(expanding(b, { ...flowOf([step("x")]), input: '"another"' }))
      yield* settle(expanding(c, { ...mapOf(["1"]), input: '"of the list"' }))
      const steps = [yield* claimStep("x"), yield* claimStep("x"), yield* claimOne({ jobs: ["item"] })]
      const inputs = yield* flows.stepInputs(steps.map(({ id }) => id))
      const byParent = new Map(inputs.map(({ input }, at) => [steps[at]?.parentId, input]))
      const expected = ['"given"', '"another"', '"of the list"']
      yield* expectSame(
        "inputs",
        [a, b, c].map(({ id }) => byParent.get(id)),
        expected,
      )
      yield* beginFlow(2, { ...flowOf([step("x")]), input: null }, { input: '"own"' })
      yield* expectFields("null", (yield* flows.stepInputs([(yield* claimStep("x")).id]))[0], { input: null })
    }),
  },
  {
    name: "stepInputs > the input of the first round is that of the next and of a re-run",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      const flow = flowOf([step("a")])
      yield* beginFlow(1, { ...flow, input: '"first"' }, { attemptMax: 2 }, 0)
      yield* failSteps("a")
      yield* settle(expanding(yield* claimOne({ jobs: ["flow-1"] }), { ...flow, input: '"second"' }))
      const second = yield* claimStep("a")
      yield* expectFields("round 2", (yield* flows.stepInputs([second.id]))[0], { input: '"first"' })
      yield* settle(failing(second))
      yield* flows.rerunFlow(runId(1), runId(2), "failed")
      const again = yield* claimStep("a")
      yield* expectFields("re-run", (yield* flows.stepInputs([again.id]))[0], { input: '"first"' })
    }),
  },
  {
    name: "stepInputs > 1,001 ids are refused",
    run: Effect.gen(function* () {
      const ids = Array.from({ length: 1_001 }, (_, n) => runId(n + 1))
      yield* expectLimit("runIds", (yield* FlowStore).stepInputs(ids))
    }),
  },
]
