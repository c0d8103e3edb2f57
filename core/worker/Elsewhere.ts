// The workers of other nodes, as far as their nodes have told the store: a broadcast is for them too, and each part of it
// is left to the node that its worker is connected to. Looked at only while there is a broadcast to place.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import { NodeStore } from "../ports/Store.ts"
import { type CompiledPlacement, fits, labelsOf } from "./Placement.ts"
import { decodeReport } from "./WorkerReport.ts"
import type { WorkerView } from "./WorkerView.ts"

/** What is known of other nodes' workers. */
export interface Elsewhere {
  /** Reads it anew, at most once a second. */
  readonly look: Effect.Effect<void, StoreError>
  /** Names of those that may be given a run of this job from this queue, of any number. */
  readonly fitting: (job: string, queue: string, placement: CompiledPlacement) => ReadonlyArray<string>
  /** Whether one of this name may. */
  readonly has: (worker: string, job: string, queue: string, placement: CompiledPlacement) => boolean
}

const lookEveryMillis = 1000

/** Looks for a node, which is never its own elsewhere. */
export const makeElsewhere = (node: () => string): Effect.Effect<Elsewhere, never, NodeStore> =>
  Effect.gen(function* () {
    const store = yield* NodeStore
    const clock = yield* Clock.Clock
    const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let views: ReadonlyArray<WorkerView> = []
    let lookAt = Number.NEGATIVE_INFINITY
    const mayHave = (view: WorkerView, job: string, queue: string, placement: CompiledPlacement): boolean =>
      (view.status === "alive" || view.status === "suspect") &&
      view.jobs.includes(job) &&
      !view.unable.includes(job) &&
      (view.queues === null || view.queues.includes(queue)) &&
      fits(placement, { labels: labelsOf(view) })
    return {
      look: Effect.gen(function* () {
        if (monotonic() < lookAt) return
        const reports = yield* store.workers()
        views = reports
          .filter((report) => report.node !== node())
          .flatMap(({ workers }) => decodeReport(workers).workers)
        lookAt = monotonic() + lookEveryMillis
      }),
      fitting: (job, queue, placement) =>
        views.filter((view) => mayHave(view, job, queue, placement)).map(({ name }) => name),
      has: (worker, job, queue, placement) =>
        views.some((view) => view.name === worker && mayHave(view, job, queue, placement)),
    }
  })
