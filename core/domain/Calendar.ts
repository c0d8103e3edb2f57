// A calendar: a named set of instants, such as working hours, bank holidays or a freeze. Schedules keep to one
// (`only`) or keep away from one (`except`). It is plain JSON; `trigger/CalendarSet` makes a set of it.

/** A day of the week, by its first three letters. */
export type Weekday = "sun" | "mon" | "tue" | "wed" | "thu" | "fri" | "sat"

/** The days of the week, Sunday first. */
export const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const

/**
 * A set of instants. Dates and times of day are those of clocks in the calendar's zone, so a day has 23, 24 or 25
 * hours, and a time that comes twice is inside both times.
 */
export type CalendarRule =
  /** Whole days: "2026-12-25", or "2026-12-24/2027-01-01" with both ends. */
  | { readonly days: ReadonlyArray<string> }
  /** Whole days of each year: "12-25", or "12-24/01-01" with both ends; "02-29" comes in leap years. */
  | { readonly yearly: ReadonlyArray<string> }
  /** Whole weekdays, or from one time of day ("09:00") to before another; `from` after `to` goes past midnight. */
  | { readonly weekdays: ReadonlyArray<Weekday>; readonly from?: string; readonly to?: string }
  /** Stretches between two instants. */
  | { readonly spans: ReadonlyArray<CalendarSpan> }
  /** Windows that begin at the times of a cron expression and last ("2h", 1 s to 366 d). */
  | { readonly cron: string; readonly lasting: string }
  /** All that another calendar holds, on the clocks of its own zone. */
  | { readonly calendar: string }
  | { readonly union: ReadonlyArray<CalendarRule> }
  | { readonly intersection: ReadonlyArray<CalendarRule> }
  /** The first without the others; `{ always: true }` first makes a complement. */
  | { readonly minus: ReadonlyArray<CalendarRule> }
  | { readonly always: true }

/**
 * From an instant to before another: ISO 8601 with an offset ("2026-12-24T18:00:00Z"), or what clocks in the
 * calendar's zone show ("2026-12-24T18:00"). A wall time that clocks skip means the end of the gap, one that comes
 * twice the first time.
 */
export interface CalendarSpan {
  readonly from: string
  readonly to: string
}

/** A named set of instants. */
export interface Calendar {
  readonly name: string
  /** IANA name of the zone whose clocks its dates and times mean. */
  readonly zone: string
  readonly rule: CalendarRule
}

/** The names of the calendars that a rule names, at any depth. */
export const calendarsNamed = (rule: CalendarRule): ReadonlyArray<string> => {
  if ("calendar" in rule) return [rule.calendar]
  if ("union" in rule) return rule.union.flatMap(calendarsNamed)
  if ("intersection" in rule) return rule.intersection.flatMap(calendarsNamed)
  return "minus" in rule ? rule.minus.flatMap(calendarsNamed) : []
}
