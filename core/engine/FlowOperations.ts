// What people do to a flow run by hand: look at it, run it again from somewhere, end a step. The store does each in
// one step; here the engine is told what there is to look at afterwards.
import * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import type { Notifier } from "../ports/Notifier.ts"
import { FlowStore } from "../ports/Store.ts"
import type { FlowStoreDriver, FlowView, Rerun, RerunFrom } from "../ports/StoreDriver.ts"
import type { FlowWatch } from "../run/FlowWatch.ts"

/** A step to end by hand. */
export type StepMark = Parameters<FlowStoreDriver["markStep"]>[0]

/** How to do it. */
export interface FlowOperations {
  /** Where the steps of a run stand; `null` when it is not there or has no steps. */
  readonly flow: (runId: string) => Effect.Effect<FlowView | null, StoreError>
  /** Makes a new run of a flow run that has ended: what it begins with and all behind it start anew. */
  readonly rerun: (runId: string, from: RerunFrom) => Effect.Effect<Rerun, StoreError>
  /** Ends a step that has not ended, and releases what needs it. */
  readonly markStep: (mark: StepMark) => Effect.Effect<"marked" | "ended" | "unknown", StoreError>
}

/** Over the store. */
export const makeFlowOperations = (options: {
  readonly ids: IdSource
  readonly now: () => number
  readonly notifier: Notifier["Service"]
  readonly flows: FlowWatch
}): Effect.Effect<FlowOperations, never, FlowStore> =>
  Effect.gen(function* () {
    const { ids, now, notifier, flows } = options
    const store = yield* FlowStore
    const rerun: FlowOperations["rerun"] = Effect.fnUntraced(function* (runId, from) {
      const answer = yield* store.rerunFlow(runId, ids(), from)
      if (answer.result !== "created" || answer.runId === null) return answer
      const view = yield* store.flowOf(answer.runId)
      if (view !== null) {
        flows.expanded(view.run, view.deadlineAt === null ? null : Math.max(0, view.deadlineAt - now()))
        // With nothing left to run it has ended already.
        flows.look([view.run.id])
      }
      notifier.publish({ kind: "runs", dueAt: 0 })
      // A schedule may wait for somebody to decide about the run that failed.
      notifier.publish({ kind: "schedules" })
      return answer
    })
    return {
      flow: store.flowOf,
      rerun,
      markStep: (mark) =>
        Effect.tap(store.markStep(mark), (answer) =>
          Effect.sync(() => {
            if (answer !== "marked") return
            notifier.publish({ kind: "runs", dueAt: 0 })
            // The step's own run was called off, and so may be others with the end of the flow run.
            notifier.publish({ kind: "cancelled", ids: [mark.runId] })
          }),
        ),
    }
  })
