// Bulk work: what is to be done with all runs, or all dead letters, that a filter describes. The filter is frozen when it
// begins, so that what comes later is not touched. The server does it as an operation that outlives it, the command line
// at once; both look (Look.ts) and act (Act.ts) by the same code.
import type { BulkKind } from "../../core/domain/BulkKind.ts"
import { errorPattern } from "../../core/domain/Fingerprint.ts"
import { highestId, lowestId } from "../../core/domain/Ids.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Run, RunState } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"

export { type BulkKind, openStates } from "../../core/domain/BulkKind.ts"

/** Which runs or letters; all that is said must hold. */
export interface BulkFilter {
  /** Of runs: one of `openStates`. Default: all of these. */
  readonly state?: RunState
  readonly job?: string
  /** Of runs. */
  readonly queue?: string
  /** Of letters: `errorPattern` of the error that ended the run. */
  readonly fingerprint?: string
  /** Of letters: the name of that error. */
  readonly error?: string
  /** By the time in their ids, in epoch milliseconds: made at this instant or later. */
  readonly createdAfter?: number
  /** Made before it. */
  readonly createdBefore?: number
}

/** Bulk work, frozen. */
export interface Bulk {
  /** A UUIDv7 of its own, by which it knows again what it did. */
  readonly id: string
  readonly kind: BulkKind
  readonly filter: BulkFilter
  /** Only jobs of this name, and of names that begin with it and a dot; `null`: all. */
  readonly namespace: string | null
  /** Why runs are cancelled, for who reads them; at most 200 characters. */
  readonly reason: string
  /** The store's now when it began: runs made later, and letters of runs that died later, are not touched. */
  readonly frozenAt: number
}

/** What bulk work asks a store for. */
export type BulkStore = Pick<
  { readonly [K in keyof StoreDriver]: StoreDriver[K] },
  "list" | "get" | "cancel" | "counts" | "deadLetters" | "replay" | "drop" | "attempts"
>

/** Whether a job is in a namespace. */
export const isWithin = (namespace: string | null, job: string): boolean =>
  namespace === null || job === namespace || job.startsWith(`${namespace}.`)

// Clocks that made ids may be ahead of the store's, whose word counts: `createdAt`.
const clockErrorMillis = 60_000

/** The ids between which everything is that the work may touch: above the one, below the other. */
export const boundsOf = ({ filter, frozenAt }: Pick<Bulk, "filter" | "frozenAt">) => ({
  above: filter.createdAfter === undefined ? "" : highestId(filter.createdAfter - 1),
  below: lowestId(Math.min(filter.createdBefore ?? Infinity, frozenAt + clockErrorMillis)),
})

/** Whether a letter is one that is meant, wherever its id is. */
export const isLetterOf = ({ filter, namespace, frozenAt }: Omit<Bulk, "id" | "kind" | "reason">) => {
  const { job, fingerprint, error } = filter
  return (letter: DeadLetter): boolean =>
    letter.diedAt <= frozenAt &&
    isWithin(namespace, letter.job) &&
    (job === undefined || letter.job === job) &&
    (error === undefined || letter.error.name === error) &&
    (fingerprint === undefined || errorPattern(letter.error).fingerprint === fingerprint)
}

/** Whether a run is one that is meant, wherever its id is and whatever its state. */
export const isRunOf =
  ({ filter: { job, queue }, namespace, frozenAt }: Bulk) =>
  (run: Run): boolean =>
    run.createdAt <= frozenAt &&
    isWithin(namespace, run.job) &&
    (job === undefined || run.job === job) &&
    (queue === undefined || run.queue === queue)
