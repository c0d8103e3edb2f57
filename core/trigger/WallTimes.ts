// Which times of a clock on the wall a pattern names: a search over bitsets, without zones and instants.
// `Cron.ts` asks it for the next and the previous one and makes instants of them. Wall times are whole seconds
// since 1970-01-01 00:00 on that clock. Pure, bounded (each month is looked at once), allocates nothing.
import {
  civilFromDays,
  daysFromCivil,
  daySeconds,
  monthLength,
  weekdayOf,
  yearMax,
  yearMin,
} from "./Civil.ts"

/**
 * The fields of a cron text. Bit `v` of a bitset stands for the value `v` itself (day 1 is bit 1, Sunday is
 * bit 0); two-word sets hold 0-31 and 32-63.
 */
export interface Pattern {
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

/** 0001-01-01 00:00 and 2200-01-01 00:00: no pattern names a time before the first or from the second on. */
export const wallMin = -62_135_596_800
export const wallEnd = 7_258_118_400

/** First wall time of the pattern at or after `wall`, up to the end of 2199; otherwise `Infinity`. */
export const nextWall = (pattern: Pattern, wall: number): number => {
  if (wall < wallMin) return nextWall(pattern, wallMin)
  if (wall >= wallEnd) return Infinity
  const fromDay = Math.floor(wall / daySeconds)
  let time = nextTime(pattern, wall - fromDay * daySeconds)
  if (isEveryDay(pattern)) {
    const found = time < 0 ? (fromDay + 1) * daySeconds + nextTime(pattern, 0) : fromDay * daySeconds + time
    return found < wallEnd ? found : Infinity
  }
  const civil = civilFromDays(fromDay)
  let year = civil >> 9
  let month = (civil >> 5) & 15
  let day = (civil & 31) + (time < 0 ? 1 : 0)
  while (year <= yearMax) {
    // Day 32 shifts the mask to nothing: `1 << 32` would wrap round to bit 0.
    const days = day > 31 ? 0 : dayMask(pattern, year, month) & (-1 << day)
    if (days !== 0) {
      const found = lowest(days)
      if (found !== day || time < 0) time = nextTime(pattern, 0)
      return daysFromCivil(year, month, found) * daySeconds + time
    }
    time = -1
    day = 1
    month += 1
    if (month > 12) {
      month = 1
      year += 1
    }
  }
  return Infinity
}

/** Last wall time of the pattern at or before `wall`, down to the year 1 (1970 with a year field); otherwise `-Infinity`. */
export const previousWall = (pattern: Pattern, wall: number): number => {
  if (wall >= wallEnd) return previousWall(pattern, wallEnd - 1)
  if (wall < wallMin) return -Infinity
  const fromDay = Math.floor(wall / daySeconds)
  let time = previousTime(pattern, wall - fromDay * daySeconds)
  const civil = civilFromDays(fromDay)
  let year = civil >> 9
  let month = (civil >> 5) & 15
  let day = (civil & 31) - (time < 0 ? 1 : 0)
  const yearFirst = pattern.years === null ? 1 : yearMin
  while (year >= yearFirst) {
    // With day 0 the mask is bit 0, which no day has.
    const days = dayMask(pattern, year, month) & (-1 >>> (31 - day))
    if (days !== 0) {
      const found = highest(days)
      if (found !== day || time < 0) time = previousTime(pattern, daySeconds - 1)
      return daysFromCivil(year, month, found) * daySeconds + time
    }
    time = -1
    day = 31
    month -= 1
    if (month < 1) {
      month = 12
      year -= 1
    }
  }
  return -Infinity
}

/** Whether the pattern names this very second. */
export const isWall = (pattern: Pattern, wall: number): boolean => {
  if (wall < wallMin || wall >= wallEnd) return false
  const days = Math.floor(wall / daySeconds)
  const time = wall - days * daySeconds
  const civil = civilFromDays(days)
  const mask = dayMask(pattern, civil >> 9, (civil >> 5) & 15)
  return (mask & (1 << (civil & 31))) !== 0 && nextTime(pattern, time) === time
}

/** Whether no field keeps any day out: bits 1 to 31, 1 to 12 and 0 to 6 are all set. */
export const isEveryDay = (pattern: Pattern): boolean =>
  pattern.days === -2 && pattern.weekdays === 0b1111111 && pattern.months === 0x1ffe && pattern.years === null

/** First second of the day at or after `time` (0-86399) that the clock fields allow, or -1. */
const nextTime = (pattern: Pattern, time: number): number => {
  const hour = Math.floor(time / 3600)
  const minute = Math.floor(time / 60) % 60
  if ((pattern.hours & (1 << hour)) !== 0) {
    if (hasBit(pattern.minutes, minute)) {
      const second = nextBit(pattern.seconds, time % 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const later = nextBit(pattern.minutes, minute + 1)
    if (later >= 0) return hour * 3600 + later * 60 + nextBit(pattern.seconds, 0)
  }
  const hours = pattern.hours & (-1 << (hour + 1))
  return hours === 0
    ? -1
    : lowest(hours) * 3600 + nextBit(pattern.minutes, 0) * 60 + nextBit(pattern.seconds, 0)
}

/** Last second of the day at or before `time` (0-86399) that the clock fields allow, or -1. */
const previousTime = (pattern: Pattern, time: number): number => {
  const hour = Math.floor(time / 3600)
  const minute = Math.floor(time / 60) % 60
  if ((pattern.hours & (1 << hour)) !== 0) {
    if (hasBit(pattern.minutes, minute)) {
      const second = previousBit(pattern.seconds, time % 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const earlier = previousBit(pattern.minutes, minute - 1)
    if (earlier >= 0) return hour * 3600 + earlier * 60 + previousBit(pattern.seconds, 59)
  }
  const hours = pattern.hours & ((1 << hour) - 1)
  return hours === 0
    ? -1
    : highest(hours) * 3600 + previousBit(pattern.minutes, 59) * 60 + previousBit(pattern.seconds, 59)
}

/** Days of one month that year, month, day and weekday fields allow: bit 1 to bit 31 (R6, R7). */
const dayMask = (pattern: Pattern, year: number, month: number): number => {
  if ((pattern.months & (1 << month)) === 0) return 0
  if (pattern.years !== null) {
    const bit = year - yearMin
    if (bit < 0 || ((pattern.years[bit >> 5] ?? 0) & (1 << (bit & 31))) === 0) return 0
  }
  const length = monthLength(year, month)
  const firstWeekday = weekdayOf(daysFromCivil(year, month, 1))
  // Bits 1 to `length`; for 31 days `1 << 32` would wrap round.
  const inMonth = length === 31 ? -2 : (1 << (length + 1)) - 2
  let days = pattern.days
  if (pattern.lastDay) days |= 1 << length
  if (pattern.lastWorkday) days |= 1 << nearestWorkday(length, length, firstWeekday)
  for (let left = pattern.nearestWorkdays & inMonth; left !== 0; left &= left - 1) {
    days |= 1 << nearestWorkday(lowest(left), length, firstWeekday)
  }
  let byWeekday = repeatWeek(pattern.weekdays, firstWeekday)
  for (let index = 0; index < 5; index += 1) {
    const nth = pattern.nthWeekdays[index] ?? 0
    if (nth !== 0) byWeekday |= repeatWeek(nth, firstWeekday) & (0b1111111 << (index * 7 + 1))
  }
  const last = pattern.nthWeekdays[5] ?? 0
  if (last !== 0) byWeekday |= repeatWeek(last, firstWeekday) & (0b1111111 << (length - 6))
  return (pattern.dayRule === "and" ? days & byWeekday : days | byWeekday) & inMonth
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
