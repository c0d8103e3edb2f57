// What is kept of a run that is out of attempts or failed for good, until somebody replays or drops it.
import type { ErrorInfo } from "./Run.ts"

/** A dead run's letter: written in the same step that made the run dead, one per run. */
export interface DeadLetter {
  readonly runId: string
  readonly job: string
  readonly diedAt: number
  /** Attempts used. */
  readonly attempt: number
  /** Why the last attempt failed; every attempt's error is in the run's attempts. */
  readonly error: ErrorInfo
  /** The run that was made from it, once replayed. */
  readonly replayedBy: string | null
}
