// The events of a parsed iCalendar text, with their times as wall times of their zones. The lower half of `mod.ts`,
// which expands them. A zone is one of IANA's by its name, or else what the file itself defines.
import ICAL from "ical.js"
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import { daysFromCivil, daySeconds } from "../../core/trigger/Civil.ts"
import { instantOf } from "../../core/trigger/InstantSet.ts"
import type { Zone } from "../../core/trigger/Zone.ts"
import { parseZone } from "../../core/trigger/ZoneName.ts"
import type { Recurrence } from "./Recurrence.ts"

/** An event, or one instance of it that was changed. Wall times are seconds on the clocks of its zone. */
export interface IcsEvent {
  readonly uid: string
  readonly isCancelled: boolean
  /** The instant whose instance this one replaces. */
  readonly replaces: number | null
  readonly start: number
  /** Whole days that it lasts; `null` for one with times. */
  readonly days: number | null
  readonly lengthSeconds: number
  readonly added: ReadonlyArray<number>
  readonly rules: ReadonlyArray<Recurrence>
  readonly instantOf: (wall: number) => number
  readonly endOf: (wall: number, begins: number) => number
  readonly isExcluded: (wall: number, begins: number) => boolean
  /** No wall time of the rule comes behind this one. */
  readonly lastOf: (rule: Recurrence) => number
  /** Whether a wall time is within the end that the rule itself sets. */
  readonly isWithin: (rule: Recurrence, wall: number) => boolean
}

type Read<A> = Result.Result<A, InvalidInput>
type ToInstant = (wall: number) => number

interface Moment {
  readonly wall: number
  readonly isDate: boolean
  readonly at: number
  readonly toInstant: ToInstant
}

/** All events of a text; times without a zone mean `zone`. */
export const readEvents = (calendar: ICAL.Component, zone: Zone): Read<ReadonlyArray<IcsEvent>> => {
  const zones = zonesOf(calendar, zone)
  const found: Array<IcsEvent> = []
  for (const [index, component] of calendar.getAllSubcomponents("vevent").entries()) {
    const uid = component.getFirstPropertyValue("uid")
    const name = typeof uid === "string" ? `event ${quote(uid)}` : `events[${index}]`
    const event = Result.flatMap(
      Result.try(() => readEvent(name, component, zones)),
      (read) => read,
    )
    if (Result.isFailure(event)) {
      const error: unknown = event.failure
      if (error instanceof InvalidInput) return Result.fail(error)
      return refuse(
        name,
        `it cannot be read: ${quote(error instanceof Error ? error.message : String(error))}`,
      )
    }
    found.push(event.success)
  }
  return Result.succeed(found)
}

