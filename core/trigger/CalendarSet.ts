// From the calendars that people write to sets of instants: names are resolved, circles and empty stretches refused.
// Below the schedules: `Placement.ts` asks the book for the calendars that a trigger names. Pure; each calendar has
// at most `entriesMax` entries and each nesting at most `depthMax` levels, so that compiling and asking are bounded.
import * as Result from "effect/Result"
import type { Calendar, CalendarRule } from "../domain/Calendar.ts"
import { InvalidInput } from "../domain/Errors.ts"
import { quote } from "../domain/TimeSpan.ts"
import { leafSet } from "./CalendarLeaf.ts"
import { always, complement, type InstantSet, intersection, remembered, union } from "./InstantSet.ts"
import type { Zone } from "./Zone.ts"
import { parseZone } from "./ZoneName.ts"

/** Most calendars of one store. */
export const calendarsMax = 1000
/** Most dates, spans, windows and rules of one calendar. */
export const entriesMax = 10_000
/** Most levels of rules inside rules, through the calendars that they name. */
export const depthMax = 16

/** A calendar, ready to be asked. */
export interface CalendarSet {
  readonly name: string
  /** The zone whose clocks its dates and times mean. */
  readonly clock: Zone
  readonly set: InstantSet
}

/** All calendars by name. */
export type CalendarBook = ReadonlyMap<string, CalendarSet>

/** A book without calendars. */
export const noCalendars: CalendarBook = new Map()

interface Compiled {
  readonly set: InstantSet
  /** Levels of rules in it. */
  readonly height: number
}

interface Draft {
  readonly given: ReadonlyMap<string, Calendar>
  readonly made: Map<string, CalendarSet & Compiled>
  /** Names on the way to the rule in hand, outermost first. */
  readonly path: Array<string>
}

/** Where a rule stands: its field's name, its calendar's zone, how deep, and how many entries there were before it. */
interface Place {
  readonly clock: Zone
  readonly depth: number
  readonly counted: { entries: number }
}

/**
 * Compiles calendars. Refused with the field, such as `calendar "freeze".days[2]`: names that are used twice or are
 * unknown, circles, unknown zones, bad or empty dates, times and stretches, and whatever is over a limit.
 */
export const compileCalendars = (
  calendars: ReadonlyArray<Calendar>,
): Result.Result<CalendarBook, InvalidInput> =>
  Result.gen(function* () {
    if (calendars.length > calendarsMax)
      return yield* refuse(
        "calendars",
        `there are ${calendars.length}, more than ${calendarsMax}`,
        "Join some.",
      )
    const given = new Map<string, Calendar>()
    for (const calendar of calendars) {
      const field = `calendar ${quote(calendar.name)}`
      if (given.has(calendar.name)) return yield* refuse(field, "two calendars have this name", "Rename one.")
      given.set(calendar.name, calendar)
    }
    const draft: Draft = { given, made: new Map(), path: [] }
    for (const { name } of calendars) yield* compileNamed(name, draft, 0, "calendars")
    return draft.made
  })

const compileNamed = (
  name: string,
  draft: Draft,
  depth: number,
  field: string,
): Result.Result<CalendarSet & Compiled, InvalidInput> =>
  Result.gen(function* () {
    const known = draft.made.get(name)
    if (known !== undefined) return known
    const calendar = draft.given.get(name)
    if (calendar === undefined)
      return yield* refuse(
        field,
        `there is no calendar ${quote(name)}`,
        "Add it to the calendars, or correct the name.",
      )
    const seen = draft.path.indexOf(name)
    if (seen >= 0) {
      const circle = [...draft.path.slice(seen), name].map(quote).join(" -> ")
      return yield* refuse(field, `calendars name each other in a circle: ${circle}`, "Take one of them out.")
    }
    const own = `calendar ${quote(name)}`
    const zone = parseZone(calendar.zone)
    if (Result.isFailure(zone)) return yield* refuse(`${own}.zone`, zone.failure[1], `${zone.failure[2]}.`)
    draft.path.push(name)
    const place = { clock: zone.success, depth, counted: { entries: 0 } }
    const { set, height } = yield* compileRule(own, calendar.rule, draft, place)
    draft.path.pop()
    const made = { name, clock: zone.success, set: remembered(set), height }
    draft.made.set(name, made)
    return made
  })

const compileRule = (
  field: string,
  rule: CalendarRule,
  draft: Draft,
  place: Place,
): Result.Result<Compiled, InvalidInput> =>
  Result.gen(function* () {
    if (place.depth >= depthMax) return yield* tooDeep(field)
    if (typeof rule !== "object" || rule === null || Array.isArray(rule))
      return yield* refuse(field, `${quote(rule)} is not a rule of a calendar`, example)
    if (++place.counted.entries > entriesMax) return yield* tooMany(field)
    const form = forms.find((name) => Object.hasOwn(rule, name))
    const extra = Object.keys(rule).find((key) => key !== form && !(partners[form ?? ""] ?? []).includes(key))
    if (form === undefined || extra !== undefined) {
      const reason =
        form === undefined ? "it names no dates and no times" : `"${form}" does not go with ${quote(extra)}`
      return yield* refuse(field, reason, form === undefined ? example : "Join several rules with `union`.")
    }
    if ("always" in rule) return { set: always, height: 1 }
    if ("calendar" in rule) {
      const { set, height } = yield* compileNamed(rule.calendar, draft, place.depth + 1, `${field}.calendar`)
      return place.depth + height >= depthMax ? yield* tooDeep(field) : { set, height: height + 1 }
    }
    const parts =
      "union" in rule
        ? rule.union
        : "intersection" in rule
          ? rule.intersection
          : "minus" in rule
            ? rule.minus
            : undefined
    if (parts === undefined) {
      const set = yield* leafSet(field, rule as never, place.clock, place.counted)
      return place.counted.entries > entriesMax ? yield* tooMany(field) : { set, height: 1 }
    }
    if (!Array.isArray(parts) || parts.length === 0)
      return yield* refuse(`${field}.${form}`, "it has no list of rules", example)
    const sets: Array<InstantSet> = []
    let height = 0
    for (const [index, part] of parts.entries()) {
      const inner = { ...place, depth: place.depth + 1 }
      const made = yield* compileRule(`${field}.${form}[${index}]`, part, draft, inner)
      sets.push(made.set)
      height = Math.max(height, made.height)
    }
    const [first = always, ...others] = sets
    const set =
      form === "union"
        ? union(sets)
        : form === "intersection"
          ? intersection(sets)
          : intersection([first, complement(union(others))])
    return { set, height: height + 1 }
  })

const forms = [
  "days",
  "yearly",
  "weekdays",
  "spans",
  "cron",
  "calendar",
  "union",
  "intersection",
  "minus",
  "always",
] as const

const partners: Readonly<Record<string, ReadonlyArray<string>>> = {
  weekdays: ["from", "to"],
  cron: ["lasting"],
}

const example =
  'Write for example { days: ["2026-12-25"] } or { weekdays: ["mon", "fri"], from: "09:00", to: "17:00" }.'

const tooDeep = (field: string) =>
  refuse(field, `rules stand inside each other on more than ${depthMax} levels`, "Write some of them out.")

const tooMany = (field: string) =>
  refuse(field, `the calendar has more than ${entriesMax} entries`, "Use ranges, weekdays or yearly dates.")

const refuse = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))
