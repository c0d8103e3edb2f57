// What a flow as a step of a flow promises: its end ends the step, upwards as far as it goes.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { runId, settle, statesOf, stored } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  expanding,
  expectTrueCounts,
  failSteps,
  flowOf,
  step,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const inner = (id: string) => flowOf([step(id)], { output: id })

/** Begins flow 1, with a flow in its step `b`, and a flow in that one's step `c`; answers the runs of both. */
const beginThree = Effect.gen(function* () {
  yield* beginFlow(1, flowOf([step("b"), step("z", ["b"])], { output: "b" }))
  const b = yield* claimStep("b")
  yield* settle(expanding(b, inner("c")))
  const c = yield* claimStep("c")
  yield* settle(expanding(c, inner("d")))
  return { b, c }
})

/** Cases of flows in flows. */
export const subFlowCases: ReadonlyArray<Case> = [
  {
    name: "sub-flow > the end of the innermost ends the steps above it, with its output",
    run: Effect.gen(function* () {
      const { b, c } = yield* beginThree
      yield* expectSame("open", yield* statesOf(runId(1), b.id, c.id), ["blocked", "blocked", "blocked"])
      const d = yield* claimStep("d")
      yield* expectFields("d", d, { parentId: c.id, chainId: runId(1) })
      yield* settle({ id: d.id, token: d.token, kind: "succeeded", output: "42" })
      yield* expectFields("c", yield* stored(c.id), { state: "succeeded", output: "42" })
      yield* expectFields("b", yield* stored(b.id), { state: "succeeded", output: "42" })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "released"])
      yield* succeedSteps("z")
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded", output: "42" })
      yield* expectTrueCounts
    }),
  },
  {
    name: "sub-flow > a failure of the innermost fails the steps above it, with one letter at the top",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const { b, c } = yield* beginThree
      yield* failSteps("d")
      yield* expectSame("ended", yield* statesOf(runId(1), b.id, c.id), ["dead", "dead", "dead"])
      yield* expectSame("steps", yield* stepStates(runId(1)), ["failed", "upstream_failed"])
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((each) => each.runId),
        [runId(1)],
      )
      yield* expectTrueCounts
    }),
  },
  {
    name: "sub-flow > while it retries, the step above is open; its next round re-runs only what failed",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("b", [], { attemptMax: 2 }), step("z", ["b"])]))
      const second = flowOf([step("c"), step("d", ["c"])])
      const b = yield* claimStep("b")
      yield* settle(expanding(b, second, 1_000))
      yield* succeedSteps("c")
      yield* failSteps("d")
      yield* expectFields("b", yield* stored(b.id), { state: "retrying" })
      yield* expectSame("open", yield* stepStates(runId(1)), ["released", "blocked"])
      clock.advance(1_000)
      yield* settle(expanding(yield* claimStep("b"), second))
      yield* expectFields("round", yield* viewOf(b.id), { round: 2 })
      yield* succeedSteps("d", "z")
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "sub-flow > an empty one ends its step at once, and what it releases too",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("b"), step("c", ["b"])]))
      yield* settle(expanding(yield* claimStep("b"), flowOf([])))
      yield* settle(expanding(yield* claimStep("c"), flowOf([])))
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "sub-flow > with fail-fast above, a fault beside it calls it off with all its steps",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b")], { failFast: true }))
      const b = yield* claimStep("b")
      yield* settle(expanding(b, inner("c"), 0))
      const c = yield* claimStep("c")
      yield* failSteps("a")
      yield* expectSame("states", yield* statesOf(runId(1), b.id, c.id), ["dead", "cancelled", "cancelled"])
      yield* expectTrueCounts
    }),
  },
]
