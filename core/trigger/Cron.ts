// When a cron schedule occurs: integer calendar maths over the bitsets of `CronFields.ts`.
// Second station of `trigger/`: the planner asks for the next one, previews and catch-up ask for spans.
// Pure and bounded: no clock, no host dates; an answer looks at each month at most once, up to the year 2199.
// Reckoned in UTC on the proleptic Gregorian calendar (R16); instants are milliseconds since 1970 began.
/**
 * A parsed cron text: frozen plain data of a few hundred bytes, made by `parseCron`. Bit `v` of a bitset
 * stands for the value `v` itself (day 1 is bit 1, Sunday is bit 0); two-word sets hold 0-31 and 32-63.
 */
export interface Cron {
  /** The text as it was given: the form to store. */
  readonly text: string
  /** IANA name; only "UTC" until zones come. */
  readonly zone: string
  /** Second 0 alone when the text has five fields. */
  readonly seconds: readonly [number, number]
  readonly minutes: readonly [number, number]
  readonly hours: number
  readonly days: number
  readonly months: number
  readonly weekdays: number
  /** Bit `year - 1970`, in words of 32 (R9); null when the text has no year field. */
  readonly years: readonly number[] | null
  /** `L` in the day field. */
  readonly lastDay: boolean
  /** `LW`: the last day of the month that is Monday to Friday. */
  readonly lastWorkday: boolean
  /** `nW`: bit `n` (R7). */
  readonly nearestWorkdays: number
  /** `d#k`: weekday bits at index `k - 1`; index 5 is `d#L` and `dL`. */
  readonly nthWeekdays: readonly number[]
  /** Whether day and weekday must both match (R6, R8). */
  readonly dayRule: "and" | "or"
}

/** First year that a year field can name (R9). */
export const yearMin = 1970
/** Last year that a schedule can name or reach (R9, R13). */
export const yearMax = 2199
/** Most instants that one call of `between` returns. */
export const betweenMax = 10_000

const daySeconds = 86_400
/** 0001-01-01T00:00Z and 2200-01-01T00:00Z: references outside have no answer. */
const floorMillis = -62_135_596_800_000
const ceilMillis = 7_258_118_400_000

/**
 * First occurrence strictly after `afterMillis`, which may have a fraction of a second (R12).
 * Null when there is none up to the end of 2199 (R13),
 * and for a reference before the year 1, after 2199, or NaN.
 * Without a year field, years before 1970 occur too.
 */
export const nextAfter = (cron: Cron, afterMillis: number): number | null => {
  if (!(afterMillis >= floorMillis && afterMillis < ceilMillis)) return null
  const from = Math.floor(afterMillis / 1000) + 1
  const fromDay = Math.floor(from / daySeconds)
  let { year, month, day } = civilFromDays(fromDay)
  let time = nextTime(cron, from - fromDay * daySeconds)
  if (time < 0) day += 1
  while (year <= yearMax) {
    // Day 32 shifts the mask to nothing: `1 << 32` would wrap round to bit 0.
    const days = day > 31 ? 0 : dayMask(cron, year, month) & (-1 << day)
    if (days !== 0) {
      const found = lowest(days)
      if (found !== day || time < 0) time = nextTime(cron, 0)
      return toMillis(year, month, found, time)
    }
    time = -1
    day = 1
    month += 1
    if (month > 12) {
      month = 1
      year += 1
    }
  }
  return null
}

/**
 * Last occurrence strictly before `beforeMillis`: the mirror of `nextAfter`, and null in the same cases.
 * The search ends at the year 1, or 1970 with a year field.
 */