const readEvent = (name: string, component: ICAL.Component, zones: Zones): Read<IcsEvent> =>
  Result.gen(function* () {
    const moments = function* (property: string) {
      const all: Array<Moment> = []
      for (const each of component.getAllProperties(property))
        for (const value of each.getValues() as ReadonlyArray<unknown>)
          all.push(yield* momentOf(`${name}.${property}`, each, value, zones))
      return all
    }
    const [start] = yield* moments("dtstart")
    if (start === undefined) return yield* refuse(`${name}.dtstart`, "it has none")
    const [end] = yield* moments("dtend")
    const [replaced] = yield* moments("recurrence-id")
    if (component.getFirstProperty("recurrence-id")?.getParameter("range") !== undefined)
      return yield* refuse(`${name}.recurrence-id`, "a change of this and all later instances is not read")
    const excluded = yield* moments("exdate")
    const added = yield* moments("rdate")
    const length = yield* lengthOf(name, component, start, end)
    const rules: Array<Recurrence> = []
    const ends = new Map<Recurrence, Moment>()
    for (const property of component.getAllProperties("rrule"))
      for (const value of property.getValues() as ReadonlyArray<ICAL.Recur>) {
        const rule = yield* readRule(`${name}.rrule`, value)
        rules.push(rule)
        const until: unknown = value.until
        if (until instanceof ICAL.Time) ends.set(rule, momentOfTime(until, start.toInstant))
      }
    if (component.getFirstProperty("exrule") !== null)
      return yield* refuse(`${name}.exrule`, "exception rules are not read; write out the dates")
    const excludedAt = new Set(excluded.filter(({ isDate }) => !isDate).map(({ at }) => at))
    const excludedDays = new Set(excluded.filter(({ isDate }) => isDate).map(({ wall }) => wall / daySeconds))
    return {
      uid: name,
      isCancelled: String(component.getFirstPropertyValue("status") ?? "").toUpperCase() === "CANCELLED",
      replaces: replaced === undefined ? null : replaced.at,
      start: start.wall,
      days: start.isDate ? length.days : null,
      lengthSeconds: length.days * daySeconds + length.seconds,
      // On the clocks of the start's own zone.
      added: added.map(({ at, wall, isDate }) =>
        isDate || start.isDate ? wall : wallOf(start.toInstant, at, wall),
      ),
      rules,
      instantOf: start.toInstant,
      endOf: (wall, begins) =>
        start.isDate || length.days > 0
          ? start.toInstant(wall + length.days * daySeconds) + length.seconds * 1000
          : begins + length.seconds * 1000,
      isExcluded: (wall, begins) => excludedAt.has(begins) || excludedDays.has(Math.floor(wall / daySeconds)),
      lastOf: (rule) => (ends.get(rule)?.wall ?? Infinity) + 2 * daySeconds,
      isWithin: (rule, wall) => {
        const last = ends.get(rule)
        if (last === undefined) return true
        return last.isDate
          ? Math.floor(wall / daySeconds) <= last.wall / daySeconds
          : start.toInstant(wall) <= last.at
      },
    }
  })

/** Whole days of clocks, and seconds that pass: a length given by an end passes, one in days follows the clocks. */
const lengthOf = (
  name: string,
  component: ICAL.Component,
  start: Moment,
  end: Moment | undefined,
): Read<{ readonly days: number; readonly seconds: number }> => {
  const duration: unknown = component.getFirstPropertyValue("duration")
  if (end !== undefined) {
    if (end.isDate !== start.isDate)
      return refuse(`${name}.dtend`, "one of start and end is a date, the other a time")
    const seconds = start.isDate ? end.wall - start.wall : (end.at - start.at) / 1000
    if (seconds < 0 || (start.isDate && seconds === 0))
      return refuse(`${name}.dtend`, "it is not after the start")
    return Result.succeed(start.isDate ? { days: seconds / daySeconds, seconds: 0 } : { days: 0, seconds })
  }
  if (duration instanceof ICAL.Duration) {
    const { weeks, days, hours, minutes, seconds, isNegative } = duration
    if (isNegative) return refuse(`${name}.duration`, "it is below zero")
    return Result.succeed({ days: weeks * 7 + days, seconds: hours * 3600 + minutes * 60 + seconds })
  }
  return Result.succeed({ days: start.isDate ? 1 : 0, seconds: 0 })
}

const momentOf = (field: string, property: ICAL.Property, value: unknown, zones: Zones): Read<Moment> =>
  Result.gen(function* () {
    // A period of RDATE begins at its start; its length is that of the event.
    const time: unknown = value instanceof ICAL.Period ? value.start : value
    if (!(time instanceof ICAL.Time)) return yield* refuse(field, `${quote(value)} is no date and no time`)
    const tzid: unknown = property.getParameter("tzid")
    const toInstant = yield* zones(field, typeof tzid === "string" ? tzid : undefined)
    return momentOfTime(time, toInstant)
  })

const momentOfTime = (time: ICAL.Time, toInstant: ToInstant): Moment => {
  const { year, month, day, hour, minute, second, isDate } = time
  const wall =
    daysFromCivil(year, month, day) * daySeconds + (isDate ? 0 : hour * 3600 + minute * 60 + second)
  const isUtc = time.zone === ICAL.Timezone.utcTimezone
  const own = isUtc ? (each: number) => each * 1000 : toInstant
  return { wall, isDate, at: own(wall), toInstant: own }
}

