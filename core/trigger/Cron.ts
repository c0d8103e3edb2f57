// When a cron schedule occurs: wall times of `WallTimes.ts` become instants in a zone, and clock changes are met
// as the schedule says. Second station of `trigger/`: the planner asks for the next one, previews and catch-up
// ask for spans. Instants are milliseconds since 1970 began. No clock and no host dates; an answer looks at each
// month and at a handful of clock changes, and reads zone data only where no answer was asked for before.
import type { Ambiguous, Gap } from "../domain/Schedule.ts"
import { daySeconds } from "./Civil.ts"
import { isWall, nextWall, type Pattern, previousWall, wallEnd, wallMin } from "./WallTimes.ts"
import { type Span, spanAt, type Zone } from "./Zone.ts"

/** A parsed cron text, frozen, a few hundred bytes, made by `parseCron`. To store: its text, zone and options. */
export interface Cron extends Pattern {
  /** The text as it was given. */
  readonly text: string
  /** The zone's name as it was given. */
  readonly zone: string
  /** The zone's table, which all schedules of that zone share. */
  readonly clock: Zone
  /** Whether minute, hour or a written second field starts with `*` (R11a). */
  readonly wild: boolean
  /** What becomes of wall times that a clock change skips: always `skip` for a wild one (R11c). */
  readonly gap: Gap
  /** Which pass of repeated wall times counts. */
  readonly ambiguous: Exclude<Ambiguous, "auto">
}

/** Most instants that one call of `between` returns. */
export const betweenMax = 10_000

/** A change by more than this is not treated specially (R11e): three hours, in seconds. */
const changeMax = 10_800
/** More than any two offsets of a zone differ by: from this far off, no clock change leads back to a wall time. */
const shiftMax = 172_800

/**
 * First occurrence strictly after `afterMillis`, which may have a fraction of a second (R12).
 * Null when there is none up to the end of 2199 in the zone (R13),
 * and for a reference before the year 1, after 2199, or NaN.
 * Without a year field, years before 1970 occur too.
 */
export const nextAfter = (cron: Cron, afterMillis: number): number | null => {
  let from = Math.floor(afterMillis / 1000) + 1
  if (!(from > wallMin - daySeconds && from <= wallEnd + daySeconds)) return null
  let span = spanAt(cron.clock, from)
  const reference = from - 1 + span.offset
  if (reference < wallMin || reference >= wallEnd) return null
  // Each round looks at one span; all spans but the first, and those on the way to a far answer, end it.
  while (from < Infinity) {
    if (span.start >= from && isMadeUp(cron, span)) return span.start * 1000
    const start = Math.max(from, firstOf(cron, span))
    const at = nextWall(cron, start + span.offset) - span.offset
    const early = cron.gap === "before" ? madeUpBefore(cron, span) : NaN
    if (early >= from && early < at) return early * 1000
    if (at < endOf(cron, span)) return at * 1000
    // Nothing is left before the wall time that was found, so the spans on the way need not be looked at; but
    // a change that is near may lead back to wall times before the start of this search.
    from = span.end - start < shiftMax ? span.end : Math.max(span.end, at - shiftMax)
    if (from < Infinity) span = spanAt(cron.clock, from)
  }
  return null
}

/**
 * Last occurrence strictly before `beforeMillis`: the mirror of `nextAfter`, and null in the same cases.
 * The search ends at the year 1, or 1970 with a year field.
 */
export const previousBefore = (cron: Cron, beforeMillis: number): number | null => {
  let to = Math.ceil(beforeMillis / 1000) - 1
  if (!(to >= wallMin - daySeconds && to < wallEnd + daySeconds)) return null
  let span = spanAt(cron.clock, to)
  const reference = to + 1 + span.offset
  if (reference <= wallMin || reference > wallEnd) return null
  while (to > -Infinity) {
    const last = Math.min(to, endOf(cron, span) - 1)
    const at = previousWall(cron, last + span.offset) - span.offset
    const isHere = at > -Infinity && at >= firstOf(cron, span)
    const early = cron.gap === "before" ? madeUpBefore(cron, span) : NaN
    if (early <= to && !(isHere && at > early)) return early * 1000
    if (isHere) return at * 1000
    if (isMadeUp(cron, span)) return span.start * 1000
    to = last - span.start < shiftMax ? span.start - 1 : Math.min(span.start - 1, at + shiftMax)
    if (to > -Infinity) span = spanAt(cron.clock, to)
  }
  return null
}

/**
 * Occurrences after `fromMillis` up to and including `toMillis`, in order: spans laid end to end count none
 * twice. At most `limit` of them, and never more than `betweenMax`: go on from the last one.
 * Empty for NaN, for a span that runs backwards, and for a `fromMillis` that `nextAfter` has no answer to.
 */
export const between = (cron: Cron, fromMillis: number, toMillis: number, limit: number): number[] => {
  const found: number[] = []
  const most = Math.min(limit, betweenMax)
  let at = nextAfter(cron, fromMillis)
  while (at !== null && at <= toMillis && found.length < most) {
    found.push(at)
    at = nextAfter(cron, at)
  }
  return found
}

/** Whether `millis` is an occurrence: to the millisecond, on a whole second, in the years 1 to 2199. */
export const matches = (cron: Cron, millis: number): boolean => {
  const second = millis / 1000
  if (!Number.isInteger(second) || second < wallMin - daySeconds || second >= wallEnd + daySeconds)
    return false
  const span = spanAt(cron.clock, second)
  if (second === span.start && isMadeUp(cron, span)) return true
  if (cron.gap === "before" && second === madeUpBefore(cron, span)) return true
  if (second < firstOf(cron, span) || second >= endOf(cron, span)) return false
  return isWall(cron, second + span.offset)
}

/** First second of the span whose wall time counts: behind the second pass where only the first one does (R11d). */
const firstOf = (cron: Cron, { start, shiftIn }: Span): number =>
  cron.ambiguous === "first" && shiftIn < 0 && shiftIn >= -changeMax ? start - shiftIn : start

/** First second behind those that count: where the first pass begins, where only the second one does. */
const endOf = (cron: Cron, { end, shiftOut }: Span): number =>
  cron.ambiguous === "last" && shiftOut < 0 && shiftOut >= -changeMax ? end + shiftOut : end

/** Whether the first second of the span makes up for wall times that were skipped there (R11b). */
export const isMadeUp = (cron: Cron, { start, offset, shiftIn }: Span): boolean =>
  cron.gap === "after" &&
  shiftIn > 0 &&
  shiftIn <= changeMax &&
  nextWall(cron, start + offset - shiftIn) < start + offset

/** The second near the end of the span that makes up for wall times skipped there, where `gap` is `before`, or NaN. */
export const madeUpBefore = (cron: Cron, { end, offset, shiftOut }: Span): number => {
  const wall = end + offset
  if (shiftOut <= 0 || shiftOut > changeMax || nextWall(cron, wall) >= wall + shiftOut) return NaN
  const unit = cron.seconds[0] === 1 && cron.seconds[1] === 0 ? 60 : 1
  return (Math.ceil(wall / unit) - 1) * unit - offset
}
