// Where calendars and jitter put the instants of a pattern: left out, held until a window opens, moved to another
// day, spread. The planner walks the instants that come of it (`Slots.ts`), each of which says for how many of the
// pattern it stands. Pure. Bounded by the windows that lie in between, and not by the instants in them, so that a
// schedule of each second in a window that is closed for weeks costs no more than another.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../domain/Errors.ts"
import type { Closed, OccurrenceReason, Placement } from "../domain/Schedule.ts"
import { quote } from "../domain/TimeSpan.ts"
import type { CalendarBook, CalendarSet } from "./CalendarSet.ts"
import {
  always,
  complement,
  type InstantSet,
  intersection,
  isOpen,
  nextChange,
  opensFrom,
  previousChange,
} from "./InstantSet.ts"
import { rolled } from "./Rolled.ts"
import { countMax, itself, type Slots, type Timeline } from "./PatternSlots.ts"
import { type Zone, zoneOf } from "./Zone.ts"

/** A schedule's calendars and its share of the jitter, made by `placeOf`. */
export interface Place {
  readonly only: CalendarSet | null
  readonly except: CalendarSet | null
  /** In the one and not in the other. */
  readonly open: InstantSet
  readonly closed: Closed
  /** Each instant comes later by this much, in milliseconds. */
  readonly offsetMillis: number
  /** Whose days count where instants move to another day: those of the schedule, or else of its calendar. */
  readonly clock: Zone
}

/** The place of a schedule, or nothing when it has none. Refused: calendars that are not in the book. */
export const placeOf = (
  { id, trigger }: { readonly id: string; readonly trigger: Placement & { readonly zone?: string } },
  book: CalendarBook,
): Result.Result<{ readonly place?: Place }, InvalidSchedule> =>
  Result.gen(function* () {
    const { only: onlyName, except: exceptName, closed = "skip", jitterMillis } = trigger
    if (onlyName === undefined && exceptName === undefined && jitterMillis === undefined) return {}
    const only = yield* named("only", onlyName, book)
    const except = yield* named("except", exceptName, book)
    const zone = trigger.zone === undefined ? undefined : zoneOf(trigger.zone)
    const clock = zone ?? only?.clock ?? except?.clock ?? utc
    const open = intersection([
      ...(only === null ? [] : [only.set]),
      ...(except === null ? [] : [complement(except.set)]),
    ])
    const offsetMillis = jitterMillis === undefined ? 0 : hashOf(id) % jitterMillis
    return { place: { only, except, open, closed, offsetMillis, clock } }
  })

const named = (
  field: string,
  name: string | undefined,
  book: CalendarBook,
): Result.Result<CalendarSet | null, InvalidSchedule> => {
  if (name === undefined) return Result.succeed(null)
  const found = book.get(name)
  if (found !== undefined) return Result.succeed(found)
  const reason = `there is no calendar ${quote(name)}`
  const next = "Add it to the calendars of the config, or correct the name."
  return Result.fail(new InvalidSchedule({ field, reason, next }))
}

