// From a stored trigger to what the stage walks: its text is read in its dialect (`Dialects.ts`), its calendars are
// looked up and its share of the jitter is drawn. The planner, the start of an engine and the commands read it here.
import * as Result from "effect/Result"
import type { InvalidSchedule } from "../domain/Errors.ts"
import type { Trigger } from "../domain/Schedule.ts"
import type { CalendarBook } from "./CalendarSet.ts"
import type { TriggerParser } from "./Dialects.ts"
import { placeOf } from "./Placement.ts"
import type { ParsedTrigger } from "./Slots.ts"

/** Reads a schedule's trigger; refused with a field below `schedule "id"`. */
export type ParseTrigger = (schedule: {
  readonly id: string
  readonly trigger: Trigger
}) => Result.Result<ParsedTrigger, InvalidSchedule>

/** A reader of whole triggers, whose calendars are in `book`. */
export const makeParseTrigger =
  (parse: TriggerParser, book: CalendarBook): ParseTrigger =>
  ({ id, trigger }) => {
    // Most have no place of their own, and a crowded minute has many of them.
    const { only, except, jitterMillis } = trigger
    if (only === undefined && except === undefined && jitterMillis === undefined) {
      const parsed = parse(trigger)
      return Result.isSuccess(parsed) ? parsed : Result.fail(parsed.failure.within(`schedule "${id}"`))
    }
    return Result.mapError(
      Result.flatMap(parse(trigger), (pattern) =>
        Result.map(placeOf({ id, trigger }, book), (place) => ({ ...pattern, ...place })),
      ),
      (error) => error.within(`schedule "${id}"`),
    )
  }
