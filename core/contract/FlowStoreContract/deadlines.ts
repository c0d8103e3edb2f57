// What the time limit of a flow promises: an attempt at its steps is over at its deadline, by the store's clock.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { calledOffReason } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { claim, claimOne, runId, settle, statesOf, stored, success } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  expanding,
  expectTrueCounts,
  flowOf,
  step,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const limited = flowOf([step("a"), step("b", ["a"]), step("c", ["b"])], { timeoutMillis: 5_000 })

/** Cases of deadlines. */
export const deadlineCases: ReadonlyArray<Case> = [
  {
    name: "deadline > at its instant, not before, the attempt fails and open steps are called off",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, limited)
      yield* succeedSteps("a")
      const b = yield* claimStep("b")
      clock.advance(4_999)
      yield* expectSame("too early", yield* runs.promote(10), 0)
      yield* expectFields("waits", yield* stored(runId(1)), { state: "blocked" })
      clock.advance(1)
      yield* expectSame("promoted", yield* runs.promote(10), 1)
      const run = yield* stored(runId(1))
      yield* expectFields("run", run, { state: "dead", endedAt: clock.now(), waitingFor: 0 })
      yield* expectFields("error", run.error ?? undefined, { name: "StepsTimeout", kind: "timeout" })
      yield* expectFields("b", yield* stored(b.id), { state: "cancelled", reason: calledOffReason })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "failed", "upstream_failed"])
      yield* expectSame(
        "attempts",
        (yield* runs.attempts(runId(1))).map(({ error }) => error),
        [run.error],
      )
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 1)
      yield* expectFields("late", yield* settle(success(b)), { result: "stale" })
      yield* expectTrueCounts
    }),
  },
  {
    name: "deadline > it is among the times that are told, and no longer once the flow run has ended",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* beginFlow(1, limited)
      yield* beginFlow(2, limited)
      yield* expectSame("told", yield* runs.dueWithin(start, start + 5_000, 10), [start + 5_000])
      yield* expectSame("not past the end", yield* runs.dueWithin(start, start + 4_999, 10), [])
      yield* expectSame("not again", yield* runs.dueWithin(start + 5_000, start + 9_000, 10), [])
      yield* runs.cancel([runId(1), runId(2)], "Not wanted")
      yield* expectSame("ended", yield* runs.dueWithin(start, start + 5_000, 10), [])
      clock.advance(5_000)
      yield* expectSame("nothing to do", yield* runs.promote(10), 0)
    }),
  },
  {
    name: "deadline > a claim does not hand out a step of a flow run that is over it",
    run: Effect.gen(function* () {
      yield* beginFlow(1, limited)
      ;(yield* ContractClock).advance(5_000)
      yield* expectSame("claim", yield* claim({ jobs: ["do-a"] }), [])
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
    }),
  },
  {
    name: "deadline > a flow run that may not start any more does not try again: it expires",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, limited, { startWithinMillis: 1_000 }, 60_000)
      clock.advance(5_000)
      yield* expectSame("claim", yield* claim({ jobs: ["do-a", "flow-1"] }), [])
      yield* expectFields("run", yield* stored(runId(1)), { state: "expired", endedAt: clock.now() })
    }),
  },
  {
    name: "deadline > each round has one of its own, and re-runs what was called off",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, limited, {}, 1_000)
      yield* succeedSteps("a")
      clock.advance(6_000)
      yield* runs.promote(10)
      yield* expectFields("run", yield* stored(runId(1)), { state: "retrying", dueAt: clock.now() + 1_000 })
      yield* expectSame("between", yield* stepStates(runId(1)), ["succeeded", "failed", "upstream_failed"])
      yield* expectFields("no deadline between", yield* viewOf(runId(1)), { deadlineAt: null })
      yield* expectSame("nothing to claim", yield* claim({ jobs: ["do-b", "do-c"] }), [])
      clock.advance(1_000)
      yield* settle(expanding(yield* claimOne({ jobs: ["flow-1"] }), limited, null))
      yield* expectFields("view", yield* viewOf(runId(1)), { round: 2, deadlineAt: clock.now() + 5_000 })
      clock.advance(4_000)
      yield* expectSame("in time", yield* runs.promote(10), 0)
      yield* succeedSteps("b", "c")
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded" })
      yield* expectFields("no deadline at the end", yield* viewOf(runId(1)), { deadlineAt: null })
      clock.advance(60_000)
      yield* expectSame("nothing to do", yield* runs.promote(10), 0)
    }),
  },
  {
    name: "deadline > a flow in a flow that is over its own has failed as a step",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("outer"), step("after", ["outer"], { rule: "all_done" })]))
      const outer = yield* claimStep("outer")
      yield* settle(expanding(outer, limited))
      ;(yield* ContractClock).advance(5_000)
      yield* runs.promote(10)
      yield* expectFields("outer", yield* stored(outer.id), { state: "dead" })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["failed", "released"])
      yield* expectTrueCounts
    }),
  },
  {
    name: "deadline > of a flow in a flow that are over together, the outer one calls off the inner",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const inner: Array<string> = []
      for (const n of [1, 2, 3]) {
        yield* beginFlow(n, flowOf([step("outer")], { timeoutMillis: 5_000 }), {}, 60_000)
        const outer = yield* claimStep("outer")
        yield* settle(expanding(outer, limited, 60_000))
        inner.push(outer.id)
      }
      ;(yield* ContractClock).advance(5_000)
      yield* runs.promote(10)
      yield* expectSame("outer", yield* statesOf(...[1, 2, 3].map(runId)), Array(3).fill("retrying"))
      yield* expectSame("inner", yield* statesOf(...inner), Array(3).fill("cancelled"))
    }),
  },
  {
    name: "deadline > at most the limit is ended in one call",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const n of [1, 2, 3]) yield* beginFlow(n, limited)
      ;(yield* ContractClock).advance(5_000)
      const counts = [yield* runs.promote(2), yield* runs.promote(2), yield* runs.promote(2)]
      yield* expectSame("ended", counts, [2, 1, 0])
    }),
  },
]
