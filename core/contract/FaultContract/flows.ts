// What `rerunFlow` and `markStep` owe to a caller who did not hear the answer.
import * as Effect from "effect/Effect"
import { FlowStore } from "../../ports/Store.ts"
import type { Case } from "../Case.ts"
import { runId } from "../Fixtures.ts"
import { beginFlow, claimStep, failSteps, flowOf, step, succeedSteps } from "../FlowStoreContract/fixtures.ts"
import { trial } from "./fixtures.ts"

const flow = flowOf([step("a"), step("b", ["a"]), step("c", ["b"])], { output: "b", timeoutMillis: 60_000 })

const mark = (id: string) =>
  Effect.flatMap(FlowStore, (flows) =>
    flows.markStep({
      runId: runId(1),
      step: id,
      end: "succeeded",
      reason: "Ordered by Ada",
      output: '"by hand"',
    }),
  )

/** Cases of operations on flow runs. */
export const flowFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "rerunFlow",
    what: "of one that failed",
    promise: "it answers exists with the run that it made, and makes no other",
    prepare: Effect.gen(function* () {
      yield* beginFlow(1, flow)
      yield* succeedSteps("a")
      yield* failSteps("b")
      return Effect.flatMap(FlowStore, (flows) => flows.rerunFlow(runId(1), runId(2), "failed"))
    }),
    recorded: (answer) => ({ ...answer, result: "exists" }),
  }),
  ...trial({
    operation: "rerunFlow",
    what: "of one that succeeded and has no letter",
    promise: "it answers exists with the run that it made, and makes no other",
    prepare: Effect.gen(function* () {
      yield* beginFlow(1, flow)
      yield* succeedSteps("a", "b", "c")
      return Effect.flatMap(FlowStore, (flows) => flows.rerunFlow(runId(1), runId(2), ["b"]))
    }),
    recorded: (answer) => ({ ...answer, result: "exists" }),
  }),
  ...trial({
    operation: "markStep",
    what: "a step whose run is open",
    promise: "it answers ended, and the mark stays",
    prepare: Effect.gen(function* () {
      yield* beginFlow(1, flow)
      yield* claimStep("a")
      return mark("a")
    }),
    recorded: () => "ended",
  }),
  ...trial({
    operation: "markStep",
    what: "the last step of a flow",
    promise: "it answers ended, and the flow run ends once",
    prepare: Effect.gen(function* () {
      yield* beginFlow(1, flow)
      yield* succeedSteps("a", "b")
      return mark("c")
    }),
    recorded: () => "ended",
  }),
]
