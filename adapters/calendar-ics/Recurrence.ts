// The days and times that a recurrence rule of iCalendar (RFC 5545, section 3.3.10) names: each period's days are
// filtered by the rule's parts, which comes to the same as the RFC's table of what expands and what limits, and is
// bounded for every rule. Wall times in seconds, as everywhere below `trigger/`. Pure.
import { civilFromDays, daysFromCivil, daySeconds, monthLength, weekdayOf } from "../../core/trigger/Civil.ts"

/** A rule, read. Lists that are absent in the text are empty; weekdays count from Sunday, which is 0. */
export interface Recurrence {
  readonly freq: "DAILY" | "WEEKLY" | "MONTHLY" | "YEARLY"
  readonly interval: number
  /** `null`: no limit. */
  readonly count: number | null
  readonly weekStart: number
  readonly months: ReadonlyArray<number>
  readonly monthDays: ReadonlyArray<number>
  readonly yearDays: ReadonlyArray<number>
  readonly weekNumbers: ReadonlyArray<number>
  /** `nth` 0: each; below 0 from the end. */
  readonly weekdays: ReadonlyArray<{ readonly nth: number; readonly weekday: number }>
  readonly positions: ReadonlyArray<number>
  readonly hours: ReadonlyArray<number>
  readonly minutes: ReadonlyArray<number>
  readonly seconds: ReadonlyArray<number>
}

/** The bound of one expansion. */
export interface Bounds {
  /** Wall times behind this one are not named. */
  readonly until: number
  /** Those before this one need not be named. */
  readonly from: number
  /** Days that may still be looked at; counted down. */
  readonly budget: { days: number }
}

/** The start itself and what the rule names after it, in order; `null` when the budget is used up. */
export const expand = (rule: Recurrence, start: number, bounds: Bounds): ReadonlyArray<number> | null => {
  const found = [start]
  const matches = filterOf(rule, start)
  const times = timesOf(rule, start)
  let left = (rule.count ?? Infinity) - 1
  for (let index = firstPeriod(rule, start, bounds.from); ; index++) {
    const [first, end] = periodOf(rule, start, index)
    if (first * daySeconds > bounds.until || left <= 0) return found
    bounds.budget.days -= end - first
    if (bounds.budget.days < 0) return null
    const named: Array<number> = []
    for (let day = first; day < end; day++)
      if (matches(day)) for (const time of times) named.push(day * daySeconds + time)
    for (const wall of positioned(rule, named)) {
      if (wall <= start) continue
      if (wall > bounds.until || left-- <= 0) return found
      found.push(wall)
    }
  }
}

/** Where to begin: with a count each period matters, without one those long before the range do not. */
const firstPeriod = ({ freq, interval, count }: Recurrence, start: number, from: number): number => {
  if (count !== null || from <= start) return 0
  const days = { DAILY: 1, WEEKLY: 7, MONTHLY: 31, YEARLY: 366 }[freq] * interval
  return Math.max(0, Math.floor((from - start) / daySeconds / days) - 1)
}

/** First day of a period, and the first one after it. */
const periodOf = (
  { freq, interval, weekStart, weekNumbers }: Recurrence,
  start: number,
  index: number,
): readonly [number, number] => {
  const day = Math.floor(start / daySeconds)
  const civil = civilFromDays(day)
  const [year, month] = [civil >> 9, (civil >> 5) & 15]
  switch (freq) {
    case "DAILY":
      return [day + index * interval, day + index * interval + 1]
    case "WEEKLY": {
      const first = day - ((weekdayOf(day) - weekStart + 7) % 7) + 7 * index * interval
      return [first, first + 7]
    }
    case "MONTHLY": {
      const months = year * 12 + month - 1 + index * interval
      const [inYear, inMonth] = [Math.floor(months / 12), (months % 12) + 1]
      const first = daysFromCivil(inYear, inMonth, 1)
      return [first, first + monthLength(inYear, inMonth)]
    }
    case "YEARLY": {
      const of = year + index * interval
      // Weeks of a year begin up to three days before it and end as far behind it.
      return weekNumbers.length > 0
        ? [weekOne(of, weekStart), weekOne(of + 1, weekStart)]
        : [daysFromCivil(of, 1, 1), daysFromCivil(of + 1, 1, 1)]
    }
  }
}

