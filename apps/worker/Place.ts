// Where handlers run: here, or in threads or processes of their own. An executor that may also be ended by force.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Assignment, Started } from "../../core/ports/Executor.ts"

/** An attempt that runs somewhere. */
export interface Running extends Started {
  /** Ends its handler whatever it does; `done` is called then. `null`: it can only be asked. */
  readonly kill: (() => void) | null
}

/** What handlers and their place say beside outcomes. */
export type Said =
  | { readonly kind: "log"; readonly run: string; readonly token: number; readonly line: string }
  | {
      readonly kind: "progress"
      readonly run: string
      readonly token: number
      readonly percent: number | null
      readonly note: string | null
    }
  | { readonly kind: "trouble"; readonly doing: string; readonly error: string }

/** Runs handlers. */
export interface Place {
  /** Those that it has a handler for. */
  readonly jobs: ReadonlySet<string>
  /** Starts an attempt: `began` is called when its handler is, `done` once with its end, both possibly at once. */
  readonly start: (assignment: Assignment, began: () => void, done: (outcome: Outcome) => void) => Running
  /** Ends what runs, as far as it can, and what it needed. */
  readonly close: () => Promise<void>
}
