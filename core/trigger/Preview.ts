// What a cron schedule will do, for people: its next instants on the zone's clocks, each with a note where a clock
// change touches it, and when the clocks change next. Beside the stations of `trigger/`, after `Cron.ts`: notes
// are read off the same spans and the same searches that make the instants, so they cannot say otherwise.
// Pure; bounded by the number of instants that is asked for, and by the clock changes in between.
import { civilFromDays, daySeconds, weekdayOf } from "./Civil.ts"
import { type Cron, isMadeUp, madeUpBefore, matches, nextAfter } from "./Cron.ts"
import { nextWall, previousWall } from "./WallTimes.ts"
import { type Span, spanAt, type Zone } from "./Zone.ts"

/** One instant to come. */
export interface PreviewInstant {
  /** Epoch milliseconds. */
  readonly at: number
  /** What clocks in the zone show: "Sun 2027-03-28 03:00:00 +02:00". */
  readonly local: string
  /** What a clock change does to it, or left out just before it; mostly none. */
  readonly notes: ReadonlyArray<string>
}

/** A moment at which the clocks of a zone are moved. */
export interface ClockChange {
  /** Epoch milliseconds. */
  readonly at: number
  /** In seconds: forward above 0, back below. */
  readonly shift: number
  /** "Sun 2027-03-28: 02:00 becomes 03:00". */
  readonly words: string
}

/** Most instants of one preview. */
export const previewMax = 1000

/** The next `count` instants after `afterMillis`, at most `previewMax`; fewer when the schedule ends. */
export const preview = (cron: Cron, afterMillis: number, count: number): ReadonlyArray<PreviewInstant> => {
  const found: PreviewInstant[] = []
  let from = afterMillis
  while (found.length < Math.min(count, previewMax)) {
    const at = nextAfter(cron, from)
    if (at === null) break
    found.push({ at, local: localText(cron.clock, at), notes: notesOf(cron, from, at) })
    from = at
  }
  return found
}

/**
 * The first instant after `afterMillis` that a clock change touches, with its notes; `null` when none of the next
 * `changesMax` changes touches one.
 */
export const nextTouched = (cron: Cron, afterMillis: number): PreviewInstant | null => {
  let change = nextChange(cron.clock, afterMillis)
  for (let looked = 0; change !== null && looked < changesMax; looked += 1) {
    // Times that come twice begin one shift before the change; one that is made up before it, a second.
    const from = Math.max(afterMillis, change.at - 1000 * Math.max(60, -change.shift) - 1)
    const touched = preview(cron, from, 3).find(({ notes }) => notes.length > 0)
    if (touched !== undefined) return touched
    change = nextChange(cron.clock, change.at)
  }
  return null
}

const changesMax = 8

/** The next change of a zone's clocks after `afterMillis`, within ten years; `null` when there is none. */
export const nextChange = (zone: Zone, afterMillis: number): ClockChange | null => {
  const from = Math.floor(afterMillis / 1000)
  const until = from + changeYears * yearSeconds
  for (let span = spanAt(zone, from); span.end < until; span = spanAt(zone, span.end)) {
    if (span.shiftOut === 0) continue
    const before = span.end + span.offset
    const after = before + span.shiftOut
    const day = dayText(before) === dayText(after) ? "" : `${dayText(after)} `
    const words = `${dayText(before)}: ${timeText(before)} becomes ${day}${timeText(after)}`
    return { at: span.end * 1000, shift: span.shiftOut, words }
  }
  return null
}

const changeYears = 10
const yearSeconds = 31_556_952

/** What clocks in the zone show at an instant, with the distance from UTC: "Sun 2027-03-28 03:00:00 +02:00". */
export const localText = (zone: Zone, millis: number): string => {
  const second = Math.floor(millis / 1000)
  const { offset } = spanAt(zone, second)
  const wall = second + offset
  const size = Math.abs(offset)
  const rest = size % 60 === 0 ? "" : `:${two(size % 60)}`
  const sign = offset < 0 ? "-" : "+"
  const distance = `${sign}${two(Math.floor(size / 3600))}:${two(Math.floor(size / 60) % 60)}${rest}`
  return `${dayText(wall)} ${timeText(wall, true)} ${distance}`
}

