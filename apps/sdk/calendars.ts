// Calendars in a config: what people write becomes a rule, and those that schedules and other calendars use are
// collected. What they say is checked when the config is loaded.
import {
  type Calendar,
  type CalendarRule,
  type CalendarSpan,
  type Weekday,
} from "../../core/domain/Calendar.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"

/**
 * What a calendar holds. Several of `days`, `yearly`, `weekdays`, `spans`, `windows` and `union` join; `intersection`
 * keeps only what is in all of its sets too, and `minus` leaves out what is in one of its. With neither of the first
 * kind it is about all time, so that `{ minus: [holidays] }` is everything but the holidays.
 */
export interface CalendarOptions {
  /** Whole days: "2026-12-25", or "2026-12-24/2027-01-01" with both ends. */
  readonly days?: ReadonlyArray<string>
  /** Whole days of each year: "12-25", or "12-24/01-01" with both ends. */
  readonly yearly?: ReadonlyArray<string>
  /** Weekdays, from `from` to before `to` ("09:00"); whole days without these two. */
  readonly weekdays?: ReadonlyArray<Weekday>
  readonly from?: string
  /** Before `from`: of the next day. */
  readonly to?: string
  /** From an instant to before another: ISO 8601 with an offset, or without one on the zone's clocks. */
  readonly spans?: ReadonlyArray<CalendarSpan>
  /** Windows that begin at the times of a cron expression. */
  readonly windows?: ReadonlyArray<{ readonly cron: string; readonly lasting: string }>
  readonly union?: ReadonlyArray<CalendarPart>
  readonly intersection?: ReadonlyArray<CalendarPart>
  readonly minus?: ReadonlyArray<CalendarPart>
}

/** A set inside a calendar: another calendar or its name, more of what a calendar may hold, or a rule of `uhrwerk/ics`. */
export type CalendarPart = CalendarSpec | string | CalendarOptions | CalendarRule

/** A calendar as it is written in a config. */
export interface CalendarSpec extends Calendar {
  /** Those that it was made of. */
  readonly uses: ReadonlyArray<CalendarSpec>
}

/** A named set of instants on the clocks of `zone` (IANA name, default UTC). */
export const calendar = (
  name: string,
  { zone = "UTC", ...options }: CalendarOptions & { readonly zone?: string },
): CalendarSpec => {
  const uses: Array<CalendarSpec> = []
  const rule = ruleOf(`calendar "${name}"`, options, uses)
  return { name, zone, rule, uses }
}

const ruleOf = (field: string, options: CalendarOptions, uses: Array<CalendarSpec>): CalendarRule => {
  const { days, yearly, weekdays, from, to, spans, windows, union, intersection, minus, ...others } = options
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new InvalidInput({
      field: `${field}.${other}`,
      reason: "a calendar has no such part",
      next: "Use days, yearly, weekdays, spans, windows, union, intersection or minus.",
    })
  const parts = (key: string, list: ReadonlyArray<CalendarPart>): ReadonlyArray<CalendarRule> =>
    list.map((part, index) => partOf(`${field}.${key}[${index}]`, part, uses))
  const hours = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  const joined: ReadonlyArray<CalendarRule> = [
    ...(days === undefined ? [] : [{ days }]),
    ...(yearly === undefined ? [] : [{ yearly }]),
    ...(weekdays === undefined ? [] : [{ weekdays, ...hours }]),
    ...(spans === undefined ? [] : [{ spans }]),
    ...(windows ?? []),
    ...(union === undefined ? [] : parts("union", union)),
  ]
  if (weekdays === undefined && (from !== undefined || to !== undefined))
    throw new InvalidInput({
      field: `${field}.${from === undefined ? "to" : "from"}`,
      reason: "it is a time of weekdays, and there are none",
      next: 'Add `weekdays: ["mon", "tue"]`.',
    })
  const [first, ...more] = joined
  const base: CalendarRule =
    first === undefined ? { always: true } : more.length === 0 ? first : { union: joined }
  if (first === undefined && intersection === undefined && minus === undefined)
    throw new InvalidInput({
      field,
      reason: "it names no dates and no times",
      next: 'Write for example { weekdays: ["mon", "fri"], from: "09:00", to: "17:00" }.',
    })
  const kept: CalendarRule =
    intersection === undefined ? base : { intersection: [base, ...parts("intersection", intersection)] }
  return minus === undefined ? kept : { minus: [kept, ...parts("minus", minus)] }
}

const partOf = (field: string, part: CalendarPart, uses: Array<CalendarSpec>): CalendarRule => {
  if (typeof part === "string") return { calendar: part }
  if (typeof part === "object" && part !== null) {
    if (isCalendar(part)) {
      uses.push(part)
      return { calendar: part.name }
    }
    // Rules that the options do not know by these names.
    if ("cron" in part || "calendar" in part || "always" in part) return part
    return ruleOf(field, part, uses)
  }
  throw new InvalidInput({
    field,
    reason: "it is no calendar and no part of one",
    next: "Give a calendar or its name.",
  })
}

/** Whether a value was made by `calendar`. */
export const isCalendar = (value: unknown): value is CalendarSpec =>
  typeof value === "object" && value !== null && "rule" in value && "uses" in value && "name" in value

/** All calendars that a config has, by name: those given, and those that they are made of. */
export const collectCalendars = (given: ReadonlyArray<CalendarSpec>): ReadonlyArray<Calendar> => {
  const found = new Map<string, Calendar>()
  const left = [...given].reverse()
  for (let spec = left.pop(); spec !== undefined; spec = left.pop()) {
    const { name, zone, rule, uses } = spec
    const known = found.get(name)
    const made = { name, zone, rule }
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(made))
      throw new InvalidInput({
        field: `calendar "${name}"`,
        reason: "two calendars that differ have this name",
        next: "Rename one.",
      })
    if (known === undefined) left.push(...uses)
    found.set(name, made)
  }
  return [...found.values()]
}
