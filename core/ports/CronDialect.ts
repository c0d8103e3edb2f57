// The port of cron dialects: another reading of cron texts than the house's own, such as that of a library from which
// schedules come. An engine is given dialects by name; a schedule names the one that it was written for.
import type * as Result from "effect/Result"
import type { InvalidSchedule } from "../domain/Errors.ts"
import type { Trigger } from "../domain/Schedule.ts"

/** The instants of a pattern, in epoch milliseconds, wherever one stands. */
export interface Slots {
  /** The first one after `instant`. */
  readonly after: (instant: number) => number | null
  /** The last one not after `instant`: it mirrors `after`, and lists the same instants. */
  readonly upTo: (instant: number) => number | null
  /** How many there are from `first` to `last`, both of the pattern; a dialect may stop counting at a bound of its own. */
  readonly count: (first: number, last: number) => number
}

/** A trigger of the kind `cron`. */
export type CronTrigger = Extract<Trigger, { kind: "cron" }>

/** A way to read cron texts. */
export interface CronDialect {
  /**
   * Reads the trigger's expression on the clocks of its zone. Synchronous, and refuses with the field at fault, also
   * what it has no rule for (`gap`, `ambiguous`). The answers of one pattern never change.
   */
  readonly parse: (trigger: CronTrigger) => Result.Result<Slots, InvalidSchedule>
}

/** The dialects that an engine knows, by the name that schedules use. */
export type CronDialects = ReadonlyMap<string, CronDialect>
