// From a stored trigger to what the stage walks: its cron text is read, its calendars are looked up, its share of the
// jitter is drawn. The planner, the start of an engine and the commands all read triggers here.
import * as Result from "effect/Result"
import type { InvalidSchedule } from "../domain/Errors.ts"
import type { Trigger } from "../domain/Schedule.ts"
import { type CalendarBook, noCalendars } from "./CalendarSet.ts"
import type { Cron } from "./Cron.ts"
import { parseCronTrigger } from "./CronFields.ts"
import { placeOf } from "./Placement.ts"
import type { ParsedTrigger } from "./Slots.ts"
import type { ZoneSource } from "./ZoneData.ts"

/** Reads a schedule's trigger; refused with a field below `schedule "id"`. */
export type ParseTrigger = (schedule: {
  readonly id: string
  readonly trigger: Trigger
}) => Result.Result<ParsedTrigger, InvalidSchedule>

/** A reader that reads each cron text once, as most schedules share a few. */
export const makeParseTrigger = (
  zones: ZoneSource = { version: null },
  book: CalendarBook = noCalendars,
): ParseTrigger => {
  const known = new Map<string, Cron>()
  const cronOf = (trigger: Extract<Trigger, { kind: "cron" }>): Result.Result<Cron, InvalidSchedule> => {
    // The text comes last: it is the only part that may hold a blank.
    const name = [trigger.zone, trigger.gap, trigger.ambiguous, trigger.expression].join(" ")
    const kept = known.get(name)
    if (kept !== undefined) return Result.succeed(kept)
    return Result.map(parseCronTrigger(trigger, zones.find), (cron) => {
      if (known.size >= keptMax) known.clear()
      known.set(name, cron)
      return cron
    })
  }
  const parse = (id: string, trigger: Trigger): Result.Result<ParsedTrigger, InvalidSchedule> =>
    Result.gen(function* () {
      const place = yield* placeOf({ id, trigger }, book)
      return trigger.kind === "cron"
        ? { ...trigger, cron: yield* cronOf(trigger), ...place }
        : { ...trigger, ...place }
    })
  return ({ id, trigger }) => Result.mapError(parse(id, trigger), (error) => error.within(`schedule "${id}"`))
}

// Parsed expressions kept.
const keptMax = 10_000