/** Notes on `at`, the first instant after `from`: of changes in between, and of times that come twice. */
const notesOf = (cron: Cron, from: number, at: number): string[] => {
  const second = at / 1000
  const notes: string[] = []
  let span = spanAt(cron.clock, Math.floor(from / 1000))
  while (span.end <= second) {
    span = spanAt(cron.clock, span.end)
    const note = skippedNote(cron, span, second)
    if (note !== undefined) notes.push(note)
  }
  if (second === madeUpBefore(cron, span) && cron.gap === "before") {
    const next = spanAt(cron.clock, span.end)
    notes.push(`${missing(cron, next, second + span.offset)} at ${timeText(second + span.offset)}`)
  }
  if (span.shiftIn < 0 && second < span.start - span.shiftIn) {
    notes.push(twice(cron, second + span.offset, second + span.shiftIn, "second"))
  }
  if (span.shiftOut < 0 && second >= span.end + span.shiftOut) {
    notes.push(twice(cron, second + span.offset, second - span.shiftOut, "first"))
  }
  return notes
}

/** What is said of the wall times that the clocks jumped over where the span begins; nothing when none was meant. */
const skippedNote = (cron: Cron, span: Span, second: number): string | undefined => {
  const gapEnd = span.start + span.offset
  if (span.shiftIn <= 0 || nextWall(cron, gapEnd - span.shiftIn) >= gapEnd) return undefined
  const wall = second + span.offset
  if (isMadeUp(cron, span)) {
    return span.start === second ? `${missing(cron, span, wall)} at ${timeText(wall)}` : undefined
  }
  const before = spanAt(cron.clock, span.start - 1)
  if (cron.gap === "before" && !Number.isNaN(madeUpBefore(cron, before))) return undefined
  const { words, day, many } = skipped(cron, span, wall)
  return `${words} ${many ? "do" : "does"} not exist on ${day}: left out`
}

const missing = (cron: Cron, span: Span, wall: number): string => {
  const { words, day, many } = skipped(cron, span, wall)
  return many
    ? `${words} do not exist on ${day}: they run once`
    : `${words} does not exist on ${day}: it runs`
}

const skipped = (cron: Cron, { start, offset, shiftIn }: Span, wall: number) => {
  const end = start + offset
  const times: number[] = []
  for (let at = nextWall(cron, end - shiftIn); at < end && times.length < 4; at = nextWall(cron, at + 1))
    times.push(at)
  const first = times[0] ?? end
  const last = previousWall(cron, end - 1)
  const words =
    times.length > 3
      ? `${timeText(first)} to ${timeText(last)}`
      : times
          .map((time) => timeText(time))
          .join(", ")
          .replace(/, (?=[^,]*$)/, " and ")
  const day = dayText(first) === dayText(wall) ? "this day" : dayText(first)
  return { words, day, many: times.length > 1 }
}

const twice = (cron: Cron, wall: number, other: number, pass: string): string =>
  `${timeText(wall)} comes twice${matches(cron, other * 1000) ? " and runs both times" : ""}: the ${pass} one`

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

const dayText = (wall: number): string => {
  const days = Math.floor(wall / daySeconds)
  const civil = civilFromDays(days)
  const year = String(civil >> 9).padStart(4, "0")
  return `${weekdays[weekdayOf(days)] ?? ""} ${year}-${two((civil >> 5) & 15)}-${two(civil & 31)}`
}

const timeText = (wall: number, withSeconds = false): string => {
  const time = wall - Math.floor(wall / daySeconds) * daySeconds
  const second = time % 60
  const clock = `${two(Math.floor(time / 3600))}:${two(Math.floor(time / 60) % 60)}`
  return withSeconds || second !== 0 ? `${clock}:${two(second)}` : clock
}

const two = (value: number): string => String(value).padStart(2, "0")