/** Where the first week of a year begins that has four of its days. */
const weekOne = (year: number, weekStart: number): number => {
  const fourth = daysFromCivil(year, 1, 4)
  return fourth - ((weekdayOf(fourth) - weekStart + 7) % 7)
}

const filterOf = (rule: Recurrence, start: number): ((day: number) => boolean) => {
  const { freq, months, monthDays, yearDays, weekNumbers, weekdays, weekStart } = withDefaults(rule, start)
  // The nth of the month, or of the year when the rule is about years as a whole.
  const inMonth = freq === "MONTHLY" || (freq === "YEARLY" && months.length > 0)
  const isOf = (list: ReadonlyArray<number>, value: number, length: number): boolean =>
    list.length === 0 || list.includes(value) || list.includes(value - length - 1)
  return (day) => {
    const civil = civilFromDays(day)
    const [year, month, ofMonth] = [civil >> 9, (civil >> 5) & 15, civil & 31]
    if (months.length > 0 && !months.includes(month)) return false
    const monthSize = monthLength(year, month)
    if (!isOf(monthDays, ofMonth, monthSize)) return false
    const yearFirst = daysFromCivil(year, 1, 1)
    const yearSize = daysFromCivil(year + 1, 1, 1) - yearFirst
    const ofYear = day - yearFirst + 1
    if (!isOf(yearDays, ofYear, yearSize)) return false
    if (weekNumbers.length > 0) {
      const own = [year - 1, year, year + 1].findLast((each) => weekOne(each, weekStart) <= day) ?? year
      const size = (weekOne(own + 1, weekStart) - weekOne(own, weekStart)) / 7
      if (!isOf(weekNumbers, Math.floor((day - weekOne(own, weekStart)) / 7) + 1, size)) return false
    }
    if (weekdays.length === 0) return true
    const [place, size] = inMonth ? [ofMonth, monthSize] : [ofYear, yearSize]
    return weekdays.some(
      ({ nth, weekday }) =>
        weekdayOf(day) === weekday &&
        (nth === 0 || nth === Math.ceil(place / 7) || -nth === Math.ceil((size - place + 1) / 7)),
    )
  }
}

/** What the rule does not say, the start says. */
const withDefaults = (rule: Recurrence, start: number): Recurrence => {
  const { freq, months, monthDays, yearDays, weekNumbers, weekdays } = rule
  const day = Math.floor(start / daySeconds)
  const civil = civilFromDays(day)
  if (weekdays.length > 0 || monthDays.length > 0 || yearDays.length > 0 || freq === "DAILY") return rule
  if (freq === "WEEKLY" || weekNumbers.length > 0)
    return { ...rule, weekdays: [{ nth: 0, weekday: weekdayOf(day) }] }
  const sameDay = { ...rule, monthDays: [civil & 31] }
  return freq === "YEARLY" && months.length === 0 ? { ...sameDay, months: [(civil >> 5) & 15] } : sameDay
}

const timesOf = ({ hours, minutes, seconds }: Recurrence, start: number): ReadonlyArray<number> => {
  const time = start - Math.floor(start / daySeconds) * daySeconds
  const or = (list: ReadonlyArray<number>, own: number): ReadonlyArray<number> =>
    list.length === 0 ? [own] : list
  const all = or(hours, Math.floor(time / 3600)).flatMap((hour) =>
    or(minutes, Math.floor(time / 60) % 60).flatMap((minute) =>
      or(seconds, time % 60).map((second) => hour * 3600 + minute * 60 + second),
    ),
  )
  return [...new Set(all)].sort((a, b) => a - b)
}

const positioned = ({ positions }: Recurrence, named: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (positions.length === 0) return named
  const chosen = positions.flatMap((position) => named.at(position > 0 ? position - 1 : position) ?? [])
  return [...new Set(chosen)].sort((a, b) => a - b)
}
