// How one attempt ended, as the executor reports it and the store settles it.
import type { Expansion } from "./Flow.ts"
import type { ErrorInfo } from "./Run.ts"

/** What an executor reports of one attempt. A handler's failure is data here, never an error of ours. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly output: string | null }
  | {
      readonly kind: "failed"
      readonly error: ErrorInfo
      /** `false`: no further attempt, whatever the policy says. */
      readonly retryable: boolean
      /** The handler's own wish for the delay before the next attempt; `null`: by the policy. */
      readonly retryAfterMillis: number | null
    }
  | { readonly kind: "snoozed"; readonly delayMillis: number }
  /** Not now and not here: ready again at once. */
  | Released
  /** There is nothing to do: the run ends as skipped. */
  | { readonly kind: "declined"; readonly reason: string }
  /** Steps do the work: the run ends with them. */
  | {
      readonly kind: "expanded"
      readonly expansion: Expansion
      /** If they end badly: `false`: no further attempt, whatever the policy says. */
      readonly retryable: boolean
    }

/** The run is given back, and with it the attempt. */
export interface Released {
  readonly kind: "released"
  /**
   * `true`: whoever was to start it was lost before. It counts as a loss, as when a node is lost before the start, and
   * after `lossMax` of these the run is dead.
   */
  readonly loss?: boolean
}

/** A failed attempt. Unless it says otherwise, the policy decides whether and when there is another one. */
export const failed = (
  error: ErrorInfo,
  retryable = true,
  retryAfterMillis: number | null = null,
): Extract<Outcome, { readonly kind: "failed" }> => ({ kind: "failed", error, retryable, retryAfterMillis })

/** What an executor answers for a job that it does not have. */
export const missingHandler = (job: string): Outcome =>
  failed({ name: "UnknownJob", message: `No handler for job "${job}" in this process`, kind: "error" })

/** An outcome with the retry decided, under the token that allows it: what a store applies. */
export type Settlement = { readonly id: string; readonly token: number } & (
  | { readonly kind: "succeeded"; readonly output: string | null }
  | { readonly kind: "failed"; readonly error: ErrorInfo; readonly retryInMillis: number | null }
  | { readonly kind: "snoozed"; readonly delayMillis: number }
  | Released
  | { readonly kind: "declined"; readonly reason: string }
  | {
      readonly kind: "expanded"
      readonly expansion: Expansion
      /** If the steps end badly: the delay before the next attempt, which re-runs what failed; `null`: none. */
      readonly retryInMillis: number | null
    }
)

/**
 * What became of a settlement. `settled`: applied now or, under the same token, before. `stale`: the token no
 * longer holds, nothing was changed. `state` is the run's state afterwards, `dueAt` its next due time.
 */
export interface Settled {
  readonly id: string
  readonly result: "settled" | "stale"
  readonly state: import("./Run.ts").RunState | null
  readonly dueAt: number | null
}
