// The operations that are measured, of the store and of the floor alike.
import type { NewRun } from "../../core/domain/Run.ts"

/** The job and the queue of all runs. */
export const job = "noop"
export const queue = "bench"

/** What a claim hands out. */
export interface Held {
  readonly id: string
  readonly token: number
}

/** A store, or the floor, in a schema of its own. */
export interface Side {
  readonly name: string
  readonly schema: string
  readonly enqueue: (runs: ReadonlyArray<NewRun>) => Promise<unknown>
  readonly claim: (limit: number) => Promise<ReadonlyArray<Held>>
  readonly settle: (held: ReadonlyArray<Held>) => Promise<unknown>
  /** Runs that have ended well, all there are. */
  readonly ended: () => Promise<number>
  readonly close: () => Promise<void>
}

/** A run that is due at once, as the engine would store it. */
export const newRun = (id: string, n: number): NewRun => ({
  id,
  job,
  queue,
  input: JSON.stringify({ n }),
  dueAt: null,
  delayMillis: 0,
  priority: 0,
  attemptMax: 3,
  key: null,
  startWithinMillis: null,
  scheduleId: null,
  nominalAt: null,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: null,
  step: null,
})
