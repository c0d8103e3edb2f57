// The part of the storage port that is about flows: what the steps of an expanded run read, where they stand, and what
// people do to them. How they move on is part of `settle`, `cancel` and the rest of `RunStoreDriver`.
import type { Expansion, StepState } from "../domain/Flow.ts"
import type { Run } from "../domain/Run.ts"
import type { Awaitable } from "./StoreDriver.ts"

/** What the run of a step may read: the input of the run whose step it is, and what became of the steps it needs. */
export interface StepInputs {
  readonly runId: string
  /** JSON text: `Expansion.input` of the run whose step it is, or that run's own input where the expansion has none. */
  readonly input: string | null
  readonly needs: ReadonlyArray<{
    readonly id: string
    readonly state: StepState
    /** JSON text; `null` for none, and for a step that did not succeed. */
    readonly output: string | null
  }>
}

/** Where one step stands. */
export interface StepView {
  readonly state: StepState
  /** Its latest run; `null` while it has none. */
  readonly runId: string | null
  /** Why it ended as it did, in the words of whoever marked it, declined or cancelled its run; `null`: by itself. */
  readonly reason: string | null
}

/** A run that expanded, and where its steps stand, by their places. */
export interface FlowView {
  readonly run: Run
  readonly expansion: Expansion
  /** Attempts at its steps so far; each but the first re-ran what had failed. */
  readonly round: number
  /** When this attempt is over; `null`: no limit, or the run does not wait for its steps any more. */
  readonly deadlineAt: number | null
  readonly steps: ReadonlyArray<StepView>
}

/** Where a re-run begins; ids of steps, or all that failed or were skipped. */
export type RerunFrom = "failed" | "skipped" | ReadonlyArray<string>

/**
 * What became of a re-run: `exists` with the run that does the work again already, if it is the one of this call or
 * the letter counts as replayed; `running` while the flow run has not ended; `nothing` when no step would start anew.
 */
export interface Rerun {
  readonly result: "created" | "exists" | "running" | "nothing" | "unknown"
  readonly runId: string | null
}

/** Runs that expand into steps: flows, and lists that are mapped. They advance within `settle` and `cancel`. */
export interface FlowStoreDriver {
  /** For runs that are steps; others are left out. */
  stepInputs(runIds: ReadonlyArray<string>): Awaitable<ReadonlyArray<StepInputs>>
  /** `null` when the run is not there or did not expand. */
  flowOf(runId: string): Awaitable<FlowView | null>
  /**
   * Makes a new run of a flow run that has ended: the steps where it begins and all behind them start anew, the others
   * keep state, run and output. The old run's letter counts as replayed. It is one attempt: the policy's delays were
   * for the old one. Refused: a step that is not there, a run that is itself a step, and an id that is taken.
   */
  rerunFlow(runId: string, newId: string, from: RerunFrom): Awaitable<Rerun>
  /**
   * Ends a step that has not ended, by hand; its run is cancelled. What needs it is released. Answers `ended` when
   * it, or its flow run, had ended before.
   */
  markStep(mark: {
    readonly runId: string
    readonly step: string
    readonly end: "succeeded" | "skipped"
    readonly reason: string
    /** JSON text that counts as the step's output. */
    readonly output: string | null
  }): Awaitable<"marked" | "ended" | "unknown">
}
