// What the cases of flows are made of: steps with jobs of their own, so that a case claims the very step that it
// means, and one look at how all steps stand.
import * as Effect from "effect/Effect"
import type { StoreError } from "../../domain/Errors.ts"
import type { Expansion, FlowDefinition, StepPlan, StepState } from "../../domain/Flow.ts"
import type { Settled, Settlement } from "../../domain/Outcome.ts"
import type { NewRun, Run } from "../../domain/Run.ts"
import { type NodeStore, FlowStore, RunStore } from "../../ports/Store.ts"
import type { FlowView } from "../../ports/StoreDriver.ts"
import { ContractViolation, expectSame } from "../Case.ts"
import { claimOne, enqueue, failing, newRun, runId, settle, success } from "../Fixtures.ts"

/** A step whose job is `do-` and its id; one attempt. */
export const step = (
  id: string,
  needs: ReadonlyArray<string> = [],
  fields: Partial<StepPlan> = {},
): StepPlan => ({ id, needs, job: `do-${id}`, queue: "default", priority: 0, attemptMax: 1, ...fields })

/** A flow of these steps: no output, no limit, no fail-fast, unless told otherwise. */
export const flowOf = (
  steps: ReadonlyArray<StepPlan>,
  fields: Partial<FlowDefinition> = {},
): Expansion & { readonly kind: "flow" } => {
  const rest = { name: "nightly", steps, output: null, failFast: false, timeoutMillis: null, ...fields }
  return { kind: "flow", definition: { version: versionOf(JSON.stringify(rest)), ...rest } }
}

// Another text, another version: a store keeps one definition for both.
const versionOf = (text: string): string => {
  let sum = text.length
  for (let at = 0; at < text.length; at++) sum = (sum * 31 + text.charCodeAt(at)) % 4_294_967_291
  return sum.toString(16)
}

/** A list of which each item is a run of job `item`. */
export const mapOf = (
  items: ReadonlyArray<string | null>,
  failFast = false,
): Expansion & { readonly kind: "map" } => ({
  kind: "map",
  step: { job: "item", queue: "default", priority: 0, attemptMax: 1 },
  items,
  failFast,
})

/** The settlement of a run whose work are steps. */
export const expanding = (
  { id, token }: Pick<Run, "id" | "token">,
  expansion: Expansion,
  retryInMillis: number | null = null,
): Settlement => ({ id, token, kind: "expanded", expansion, retryInMillis })

/** The settlement of a run that found nothing to do. */
export const declining = ({ id, token }: Pick<Run, "id" | "token">, reason = "Not today"): Settlement => ({
  id,
  token,
  kind: "declined",
  reason,
})

/** Makes run `n` and expands it; answers what `settle` did. */
export const beginFlow = (
  n: number,
  expansion: Expansion,
  fields: Partial<NewRun> = {},
  retryInMillis: number | null = null,
): Effect.Effect<Settled, StoreError | ContractViolation, RunStore | NodeStore> =>
  Effect.gen(function* () {
    yield* enqueue(newRun(n, { job: `flow-${n}`, ...fields }))
    const run = yield* claimOne({ jobs: [fields.job ?? `flow-${n}`] })
    yield* expectSame("the flow run", run.id, runId(n))
    return yield* settle(expanding(run, expansion, retryInMillis))
  })

/** Claims the run of a step, by its job. */
export const claimStep = (
  id: string,
): Effect.Effect<Run, StoreError | ContractViolation, RunStore | NodeStore> =>
  claimOne({ jobs: [`do-${id}`] })

/** Claims the run of a step and settles it. */
export const endStep = (
  id: string,
  settlementOf: (run: Run) => Settlement,
): Effect.Effect<Settled, StoreError | ContractViolation, RunStore | NodeStore> =>
  Effect.flatMap(claimStep(id), (run) => settle(settlementOf(run)))

/** Steps that succeed one after the other, each with its id as its output. */
export const succeedSteps = (
  ...ids: ReadonlyArray<string>
): Effect.Effect<void, StoreError | ContractViolation, RunStore | NodeStore> =>
  Effect.forEach(ids, (id) => endStep(id, (run) => success(run, `"${id}"`)), { discard: true })

/** Steps that fail one after the other, each for good. */
export const failSteps = (
  ...ids: ReadonlyArray<string>
): Effect.Effect<void, StoreError | ContractViolation, RunStore | NodeStore> =>
  Effect.forEach(ids, (id) => endStep(id, failing), { discard: true })

/** The view of an expanded run. */
export const viewOf = (id: string): Effect.Effect<FlowView, StoreError | ContractViolation, FlowStore> =>
  Effect.gen(function* () {
    const view = yield* (yield* FlowStore).flowOf(id)
    return view ?? (yield* new ContractViolation({ what: `flow of ${id}`, expected: "a view", actual: null }))
  })

/** The states of a flow run's steps, in the order of declaration. */
export const stepStates = (
  id: string,
): Effect.Effect<ReadonlyArray<StepState>, StoreError | ContractViolation, FlowStore> =>
  Effect.map(viewOf(id), (view) => view.steps.map(({ state }) => state))

/** The id of a step's latest run, by the step's place. */
export const stepRunOf = (
  id: string,
  place: number,
): Effect.Effect<string, StoreError | ContractViolation, FlowStore> =>
  Effect.gen(function* () {
    const found = (yield* viewOf(id)).steps[place]?.runId ?? null
    return found ?? (yield* new ContractViolation({ what: `step ${place}`, expected: "a run", actual: null }))
  })

/** Fails unless the store's counts are those of its rows; for cases with at most 200 runs. */
export const expectTrueCounts: Effect.Effect<void, StoreError | ContractViolation, RunStore | NodeStore> =
  Effect.gen(function* () {
    const runs = yield* RunStore
    const sums = new Map<string, number>()
    for (const { job, state } of yield* runs.list({ limit: 200 })) {
      sums.set(`${job} ${state}`, (sums.get(`${job} ${state}`) ?? 0) + 1)
    }
    const counted = (yield* runs.counts()).map(({ job, state, count }) => `${job} ${state}: ${count}`)
    yield* expectSame("counts", counted.sort(), Array.from(sums, ([key, sum]) => `${key}: ${sum}`).sort())
  })
