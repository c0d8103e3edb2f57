// What claimed runs may read beside their input: the outputs of the runs that they need, and of the steps. One call to
// the store for each kind and batch, none for a batch that has none of it.
import * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import type { Run } from "../domain/Run.ts"
import type { Assignment } from "../ports/Executor.ts"
import { FlowStore, RunStore } from "../ports/Store.ts"
import type { StepInputs } from "../ports/StoreDriver.ts"

/** What one run may read. */
export type Inputs = Pick<Assignment, "needs" | "step">

// Rows in one call.
const chunkMax = 1000

/** Reads it for a batch of runs. */
export const makeInputs: Effect.Effect<
  (runs: ReadonlyArray<Run>) => Effect.Effect<(run: Run) => Inputs, StoreError>,
  never,
  RunStore | FlowStore
> = Effect.gen(function* () {
  const store = yield* RunStore
  const flows = yield* FlowStore

  const outputsOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    const found = new Map<string, Run>()
    for (const some of chunks(ids)) for (const run of yield* store.get(some)) found.set(run.id, run)
    return found
  })
  const stepsOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    const found = new Map<string, StepInputs>()
    for (const some of chunks(ids))
      for (const step of yield* flows.stepInputs(some)) found.set(step.runId, step)
    return found
  })
  return Effect.fnUntraced(function* (runs) {
    const needed = [...new Set(runs.flatMap((run) => run.needs))]
    const steps = runs.filter(({ parentId }) => parentId !== null).map(({ id }) => id)
    if (needed.length === 0 && steps.length === 0) return () => nothing
    const outputs = yield* outputsOf(needed)
    const inputs = yield* stepsOf(steps)
    return (run) => ({
      needs: new Map(
        run.needs.flatMap((id) => {
          const need = outputs.get(id)
          return need === undefined ? [] : [[need.job, need.output] as const]
        }),
      ),
      step: inputs.get(run.id) ?? null,
    })
  })
})

const nothing: Inputs = { needs: new Map(), step: null }

const chunks = <A>(rows: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(rows.length / chunkMax) }, (_, index) =>
    rows.slice(index * chunkMax, (index + 1) * chunkMax),
  )
