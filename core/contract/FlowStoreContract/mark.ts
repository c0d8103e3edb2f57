// What `markStep` promises: somebody ends a step by hand, and the flow goes on as if it had ended so by itself.
import * as Effect from "effect/Effect"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { enqueue, failing, newRun, runId, settle, stored, success } from "../Fixtures.ts"
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

const chain = flowOf([step("a"), step("b", ["a"]), step("c", ["b"])], { output: "b" })

const marked = (
  id: string,
  fields: { end?: "succeeded" | "skipped"; output?: string; runId?: string } = {},
) =>
  Effect.gen(function* () {
    const base = {
      runId: runId(1),
      step: id,
      end: "succeeded" as const,
      reason: "Ordered by Ada",
      output: null,
    }
    return yield* (yield* FlowStore).markStep({ ...base, ...fields })
  })

/** Cases of `markStep`. */
export const markCases: ReadonlyArray<Case> = [
  {
    name: "markStep > a step whose run is open: the run is cancelled, and what needs the step is released",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, chain)
      const a = yield* claimStep("a")
      clock.advance(5)
      yield* expectSame("answer", yield* marked("a", { output: '{"rows":3}' }), "marked")
      yield* expectFields("a", yield* stored(a.id), {
        state: "cancelled",
        reason: "Ordered by Ada",
        endedAt: clock.now(),
      })
      yield* expectFields("step", (yield* viewOf(runId(1))).steps[0], {
        state: "succeeded",
        reason: "Ordered by Ada",
      })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "released", "blocked"])
      yield* expectFields("run", yield* stored(runId(1)), { state: "blocked", waitingFor: 2 })
      const b = yield* claimStep("b")
      const [inputs] = yield* (yield* FlowStore).stepInputs([b.id])
      yield* expectSame("b reads", inputs?.needs, [{ id: "a", state: "succeeded", output: '{"rows":3}' }])
      yield* expectFields("late", yield* settle(success(a, '"late"')), { result: "stale" })
      yield* settle(success(b, '"b"'))
      yield* succeedSteps("c")
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded", output: '"b"' })
      yield* expectTrueCounts
    }),
  },
  {
    name: "markStep > a step that waits ends without a run, and its needs do not change that",
    run: Effect.gen(function* () {
      yield* beginFlow(1, chain)
      yield* expectSame("answer", yield* marked("b", { output: '"by hand"' }), "marked")
      yield* expectSame("steps", yield* stepStates(runId(1)), ["released", "succeeded", "released"])
      yield* expectSame("no run", (yield* viewOf(runId(1))).steps[1], {
        state: "succeeded",
        runId: null,
        reason: "Ordered by Ada",
      })
      yield* failSteps("a")
      yield* expectSame("then", yield* stepStates(runId(1)), ["failed", "succeeded", "released"])
      yield* succeedSteps("c")
      yield* expectFields("end", yield* stored(runId(1)), { state: "dead" })
    }),
  },
  {
    name: "markStep > skipped is a skip to what needs it, without an output, and the last mark ends the flow run",
    run: Effect.gen(function* () {
      yield* beginFlow(2, flowOf([step("x"), step("y", ["x"], { rule: "all_done" })]))
      yield* marked("x", { end: "skipped", output: "1", runId: runId(2) })
      const [inputs] = yield* (yield* FlowStore).stepInputs([(yield* claimStep("y")).id])
      yield* expectSame("y reads", inputs?.needs, [{ id: "x", state: "skipped", output: null }])
      yield* beginFlow(1, chain)
      yield* expectSame("answer", yield* marked("a", { end: "skipped", output: "1" }), "marked")
      yield* expectSame("steps", yield* stepStates(runId(1)), ["skipped", "skipped", "skipped"])
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded", output: null, waitingFor: 0 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "markStep > the output of a marked step is that of the flow",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a")], { output: "a" }))
      yield* marked("a", { output: "[1,2]" })
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded", output: "[1,2]" })
    }),
  },
  {
    name: "markStep > a flow as a step is called off with its steps, and the item of a list counts as done",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c", ["a", "b"])]))
      const a = yield* claimStep("a")
      yield* settle(expanding(a, flowOf([step("x")])))
      const x = yield* claimStep("x")
      yield* marked("a")
      yield* expectSame(
        "both",
        (yield* runs.get([a.id, x.id])).map(({ state }) => state),
        ["cancelled", "cancelled"],
      )
      const b = yield* claimStep("b")
      yield* settle(expanding(b, mapOf(["1"])))
      yield* expectSame("item", yield* marked("0", { runId: b.id, output: "7" }), "marked")
      yield* expectFields("b", yield* stored(b.id), { state: "succeeded", output: "[7]" })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "succeeded", "released"])
      yield* expectTrueCounts
    }),
  },
  {
    name: "markStep > ended when the step or its flow run has ended, and nothing changes",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, chain)
      yield* succeedSteps("a")
      const look = Effect.all([viewOf(runId(1)), runs.list({ limit: 10 })])
      const before = yield* look
      yield* expectSame("step", yield* marked("a", { end: "skipped" }), "ended")
      yield* expectSame("rows", yield* look, before)
      yield* marked("b")
      yield* expectSame("repeated", yield* marked("b"), "ended")
      yield* runs.cancel([runId(1)], "Not wanted")
      const closed = yield* look
      yield* expectSame("flow run", yield* marked("c"), "ended")
      yield* expectSame("rows at the end", yield* look, closed)
    }),
  },
  {
    name: "markStep > ended between two rounds, and what was marked is kept by the next",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c", ["b"])]), {}, 0)
      yield* marked("b", { output: "5" })
      yield* succeedSteps("c")
      yield* settle(failing(yield* claimStep("a")))
      yield* expectSame("between", yield* marked("a"), "ended")
      yield* (yield* RunStore).cancel([runId(1)], "Not wanted")
      yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), ["a", "c"])
      yield* expectFields("kept", (yield* viewOf(runId(2))).steps[1], {
        state: "succeeded",
        reason: "Ordered by Ada",
      })
      const c = yield* claimStep("c")
      const [inputs] = yield* (yield* FlowStore).stepInputs([c.id])
      yield* expectSame("c reads", inputs?.needs, [{ id: "b", state: "succeeded", output: "5" }])
      yield* (yield* RunStore).cancel([runId(2)], "Not wanted")
      yield* (yield* FlowStore).rerunFlow(runId(2), runId(3), ["b"])
      yield* expectFields("done again", (yield* viewOf(runId(3))).steps[1], {
        state: "released",
        reason: null,
      })
      yield* succeedSteps("b")
      const [anew] = yield* (yield* FlowStore).stepInputs([(yield* claimStep("c")).id])
      yield* expectSame("c reads then", anew?.needs, [{ id: "b", state: "succeeded", output: '"b"' }])
    }),
  },
  {
    name: "markStep > unknown without the run, without its steps, and without the step",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(5))
      yield* beginFlow(1, chain)
      yield* expectSame("no run", yield* marked("a", { runId: runId(6) }), "unknown")
      yield* expectSame("no steps", yield* marked("a", { runId: runId(5) }), "unknown")
      yield* expectSame("no step", yield* marked("gone"), "unknown")
      yield* expectSame("steps", yield* stepStates(runId(1)), ["released", "blocked", "blocked"])
    }),
  },
]
