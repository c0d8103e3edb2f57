// What the process of one side and one round tells.
import type { Spent } from "../common/meter.ts"

/** Work of a known number of jobs. */
export interface Work extends Spent {
  readonly jobs: number
}

/** A drain: from the first start to when the store has all as ended. */
export interface Drained extends Work {
  /** From the call that starts the worker to the first start; not in the rate, as peers differ in what they do there. */
  readonly toFirstMillis: number
}

/** Samples in milliseconds. */
export interface Late {
  readonly millis: ReadonlyArray<number>
  /** Started before their due time, by more than a millisecond: clocks of servers show whole ones. */
  readonly early: number
  readonly missing: number
}

/** All of it; what was not asked for is not there. */
export interface Measured {
  readonly single?: Work
  readonly inflight?: Work
  readonly bulk?: Work
  readonly drain?: Drained
  readonly latency?: ReadonlyArray<number>
  readonly lateness?: Late
  readonly troubles: ReadonlyArray<string>
}
