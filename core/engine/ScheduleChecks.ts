// What people write about a schedule beside its pattern: overlap, catch-up, limits and calendars, checked before anything is
// stored, for the promise-style entry and the Effect one.
import * as Result from "effect/Result"
import { InvalidInput, type InvalidSchedule } from "../domain/Errors.ts"
import {
  type CatchUp,
  catchUpModes,
  type Closed,
  closedModes,
  type Limits,
  type Overlap,
  overlaps,
  type Trigger,
} from "../domain/Schedule.ts"
import { parseInstant, parseSpan, quote, type TimeSpan } from "../domain/TimeSpan.ts"
import { parseCronTrigger } from "../trigger/CronFields.ts"
import { perDayMax } from "../trigger/Rolled.ts"

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
  /** The calendar that its instants must lie in, or its name. */
  readonly only?: CalendarReference
  /** The calendar that its instants must not lie in: a blackout. */
  readonly except?: CalendarReference
  /**
   * What becomes of the others: `skip` (default) starts no run, `hold` starts one when the window opens, for all that
   * came; `next` and `previous` move each to the same wall time on the next or previous local day on which that is
   * open, at most 31 days away, for schedules of at most 24 instants a day. `at` and `after` have the first two.
   */
  readonly closed?: Closed
  /** Each instant comes later by the same time below this one (at most 24 h), which the schedule's name chooses. */
  readonly jitter?: TimeSpan
}

/** A calendar, or its name. */
export type CalendarReference = string | { readonly name: string }

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

/** A trigger with its calendars and its jitter. */
export const checkPlacement = (
  field: string,
  trigger: Trigger,
  { only, except, closed, jitter }: Pick<ScheduleOptions, "only" | "except" | "closed" | "jitter">,
): Result.Result<Trigger, InvalidInput | InvalidSchedule> =>
  Result.gen(function* () {
    const named = {
      ...(only === undefined ? {} : { only: yield* checkReference(`${field}.only`, only) }),
      ...(except === undefined ? {} : { except: yield* checkReference(`${field}.except`, except) }),
    }
    if (closed !== undefined) {
      const moves = trigger.kind === "cron" || trigger.kind === "every"
      const modes = closedModes.filter((mode) => moves || mode === "skip" || mode === "hold")
      if (!modes.includes(closed)) return yield* refuse(`${field}.closed`, closed, oneOf(modes))
      if (only === undefined && except === undefined)
        return yield* refused(
          `${field}.closed`,
          "no calendar closes anything",
          "Add `only` or `except`, or leave it out.",
        )
      if ((closed === "next" || closed === "previous") && (yield* perDay(field, trigger)) > perDayMax)
        return yield* refused(
          `${field}.closed`,
          `"${closed}" moves instants to another day, and this schedule has more than ${perDayMax} a day`,
          'Give "hold" or "skip", or a schedule of fewer instants.',
        )
    }
    const jitterMillis =
      jitter === undefined ? undefined : yield* checkJitter(`${field}.jitter`, trigger, jitter)
    return {
      ...trigger,
      ...named,
      ...(closed === undefined ? {} : { closed }),
      ...(jitterMillis === undefined ? {} : { jitterMillis }),
    }
  })

const checkReference = (field: string, reference: CalendarReference): Result.Result<string, InvalidInput> => {
  const name: unknown = typeof reference === "object" && reference !== null ? reference.name : reference
  return typeof name === "string" && name !== "" && name.length <= 128
    ? Result.succeed(name)
    : refuse(field, reference, 'a calendar made by `calendar("name", { ... })`, or its name')
}

const checkJitter = (
  field: string,
  trigger: Trigger,
  jitter: TimeSpan,
): Result.Result<number, InvalidInput> =>
  Result.gen(function* () {
    if (trigger.kind === "at" || trigger.kind === "after")
      return yield* refused(field, `there is nothing to spread in \`${trigger.kind}\``, "Leave it out.")
    const millis = yield* parseSpan(field, jitter, 1)
    if (millis > jitterMaxMillis) return yield* refuse(field, jitter, 'a span of at most "24h"')
    if (trigger.kind === "every" && millis >= trigger.periodMillis)
      return yield* refuse(field, jitter, `less than the period of ${trigger.periodMillis} ms`)
    return millis
  })

const jitterMaxMillis = 86_400_000

/** The most instants that the schedule has in a day without clock changes; of another dialect nothing is known. */
const perDay = (field: string, trigger: Trigger): Result.Result<number, InvalidSchedule> =>
  trigger.kind === "every"
    ? Result.succeed(86_400_000 / trigger.periodMillis)
    : trigger.kind === "cron" && trigger.dialect === undefined
      ? Result.mapBoth(parseCronTrigger(trigger), {
          onSuccess: ({ hours, minutes, seconds }) => bits(hours) * bits(...minutes) * bits(...seconds),
          onFailure: (error) => error.within(field),
        })
      : Result.succeed(1)

const bits = (...words: ReadonlyArray<number>): number => {
  let count = 0
  for (const word of words) for (let left = word; left !== 0; left &= left - 1) count++
  return count
}

// More could not be decided in one step.
const caughtUpMax = 500

const isWhole = (value: unknown, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max

const oneOf = (words: ReadonlyArray<string>): string =>
  `one of ${words.map((word) => `"${word}"`).join(", ")}`

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  refused(field, `${quote(value)} is not ${wanted}`, `Give ${wanted}.`)

const refused = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))
