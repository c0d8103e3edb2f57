// The entry `uhrwerk/ics`: the text of an .ics file (iCalendar, RFC 5545) becomes a rule of a calendar. Each event
// that is not cancelled is inside: whole days as days, times as spans. ical.js reads the text; recurrences are
// expanded here, within a range, since its own expansion knows no bound and lets 30 February be 2 March.
// Nothing is cut off in silence: what is over a limit, or means what is not known here, is refused.
import ICAL from "ical.js"
import * as Result from "effect/Result"
import type { CalendarRule, CalendarSpan } from "../../core/domain/Calendar.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { parseInstant, quote } from "../../core/domain/TimeSpan.ts"
import { civilFromDays, daySeconds } from "../../core/trigger/Civil.ts"
import type { Zone } from "../../core/trigger/Zone.ts"
import { parseZone } from "../../core/trigger/ZoneName.ts"
import { type IcsEvent, readEvents } from "./events.ts"
import { expand } from "./Recurrence.ts"

/** How a file is read. */
export interface IcsOptions {
  /** IANA name of the zone that times without one mean; give the calendar's own. Default UTC. */
  readonly zone?: string
  /** Only what ends after it; default a year before now. */
  readonly from?: Date | number | string
  /** Only what begins before it; default ten years after now. */
  readonly until?: Date | number | string
}

/** Longest text, in characters. */
export const textMax = 5_000_000
/** Most days and spans of one file within the range. */
export const spansMax = 10_000

// Days that all recurrences of a file may look at.
const daysMax = 3_000_000
const yearMillis = 31_556_952_000

/**
 * The rule of an .ics text, for `calendar("name", { zone, union: [rule] })`. Throws `InvalidInput` for a text that is
 * no calendar, zones that are not known, and what is over a limit.
 */
export const fromIcs = (text: string, options: IcsOptions = {}): CalendarRule =>
  Result.getOrThrow(parseIcs(text, options))

/** The same as a result. */
export const parseIcs = (text: string, options: IcsOptions = {}): Result.Result<CalendarRule, InvalidInput> =>
  Result.gen(function* () {
    const now = Date.now()
    const from = yield* parseInstant("from", options.from ?? now - yearMillis)
    const until = yield* parseInstant("until", options.until ?? now + 10 * yearMillis)
    if (until <= from) return yield* refuse("until", "it is not after `from`", "Give a later one.")
    const zone = parseZone(options.zone ?? "UTC")
    if (Result.isFailure(zone)) return yield* refuse("zone", zone.failure[1], `${zone.failure[2]}.`)
    if (typeof text !== "string")
      return yield* refuse("ics", "it is no text", "Give the text of an .ics file.")
    if (text.length > textMax)
      return yield* refuse("ics", `it has more than ${textMax} characters`, "Split the file.")
    const parsed = Result.try(() => new ICAL.Component(ICAL.parse(text) as Array<unknown>))
    if (Result.isFailure(parsed) || parsed.success.name !== "vcalendar") {
      const reason = `it is no iCalendar text: ${quote(Result.isFailure(parsed) ? messageOf(parsed.failure) : text)}`
      return yield* refuse(
        "ics",
        reason,
        "Give the text of an .ics file, from BEGIN:VCALENDAR to END:VCALENDAR.",
      )
    }
    const events = yield* readEvents(parsed.success, zone.success)
    return yield* ruleOf(events, { from, until, zone: zone.success })
  })

interface Range {
  readonly from: number
  readonly until: number
  readonly zone: Zone
}

const ruleOf = (
  events: ReadonlyArray<IcsEvent>,
  { from, until }: Range,
): Result.Result<CalendarRule, InvalidInput> =>
  Result.gen(function* () {
    const days = new Set<string>()
    const spans: Array<CalendarSpan> = []
    const budget = { days: daysMax }
    const replaced = new Map<string, Set<number>>()
    for (const { uid, replaces } of events)
      if (replaces !== null) replaced.set(uid, (replaced.get(uid) ?? new Set()).add(replaces))
    for (const event of events) {
      if (event.isCancelled) continue
      const starts = yield* startsOf(event, { from, until, budget })
      for (const wall of starts) {
        const begins = event.instantOf(wall)
        const isReplaced = event.replaces === null && (replaced.get(event.uid)?.has(begins) ?? false)
        if (isReplaced || event.isExcluded(wall, begins)) continue
        const ends = event.endOf(wall, begins)
        if (ends <= from || begins >= until || ends <= begins) continue
        if (event.days === null)
          spans.push({ from: new Date(begins).toISOString(), to: new Date(ends).toISOString() })
        else {
          const first = Math.floor(wall / daySeconds)
          days.add(event.days === 1 ? dateOf(first) : `${dateOf(first)}/${dateOf(first + event.days - 1)}`)
        }
        if (days.size + spans.length > spansMax) {
          const reason = `it has more than ${spansMax} events within the range`
          return yield* refuse(
            "ics",
            reason,
            "Give a smaller range with `from` and `until`, or split the file.",
          )
        }
      }
    }
    if (days.size === 0 && spans.length === 0)
      return yield* refuse("ics", "no event lies within the range", "Give another range, or another file.")
    const parts: ReadonlyArray<CalendarRule> = [
      ...(days.size === 0 ? [] : [{ days: [...days].sort() }]),
      ...(spans.length === 0 ? [] : [{ spans: spans.sort((a, b) => (a.from < b.from ? -1 : 1)) }]),
    ]
    return parts.length === 1 ? (parts[0] as CalendarRule) : { union: parts }
  })

/** Wall times at which the event begins: its start, what its rules name, and the dates it adds. */
const startsOf = (
  event: IcsEvent,
  {
    from,
    until,
    budget,
  }: { readonly from: number; readonly until: number; readonly budget: { days: number } },
): Result.Result<ReadonlySet<number>, InvalidInput> =>
  Result.gen(function* () {
    const starts = new Set([event.start, ...event.added])
    for (const rule of event.rules) {
      // Clocks are at most a day away from UTC, and an event that began earlier may last.
      const bounds = {
        from: Math.floor(from / 1000) - 2 * daySeconds - event.lengthSeconds,
        until: Math.min(Math.ceil(until / 1000) + 2 * daySeconds, event.lastOf(rule)),
        budget,
      }
      const named = expand(rule, event.start, bounds)
      if (named === null)
        return yield* refuse(
          "ics",
          "its recurrences reach over too many days",
          "Split the file, or give a later start.",
        )
      for (const wall of named) if (event.isWithin(rule, wall)) starts.add(wall)
    }
    return starts
  })

const dateOf = (day: number): string => {
  const civil = civilFromDays(day)
  const two = (value: number): string => String(value).padStart(2, "0")
  return `${String(civil >> 9).padStart(4, "0")}-${two((civil >> 5) & 15)}-${two(civil & 31)}`
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const refuse = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))
