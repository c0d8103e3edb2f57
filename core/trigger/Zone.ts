// How far the clocks of a zone are from UTC, at any instant: the only place that asks the host's zone data.
// `Cron.ts` makes instants of wall times with it. Each zone has a table of its changes, filled in by pieces of
// about a year when one is first asked for; after that an answer is a look-up without Intl and without allocation.
// Bound: a piece costs about 250 calls of Intl and holds two or three spans; the years 1 to 2199 have 2100 pieces.
import * as Result from "effect/Result"

/** A time in which a zone keeps one offset. All figures are whole seconds; old zones have offsets to the second. */
export interface Span {
  /** First second of it; of a piece of the table where nothing changes before. */
  readonly start: number
  /** First second after it. */
  readonly end: number
  /** Wall time is instant + offset. */
  readonly offset: number
  /** How far the clocks were moved at `start`: forward above 0, back below, 0 where they only reach a new piece. */
  readonly shiftIn: number
  /** The same at `end`. */
  readonly shiftOut: number
}

/** A zone and what is known of it so far: one object for all its schedules, made by `zoneOf`. */
export interface Zone {
  readonly name: string
  readonly pieces: Map<number, readonly Span[]>
  /** The span of the last answer: the next question is mostly about the same. */
  last: Span
}

// 2 ** 25 seconds are 388 days.
const pieceSeconds = 33_554_432
/** Changes this near to a piece are known to it, as they repeat or skip its wall times: no change is longer. */
const marginSeconds = 172_800
/**
 * Distance of the probes. A zone that changed and changed back between two of them would keep its secret; the
 * shortest time that tzdata 2026 knows is four days (Africa/Freetown, September 1939).
 */
const probeSeconds = 172_800

const nowhere: Span = { start: NaN, end: NaN, offset: 0, shiftIn: 0, shiftOut: 0 }
const always: Span = { start: -Infinity, end: Infinity, offset: 0, shiftIn: 0, shiftOut: 0 }
/** Bounded by the names that Intl knows: the key is in lower case. */
const zones = new Map<string, Zone>()
const utcNames = /^(etc\/)?(utc|uct|gmt|gmt0|gmt[+-]0|greenwich|universal|zulu)$/

/** The zone of an IANA name, in any case; nothing when the host does not know it. Equal names give one object. */
export const zoneOf = (name: string): Zone | undefined => {
  const key = name.toLowerCase()
  const known = zones.get(key)
  if (known !== undefined) return known
  const isUtc = utcNames.test(key)
  if (!isUtc && formatOf(name) === undefined) return undefined
  const zone = { name, pieces: new Map<number, readonly Span[]>(), last: isUtc ? always : nowhere }
  zones.set(key, zone)
  return zone
}

/** Whether its clocks show UTC and never change. */
export const isUtc = (zone: Zone): boolean => zone.last === always

/** The span that holds `second`, which must be in the years 1 to 2200. */
export const spanAt = (zone: Zone, second: number): Span => {
  const { last } = zone
  if (second >= last.start && second < last.end) return last
  const found = search(pieceAt(zone, Math.floor(second / pieceSeconds)), second)
  zone.last = found
  return found
}

/**
 * Eight hex digits that stand for a zone's data around an instant: its offset when that UTC year begins, and all
 * changes to the end of the following year. Two hosts that print the same fingerprint agree on every instant in
 * between; store it beside what was computed.
 */
export const zoneFingerprint = (zone: Zone, millis: number): string => {
  const yearSeconds = 31_556_952
  const year = Math.floor(millis / 1000 / yearSeconds)
  const end = (year + 2) * yearSeconds
  let hash = 0x811c9dc5
  let at = year * yearSeconds
  let offset = NaN
  while (at < end) {
    const span = spanAt(zone, at)
    // Where a piece of the table ends without a change says nothing about the zone.
    if (span.offset !== offset) {
      hash = mix(hash, Number.isNaN(offset) ? 0 : span.start)
      hash = mix(hash, span.offset)
    }
    offset = span.offset
    at = span.end
  }
  return (hash >>> 0).toString(16).padStart(8, "0")
}

// FNV-1a, byte by byte.
const mix = (hash: number, value: number): number => {
  let mixed = hash
  for (let shift = 0; shift < 32; shift += 8) mixed = Math.imul(mixed ^ ((value >>> shift) & 255), 0x01000193)
  return mixed
}

/**
 * The release of the zone data, such as "2026c", as far as the runtime tells it: pass `process.versions`. Node and
 * Deno do; Bun does not, and the answer is null. Fingerprints compare where releases cannot.
 */
export const zoneDataVersion = (versions: Readonly<Record<string, string | undefined>>): string | null =>
  versions["tz"] ?? null

const search = (spans: readonly Span[], second: number): Span => {
  let low = 0
  let high = spans.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((spans[middle] as Span).start <= second) low = middle
    else high = middle - 1
  }
  return spans[low] as Span
}

const pieceAt = (zone: Zone, index: number): readonly Span[] => {
  const known = zone.pieces.get(index)
  if (known !== undefined) return known
  const made = makePiece(zone.name, index)
  zone.pieces.set(index, made)
  return made
}

const makePiece = (name: string, index: number): readonly Span[] => {
  const first = index * pieceSeconds
  const after = first + pieceSeconds
  const format = formatOf(name) as Intl.DateTimeFormat
  const spans: Span[] = []
  let start = first
  let shiftIn = 0
  let low = first - marginSeconds
  let offset = offsetAt(format, low)
  while (low < after + marginSeconds) {
    const high = low + probeSeconds
    if (offsetAt(format, high) === offset) {
      low = high
      continue
    }
    // The next probe starts at the change: there may be a second one before `high`.
    const change = changeBetween(format, low, high, offset)
    const shift = offsetAt(format, change) - offset
    if (change > first) spans.push({ start, end: change, offset, shiftIn, shiftOut: shift })
    if (change >= after) return spans
    start = low = change
    shiftIn = shift
    offset += shift
  }
  spans.push({ start, end: after, offset, shiftIn, shiftOut: 0 })
  return spans
}

/** First second with another offset than `offset`, which is that of `low` and not that of `high`. */
const changeBetween = (format: Intl.DateTimeFormat, low: number, high: number, offset: number): number => {
  let before = low
  let at = high
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2)
    if (offsetAt(format, middle) === offset) before = middle
    else at = middle
  }
  return at
}

// A formatter weighs tens of kilobytes and is idle once its table is filled, so only the last one is kept.
let lastName = ""
let lastFormat: Intl.DateTimeFormat | undefined

const formatOf = (name: string): Intl.DateTimeFormat | undefined => {
  if (name === lastName) return lastFormat
  lastName = name
  lastFormat = Result.getOrUndefined(
    Result.try(() => new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" })),
  )
  return lastFormat
}

/** The offset in seconds, out of a text that ends in "GMT-00:44:30", "GMT+02:00" or "GMT". */
const offsetAt = (format: Intl.DateTimeFormat, second: number): number => {
  const text = format.format(second * 1000)
  const match = /GMT(?:([+-])(\d\d?):(\d\d)(?::(\d\d))?)?$/.exec(text)
  // A wrong offset would run jobs at wrong times without a word.
  if (match === null) throw new Error(`Cannot read the offset of a zone: Intl prints it as "${text}"`)
  const [, sign, hours, minutes, seconds] = match
  if (sign === undefined) return 0
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds ?? 0)
  return sign === "-" ? -size : size
}
