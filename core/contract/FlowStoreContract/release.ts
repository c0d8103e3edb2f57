// What the end of a step promises: in the same step of the store, what needs it is judged by its rule (G4, G5) and
// released once, and the flow run ends with its last step (G6).
import * as Effect from "effect/Effect"
import { stepRunId } from "../../domain/Ids.ts"
import { type TriggerRule, triggerRules } from "../../domain/Flow.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { claim, claimOne, enqueue, failing, newRun, runId, settle, stored, success } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  endStep,
  expectTrueCounts,
  failSteps,
  flowOf,
  step,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

const pairs = ["KK", "KF", "KS", "FF", "FS", "SS"] as const

/** G5 for two needs that ended so: R it runs, S skipped, U upstream_failed; in the order of `pairs`. */
const judged: Readonly<Record<TriggerRule, string>> = {
  all_success: "R U S U U S",
  all_failed: "S S S R S S",
  all_done: "R R R R R R",
  one_success: "R R R U U S",
  one_failed: "S R S R R S",
  none_failed: "R U R U U R",
  none_failed_min_one_success: "R U R U U S",
  none_skipped: "R R S R S S",
}

const stateOf: Readonly<Record<string, string>> = { R: "released", S: "skipped", U: "upstream_failed" }

const ends = ["K1", "K2", "F1", "F2", "S1", "S2"]

const ruleCase = (rule: TriggerRule): Case => ({
  name: `release > ${rule} is judged by the ends of its needs, whatever their order`,
  run: Effect.gen(function* () {
    const dependents = pairs.map(([a, b]) =>
      step(`${a}${b}`, [`${a}1`, a === b ? `${b}2` : `${b}1`], { rule }),
    )
    const steps = [...ends.map((id) => step(id)), ...dependents]
    const expected = judged[rule].split(" ").map((letter) => stateOf[letter])
    for (const [index, order] of [ends, [...ends].reverse()].entries()) {
      const id = runId(index + 1)
      yield* beginFlow(index + 1, flowOf(steps))
      for (const end of order) {
        yield* endStep(end, (run) =>
          end[0] === "K" ? success(run) : end[0] === "F" ? failing(run) : declining(run),
        )
      }
      yield* expectSame(`states of ${pairs.join(" ")}`, (yield* stepStates(id)).slice(ends.length), expected)
      // Each that runs has one run, each other none.
      const ran = (yield* viewOf(id)).steps.map(({ runId: run }) => run !== null)
      yield* expectSame(
        "ran",
        ran.slice(ends.length),
        expected.map((state) => state === "released"),
      )
      yield* expectTrueCounts
    }
  }),
})

