// What a stored schedule will do, for people: its time in words, and the instants to come as far as they are known now.
import * as Result from "effect/Result"
import type { ScheduleRow, Trigger } from "../../core/domain/Schedule.ts"
import { decodeCalendar } from "../../core/engine/SavedCalendars.ts"
import type { ScheduleStoreDriver } from "../../core/ports/StoreDriver.ts"
import { type CalendarBook, compileCalendars } from "../../core/trigger/CalendarSet.ts"
import { type PlacedTrigger, previewPlaced } from "../../core/trigger/PlacedPreview.ts"
import type { ParsedTrigger } from "../../core/trigger/Slots.ts"
import type { CronPreview } from "./cronPreview.ts"

/** An instant to come. */
export interface NextInstant {
  /** Epoch milliseconds. */
  readonly at: number
  /** As the clocks of its zone show it, with the zone; UTC where it has none. */
  readonly local: string
  /** What clock changes and calendars do to it. */
  readonly notes: ReadonlyArray<string>
}

/** The calendars of a store, compiled. */
export const bookOf = async (store: {
  readonly calendars: () => ReturnType<ScheduleStoreDriver["calendars"]>
}): Promise<CalendarBook> =>
  Result.getOrThrow(
    compileCalendars((await store.calendars()).map((row) => Result.getOrThrow(decodeCalendar(row)))),
  )

/** At most `count` instants; none while it is paused, or waits for the end of its last run. */
export const nextInstants = (
  row: Pick<ScheduleRow, "nextAt" | "pausedAt" | "createdAt" | "cursor">,
  trigger: ParsedTrigger,
  cron: CronPreview | undefined,
  count: number,
): ReadonlyArray<NextInstant> => {
  const { nextAt, pausedAt } = row
  if (nextAt === null || pausedAt !== null) return []
  if (trigger.place !== undefined && trigger.kind !== "after") {
    const zone = trigger.place.clock.name
    return previewPlaced(trigger as PlacedTrigger, row, nextAt - 1, count).map((each) => ({
      ...each,
      local: `${each.local} ${zone}`,
    }))
  }
  if (cron !== undefined)
    return cron.next(nextAt - 1, count).map((each) => ({ ...each, local: cron.local(each.at) }))
  const periodMillis = trigger.kind === "every" ? trigger.periodMillis : 0
  return Array.from({ length: trigger.kind === "every" ? count : 1 }, (_, index) => {
    const at = nextAt + index * periodMillis
    return { at, local: utcText(at), notes: [] }
  })
}

const utcText = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** Its time in words. */
export const wordsOf = (trigger: Trigger, cron: CronPreview | undefined): string => {
  switch (trigger.kind) {
    case "cron":
      return cron?.words ?? trigger.expression
    case "every":
      return `every ${spanText(trigger.periodMillis)}`
    case "after":
      return `${spanText(trigger.delayMillis)} after the end of its last run`
    case "at":
      return `once, ${utcText(trigger.at)}`
  }
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const

/** A span as it is written in a config: `1h30m`. */
export const spanText = (millis: number): string => {
  let rest = millis
  const parts = units.map(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? "" : `${count}${unit}`
  })
  return parts.join("") || "0ms"
}
