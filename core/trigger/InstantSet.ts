// Sets of instants as functions: asked about an instant, a set answers whether it holds it, and for how long before
// and after that is so. `CalendarSet.ts` makes them of what people write; schedules ask them when a window opens.
// Pure. Bounded: a search looks at so many stretches within so many years, and answers `null` beyond.
import { civilFromDays, daySeconds, weekdayOf } from "./Civil.ts"
import { type Cron, nextAfter, previousBefore } from "./Cron.ts"
import { wallEnd, wallMin } from "./WallTimes.ts"
import { spanAt, type Zone } from "./Zone.ts"

/** All from `from` to before `to` is inside, or all outside; it may go on likewise at either end. */
export interface Stretch {
  readonly isOpen: boolean
  readonly from: number
  readonly to: number
}

/** A set of instants (epoch milliseconds), or of wall times (seconds): the stretch that holds the asked one. */
export type InstantSet = (at: number) => Stretch

/** How far a search for a change goes, in milliseconds: ten years. */
export const horizonMillis = 315_569_520_000

/** Stretches that one search looks at. */
const stretchesMax = 50_000

/** Whether the set holds the instant. */
export const isOpen = (set: InstantSet, at: number): boolean => set(at).isOpen

/** First instant after `at` at which the set opens or closes; `null` when there is none within ten years. */
export const nextChange = (set: InstantSet, at: number): number | null => {
  const first = set(at)
  let { to } = first
  for (let looked = 0; looked < stretchesMax && to <= at + horizonMillis; looked++) {
    const next = set(to)
    if (next.isOpen !== first.isOpen) return to
    to = next.to
  }
  return null
}

/** Last instant not after `at` at which the set opened or closed; `null` when there is none within ten years. */
export const previousChange = (set: InstantSet, at: number): number | null => {
  const last = set(at)
  let { from } = last
  for (let looked = 0; looked < stretchesMax && from >= at - horizonMillis; looked++) {
    const before = set(from - 1)
    if (before.isOpen !== last.isOpen) return from
    from = before.from
  }
  return null
}

/** `at` when the set holds it, otherwise the next instant at which it opens, if that is within ten years. */
export const opensFrom = (set: InstantSet, at: number): number | null =>
  isOpen(set, at) ? at : nextChange(set, at)

/** First instant after `at` at which the set opens; `null` when there is none within ten years. */
export const opensAfter = (set: InstantSet, at: number): number | null => after(set, at, true)

/** First instant after `at` at which the set closes; `null` when there is none within ten years. */
export const closesAfter = (set: InstantSet, at: number): number | null => after(set, at, false)

const after = (set: InstantSet, at: number, open: boolean): number | null => {
  const change = nextChange(set, at)
  return change === null || isOpen(set, change) === open ? change : nextChange(set, change)
}

/** The set of all instants. */
export const always: InstantSet = () => ({ isOpen: true, from: -Infinity, to: Infinity })

/** What is in any of the sets; of no sets, nothing. */
export const union = (sets: ReadonlyArray<InstantSet>): InstantSet => joined(sets, true)

/** What is in all of the sets; of no sets, everything. */
export const intersection = (sets: ReadonlyArray<InstantSet>): InstantSet => joined(sets, false)

/** What is not in the set. */
export const complement =
  (set: InstantSet): InstantSet =>
  (at) => {
    const { isOpen: inside, from, to } = set(at)
    return { isOpen: !inside, from, to }
  }

/** The same set, which keeps its last answer: the next question is mostly about the same stretch. */
export const remembered = (set: InstantSet): InstantSet => {
  let last: Stretch = { isOpen: false, from: NaN, to: NaN }
  return (at) => (at >= last.from && at < last.to ? last : (last = set(at)))
}

// One member of the kind `decides` is enough, and then the longest of that kind says for how long.
const joined =
  (sets: ReadonlyArray<InstantSet>, decides: boolean): InstantSet =>
  (at) => {
    let from = -Infinity
    let to = Infinity
    let decided = false
    for (const set of sets) {
      const one = set(at)
      if (one.isOpen === decides) {
        from = decided ? Math.min(from, one.from) : one.from
        to = decided ? Math.max(to, one.to) : one.to
        decided = true
      } else if (!decided) {
        from = Math.max(from, one.from)
        to = Math.min(to, one.to)
      }
    }
    return { isOpen: decided ? decides : !decides, from, to }
  }

