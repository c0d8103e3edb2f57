// What `settle` owes to a node that did not hear the answer, for each kind of outcome and what follows from it.
import * as Effect from "effect/Effect"
import type { StoreError } from "../../domain/Errors.ts"
import type { Settlement } from "../../domain/Outcome.ts"
import type { Run } from "../../domain/Run.ts"
import { type NodeStore, RunStore } from "../../ports/Store.ts"
import type { Case, ContractViolation } from "../Case.ts"
import { claimOne, enqueue, failing, newRun, runId, success } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  expanding,
  flowOf,
  mapOf,
  step,
  succeedSteps,
} from "../FlowStoreContract/fixtures.ts"
import { lostAs, loseOften } from "../RunStoreContract/releaseLost.ts"
import { trial } from "./fixtures.ts"

/** A run with one that needs it, claimed. */
const aRun = Effect.gen(function* () {
  yield* enqueue(newRun(1), newRun(2, { job: "load", needs: [runId(1)] }))
  return yield* claimOne()
})

const flow = flowOf([step("a"), step("b", ["a"]), step("c", ["b"], { rule: "all_done" })], { output: "a" })

/** The run of a step, claimed; its flow run may retry after a minute if `retries`. */
const aStep = (id: string, after: ReadonlyArray<string>, retries = false) =>
  Effect.gen(function* () {
    yield* beginFlow(1, flow, {}, retries ? 60_000 : null)
    yield* succeedSteps(...after)
    return yield* claimStep(id)
  })

type Situation = Effect.Effect<Run, StoreError | ContractViolation, RunStore | NodeStore>

const settled = (what: string, settlementOf: (run: Run) => Settlement, situation: Situation = aRun) =>
  trial({
    operation: "settle",
    what,
    promise: "it is answered as the first time, and nothing happens again",
    prepare: Effect.map(situation, (run) =>
      Effect.flatMap(RunStore, (runs) => runs.settle([settlementOf(run)])),
    ),
  })

/** Cases of `settle`. */
export const settleFaultCases: ReadonlyArray<Case> = [
  ...settled("a success", (run) => success(run, '"done"')),
  ...settled("a failure with a retry", (run) => failing(run, 60_000)),
  ...settled("a failure with a retry at once", (run) => failing(run, 0)),
  ...settled("a failure for good", (run) => failing(run)),
  ...settled("a snooze", ({ id, token }) => ({ id, token, kind: "snoozed", delayMillis: 60_000 })),
  ...settled("a release", ({ id, token }) => ({ id, token, kind: "released" })),
  ...settled("a release that is a loss", lostAs),
  ...settled(
    "a release that is one loss too many",
    lostAs,
    Effect.gen(function* () {
      yield* enqueue(newRun(1), newRun(2, { job: "load", needs: [runId(1)] }))
      yield* loseOften()
      return yield* claimOne()
    }),
  ),
  ...settled("a run that declines", (run) => declining(run)),
  ...settled("a flow that begins", (run) => expanding(run, flow)),
  ...settled("a list that is mapped", (run) => expanding(run, mapOf(["1", "2"]))),
  ...settled("a list without an item", (run) => expanding(run, mapOf([]))),
  ...settled("a step whose end releases another", (run) => success(run, "1"), aStep("a", [])),
  ...settled("a step that fails", (run) => failing(run), aStep("a", [])),
  ...settled("the last step of a flow", (run) => success(run), aStep("c", ["a", "b"])),
  ...settled(
    "a step whose failure ends a round",
    (run) => failing(run),
    Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b")]), {}, 60_000)
      yield* succeedSteps("b")
      return yield* claimStep("a")
    }),
  ),
  ...settled(
    "a flow within a flow",
    (run) => expanding(run, flowOf([step("x"), step("y", ["x"])])),
    aStep("a", []),
  ),
]
