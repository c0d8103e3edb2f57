// When a job starts by itself: `cron`, `every`, `after`, `at`. Wrong text is refused by the compiler where it can
// be, and in any case when the config is loaded.
import * as Result from "effect/Result"
import type { InvalidInput, InvalidSchedule } from "../../core/domain/Errors.ts"
import type { Ambiguous, Gap, Trigger } from "../../core/domain/Schedule.ts"
import { parseInstant, parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { ScheduleOptions } from "../../core/engine/ScheduleChecks.ts"
import type { CronDialects } from "../../core/ports/CronDialect.ts"
import { parsePattern } from "../../core/trigger/Dialects.ts"
import type { DialectName } from "./dialects.ts"

/** What all triggers take beside their time. */
export interface TriggerOptions extends ScheduleOptions {
  /** The input of the runs that it starts. */
  readonly input?: unknown
}

/** Whose clocks a cron expression means, and what happens when they change. */
export interface CronZoneOptions {
  /** IANA name such as "Europe/Berlin"; UTC when absent. */
  readonly tz?: string
  /**
   * Fixed times that a change skips: one run right `after` it (default), one `before` it, or none (`skip`).
   */
  readonly gap?: Gap
  /**
   * Times that a change repeats: the `first` pass, the `last`, or `both`. Default: the first for fixed times, both
   * for expressions whose minute, hour or second starts with `*`.
   */
  readonly ambiguous?: Ambiguous
  /**
   * Whose rules the text was written for: `"croner"` reads it as that library does, clock changes and day fields
   * included, and takes neither `gap` nor `ambiguous`. Absent: the house's own rules.
   */
  readonly dialect?: DialectName
}

/** A trigger as it is written in a job's `on`; checked when the config is loaded. */
export interface TriggerSpec {
  readonly options: TriggerOptions
  /** The dialect of its text, which has to be loaded before it is parsed; absent: the house's own. */
  readonly dialect?: string
  readonly parse: (
    field: string,
    dialects: CronDialects,
  ) => Result.Result<Trigger, InvalidInput | InvalidSchedule>
}

/** A cron text with 5, 6 or 7 fields, or a nickname; otherwise the type says what is wrong. */
export type CronText<Text extends string> = string extends Text
  ? Text
  : Text extends `@${string}`
    ? Text
    : Fields<Text>["length"] extends 5 | 6 | 7
      ? Text
      : `a cron expression has 5, 6 or 7 fields, this one has ${Fields<Text>["length"]}`

type Fields<Text extends string> = Text extends ` ${infer Rest}`
  ? Fields<Rest>
  : Text extends `${infer First} ${infer Rest}`
    ? [First, ...Fields<Rest>]
    : Text extends ""
      ? []
      : [Text]

/**
 * At the times of a cron expression: minute, hour, day, month, weekday; with six fields the second comes first,
 * with seven the year last. The times are those of clocks in the zone `tz`.
 *
 * Where clocks change, cron's own rules hold: a fixed time that is skipped runs once, right after the change, and a
 * fixed time that comes twice runs the first time; an expression whose minute, hour or second starts with `*` just
 * follows the clock. `gap` and `ambiguous` choose otherwise. Changes of more than three hours are not treated
 * specially.
 */
export const cron = <const Text extends string>(
  expression: CronText<Text>,
  options: TriggerOptions & CronZoneOptions = {},
): TriggerSpec => ({
  options,
  ...(options.dialect === undefined ? {} : { dialect: options.dialect }),
  parse: (field, dialects) => {
    const { tz: zone = "UTC", gap, ambiguous, dialect } = options
    const trigger = {
      kind: "cron" as const,
      expression,
      zone,
      ...(gap === undefined ? {} : { gap }),
      ...(ambiguous === undefined ? {} : { ambiguous }),
      ...(dialect === undefined ? {} : { dialect }),
    }
    return Result.mapBoth(parsePattern(trigger, dialects), {
      onSuccess: () => trigger,
      onFailure: (error) => error.within(field),
    })
  },
})

/**
 * At a fixed rate: slot k is start + k x period, for ever, however long a run takes. At least 10 ms. `startAt`
 * is slot 0; without it the schedule's creation is. (`startsAt` moves no slot: it leaves out those before it.)
 */
export const every = (
  period: TimeSpan,
  options: TriggerOptions & { readonly startAt?: Date | number | string } = {},
): TriggerSpec => ({
  options,
  parse: (field) =>
    Result.gen(function* () {
      const periodMillis = yield* parseSpan(`${field}.every`, period, periodMinMillis)
      const startAt =
        options.startAt === undefined ? null : yield* parseInstant(`${field}.startAt`, options.startAt)
      return { kind: "every" as const, periodMillis, startAt }
    }),
})

/** With a fixed delay: once at first, and then this long after the end of the previous run, whatever its outcome. */
export const after = (delay: TimeSpan, options: TriggerOptions = {}): TriggerSpec => ({
  options,
  parse: (field) =>
    Result.map(parseSpan(`${field}.after`, delay), (delayMillis) => ({
      kind: "after" as const,
      delayMillis,
    })),
})

/** Once, at an instant; one that has passed is due at once. */
export const at = (instant: Date | number | string, options: TriggerOptions = {}): TriggerSpec => ({
  options,
  parse: (field) =>
    Result.map(parseInstant(`${field}.at`, instant), (millis) => ({ kind: "at" as const, at: millis })),
})

/** The shortest period of `every`, in milliseconds. */
export const periodMinMillis = 10
