// A schedule in English words that say what it does, not what it looks like: `*/45` is not "every 45 minutes".
// For lists, previews and refusals; beside the stations of `trigger/`. Pure; texts grow with the lists of the
// expression, to a few hundred characters.
import { yearMax, yearMin } from "./Civil.ts"
import type { Cron } from "./Cron.ts"
import { isEveryDay, nextWall, wallMin } from "./WallTimes.ts"
import { isUtc } from "./Zone.ts"

/**
 * Words without a full stop, beginning in lower case: "at 09:00 on Monday to Friday, Europe/Berlin time".
 * "Every N minutes" and the like stand only where all distances are equal, across clock changes too (those by whole
 * half hours: all since 1972); otherwise the minutes of the hour are named. How clock changes are met is told where
 * it was chosen.
 */
export const describe = (cron: Cron): string => {
  const never = nextWall(cron, wallMin) === Infinity ? " (a date that never comes)" : ""
  return `${clockWords(cron)}${dayWords(cron)}${never}, ${isUtc(cron.clock) ? "UTC" : `${cron.zone} time`}${changeWords(cron)}`
}

/**
 * Each field with what it names, in the order of a cron text: "minute", "0, 15, 30 and 45". The second is there when
 * it is not 0 alone, the year when the text has one.
 */
export const fieldWords = (cron: Cron): ReadonlyArray<readonly [field: string, words: string]> => {
  const [seconds, minutes] = [valuesOf(cron.seconds), valuesOf(cron.minutes)]
  const [hours, months] = [valuesOf([cron.hours, 0]), valuesOf([cron.months, 0])]
  const all = (unit: string, values: readonly number[], count: number, words = numbers(values)): string =>
    values.length === count ? `every ${unit}` : words
  const names = months.map((month) => monthNames[month - 1] ?? "")
  const years = yearsOf(cron)
  return [
    ...(seconds.length === 1 && seconds[0] === 0 ? [] : [["second", all("second", seconds, 60)] as const]),
    ["minute", all("minute", minutes, 60)],
    ["hour", all("hour", hours, 24)],
    ["day", cron.days === everyDate ? "every day" : list(dateItems(cron))],
    ["month", all("month", months, 12, list(runs(names, monthNames)))],
    ["weekday", cron.weekdays === everyWeekday ? "every weekday" : list(weekdayItems(cron))],
    ...(cron.years === null ? [] : [["year", all("year", years, yearMax - yearMin + 1)] as const]),
  ]
}

const clockWords = (cron: Cron): string => {
  const hours = valuesOf([cron.hours, 0])
  const minutes = valuesOf(cron.minutes)
  const seconds = valuesOf(cron.seconds)
  const onMinute = seconds.length === 1 && seconds[0] === 0
  if (hours.length === 24) {
    const rate = rateWords(cron, minutes, seconds)
    if (rate !== undefined) return rate
  } else if (seconds.length === 1 && minutes.length * hours.length <= timesMax) {
    const times = hours.flatMap((hour) =>
      minutes.map((minute) => [hour, minute, ...(onMinute ? [] : seconds)].map(two).join(":")),
    )
    return `at ${list(times)}${isAnyDay(cron) ? " every day" : ""}`
  }
  const second = onMinute ? "" : seconds.length === 60 ? "every second" : `second ${numbers(seconds)}`
  const minute = minutes.length === 60 ? "every minute" : `minute ${numbers(minutes)}`
  const hour = hours.length === 24 ? "every hour" : `hour ${numbers(hours)}`
  // "Every second of every minute" says no more than "every second".
  const parts = seconds.length === 60 && minutes.length === 60 ? [second] : [second, minute]
  const isPlain = hours.length === 24 && minutes.length === 60
  return `at ${[...parts, isPlain ? "" : hour].filter((part) => part !== "").join(" of ")}`
}

/** Most times of a day that are listed one by one. */
const timesMax = 6

/** "Every N minutes", where it is true to the second. */
const rateWords = (
  cron: Cron,
  minutes: readonly number[],
  seconds: readonly number[],
): string | undefined => {
  if (!isEveryDay(cron)) return undefined
  const follows = cron.wild && cron.ambiguous === "both"
  const isEqual = (step: number): boolean => step > 0 && (isUtc(cron.clock) || (follows && 1800 % step === 0))
  const every = (step: number, unit: string, first: number): string => {
    const from = first === 0 ? "" : ` from ${unit} ${first}`
    return step === 1 ? `every ${unit}` : `every ${step} ${unit}s${from}`
  }
  if (minutes.length === 60 && seconds.length > 1) {
    const step = evenStep(seconds)
    return isEqual(step) ? every(step, "second", seconds[0] ?? 0) : undefined
  }
  const step = evenStep(minutes)
  if (seconds.length !== 1 || seconds[0] !== 0 || !isEqual(step * 60)) return undefined
  return every(step, "minute", minutes[0] ?? 0)
}