/** A whole number below 2^32 that depends on every letter: FNV-1a, stirred so that ids with equal ends part. */
const hashOf = (id: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

const utc = zoneOf("UTC") as Zone

/** Why an instant of the pattern is closed; `null` when it is open. */
export const reasonOf = ({ only, except }: Place, at: number): OccurrenceReason | null =>
  only !== null && !isOpen(only.set, at)
    ? "calendar"
    : except !== null && isOpen(except.set, at)
      ? "blackout"
      : null

/** The instants of a pattern where the calendars and the jitter put them. */
export const placed = (pattern: Slots, place: Place): Timeline => {
  const { offsetMillis } = place
  const made = byCalendar(pattern, place)
  if (offsetMillis === 0) return made
  return {
    ...shifted(made, offsetMillis),
    leftOut: made.leftOut.map(({ reason, slots }) => ({ reason, slots: shifted(slots, offsetMillis) })),
    next: (instant) => plus(made.next(instant - offsetMillis), offsetMillis),
    // A cursor among moved instants counts as they do, spread; elsewhere it counts as the pattern does.
    settled: isMoving(place) ? made.settled : (instant) => made.settled(instant - offsetMillis),
  }
}

const isMoving = ({ closed }: Place): boolean => closed === "next" || closed === "previous"

const byCalendar = (pattern: Slots, place: Place): Timeline => {
  const { only, except, open, closed, clock } = place
  const kept = (instant: number) => instant
  if (only === null && except === null) return { ...pattern, leftOut: [], next: pattern.after, settled: kept }
  if (closed === "hold") {
    const slots = held(pattern, open)
    return { ...slots, leftOut: [], next: slots.after, settled: (instant) => beforeClosed(open, instant) }
  }
  const outside = only === null ? [] : [{ reason: "calendar" as const, set: complement(only.set) }]
  const inBlackout =
    except === null
      ? []
      : [{ reason: "blackout" as const, set: intersection([only?.set ?? always, except.set]) }]
  const sets = [...outside, ...inBlackout]
  if (closed === "skip") {
    const leftOut = sets.map(({ reason, set }) => ({ reason, slots: inside(pattern, set) }))
    return { ...inside(pattern, open), leftOut, next: pattern.after, settled: kept }
  }
  const { slots, without } = rolled(pattern, { open, clock, forward: closed === "next" })
  const leftOut = sets.map(({ reason, set }) => ({ reason, slots: without(inside(pattern, set)) }))
  const next = (instant: number): number | null => {
    let first = slots.after(instant)
    for (const each of leftOut) {
      const at = each.slots.after(instant, first ?? undefined)
      if (at !== null && (first === null || at < first)) first = at
    }
    return first
  }
  return { ...slots, leftOut, next, settled: kept }
}

// One search crosses so many windows at most: of one a day, 27 years.
const windowsMax = 10_000

/** Those in the set. */
const inside = (pattern: Slots, set: InstantSet): Slots => {
  const after = (instant: number, until = Infinity): number | null => {
    let at = pattern.after(instant)
    for (let crossed = 0; at !== null && at <= until && crossed < windowsMax; crossed++) {
      if (isOpen(set, at)) return at
      const opens = nextChange(set, at)
      if (opens === null) return null
      at = pattern.after(opens - 1)
    }
    return null
  }
  const upTo = (instant: number, from = -Infinity): number | null => {
    let at = pattern.upTo(instant)
    for (let crossed = 0; at !== null && at >= from && crossed < windowsMax; crossed++) {
      if (isOpen(set, at)) return at
      const closed = previousChange(set, at)
      if (closed === null) return null
      at = pattern.upTo(closed - 1)
    }
    return null
  }
  const count = (first: number, last: number): number => {
    let total = 0
    let at: number | null = first
    for (let crossed = 0; at !== null && at <= last && total < countMax && crossed < windowsMax; crossed++) {
      const end = pattern.upTo(Math.min((nextChange(set, at) ?? Infinity) - 1, last)) ?? at
      total += pattern.count(at, end)
      at = after(end, last)
    }
    return total
  }
  return { after, upTo, count, nominalOf: itself }
}

/** All of them, but those in a closed window come, as one, when it opens; never, if it does not within ten years. */
const held = (pattern: Slots, open: InstantSet): Slots => {
  const opening = (at: number | null): number | null => (at === null ? null : opensFrom(open, at))
  return {
    after: (instant) => opening(pattern.after(beforeClosed(open, instant))),
    upTo: (instant) => opening(pattern.upTo(beforeClosed(open, instant))),
    count: (first, last) => {
      const oldest = pattern.after(beforeClosed(open, first - 1))
      const newest = pattern.upTo(last)
      return oldest === null || newest === null ? 0 : pattern.count(oldest, newest)
    },
    nominalOf: (at) => {
      const newest = pattern.upTo(at) ?? at
      const oldest = pattern.after(beforeClosed(open, at - 1)) ?? newest
      return { nominalAt: newest, count: oldest < newest ? pattern.count(oldest, newest) : 1 }
    },
  }
}

/** The instant itself where the set is open, otherwise the last one before it closed. */
const beforeClosed = (open: InstantSet, instant: number): number => {
  if (isOpen(open, instant)) return instant
  const closed = previousChange(open, instant)
  return closed === null ? -Infinity : closed - 1
}

const plus = (at: number | null, millis: number): number | null => (at === null ? null : at + millis)

/** The same later by so much. */
const shifted = (slots: Slots, millis: number): Slots => ({
  after: (instant, until = Infinity) => plus(slots.after(instant - millis, until - millis), millis),
  upTo: (instant, from = -Infinity) => plus(slots.upTo(instant - millis, from - millis), millis),
  count: (first, last) => slots.count(first - millis, last - millis),
  nominalOf: (at) => slots.nominalOf(at - millis),
})
