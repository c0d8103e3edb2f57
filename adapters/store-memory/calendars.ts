// The calendars of the memory store.
import type { CalendarRow } from "../../core/ports/StoreDriver.ts"
import { checkBatch } from "../../core/ports/StoreLimits.ts"

/** The operations that keep calendars. */
export const makeCalendars = () => {
  const rows = new Map<string, CalendarRow>()
  return {
    putCalendars: (calendars: ReadonlyArray<CalendarRow>): void => {
      checkBatch("calendars", calendars)
      for (const calendar of calendars) rows.set(calendar.name, { ...calendar })
    },
    calendars: (): ReadonlyArray<CalendarRow> =>
      [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    deleteCalendars: (names: ReadonlyArray<string>): void => {
      checkBatch("names", names)
      for (const name of names) rows.delete(name)
    },
  }
}