/** The one distance between all values of a list that goes round after 60; 0 when there are several. */
const evenStep = (values: readonly number[]): number => {
  const step = 60 / values.length
  return values.length > 1 && values.every((value, index) => value === (values[0] ?? 0) + index * step)
    ? step
    : 0
}

/** Whether neither day field keeps a day of the month out. */
const isAnyDay = (cron: Cron): boolean => {
  const [date, weekday] = [cron.days === everyDate, cron.weekdays === everyWeekday]
  return cron.dayRule === "and" ? date && weekday : date || weekday
}

const dayWords = (cron: Cron): string => {
  const months = valuesOf([cron.months, 0]).map((month) => monthNames[month - 1] ?? "")
  const years = yearsOf(cron)
  return [
    onDays(cron),
    months.length === 12 ? "" : ` in ${list(runs(months, monthNames))}`,
    cron.years === null || years.length > yearMax - yearMin ? "" : ` in the year ${numbers(years)}`,
  ].join("")
}

const yearsOf = (cron: Cron): number[] =>
  (cron.years ?? []).flatMap((word, index) => valuesOf([word, 0]).map((bit) => yearMin + index * 32 + bit))

const onDays = (cron: Cron): string => {
  if (isAnyDay(cron)) return ""
  const date = ` on ${list(dateItems(cron))} of the month`
  const weekday = list(weekdayItems(cron))
  if (cron.dayRule === "or") return `${date} and also on ${weekday}`
  if (cron.days === everyDate) return ` on ${weekday}`
  return cron.weekdays === everyWeekday ? date : `${date} if it is ${weekday}`
}

const everyDate = -2
const everyWeekday = 0b1111111

const dateItems = (cron: Cron): string[] => {
  const days = valuesOf([cron.days, 0])
  const nearest = valuesOf([cron.nearestWorkdays, 0])
  return [
    ...(days.length === 0 ? [] : [`day ${numbers(days)}`]),
    ...nearest.map((day) => `the workday nearest to day ${day}`),
    ...(cron.lastDay ? ["the last day"] : []),
    ...(cron.lastWorkday ? ["the last workday"] : []),
  ]
}

const weekdayItems = (cron: Cron): string[] => {
  // Weeks begin on Monday here, so that a weekend is one run.
  const plain = weekdayNames.filter((_, index) => (cron.weekdays & (1 << ((index + 1) % 7))) !== 0)
  const nth = cron.nthWeekdays.flatMap((set, place) =>
    valuesOf([set, 0]).map((day) => `the ${places[place] ?? ""} ${weekdayNames[(day + 6) % 7] ?? ""}`),
  )
  return [...runs(plain, weekdayNames), ...nth]
}

const changeWords = (cron: Cron): string => {
  if (isUtc(cron.clock)) return ""
  const skipped = "; a time that a clock change skips"
  const gap =
    cron.wild || cron.gap === "after"
      ? ""
      : cron.gap === "skip"
        ? `${skipped} does not run`
        : `${skipped} runs just before the change`
  const usual = cron.wild ? "both" : "first"
  const pass = cron.ambiguous === "both" ? "runs both times" : `runs the ${cron.ambiguous} time only`
  return `${gap}${cron.ambiguous === usual ? "" : `; a time that a clock change repeats ${pass}`}`
}

const monthNames =
  "January February March April May June July August September October November December".split(" ")
const weekdayNames = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ")
const places = ["first", "second", "third", "fourth", "fifth", "last"]

const two = (value: number): string => String(value).padStart(2, "0")

const valuesOf = ([low, high]: readonly [number, number]): number[] => {
  const values: number[] = []
  for (let bit = 0; bit < 64; bit += 1)
    if (((bit < 32 ? low : high) & (1 << (bit & 31))) !== 0) values.push(bit)
  return values
}

/** "1, 2 and 3". */
const list = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1) ?? ""}`

/** Three and more neighbours become "a to b", five and more at one distance "a to b in steps of n". */
const numbers = (values: readonly number[]): string => {
  const step = (values[1] ?? 0) - (values[0] ?? 0)
  const even = values.every((value, index) => value === (values[0] ?? 0) + index * step)
  if (even && step > 1 && values.length > 4) return `${values[0]} to ${values.at(-1)} in steps of ${step}`
  const names = Array.from({ length: (values.at(-1) ?? 0) + 1 }, (_, value) => String(value))
  return list(runs(values.map(String), names))
}

/** Items with three and more neighbours of `order` joined to "first to last". */
const runs = (items: readonly string[], order: readonly string[]): string[] => {
  const found: string[][] = []
  for (const item of items) {
    const last = found.at(-1)
    if (last !== undefined && order.indexOf(item) === order.indexOf(last.at(-1) ?? "") + 1) last.push(item)
    else found.push([item])
  }
  return found.flatMap((run) => (run.length < 3 ? run : [`${run[0]} to ${run.at(-1)}`]))
}
