// What a re-run promises (G7): a new run that does again what is asked for and all behind it, and keeps the rest.
import * as Effect from "effect/Effect"
import { stepRunId } from "../../domain/Ids.ts"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectRefused, expectSame } from "../Case.ts"
import { bringTo, claim, enqueue, failing, newRun, runId, settle, stored, success } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  endStep,
  expanding,
  expectTrueCounts,
  failSteps,
  flowOf,
  mapOf,
  step,
  stepRunOf,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const steps = [
  step("a"),
  step("b", ["a"]),
  step("c", ["b"], { rule: "none_failed" }),
  step("d", ["a"]),
  step("e", ["d"]),
]
const flow = flowOf(steps, { output: "c", timeoutMillis: 60_000 })

/** Flow run 1, ended: a succeeded, b failed, c upstream_failed, d and e skipped. */
const endedFlow = Effect.gen(function* () {
  yield* beginFlow(1, flow, { input: '{"day":1}', nominalAt: 5_000, key: "night", priority: 3 })
  yield* succeedSteps("a")
  yield* failSteps("b")
  yield* endStep("d", declining)
  yield* expectFields("flow run 1", yield* stored(runId(1)), { state: "dead" })
})

/** Cases of `rerunFlow`. */
export const rerunCases: ReadonlyArray<Case> = [
  {
    name: "rerunFlow > from what failed: a new run, already expanded, that keeps the other steps with run and output",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      const clock = yield* ContractClock
      yield* endedFlow
      const before = yield* viewOf(runId(1))
      clock.advance(1_000)
      const answer = yield* flows.rerunFlow(runId(1), runId(2), "failed")
      yield* expectSame("answer", answer, { result: "created", runId: runId(2) })
      const view = yield* viewOf(runId(2))
      yield* expectFields("view", view, { expansion: flow, round: 1, deadlineAt: clock.now() + 60_000 })
      yield* expectFields("run", view.run, {
        state: "blocked",
        job: "flow-1",
        input: '{"day":1}',
        nominalAt: 5_000,
        priority: 3,
        replayOf: runId(1),
        key: null,
        chainId: null,
        scheduleId: null,
        attempt: 1,
        waitingFor: 2,
        createdAt: clock.now(),
        startedAt: clock.now(),
        endedAt: null,
        error: null,
        node: null,
        parentId: null,
        step: null,
      })
      yield* expectSame("steps", view.steps, [
        before.steps[0],
        { state: "released", runId: stepRunId(runId(2), 1, 1), reason: null },
        { state: "blocked", runId: null, reason: null },
        before.steps[3],
        before.steps[4],
      ])
      const b = yield* claimStep("b")
      yield* expectFields("b", b, { parentId: runId(2), chainId: runId(2), step: 1, nominalAt: 5_000 })
      const needs = [{ id: "a", state: "succeeded", output: '"a"' }]
      yield* expectSame("b reads", yield* flows.stepInputs([b.id]), [
        { runId: b.id, input: '{"day":1}', needs },
      ])
      yield* settle(success(b))
      yield* succeedSteps("c")
      yield* expectFields("end", yield* stored(runId(2)), { state: "succeeded", output: '"c"' })
      yield* expectSame("the old one", yield* viewOf(runId(1)), before)
      yield* expectSame("nothing else", yield* claim({ jobs: ["do-a", "do-d", "do-e", "flow-1"] }), [])
      yield* expectTrueCounts
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [])
    }),
  },
  {
    name: "rerunFlow > from what was skipped",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* endedFlow
      yield* flows.rerunFlow(runId(1), runId(2), "skipped")
      const states = ["succeeded", "failed", "upstream_failed", "released", "blocked"]
      yield* expectSame("steps", yield* stepStates(runId(2)), states)
      yield* succeedSteps("d", "e")
      // What was kept counts (G6).
      yield* expectFields("end", yield* stored(runId(2)), { state: "dead", attempt: 1 })
    }),
  },
  {
    name: "rerunFlow > from named steps: these and all behind them, also what had succeeded",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* beginFlow(1, flow)
      yield* succeedSteps("a", "b", "c", "d", "e")
      yield* expectSame("answer", yield* flows.rerunFlow(runId(1), runId(2), ["d", "b"]), {
        result: "created",
        runId: runId(2),
      })
      const states = ["succeeded", "released", "blocked", "released", "blocked"]
      yield* expectSame("steps", yield* stepStates(runId(2)), states)
      yield* succeedSteps("d", "e", "b", "c")
      yield* expectFields("end", yield* stored(runId(2)), { state: "succeeded" })
      // It had no letter: it may be done again.
      const again = yield* flows.rerunFlow(runId(1), runId(3), ["e"])
      yield* expectSame("again", again, { result: "created", runId: runId(3) })
    }),
  },
  {
    name: "rerunFlow > a step whose rule says so ends again without running, and the run with it",
    run: Effect.gen(function* () {
      yield* endedFlow
      const answer = yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), ["c"])
      yield* expectSame("answer", answer, { result: "created", runId: runId(2) })
      yield* expectFields("run", yield* stored(runId(2)), { state: "dead", waitingFor: 0 })
      yield* expectSame(
        "letters",
        (yield* (yield* RunStore).deadLetters({ limit: 10 })).map((each) => each.runId),
        [runId(2)],
      )
    }),
  },
  {
    name: "rerunFlow > faults that were kept do not set off fail-fast, new ones do",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c", ["b"])], { failFast: true }))
      yield* succeedSteps("b")
      yield* failSteps("a")
      yield* flows.rerunFlow(runId(1), runId(2), ["b"])
      yield* expectSame("steps", yield* stepStates(runId(2)), ["failed", "released", "blocked"])
      yield* succeedSteps("b")
      yield* expectFields("goes on", yield* stored(runId(2)), { state: "blocked" })
      yield* failSteps("c")
      yield* expectFields("end", yield* stored(runId(2)), { state: "dead" })
    }),
  },
  {
    name: "rerunFlow > a step that the flow has not refuses the call, and leaves nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* endedFlow
      const before = yield* runs.list({ limit: 10 })
      const error = yield* expectRefused(
        "unknown step",
        (yield* FlowStore).rerunFlow(runId(1), runId(2), ["a", "gone"]),
      )
      yield* expectSame(`${error.message} names it`, error.message.includes('"gone"'), true)
      yield* expectSame("rows", yield* runs.list({ limit: 10 }), before)
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "rerunFlow > repeated after an unknown outcome it answers exists and changes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      yield* endedFlow
      yield* flows.rerunFlow(runId(1), runId(2), "failed")
      const look = Effect.all([runs.list({ limit: 20 }), viewOf(runId(2)), runs.counts()])
      const before = yield* look
      const exists = { result: "exists", runId: runId(2) }
      yield* expectSame("same", yield* flows.rerunFlow(runId(1), runId(2), "failed"), exists)
      // Its letter counts as replayed, so it is nobody else's either.
      yield* expectSame("another", yield* flows.rerunFlow(runId(1), runId(3), ["a"]), exists)
      const replayed = yield* runs.replay([runId(1)], [runId(4)])
      yield* expectSame("replay", replayed, [{ runId: runId(1), newRunId: runId(2), result: "exists" }])
      yield* expectSame("rows", yield* look, before)
    }),
  },
  {
    name: "rerunFlow > unknown, running and nothing",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* bringTo(8, "dead")
      yield* expectSame("no run", yield* flows.rerunFlow(runId(9), runId(2), "failed"), {
        result: "unknown",
        runId: null,
      })
      const plain = yield* flows.rerunFlow(runId(8), runId(2), "failed")
      yield* expectSame("no steps", plain, { result: "unknown", runId: null })
      yield* beginFlow(1, flow)
      const running = { result: "running", runId: null }
      yield* expectSame("open", yield* flows.rerunFlow(runId(1), runId(2), "failed"), running)
      yield* succeedSteps("a", "b", "c", "d", "e")
      const nothing = { result: "nothing", runId: null }
      yield* expectSame("failed", yield* flows.rerunFlow(runId(1), runId(2), "failed"), nothing)
      yield* expectSame("skipped", yield* flows.rerunFlow(runId(1), runId(2), "skipped"), nothing)
      yield* expectSame("none named", yield* flows.rerunFlow(runId(1), runId(2), []), nothing)
      yield* expectSame("no run", (yield* (yield* RunStore).get([runId(2)])).length, 0)
    }),
  },
  {
    name: "rerunFlow > a flow run that retries is running",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a")]), {}, 1_000)
      yield* failSteps("a")
      const answer = yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), "failed")
      yield* expectSame("answer", answer, { result: "running", runId: null })
    }),
  },
  {
    name: "rerunFlow > exists with the id of a run that replays it, expanded or not",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const flows = yield* FlowStore
      yield* endedFlow
      yield* runs.replay([runId(1)], [runId(2)])
      yield* runs.drop([runId(1)])
      const answer = yield* flows.rerunFlow(runId(1), runId(2), "failed")
      yield* expectSame("answer", answer, { result: "exists", runId: runId(2) })
    }),
  },
  {
    name: "rerunFlow > refused: the id of another run, and a run that is itself a step",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* endedFlow
      yield* enqueue(newRun(7))
      yield* expectRefused("taken id", flows.rerunFlow(runId(1), runId(7), "failed"))
      yield* beginFlow(3, flowOf([step("outer")]))
      yield* expectRefused("another flow run", flows.rerunFlow(runId(1), runId(3), "failed"))
      const outer = yield* claimStep("outer")
      yield* settle(expanding(outer, flowOf([step("inner")])))
      yield* failSteps("inner")
      const error = yield* expectRefused("a step", flows.rerunFlow(outer.id, runId(4), "failed"))
      yield* expectSame(`${error.message} names the flow run`, error.message.includes(runId(3)), true)
    }),
  },
  {
    name: "rerunFlow > of a cancelled flow run, what was called off; it is one attempt, whatever the old one had left",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flow, { attemptMax: 3 }, 0)
      yield* succeedSteps("a")
      yield* (yield* RunStore).cancel([runId(1)], "Not wanted")
      yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), "failed")
      const states = ["succeeded", "released", "blocked", "released", "blocked"]
      yield* expectSame("steps", yield* stepStates(runId(2)), states)
      yield* failSteps("b", "d")
      yield* expectFields("end", yield* stored(runId(2)), { state: "dead", attempt: 1, attemptMax: 3 })
    }),
  },
  {
    name: "rerunFlow > of a re-run, the steps that both kept stand as in the first",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* endedFlow
      yield* flows.rerunFlow(runId(1), runId(2), "failed")
      yield* failSteps("b")
      yield* flows.rerunFlow(runId(2), runId(3), "failed")
      yield* expectSame("a", yield* stepRunOf(runId(3), 0), stepRunId(runId(1), 0, 1))
      yield* succeedSteps("b", "c")
      yield* expectFields("end", yield* stored(runId(3)), { state: "succeeded", output: '"c"' })
    }),
  },
  {
    name: "rerunFlow > of a list, the items that failed",
    run: Effect.gen(function* () {
      yield* beginFlow(1, mapOf(["1", "2"]))
      for (const run of yield* claim({ jobs: ["item"] })) {
        yield* settle(run.step === 0 ? success(run, '"first"') : failing(run))
      }
      yield* (yield* FlowStore).rerunFlow(runId(1), runId(2), "failed")
      for (const run of yield* claim({ jobs: ["item"] })) yield* settle(success(run, run.input))
      yield* expectFields("end", yield* stored(runId(2)), { state: "succeeded", output: '["first",2]' })
    }),
  },
]