/** Cases of the end of a step. */
export const releaseCases: ReadonlyArray<Case> = [
  {
    name: "release > a chain runs step by step, each released when its need has succeeded",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("c", ["b"]), step("b", ["a"]), step("a")]))
      yield* expectSame("first", yield* stepStates(runId(1)), ["blocked", "blocked", "released"])
      clock.advance(10)
      yield* succeedSteps("a")
      yield* expectSame("second", yield* stepStates(runId(1)), ["blocked", "released", "succeeded"])
      yield* expectFields("run", yield* stored(runId(1)), { state: "blocked", waitingFor: 2 })
      yield* expectFields("b", yield* stored(stepRunId(runId(1), 1, 1)), {
        dueAt: clock.now(),
        state: "ready",
      })
      yield* succeedSteps("b", "c")
      yield* expectSame("all", yield* stepStates(runId(1)), ["succeeded", "succeeded", "succeeded"])
      yield* expectFields("run", yield* stored(runId(1)), {
        state: "succeeded",
        waitingFor: 0,
        endedAt: clock.now(),
        output: null,
        error: null,
      })
      yield* expectTrueCounts
    }),
  },
  {
    name: "release > a join runs once, when the last of its needs has ended, also in one batch",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("c"), step("join", ["a", "b", "c", "a"])]))
      yield* succeedSteps("b")
      yield* expectSame("not yet", yield* claim({ jobs: ["do-join"] }), [])
      const a = yield* claimStep("a")
      const c = yield* claimStep("c")
      yield* runs.settle([success(c), success(a), success(c)])
      yield* expectSame("released", (yield* stepStates(runId(1)))[3], "released")
      yield* expectSame("once", (yield* claim({ jobs: ["do-join"] })).length, 1)
      // A settlement that arrives again releases nothing again.
      yield* settle(success(a))
      yield* expectSame("still once", yield* claim({ jobs: ["do-join"] }), [])
      yield* expectFields("run", yield* stored(runId(1)), { waitingFor: 1 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "release > steps that are released together start in the order of their declaration",
    run: Effect.gen(function* () {
      const ids = ["z", "m", "a", "y", "b"]
      const same = { job: "work" }
      yield* beginFlow(1, flowOf([step("first"), ...ids.map((id) => step(id, ["first"], same))]))
      yield* succeedSteps("first")
      const started: Array<number | null> = []
      for (const _ of ids) started.push((yield* claimOne({ jobs: ["work"] })).step)
      yield* expectSame("steps", started, [1, 2, 3, 4, 5])
    }),
  },
  ...triggerRules.map(ruleCase),
  {
    name: "release > one_success and one_failed begin with the first such end, and only once",
    run: Effect.gen(function* () {
      const steps = [
        step("a"),
        step("b"),
        step("good", ["a", "b"], { rule: "one_success" }),
        step("bad", ["a", "b"], { rule: "one_failed" }),
      ]
      yield* beginFlow(1, flowOf(steps))
      yield* failSteps("a")
      yield* expectSame("early", yield* stepStates(runId(1)), ["failed", "released", "blocked", "released"])
      yield* succeedSteps("bad", "b", "good")
      yield* expectSame("all", yield* stepStates(runId(1)), ["failed", "succeeded", "succeeded", "succeeded"])
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
    }),
  },
  {
    name: "release > a step whose run declines is skipped with its reason, and so is what needs it",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(
        1,
        flowOf([step("a"), step("b", ["a"]), step("c", ["b"]), step("d", ["c"], { rule: "all_done" })]),
      )
      const a = yield* claimStep("a")
      yield* expectFields("answer", yield* settle(declining(a, "No new data")), {
        result: "settled",
        state: "skipped",
      })
      yield* expectFields("a", yield* stored(a.id), {
        state: "skipped",
        reason: "No new data",
        node: null,
        endedAt: clock.now(),
        error: null,
      })
      const view = yield* viewOf(runId(1))
      yield* expectSame(
        "steps",
        view.steps.map(({ state, reason }) => [state, reason]),
        [
          ["skipped", "No new data"],
          ["skipped", null],
          ["skipped", null],
          ["released", null],
        ],
      )
      yield* expectFields("run", yield* stored(runId(1)), { waitingFor: 1 })
      yield* succeedSteps("d")
      yield* expectFields("end", yield* stored(runId(1)), { state: "succeeded", output: null })
    }),
  },
  {
    name: "release > a run that is no step may decline too: it ends as skipped, and so does what needs it",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1), newRun(2, { needs: [runId(1)] }))
      const run = yield* claimOne()
      yield* expectFields("stale", yield* settle(declining({ id: run.id, token: 7 })), { result: "stale" })
      const first = yield* settle(declining(run))
      yield* expectSame("answer", first, { id: run.id, result: "settled", state: "skipped", dueAt: null })
      yield* expectSame("repeated", yield* settle(declining(run)), first)
      yield* expectFields("run", yield* stored(runId(1)), { reason: "Not today", output: null, error: null })
      yield* expectFields("other", yield* stored(runId(2)), { state: "skipped" })
    }),
  },
  {
    name: "release > a failure goes down a long chain at once, and the flow run ends dead, naming the steps",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const length = 2_000
      const steps = Array.from({ length }, (_, index) =>
        step(`s${index}`, index === 0 ? [] : [`s${index - 1}`]),
      )
      yield* beginFlow(1, flowOf(steps))
      clock.advance(5)
      yield* failSteps("s0")
      const states = yield* stepStates(runId(1))
      yield* expectSame("first", states[0], "failed")
      yield* expectSame(
        "rest",
        states.slice(1).every((state) => state === "upstream_failed"),
        true,
      )
      const run = yield* stored(runId(1))
      yield* expectFields("run", run, { state: "dead", waitingFor: 0, endedAt: clock.now(), output: null })
      yield* expectFields("error", run.error ?? undefined, { name: "StepsFailed", kind: "error" })
      const message = run.error?.message ?? ""
      yield* expectSame(
        `${message} names them`,
        message.includes('"s0"') && message.includes("2000 of 2000"),
        true,
      )
      const [letter] = yield* runs.deadLetters({ limit: 10 })
      yield* expectFields("letter", letter, { runId: runId(1), job: "flow-1", attempt: 1, error: run.error! })
    }),
  },
  {
    name: "release > a step that fails for good has no letter; its flow run has, and an attempt",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a")]))
      const a = yield* claimStep("a")
      yield* settle(failing(a))
      yield* expectFields("a", yield* stored(a.id), { state: "dead" })
      const letters = (yield* runs.deadLetters({ limit: 10 })).map((letter) => letter.runId)
      yield* expectSame("letters", letters, [runId(1)])
      yield* expectSame("replay", yield* runs.replay([a.id], [runId(5)]), [
        { runId: a.id, newRunId: null, result: "unknown" },
      ])
      yield* expectSame("drop", yield* runs.drop([a.id]), 0)
      yield* expectSame("attempts of the step", (yield* runs.attempts(a.id)).length, 1)
      const [attempt, ...others] = yield* runs.attempts(runId(1))
      yield* expectFields("attempt", attempt, {
        attempt: 1,
        token: 1,
        error: (yield* stored(runId(1))).error!,
      })
      yield* expectSame("others", others, [])
    }),
  },
  {
    name: "release > a step is open while its run retries or snoozes",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("a", [], { attemptMax: 3 }), step("b", ["a"])]))
      yield* endStep("a", (run) => failing(run, 1_000))
      yield* expectSame("retrying", yield* stepStates(runId(1)), ["released", "blocked"])
      clock.advance(1_000)
      yield* endStep("a", ({ id, token }) => ({ id, token, kind: "snoozed", delayMillis: 1_000 }))
      clock.advance(1_000)
      yield* endStep("a", ({ id, token }) => ({ id, token, kind: "released" }))
      yield* expectSame("released", yield* stepStates(runId(1)), ["released", "blocked"])
      yield* succeedSteps("a", "b")
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "release > an allowed failure is a failure to what needs it, and not to the flow run",
    run: Effect.gen(function* () {
      const steps = [
        step("a", [], { allowFailure: true }),
        step("b", ["a"], { allowFailure: true }),
        step("c", ["a"], { rule: "all_failed" }),
      ]
      yield* beginFlow(1, flowOf(steps))
      yield* failSteps("a")
      yield* expectSame("steps", yield* stepStates(runId(1)), ["failed", "upstream_failed", "released"])
      yield* succeedSteps("c")
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded", error: null })
    }),
  },
  {
    name: "release > the output of the flow is that of its output step, and none when that did not succeed",
    run: Effect.gen(function* () {
      const steps = [step("a"), step("b", ["a"]), step("c", ["b"], { rule: "all_done" })]
      yield* beginFlow(1, flowOf(steps, { output: "b" }))
      yield* endStep("a", (run) => success(run, '{"rows":3}'))
      yield* endStep("b", (run) => success(run, '{"rows":4,"of":"ü"}'))
      yield* succeedSteps("c")
      yield* expectFields("output", yield* stored(runId(1)), {
        state: "succeeded",
        output: '{"rows":4,"of":"ü"}',
      })
      yield* beginFlow(2, flowOf(steps, { output: "b" }))
      yield* succeedSteps("a")
      yield* endStep("b", declining)
      yield* succeedSteps("c")
      yield* expectFields("none", yield* stored(runId(2)), { state: "succeeded", output: null })
    }),
  },
]
