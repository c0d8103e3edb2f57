// What people write about a schedule beside its pattern: overlap, catch-up and limits, checked before anything is
// stored, for the promise-style entry and the Effect one.
import * as Result from "effect/Result"
import { InvalidInput } from "../domain/Errors.ts"
import {
  type CatchUp,
  catchUpModes,
  type Limits,
  type Overlap,
  overlaps,
  type Trigger,
} from "../domain/Schedule.ts"
import { parseInstant, parseSpan, quote, type TimeSpan } from "../domain/TimeSpan.ts"

/** What all triggers take beside their time. */
export interface ScheduleOptions {
  /**
   * While the previous run is alive: `skip` (default) starts none, `allow` starts one beside it, `queueOne` lets one
   * wait for its end, `queueAll` lets all wait (the newest 1,000), and `cancelRunning` cancels it and starts the new one.
   */
  readonly overlap?: Overlap
  /**
   * Instants that were missed, because nothing ran or the engine was more than 5 s late: `latest` (default) runs the
   * newest one, `all` the newest `catchUpMax` in their order, `skip` none. All are in the ledger.
   */
  readonly catchUp?: (typeof catchUpModes)[number]
  /** Instants older than this are not caught up; default a day. */
  readonly catchUpWindow?: TimeSpan
  /** With `all`: at most so many, 1 to 500; default 100. */
  readonly catchUpMax?: number
  /** No instant before this one. */
  readonly startsAt?: Date | number | string
  /** No instant after this one. */
  readonly endsAt?: Date | number | string
  /** The schedule is over when it has started so many runs. */
  readonly countMax?: number
}

/** What happens while the previous run is alive. */
export const checkOverlap = (
  field: string,
  overlap: Overlap = "skip",
): Result.Result<Overlap, InvalidInput> =>
  overlaps.includes(overlap) ? Result.succeed(overlap) : refuse(field, overlap, oneOf(overlaps))

/** What happens to missed instants; empty when nothing is said. `field` is the place of the schedule. */
export const checkCatchUp = (
  field: string,
  { catchUp: mode, catchUpWindow, catchUpMax, overlap }: ScheduleOptions,
): Result.Result<{ readonly catchUp?: CatchUp }, InvalidInput> =>
  Result.gen(function* () {
    if (mode !== undefined && !catchUpModes.includes(mode))
      return yield* refuse(`${field}.catchUp`, mode, oneOf(catchUpModes))
    if (mode === "all" && overlap === "cancelRunning") {
      const reason = 'with overlap "cancelRunning" each run that is caught up would cancel the one before'
      return yield* Result.fail(
        new InvalidInput({
          field: `${field}.catchUp`,
          reason,
          next: 'Give "latest" or "skip", or another overlap.',
        }),
      )
    }
    if (catchUpMax !== undefined && mode !== "all") {
      const reason = 'it limits catchUp "all", which is not chosen'
      return yield* Result.fail(
        new InvalidInput({
          field: `${field}.catchUpMax`,
          reason,
          next: 'Add `catchUp: "all"`, or leave it out.',
        }),
      )
    }
    if (catchUpMax !== undefined && !isWhole(catchUpMax, caughtUpMax))
      return yield* refuse(`${field}.catchUpMax`, catchUpMax, `a whole number from 1 to ${caughtUpMax}`)
    const windowMillis =
      catchUpWindow === undefined ? undefined : yield* parseSpan(`${field}.catchUpWindow`, catchUpWindow)
    const said: CatchUp = {
      ...(mode === undefined ? {} : { mode }),
      ...(windowMillis === undefined ? {} : { windowMillis }),
      ...(catchUpMax === undefined ? {} : { max: catchUpMax }),
    }
    return Object.keys(said).length === 0 ? {} : { catchUp: said }
  })

/** Whether a failure holds the schedule; only where an overlap leaves the next run to wait, or out. */
export const checkHold = (
  field: string,
  hold: boolean,
  overlap: Overlap,
): Result.Result<{ readonly holdOnFailure?: true }, InvalidInput> => {
  if (!hold) return Result.succeed({})
  if (overlap !== "allow" && overlap !== "cancelRunning") return Result.succeed({ holdOnFailure: true })
  return Result.fail(
    new InvalidInput({
      field: `${field}.overlap`,
      reason: `with "${overlap}" no run waits for another, and \`holdOnFailure\` would hold nothing`,
      next: 'Give "queueOne", "queueAll" or "skip", or leave `holdOnFailure` out.',
    }),
  )
}

/** A trigger within its limits. */
export const checkLimits = (
  field: string,
  trigger: Trigger,
  { startsAt, endsAt, countMax }: Pick<ScheduleOptions, keyof Limits>,
): Result.Result<Trigger, InvalidInput> =>
  Result.gen(function* () {
    const from = startsAt === undefined ? undefined : yield* parseInstant(`${field}.startsAt`, startsAt)
    const end = endsAt === undefined ? undefined : yield* parseInstant(`${field}.endsAt`, endsAt)
    if (from !== undefined && end !== undefined && end < from)
      return yield* refuse(`${field}.endsAt`, endsAt, "at or after `startsAt`")
    if (trigger.kind === "at" && (trigger.at < (from ?? trigger.at) || trigger.at > (end ?? trigger.at)))
      return yield* refuse(`${field}.at`, trigger.at, "within `startsAt` and `endsAt`")
    if (countMax !== undefined && !isWhole(countMax, Number.MAX_SAFE_INTEGER))
      return yield* refuse(`${field}.countMax`, countMax, "a whole number from 1")
    return {
      ...trigger,
      ...(from === undefined ? {} : { startsAt: from }),
      ...(end === undefined ? {} : { endsAt: end }),
      ...(countMax === undefined ? {} : { countMax }),
    }
  })

// More could not be decided in one step.
const caughtUpMax = 500

const isWhole = (value: unknown, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max

const oneOf = (words: ReadonlyArray<string>): string =>
  `one of ${words.map((word) => `"${word}"`).join(", ")}`

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` }),
  )
