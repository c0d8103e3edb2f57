// The desk for workers, joined with the rest of the engine: it claims under the node's own id beside the dispatcher, and
// its outcomes go the same way.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { InvalidInput, StoreError } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import type { JobBook } from "../domain/Job.ts"
import type { Outcome } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import { spanMaxMillis } from "../domain/TimeSpan.ts"
import { parseGraph } from "../flow/Graph.ts"
import type { Events } from "../observe/Event.ts"
import { Executor } from "../ports/Executor.ts"
import type { FlowStore, NodeStore, RunStore } from "../ports/Store.ts"
import type { Timers } from "../ports/Timers.ts"
import { checkTerms, defaultTerms } from "../protocol/Terms.ts"
import type { Aftermath } from "../run/Aftermath.ts"
import { makeHeldBy } from "../run/Held.ts"
import { makeInputs } from "../run/Inputs.ts"
import type { Settler } from "../run/Settlement.ts"
import { type DeskControl, makeDesk } from "../worker/Desk.ts"
import { type CompiledPlacement, compilePlacement } from "../worker/Placement.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import type { Membership } from "./Membership.ts"

/** What the engine hands to its desk. */
export interface WorkersDeskOptions {
  readonly config: EngineConfig
  readonly membership: Membership
  /** Those of these queues that are not paused. */
  readonly open: (queues: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly settler: Settler
  readonly aftermath: Aftermath
  readonly timers: Timers
  readonly events: Events
  readonly ids: IdSource
  readonly random: () => number
  /** Whether the dispatcher carries the run. */
  readonly isCarried: (run: Run) => boolean
  readonly follow: (parentId: string) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}

/** Opens the desk, which closes with the scope; `null` when the engine serves no workers. */
export const makeWorkersDesk = (
  options: WorkersDeskOptions,
): Effect.Effect<
  DeskControl | null,
  InvalidInput,
  Scope.Scope | RunStore | FlowStore | NodeStore | Executor
> =>
  Effect.gen(function* () {
    const { config, membership, settler, aftermath } = options
    const { book, workers } = config
    if (workers === undefined) return null
    const { jobs: ownJobs } = yield* Executor
    const heldBy = yield* makeHeldBy
    const inputsOf = yield* makeInputs
    const given = { ...defaultTerms(membership.id()), ...workers.terms }
    // The next server adopts what this one leaves while the lease holds: handlers must have stopped before its end.
    const restartMillis = Math.min(given.restartMillis, Math.max(0, config.leaseMillis - 1000))
    const terms = yield* Effect.fromResult(checkTerms({ ...given, restartMillis }))
    const desk: DeskControl = yield* makeDesk({
      config: workers,
      terms,
      book,
      placements: yield* Effect.fromResult(placementsOf(book)),
      ownJobs,
      node: membership.id,
      holdsLease: membership.holdsLease,
      open: options.open,
      pollMillis: config.pollMillis,
      timers: options.timers,
      events: options.events,
      ids: options.ids,
      isCarried: options.isCarried,
      random: options.random,
      inputsOf,
      unknownHeld: Effect.suspend(() =>
        Effect.map(heldBy(membership.id()), (runs) =>
          runs.filter(
            (run) => isClaimedForWorkers(book, ownJobs, run) && !desk.has(run) && !options.isCarried(run),
          ),
        ),
      ),
      settle: (run, outcome, durationMillis, done) =>
        settler.settle(run, outcome, (settled) => {
          done(settled)
          aftermath(run, outcome, settled, durationMillis)
        }),
      whyNot: (outcome, queues) => whyNot(book, outcome, queues),
      follow: options.follow,
      onTrouble: options.onTrouble,
    })
    return desk
  })

/** Whether the claim of this run was one for workers: theirs is never the start, the dispatcher's is, but for flows. */
export const isClaimedForWorkers = (book: JobBook, ownJobs: ReadonlySet<string>, run: Run): boolean =>
  !run.startAcknowledged && !(book.jobs.get(run.job)?.expands === true && ownJobs.has(run.job))

const placementsOf = (book: JobBook): Result.Result<ReadonlyMap<string, CompiledPlacement>, InvalidInput> =>
  Result.gen(function* () {
    const found = new Map<string, CompiledPlacement>()
    for (const [name, { placement }] of book.jobs)
      if (placement !== undefined) found.set(name, yield* compilePlacement(`job "${name}".run`, placement))
    return found
  })

const isQueue = (book: JobBook, queue: string): boolean => {
  for (const job of book.jobs.values()) if (job.queue === queue) return true
  return false
}

const whyNot = (
  book: JobBook,
  { expansion }: Extract<Outcome, { kind: "expanded" }>,
  queues: ReadonlyArray<string> | null,
): string | null => {
  const steps = expansion.kind === "flow" ? expansion.definition.steps : [expansion.step]
  for (const { job, queue } of steps) {
    if (!book.jobs.has(job)) return `a step is of job "${job}", which the server does not know`
    if (queues?.includes(queue) === false)
      return `a step is for queue "${queue}", which the token does not allow`
    if (!isQueue(book, queue))
      return `a step is for queue "${queue}", which no job has, so nobody looks there`
  }
  if (expansion.kind !== "flow") return null
  const graph = parseGraph(expansion.definition.steps)
  if (Result.isFailure(graph)) return graph.failure.message
  const { output, timeoutMillis } = expansion.definition
  if (timeoutMillis !== null && timeoutMillis > spanMaxMillis)
    return "its limit of time is more than 100 years"
  return output === null || graph.success.places.has(output) ? null : `no step is called "${output}"`
}