/** The wall time of an instant on the clocks of another zone, near a guess. */
const wallOf = (toInstant: ToInstant, at: number, guess: number): number => {
  const wall = guess + (at - toInstant(guess)) / 1000
  return wall + (at - toInstant(wall)) / 1000
}

type Zones = (field: string, tzid: string | undefined) => Read<ToInstant>

/** Finds what a file's zone names mean: first by IANA's names, then by the file's own definitions. */
const zonesOf = (calendar: ICAL.Component, zone: Zone): Zones => {
  const known = new Map<string, ToInstant>()
  return (field, tzid) => {
    if (tzid === undefined) return Result.succeed((wall) => instantOf(zone, wall))
    const kept = known.get(tzid)
    if (kept !== undefined) return Result.succeed(kept)
    const definition = calendar
      .getAllSubcomponents("vtimezone")
      .find((each) => each.getFirstPropertyValue("tzid") === tzid)
    const location: unknown = definition?.getFirstPropertyValue("x-lic-location")
    // Some programs write "/example.org/20250101/Europe/Berlin".
    const names = [
      tzid,
      location,
      /[A-Za-z_]+(?:\/[A-Za-z_+-]+){1,2}$/.exec(tzid)?.[0],
      tzid.split("/").at(-1),
    ]
    for (const name of names) {
      const found = parseZone(name)
      if (Result.isFailure(found)) continue
      const toInstant: ToInstant = (wall) => instantOf(found.success, wall)
      known.set(tzid, toInstant)
      return Result.succeed(toInstant)
    }
    const defined = definition === undefined ? undefined : definedZone(definition)
    if (defined === undefined)
      return refuse(field, `the zone ${quote(tzid)} is neither known nor defined in the file`)
    known.set(tzid, defined)
    return Result.succeed(defined)
  }
}

const definedZone = (definition: ICAL.Component): ToInstant | undefined => {
  // The expansion of other rules is not bounded.
  const isYearly = definition
    .getAllSubcomponents()
    .flatMap((each) => each.getAllProperties("rrule"))
    .every((property) => (property.getFirstValue() as ICAL.Recur | null)?.freq === "YEARLY")
  if (!isYearly) return undefined
  const timezone = new ICAL.Timezone(definition)
  return (wall) => {
    const time = ICAL.Time.fromJSDate(new Date(wall * 1000), true)
    return (wall - timezone.utcOffset(time)) * 1000
  }
}

const readRule = (field: string, recur: ICAL.Recur): Read<Recurrence> =>
  Result.gen(function* () {
    const { freq, interval, count } = recur
    if (freq !== "DAILY" && freq !== "WEEKLY" && freq !== "MONTHLY" && freq !== "YEARLY")
      return yield* refuse(field, `a recurrence ${quote(freq)} within a day is not read`)
    if (!Number.isInteger(interval) || interval < 1) return yield* refuse(field, "its interval is below 1")
    const parts = recur.parts as Readonly<Record<string, ReadonlyArray<unknown> | undefined>>
    const numbers = (name: string): ReadonlyArray<number> => (parts[name] ?? []).map(Number)
    const weekdays = []
    for (const text of parts["BYDAY"] ?? []) {
      const [, nth, day] = /^([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)$/.exec(String(text)) ?? []
      if (day === undefined) return yield* refuse(field, `${quote(text)} is no weekday`)
      weekdays.push({ nth: Number(nth ?? 0), weekday: dayNames.indexOf(day) })
    }
    return {
      freq,
      interval,
      count: count ?? null,
      weekStart: recur.wkst - 1,
      months: numbers("BYMONTH"),
      monthDays: numbers("BYMONTHDAY"),
      yearDays: numbers("BYYEARDAY"),
      weekNumbers: numbers("BYWEEKNO"),
      weekdays,
      positions: numbers("BYSETPOS"),
      hours: numbers("BYHOUR"),
      minutes: numbers("BYMINUTE"),
      seconds: numbers("BYSECOND"),
    }
  })

const dayNames = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]

const refuse = (field: string, reason: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next: "Correct the file, or leave the event out." }))
