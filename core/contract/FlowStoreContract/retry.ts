// What a flow run promises whose steps ended badly: with attempts left it retries, and the next round re-runs what
// failed, under the same id and by the definition that it began with.
import * as Effect from "effect/Effect"
import { stepRunId } from "../../domain/Ids.ts"
import { RunStore } from "../../ports/Store.ts"
import { calledOffReason } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { claim, claimOne, failing, runId, settle, stored, success } from "../Fixtures.ts"
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

const fork = flowOf([step("a"), step("b", ["a"]), step("c", ["b"]), step("d", ["a"])], { output: "c" })

/** Claims the flow run again and expands it again. */
const again = Effect.fnUntraced(function* (
  expansion: Parameters<typeof expanding>[1],
  retryInMillis: number | null,
) {
  return yield* settle(expanding(yield* claimOne({ jobs: ["flow-1"] }), expansion, retryInMillis))
})

/** Cases of the rounds of a flow run. */
export const retryCases: ReadonlyArray<Case> = [
  {
    name: "flow retry > steps that ended badly use up one attempt of the flow run, which is due after its delay",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, fork, {}, 1_000)
      yield* succeedSteps("a")
      yield* failSteps("b")
      yield* expectFields("waits for d", yield* stored(runId(1)), { state: "blocked", waitingFor: 1 })
      yield* succeedSteps("d")
      const run = yield* stored(runId(1))
      yield* expectFields("run", run, {
        state: "retrying",
        dueAt: clock.now() + 1_000,
        attempt: 1,
        waitingFor: 0,
        endedAt: null,
      })
      const names = run.error?.message.includes('"b", "c"')
      yield* expectSame(`${run.error?.message} names them`, names, true)
      yield* expectSame(
        "attempts",
        (yield* runs.attempts(runId(1))).map(({ error }) => error),
        [run.error],
      )
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [])
      yield* expectSame("due", yield* runs.dueWithin(0, clock.now() + 1_000, 10), [clock.now() + 1_000])
      yield* expectTrueCounts
    }),
  },
  {
    name: "flow retry > the next round re-runs what failed, keeps the rest, and keeps the definition",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, fork, {}, 1_000)
      yield* succeedSteps("a", "d")
      yield* failSteps("b")
      clock.advance(1_000)
      // Not even looked at, or it would be refused.
      const other = flowOf([step("x", ["gone"])], { failFast: true })
      yield* expectFields("answer", yield* again(other, null), { result: "settled", state: "blocked" })
      const view = yield* viewOf(runId(1))
      yield* expectFields("view", view, { round: 2, expansion: fork })
      yield* expectFields("run", view.run, { attempt: 2, waitingFor: 2, state: "blocked" })
      yield* expectSame(
        "steps",
        view.steps.map(({ state, runId: id }) => [state, id]),
        [
          ["succeeded", stepRunId(runId(1), 0, 1)],
          ["released", stepRunId(runId(1), 1, 2)],
          ["blocked", null],
          ["succeeded", stepRunId(runId(1), 3, 1)],
        ],
      )
      yield* expectSame("nothing of the other", yield* claim({ jobs: ["do-x", "do-a", "do-d"] }), [])
      yield* succeedSteps("b", "c")
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded", output: '"c"', error: null })
      yield* expectSame("attempts", (yield* runs.attempts(runId(1))).length, 1)
      yield* expectTrueCounts
    }),
  },
  {
    name: "flow retry > between two rounds nothing is open, and the last attempt ends it dead",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("a")]), { attemptMax: 3 }, 0)
      yield* failSteps("a")
      yield* expectSame("between", yield* stepStates(runId(1)), ["failed"])
      yield* again(flowOf([step("a")]), 500)
      yield* failSteps("a")
      // The delay of the round that failed, not that of an earlier one.
      const retrying = { state: "retrying", attempt: 2, dueAt: clock.now() + 500 } as const
      yield* expectFields("again", yield* stored(runId(1)), retrying)
      clock.advance(500)
      yield* again(flowOf([step("a")]), 0)
      yield* failSteps("a")
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead", attempt: 3 })
      yield* expectSame(
        "attempts",
        (yield* runs.attempts(runId(1))).map(({ attempt }) => attempt),
        [1, 2, 3],
      )
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "flow retry > a round that settles otherwise ends the flow run as any run; its steps stand as they stood",
    run: Effect.gen(function* () {
      yield* beginFlow(1, fork, {}, 0)
      yield* succeedSteps("a", "d")
      yield* failSteps("b")
      yield* settle(success(yield* claimOne({ jobs: ["flow-1"] }), '"done"'))
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded", output: '"done"' })
      yield* expectSame("steps", yield* stepStates(runId(1)), [
        "succeeded",
        "failed",
        "upstream_failed",
        "succeeded",
      ])
    }),
  },
  {
    name: "flow retry > repeated under the first round's token, expanded is stale in the second",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a")]), {}, 0)
      yield* failSteps("a")
      const second = yield* claimOne({ jobs: ["flow-1"] })
      const early = expanding({ id: second.id, token: 1 }, flowOf([step("a")]), 0)
      yield* expectFields("while it runs", yield* settle(early), { result: "stale" })
      yield* settle(expanding(second, flowOf([step("a")]), 0))
      yield* expectFields("while it waits", yield* settle(early), { result: "stale" })
      yield* expectFields("round", yield* viewOf(runId(1)), { round: 2 })
    }),
  },
  {
    name: "flow retry > a list re-runs the items that failed, and keeps the outputs of the others",
    run: Effect.gen(function* () {
      yield* beginFlow(1, mapOf(["1", "2"]), {}, 0)
      for (const run of yield* claim({ jobs: ["item"] })) {
        yield* settle(run.step === 0 ? success(run, '"first"') : failing(run))
      }
      yield* expectFields("run", yield* stored(runId(1)), { state: "retrying" })
      yield* again(mapOf(["7", "8", "9"]), null)
      const item = yield* claimOne({ jobs: ["item"] })
      yield* expectFields("item", item, { step: 1, input: "2", id: stepRunId(runId(1), 1, 2) })
      yield* settle(success(item, '"second"'))
      yield* expectFields("end", yield* stored(runId(1)), {
        state: "succeeded",
        output: '["first","second"]',
      })
    }),
  },
  {
    name: "fail-fast > the first fault ends the flow run and calls the rest off",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const steps = [step("a"), step("b"), step("c", ["b"]), step("d", [], { allowFailure: true })]
      yield* beginFlow(1, flowOf(steps, { failFast: true }))
      const b = yield* claimStep("b")
      yield* failSteps("d")
      yield* expectFields("an allowed failure", yield* stored(runId(1)), { state: "blocked", waitingFor: 3 })
      clock.advance(5)
      yield* failSteps("a")
      yield* expectFields("run", yield* stored(runId(1)), {
        state: "dead",
        waitingFor: 0,
        endedAt: clock.now(),
      })
      yield* expectFields("b", yield* stored(b.id), { state: "cancelled", endedAt: clock.now(), node: null })
      yield* expectSame("steps", yield* stepStates(runId(1)), [
        "failed",
        "failed",
        "upstream_failed",
        "failed",
      ])
      const message = (yield* stored(runId(1))).error?.message ?? ""
      yield* expectSame(
        `${message} names the first fault only`,
        message.includes('1 of 4 steps failed: "a"'),
        true,
      )
      yield* expectSame("started", yield* runs.started([b]), [false])
      yield* expectTrueCounts
    }),
  },
  {
    name: "fail-fast > the next round begins what was called off",
    run: Effect.gen(function* () {
      const flow = flowOf([step("a"), step("b"), step("c", ["b"])], { failFast: true })
      yield* beginFlow(1, flow, {}, 0)
      const b = yield* claimStep("b")
      yield* failSteps("a")
      yield* expectFields("run", yield* stored(runId(1)), { state: "retrying" })
      yield* expectFields("b", yield* stored(b.id), { state: "cancelled", reason: calledOffReason })
      yield* expectSame("between", yield* stepStates(runId(1)), ["failed", "failed", "upstream_failed"])
      yield* again(flow, null)
      yield* expectSame("again", yield* stepStates(runId(1)), ["released", "released", "blocked"])
      yield* expectFields("late", yield* settle(success(b)), { result: "stale" })
      yield* succeedSteps("a", "b", "c")
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded" })
      yield* expectTrueCounts
    }),
  },
]