export const previousBefore = (cron: Cron, beforeMillis: number): number | null => {
  if (!(beforeMillis > floorMillis && beforeMillis <= ceilMillis)) return null
  const from = Math.ceil(beforeMillis / 1000) - 1
  const fromDay = Math.floor(from / daySeconds)
  let { year, month, day } = civilFromDays(fromDay)
  let time = previousTime(cron, from - fromDay * daySeconds)
  if (time < 0) day -= 1
  const yearFirst = cron.years === null ? 1 : yearMin
  while (year >= yearFirst) {
    const days = dayMask(cron, year, month) & (-1 >>> (31 - day))
    if (days !== 0) {
      const found = highest(days)
      if (found !== day || time < 0) time = previousTime(cron, daySeconds - 1)
      return toMillis(year, month, found, time)
    }
    time = -1
    day = 31
    month -= 1
    if (month < 1) {
      month = 12
      year -= 1
    }
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
  if (!(millis >= floorMillis && millis < ceilMillis) || millis % 1000 !== 0) return false
  const days = Math.floor(millis / 1000 / daySeconds)
  const time = millis / 1000 - days * daySeconds
  const { year, month, day } = civilFromDays(days)
  return (dayMask(cron, year, month) & (1 << day)) !== 0 && nextTime(cron, time) === time
}

/** First second of the day at or after `time` (0-86399) that the clock fields allow, or -1. */
const nextTime = (cron: Cron, time: number): number => {
  const hour = Math.floor(time / 3600)
  const minute = Math.floor(time / 60) % 60
  if ((cron.hours & (1 << hour)) !== 0) {
    if (hasBit(cron.minutes, minute)) {
      const second = nextBit(cron.seconds, time % 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const later = nextBit(cron.minutes, minute + 1)
    if (later >= 0) return hour * 3600 + later * 60 + nextBit(cron.seconds, 0)
  }
  const hours = cron.hours & (-1 << (hour + 1))
  return hours === 0 ? -1 : lowest(hours) * 3600 + nextBit(cron.minutes, 0) * 60 + nextBit(cron.seconds, 0)
}

/** Last second of the day at or before `time` (0-86399) that the clock fields allow, or -1. */
const previousTime = (cron: Cron, time: number): number => {
  const hour = Math.floor(time / 3600)
  const minute = Math.floor(time / 60) % 60
  if ((cron.hours & (1 << hour)) !== 0) {
    if (hasBit(cron.minutes, minute)) {
      const second = previousBit(cron.seconds, time % 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const earlier = previousBit(cron.minutes, minute - 1)
    if (earlier >= 0) return hour * 3600 + earlier * 60 + previousBit(cron.seconds, 59)
  }
  const hours = cron.hours & ((1 << hour) - 1)
  return hours === 0
    ? -1
    : highest(hours) * 3600 + previousBit(cron.minutes, 59) * 60 + previousBit(cron.seconds, 59)
}

/** Days of one month that year, month, day and weekday fields allow: bit 1 to bit 31 (R6, R7). */
const dayMask = (cron: Cron, year: number, month: number): number => {
  if ((cron.months & (1 << month)) === 0) return 0
  if (cron.years !== null) {
    const bit = year - yearMin
    if (bit < 0 || ((cron.years[bit >> 5] ?? 0) & (1 << (bit & 31))) === 0) return 0
  }
  const length = monthLength(year, month)
  const firstWeekday = weekdayOf(daysFromCivil(year, month, 1))
  // Bits 1 to `length`; for 31 days `1 << 32` would wrap round.
  const inMonth = length === 31 ? -2 : (1 << (length + 1)) - 2
  let days = cron.days
  if (cron.lastDay) days |= 1 << length
  if (cron.lastWorkday) days |= 1 << nearestWorkday(length, length, firstWeekday)
  for (let left = cron.nearestWorkdays & inMonth; left !== 0; left &= left - 1) {
    days |= 1 << nearestWorkday(lowest(left), length, firstWeekday)
  }
  let byWeekday = repeatWeek(cron.weekdays, firstWeekday)
  for (let index = 0; index < 5; index += 1) {
    const nth = cron.nthWeekdays[index] ?? 0
    if (nth !== 0) byWeekday |= repeatWeek(nth, firstWeekday) & (0b1111111 << (index * 7 + 1))
  }
  const last = cron.nthWeekdays[5] ?? 0
  if (last !== 0) byWeekday |= repeatWeek(last, firstWeekday) & (0b1111111 << (length - 6))
  return (cron.dayRule === "and" ? days & byWeekday : days | byWeekday) & inMonth
}

/** Weekday bits laid over the days 1-31 of a month that starts on `firstWeekday`. */
const repeatWeek = (weekdays: number, firstWeekday: number): number => {
  const week = ((weekdays >> firstWeekday) | (weekdays << (7 - firstWeekday))) & 0b1111111
  return (week << 1) | (week << 8) | (week << 15) | (week << 22) | (week << 29)
}

/** Monday to Friday nearest to `day`: Saturday goes back, Sunday on, at an edge the other way (R7). */
const nearestWorkday = (day: number, length: number, firstWeekday: number): number => {
  const weekday = (firstWeekday + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}

const monthLength = (year: number, month: number): number => {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** Day number 0 is 1970-01-01, a Thursday. */
const weekdayOf = (days: number): number => (((days + 4) % 7) + 7) % 7

const toMillis = (year: number, month: number, day: number, time: number): number =>
  (daysFromCivil(year, month, day) * daySeconds + time) * 1000

// Both after Howard Hinnant, "chrono-compatible low-level date algorithms": years start in March, so that the
// leap day is the last; 146097 days are 400 years, 719468 days lie between 0000-03-01 and 1970-01-01.
const daysFromCivil = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return (
    era * 146_097 +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    dayOfYear -
    719_468
  )
}

const civilFromDays = (days: number): { year: number; month: number; day: number } => {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

const lowest = (word: number): number => 31 - Math.clz32(word & -word)
const highest = (word: number): number => 31 - Math.clz32(word)

const hasBit = (set: readonly [number, number], bit: number): boolean =>
  ((bit < 32 ? set[0] : set[1]) & (1 << (bit & 31))) !== 0

const nextBit = (set: readonly [number, number], from: number): number => {
  const low = from < 32 ? set[0] & (-1 << from) : 0
  if (low !== 0) return lowest(low)
  const high = from < 32 ? set[1] : set[1] & (-1 << (from - 32))
  return high === 0 ? -1 : lowest(high) + 32
}

const previousBit = (set: readonly [number, number], from: number): number => {
  const high = from < 32 ? 0 : set[1] & (-1 >>> (63 - from))
  if (high !== 0) return highest(high) + 32
  const low = from < 0 ? 0 : from < 32 ? set[0] & (-1 >>> (31 - from)) : set[0]
  return low === 0 ? -1 : highest(low)
}
