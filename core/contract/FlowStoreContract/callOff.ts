// What happens to steps that somebody or something else ends: cancel of the flow run or of one step, a node that is
// lost, and what arrives when all is over.
import * as Effect from "effect/Effect"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { calledOffReason, replacedReason } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  claim,
  enqueue,
  failing,
  join,
  newRun,
  runId,
  settle,
  statesOf,
  stored,
  success,
} from "../Fixtures.ts"
import { fireAt, fireOne, newSchedule, put, rowOf } from "../ScheduleStoreContract/fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  expanding,
  expectTrueCounts,
  flowOf,
  mapOf,
  step,
  stepRunOf,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const chain = [step("a"), step("b", ["a"]), step("c", ["b"])]

/** Cases of ends from outside. */
export const callOffCases: ReadonlyArray<Case> = [
  {
    name: "cancel > a flow run takes its open steps with it, and nothing is released",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([...chain, step("d"), step("e")]))
      yield* succeedSteps("d")
      const e = yield* claimStep("e")
      clock.advance(5)
      const answers = yield* runs.cancel([runId(1)], "Ordered by Ada")
      yield* expectSame("answer", answers, [{ id: runId(1), result: "cancelled" }])
      yield* expectFields("run", yield* stored(runId(1)), { state: "cancelled", reason: "Ordered by Ada" })
      const called = {
        state: "cancelled",
        reason: calledOffReason,
        endedAt: clock.now(),
        node: null,
      } as const
      yield* expectFields("ready", yield* stored(yield* stepRunOf(runId(1), 0)), called)
      yield* expectFields("running", yield* stored(e.id), called)
      const states = ["failed", "upstream_failed", "upstream_failed", "succeeded", "failed"]
      yield* expectSame("steps", yield* stepStates(runId(1)), states)
      yield* expectSame("started", yield* runs.started([e]), [false])
      yield* expectTrueCounts
    }),
  },
  {
    name: "cancel > open steps end at any depth: those of a flow in a flow, and the items of its list",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("z", ["a"])]))
      const a = yield* claimStep("a")
      yield* settle(expanding(a, flowOf([step("b"), step("y", ["b"])]), 0))
      const b = yield* claimStep("b")
      yield* settle(expanding(b, mapOf(["1", "2", "3"]), 0))
      const items = yield* claim({ jobs: ["item"], limit: 2 })
      yield* runs.cancel([runId(1)], "Not wanted")
      yield* expectSame("states", yield* statesOf(runId(1), a.id, b.id), [
        "cancelled",
        "cancelled",
        "cancelled",
      ])
      const all = yield* runs.list({ limit: 50 })
      yield* expectSame(
        "all",
        all.map(({ state }) => state),
        all.map(() => "cancelled"),
      )
      yield* expectSame("how many", all.length, 6)
      yield* expectSame("inner", yield* stepStates(a.id), ["failed", "upstream_failed"])
      yield* expectSame("list", yield* stepStates(b.id), ["failed", "failed", "failed"])
      yield* expectSame("started", yield* runs.started(items), [false, false])
      yield* expectTrueCounts
    }),
  },
  {
    name: "cancel > a late outcome of a step of a closed flow run is stale and changes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf(chain))
      const a = yield* claimStep("a")
      yield* runs.cancel([runId(1)], "Not wanted")
      const look = Effect.all([
        runs.list({ limit: 10 }),
        viewOf(runId(1)),
        runs.counts(),
        runs.attempts(a.id),
      ])
      const before = yield* look
      for (const late of [success(a), failing(a), failing(a, 0), declining(a), expanding(a, mapOf(["1"]))]) {
        yield* expectFields(late.kind, yield* settle(late), { result: "stale", state: "cancelled" })
      }
      yield* expectSame("rows", yield* look, before)
    }),
  },
  {
    name: "cancel > of a step's run, the step has failed, and the flow goes on by its rules",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([...chain, step("d", ["a"], { rule: "one_failed" })]))
      const a = yield* stepRunOf(runId(1), 0)
      yield* runs.cancel([a], "Too large")
      const view = yield* viewOf(runId(1))
      yield* expectSame(
        "steps",
        view.steps.map(({ state }) => state),
        ["failed", "upstream_failed", "upstream_failed", "released"],
      )
      yield* expectSame("reason", view.steps[0]?.reason, "Too large")
      yield* succeedSteps("d")
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
      yield* expectTrueCounts
    }),
  },
  {
    name: "cancel > of a step's run and of its flow run in one call, each as it stands then",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("b")]))
      const [a, b] = [yield* stepRunOf(runId(1), 0), yield* stepRunOf(runId(1), 1)]
      const answers = yield* runs.cancel([a, runId(1), b], "Not wanted")
      const results = answers.map(({ result }) => result)
      yield* expectSame("results", results, ["cancelled", "cancelled", "final"])
      yield* expectFields("run", yield* stored(runId(1)), { state: "cancelled", reason: "Not wanted" })
      yield* expectFields("a", yield* stored(a), { reason: "Not wanted" })
      yield* expectFields("b", yield* stored(b), { reason: calledOffReason })
    }),
  },
  {
    name: "cancel > of a flow run between two rounds, nothing is begun again",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a")]), {}, 1_000)
      yield* settle(failing(yield* claimStep("a")))
      yield* runs.cancel([runId(1)], "Not wanted")
      ;(yield* ContractClock).advance(1_000)
      yield* expectSame("claim", yield* claim({ jobs: ["flow-1", "do-a"] }), [])
      yield* expectSame("steps", yield* stepStates(runId(1)), ["failed"])
    }),
  },
  {
    name: "fire > a flow run that its schedule's next run takes the place of takes its open steps with it",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const at = clock.now()
      yield* beginFlow(1, flowOf([...chain, step("d")]))
      const d = yield* claimStep("d")
      yield* put(newSchedule("s", { cursor: at, nextAt: at }))
      const fire = fireAt(yield* rowOf("s"), at, newRun(2, { scheduleId: "s" }), { cancelRunId: runId(1) })
      yield* expectSame("fired", yield* fireOne(fire), "fired")
      yield* expectFields("run", yield* stored(runId(1)), { state: "cancelled", reason: replacedReason })
      const called = { state: "cancelled", reason: calledOffReason } as const
      yield* expectFields("running", yield* stored(d.id), called)
      yield* expectFields("ready", yield* stored(yield* stepRunOf(runId(1), 0)), called)
      yield* expectTrueCounts
    }),
  },
  {
    name: "promote > a flow run that could not begin its next round in time expires, and its steps stand as they stood",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf(chain), { startWithinMillis: 500 }, 1_000)
      yield* succeedSteps("a")
      yield* settle(failing(yield* claimStep("b")))
      clock.advance(1_000)
      yield* runs.promote(10)
      yield* expectFields("run", yield* stored(runId(1)), { state: "expired" })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["succeeded", "failed", "upstream_failed"])
      const answer = yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), "failed")
      yield* expectSame("re-run", answer, { result: "created", runId: runId(2) })
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > a run that only says it is a step of a flow run ends nothing but itself",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* beginFlow(1, flowOf(chain))
      yield* enqueue(newRun(7, { parentId: runId(1), step: 0 }), newRun(8, { parentId: runId(1), step: 99 }))
      const before = yield* viewOf(runId(1))
      for (const run of yield* claim()) yield* settle(success(run))
      yield* expectSame("ended", yield* statesOf(runId(7), runId(8)), ["succeeded", "succeeded"])
      yield* expectSame("view", yield* viewOf(runId(1)), before)
      yield* expectSame("no such step", yield* flows.stepInputs([runId(8)]), [])
      yield* succeedSteps("a", "b", "c")
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "settle > a batch that ends a flow run by its first outcome finds the others called off",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("b")], { failFast: true }))
      const a = yield* claimStep("a")
      const b = yield* claimStep("b")
      const answers = yield* runs.settle([failing(a), success(b)])
      yield* expectSame(
        "answers",
        answers.map(({ result, state }) => [result, state]),
        [
          ["settled", "dead"],
          ["stale", "cancelled"],
        ],
      )
    }),
  },
  {
    name: "reclaim > with fail-fast the first step that is lost for good calls off the others, lost or not",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* join("n1", 5_000)
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c")], { failFast: true }))
      yield* claimStep("c")
      yield* claimStep("b")
      clock.advance(5_000)
      yield* join("n2", 600_000)
      const lost = yield* runs.reclaim("n2", 10)
      const view = yield* viewOf(runId(1))
      const [, b, c] = view.steps.map((each) => each.runId ?? "")
      yield* expectSame(
        "lost",
        lost.map(({ id, state }) => [id, state]),
        [[b, "dead"]],
      )
      yield* expectSame("c", yield* statesOf(c ?? ""), ["cancelled"])
    }),
  },
  {
    name: "reclaim > a step's run that is lost for good has failed; one with attempts left is still open",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* join("n1", 5_000)
      yield* beginFlow(1, flowOf([step("a", [], { attemptMax: 2 }), step("b", ["a"])]))
      yield* claimStep("a")
      clock.advance(5_000)
      yield* join("n2", 600_000)
      yield* expectSame(
        "first",
        (yield* runs.reclaim("n2", 10)).map(({ state }) => state),
        ["retrying"],
      )
      yield* expectSame("open", yield* stepStates(runId(1)), ["released", "blocked"])
      yield* join("n1", 5_000)
      yield* claimStep("a")
      clock.advance(5_000)
      yield* join("n2", 600_000)
      yield* expectSame(
        "second",
        (yield* runs.reclaim("n2", 10)).map(({ state }) => state),
        ["dead"],
      )
      yield* expectSame("ended", yield* stepStates(runId(1)), ["failed", "upstream_failed"])
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((each) => each.runId),
        [runId(1)],
      )
      yield* expectTrueCounts
    }),
  },
]
