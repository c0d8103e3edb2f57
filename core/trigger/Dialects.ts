// From a stored trigger to its instants, in the dialect that it names: the house's own without one. Every other part
// of the engine sees the instants only, and not who read the text.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../domain/Errors.ts"
import type { Trigger } from "../domain/Schedule.ts"
import { quote } from "../domain/TimeSpan.ts"
import type { CronDialects, CronTrigger } from "../ports/CronDialect.ts"
import { parseCronTrigger } from "./CronFields.ts"
import { type CronPattern, cronSlots, type ParsedTrigger } from "./Slots.ts"
import type { ZoneSource } from "./ZoneData.ts"
import { parseZone } from "./ZoneName.ts"

/** Where zones come from; only that counts here. */
type Zones = Pick<ZoneSource, "find">

/** Reads triggers; fails with the field `dialect` when a trigger names one that is not among those given. */
export type TriggerParser = (trigger: Trigger) => Result.Result<ParsedTrigger, InvalidSchedule>

/** A parser that reads each expression once; most schedules share a few. */
export const makeTriggerParser = (dialects: CronDialects = new Map(), zones: Zones = {}): TriggerParser => {
  const known = new Map<string, CronPattern>()
  // A store may hand out one object for all schedules that share a trigger.
  const seen = new WeakMap<Trigger, ReturnType<TriggerParser>>()
  const read: TriggerParser = (trigger) => {
    if (trigger.kind !== "cron") return Result.succeed(trigger)
    // The text comes last: it is the only part that may hold a blank.
    const { dialect, zone, gap, ambiguous, expression } = trigger
    const name = [dialect, zone, gap, ambiguous, expression].join(" ")
    const cron = known.get(name)
    if (cron !== undefined) return Result.succeed({ ...trigger, cron })
    return Result.map(parsePattern(trigger, dialects, zones), (pattern) => {
      if (known.size >= knownMax) known.clear()
      known.set(name, pattern)
      return { ...trigger, cron: pattern }
    })
  }
  return (trigger) => {
    const before = seen.get(trigger)
    if (before !== undefined) return before
    const parsed = read(trigger)
    seen.set(trigger, parsed)
    return parsed
  }
}

// Parsed expressions that are kept.
const knownMax = 10_000

/** Reads the pattern of a cron trigger. */
export const parsePattern = (
  trigger: CronTrigger,
  dialects: CronDialects,
  zones: Zones = {},
): Result.Result<CronPattern, InvalidSchedule> => {
  if (trigger.dialect === undefined) return Result.map(parseCronTrigger(trigger, zones.find), cronSlots)
  const dialect = dialects.get(trigger.dialect)
  if (dialect === undefined) return unknown(trigger.dialect, dialects)
  return Result.flatMap(dialect.parse(trigger), (slots) =>
    Result.mapBoth(parseZone(trigger.zone), {
      // Which of two passes of a wall time counts is the dialect's own affair.
      onSuccess: (clock) => ({ ...slots, clock, wild: true }),
      onFailure: ([, reason, next]) => new InvalidSchedule({ field: "zone", reason, next }),
    }),
  )
}

const unknown = (name: string, dialects: CronDialects): Result.Result<never, InvalidSchedule> => {
  const names = [...dialects.keys()].map(quote)
  const others = names.length === 0 ? "give the engine this dialect" : `name one of ${names.join(", ")}`
  return Result.fail(
    new InvalidSchedule({
      field: "dialect",
      reason: `${quote(name)} is not a dialect that this engine knows`,
      next: `Leave it out, or ${others}`,
    }),
  )
}
