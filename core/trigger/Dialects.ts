// From a stored trigger to its instants, in the dialect that it names: the house's own without one. Every other part
// of the engine sees the instants only, and not who read the text.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../domain/Errors.ts"
import type { Trigger } from "../domain/Schedule.ts"
import { quote } from "../domain/TimeSpan.ts"
import type { CronDialect, CronDialects, CronTrigger, Slots } from "../ports/CronDialect.ts"
import { parseCronTrigger } from "./CronFields.ts"
import { cronSlots, type ParsedTrigger } from "./Slots.ts"

/** The house's own dialect. */
export const houseDialect: CronDialect = {
  parse: (trigger) => Result.map(parseCronTrigger(trigger), cronSlots),
}

/** Reads triggers; fails with the field `dialect` when a trigger names one that is not among those given. */
export type TriggerParser = (trigger: Trigger) => Result.Result<ParsedTrigger, InvalidSchedule>

/** A parser that reads each expression once; most schedules share a few. */
export const makeTriggerParser = (dialects: CronDialects = new Map()): TriggerParser => {
  const known = new Map<string, Slots>()
  return (trigger) => {
    if (trigger.kind !== "cron") return Result.succeed(trigger)
    // The text comes last: it is the only part that may hold a blank, but for a dialect that is unknown.
    const { dialect, zone, gap, ambiguous, expression } = trigger
    const name = [dialect, zone, gap, ambiguous, expression].join(" ")
    const cron = known.get(name)
    if (cron !== undefined) return Result.succeed({ ...trigger, cron })
    return Result.map(parsePattern(trigger, dialects), (slots) => {
      if (known.size >= knownMax) known.clear()
      known.set(name, slots)
      return { ...trigger, cron: slots }
    })
  }
}

// Parsed expressions that are kept.
const knownMax = 10_000

/** Reads the pattern of a cron trigger. */
export const parsePattern = (
  trigger: CronTrigger,
  dialects: CronDialects,
): Result.Result<Slots, InvalidSchedule> => {
  const dialect = trigger.dialect === undefined ? houseDialect : dialects.get(trigger.dialect)
  if (dialect !== undefined) return dialect.parse(trigger)
  const names = [...dialects.keys()].map(quote)
  return Result.fail(
    new InvalidSchedule({
      field: "dialect",
      reason: `${quote(trigger.dialect)} is not a dialect that this engine knows`,
      next: `Leave it out${names.length === 0 ? ", or give the engine this dialect" : `, or name one of ${names.join(", ")}`}`,
    }),
  )
}