/** Stretches from the first to before the second of each pair, in any order; those that meet become one. */
export const ofSpans = (spans: ReadonlyArray<readonly [from: number, to: number]>): InstantSet => {
  const starts: Array<number> = []
  const ends: Array<number> = []
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const end = ends[ends.length - 1]
    if (end !== undefined && from <= end) ends[ends.length - 1] = Math.max(end, to)
    else {
      starts.push(from)
      ends.push(to)
    }
  }
  return (at) => {
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= at) low = middle + 1
      else high = middle
    }
    const start = starts[low - 1] ?? -Infinity
    const end = ends[low - 1] ?? -Infinity
    return at < end
      ? { isOpen: true, from: start, to: end }
      : { isOpen: false, from: end, to: starts[low] ?? Infinity }
  }
}

// Two days off the ends of the years that expressions name, so that no zone's offset reaches over them.
const windowsFrom = (wallMin + 2 * daySeconds) * 1000
const windowsUntil = (wallEnd - 2 * daySeconds) * 1000

/** Windows that begin at the times of a cron expression. None before the year 1 or after 2199. */
export const ofWindows =
  (cron: Cron, lastingMillis: number): InstantSet =>
  (at) => {
    // An expression has no answer there, which is not to say that it has no times before.
    if (!(at >= windowsFrom)) return { isOpen: false, from: -Infinity, to: windowsFrom }
    if (at >= windowsUntil) return { isOpen: false, from: windowsUntil, to: Infinity }
    const began = previousBefore(cron, Math.floor(at) + 1)
    const ends = began === null ? -Infinity : began + lastingMillis
    return began !== null && at < ends
      ? { isOpen: true, from: began, to: ends }
      : { isOpen: false, from: ends, to: nextAfter(cron, at) ?? Infinity }
  }

/**
 * The instants at which clocks in the zone show a time of `walls`, a set of wall times in seconds: right by
 * definition at every clock change. Nothing before the year 1 or after 2199.
 */
export const onClocks =
  (zone: Zone, walls: InstantSet): InstantSet =>
  (at) => {
    const second = Math.floor(at / 1000)
    if (!(second >= wallMin)) return { isOpen: false, from: -Infinity, to: wallMin * 1000 }
    if (second >= wallEnd) return { isOpen: false, from: wallEnd * 1000, to: Infinity }
    const { start, end, offset } = spanAt(zone, second)
    const { isOpen: inside, from, to } = walls(second + offset)
    return {
      isOpen: inside,
      from: Math.max(from - offset, start) * 1000,
      to: Math.min(to - offset, end, wallEnd) * 1000,
    }
  }

/** Wall times of the same week again and again: spans in seconds from Sunday 00:00, which may go past its end. */
export const ofWeek = (spans: ReadonlyArray<readonly [from: number, to: number]>): InstantSet => {
  const set = ofSpans([
    ...spans,
    ...spans.map(([from, to]) => [from - weekSeconds, to - weekSeconds] as const),
  ])
  return (wall) => {
    const day = Math.floor(wall / daySeconds)
    const start = (day - weekdayOf(day)) * daySeconds
    const { isOpen: inside, from, to } = set(wall - start)
    return { isOpen: inside, from: start + Math.max(from, 0), to: start + Math.min(to, weekSeconds) }
  }
}

const weekSeconds = 7 * daySeconds

/** Wall times of the same days of each year: bit `day` of `masks[month]`. */
export const ofYear =
  (masks: ReadonlyArray<number>): InstantSet =>
  (wall) => {
    const day = Math.floor(wall / daySeconds)
    const inside = isMarked(masks, day)
    let from = day
    let to = day + 1
    while (day - from < scanDays && isMarked(masks, from - 1) === inside) from--
    while (to - day < scanDays && isMarked(masks, to) === inside) to++
    return { isOpen: inside, from: from * daySeconds, to: to * daySeconds }
  }

// A stretch may end early: what follows is another one of its kind.
const scanDays = 32

const isMarked = (masks: ReadonlyArray<number>, day: number): boolean => {
  const civil = civilFromDays(day)
  return ((masks[(civil >> 5) & 15] ?? 0) & (1 << (civil & 31))) !== 0
}

/** The instant of a wall time: the end of the gap where clocks skip it, the first time where it comes twice. */
export const instantOf = (zone: Zone, wall: number): number => {
  // No offset is larger than two days, so the search begins before it.
  let span = spanAt(zone, wall - 2 * daySeconds)
  while (wall - span.offset >= span.end) span = spanAt(zone, span.end)
  return Math.max(wall - span.offset, span.start) * 1000
}
