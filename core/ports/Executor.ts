// The executor port: whoever can run a job's handler. Plain functions, as it is called once a run.
import * as Context from "effect/Context"
import type { Outcome } from "../domain/Outcome.ts"
import type { Shard } from "../domain/Placement.ts"
import type { Run } from "../domain/Run.ts"
import type { StepInputs } from "./StoreDriver.ts"

/** One attempt to carry out. */
export interface Assignment {
  readonly run: Run
  /** JSON text of the outputs of the runs that this one needs, by job name. */
  readonly needs: ReadonlyMap<string, string | null>
  /** Of the run of a step: what it may read; `null` for a run of its own. */
  readonly step: StepInputs | null
  /** By when the attempt is over, in milliseconds from its start; `null`: no limit. The dispatcher keeps it. */
  readonly timeoutMillis: number | null
  /** Which part of a broadcast it is; absent: of none. */
  readonly shard?: Shard
}

/** Why an attempt is told to stop. */
export type StopReason = "timeout" | "cancelled" | "drain" | "leaseLost"

/** A started attempt. */
export interface Started {
  /** Tells the handler to stop; it may take its time or never obey. Its outcome is then of no interest. */
  readonly stop: (reason: StopReason) => void
}

/** Runs handlers. */
export class Executor extends Context.Service<
  Executor,
  {
    /** The jobs that it has a handler for. */
    readonly jobs: ReadonlySet<string>
    /**
     * Starts an attempt. `done` is called exactly once, possibly before `start` returns; `start` never throws,
     * whatever the handler does.
     */
    readonly start: (assignment: Assignment, done: (outcome: Outcome) => void) => Started
  }
>()("uhrwerk/core/Executor") {}
