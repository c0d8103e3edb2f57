// The words of a schedule are read back by a reader that knows English only, and must name the computed
// occurrences: no more and no less.
import * as Result from "effect/Result"
import { expect, test } from "vitest"
import { between } from "../../../core/trigger/Cron.ts"
import { type Cron, type CronOptions, parseCron } from "../../../core/trigger/CronFields.ts"
import { describe as wordsOf } from "../../../core/trigger/Describe.ts"
import { spanAt } from "../../../core/trigger/Zone.ts"
import { type Day, dayOf, int, sample, seeded, zones40 } from "./samples.ts"

const cronOf = (text: string, options: CronOptions = {}): Cron => Result.getOrThrow(parseCron(text, options))
const daySeconds = 86_400

const monthNames =
  "January February March April May June July August September October November December".split(" ")
const weekdayNames = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ")
const places = ["first", "second", "third", "fourth", "fifth"]

const items = (text: string): string[] => text.split(/, | and /)
const range = (first: number, last: number, step = 1): number[] =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step)
const numbers = (text: string): number[] => {
  const steps = /^(\d+) to (\d+) in steps of (\d+)$/.exec(text)
  if (steps !== null) return range(Number(steps[1]), Number(steps[2]), Number(steps[3]))
  return items(text).flatMap((item) => {
    const [first = NaN, last = first] = item.split(" to ").map(Number)
    return range(first, last)
  })
}
/** Names with "a to b"; the week begins on Monday. */
const named = (text: string, names: readonly string[], shift: number): number[] =>
  items(text).flatMap((item) => {
    const [first = NaN, last = first] = item.split(" to ").map((name) => names.indexOf(name))
    const turn = (index: number): number => (index + names.length - shift) % names.length
    return range(turn(first), turn(last)).map((index) => (index + shift) % names.length)
  })

/** Seconds of the day that the words name, and what they say about the day. */
const readClock = (words: string): { times: number[]; rest: string } => {
  const rate = /^every (?:(\d+) )?(second|minute)s?(?: from \w+ (\d+))?/.exec(words)
  if (rate !== null) {
    const unit = rate[2] === "minute" ? 60 : 1
    const step = Number(rate[1] ?? 1) * unit
    return {
      times: range(Number(rate[3] ?? 0) * unit, daySeconds - 1, step),
      rest: words.slice(rate[0].length),
    }
  }
  const list = /^at (\d\d:\d\d(?::\d\d)?(?:(?:, | and )\d\d:\d\d(?::\d\d)?)*)/.exec(words)
  if (list !== null) {
    const times = items(list[1] ?? "").map((time) => {
      const [hour = 0, minute = 0, second = 0] = time.split(":").map(Number)
      return hour * 3600 + minute * 60 + second
    })
    return { times, rest: words.slice(list[0].length).replace(/^ every day/, "") }
  }
  const numeric = "(?:\\d+(?: to \\d+)?(?:(?:, | and )\\d+(?: to \\d+)?)*(?: in steps of \\d+)?)"
  const part = (unit: string): string => `(?:every ${unit}|${unit} ${numeric})`
  const of = new RegExp(
    `^at (?:(${part("second")})(?: of )?)?(?:(${part("minute")})(?: of )?)?(${part("hour")})?(?= |,|$)`,
  ).exec(words)
  const [all = "", second, minute, hour] = of ?? []
  const values = (text: string | undefined, absent: number[], count: number): number[] =>
    text === undefined
      ? absent
      : text.startsWith("every")
        ? range(0, count - 1)
        : numbers(text.slice(text.indexOf(" ") + 1))
  const hours = values(hour, range(0, 23), 24)
  const minutes = values(minute, range(0, 59), 60)
  const seconds = values(second, [0], 60)
  const times = hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => h * 3600 + m * 60 + s)))
  return { times, rest: words.slice(all.length) }
}

const isDate = (text: string, day: Day): boolean =>
  items(text.replace(/^day /, "")).some((item) => {
    const isWorkday = (date: number): boolean => (day.weekdays[date] ?? 0) % 6 !== 0
    const nearest = (target: number): boolean => {
      if (target > day.length || !isWorkday(day.day)) return false
      const away = Math.abs(day.day - target)
      return range(1, day.length).every((date) => !isWorkday(date) || Math.abs(date - target) >= away)
    }
    if (item === "the last day") return day.day === day.length
    if (item === "the last workday") return nearest(day.length)
    const target = /^the workday nearest to day (\d+)$/.exec(item)
    if (target !== null) return nearest(Number(target[1]))
    return numbers(item).includes(day.day)
  })
const isWeekday = (text: string, day: Day): boolean =>
  items(text).some((item) => {
    const nth = /^the (\w+) (\w+)$/.exec(item)
    const weekday = day.weekdays[day.day] ?? 0
    if (nth === null) return named(item, weekdayNames, 1).includes(weekday)
    const inPlace =
      nth[1] === "last"
        ? day.day + 7 > day.length
        : Math.ceil(day.day / 7) === places.indexOf(nth[1] ?? "") + 1
    return weekdayNames[weekday] === nth[2] && inPlace
  })

const readDay = (rest: string): ((day: Day, year: number) => boolean) => {
  const [, days = "", months, years] =
    /^(.*?)(?: in ([A-Z].*?))?(?: in the year (.*?))?(?: \(a date that never comes\))?, UTC$/.exec(rest) ?? []
  const or = /^ on (.*) of the month and also on (.*)$/.exec(days)
  const and = /^ on (.*) of the month(?: if it is (.*))?$/.exec(days)
  const weekday = /^ on (.*)$/.exec(days)
  return (day, year) => {
    if (months !== undefined && !named(months, monthNames, 0).includes(day.month - 1)) return false
    if (years !== undefined && !numbers(years).includes(year)) return false
    if (days === "") return true
    if (or !== null) return isDate(or[1] ?? "", day) || isWeekday(or[2] ?? "", day)
    if (and !== null) return isDate(and[1] ?? "", day) && (and[2] === undefined || isWeekday(and[2], day))
    return isWeekday(weekday?.[1] ?? "", day)
  }
}

test("the words name the days and the times that are computed, for 1500 random texts", () => {
  const random = seeded(31)
  let daysWithTimes = 0
  for (let round = 0; round < 1500; round += 1) {
    const { text } = sample(random, int(random, 5, 7))
    const cron = cronOf(text)
    const words = wordsOf(cron)
    const { times, rest } = readClock(words)
    const isNamed = readDay(rest)
    const start = Date.parse("2020-01-01T00:00:00Z") + int(random, 0, 4000) * daySeconds * 1000
    for (let index = 0; index < 40; index += 1) {
      const midnight = start + index * daySeconds * 1000
      const named = isNamed(dayOf(midnight), new Date(midnight).getUTCFullYear())
      const expected = named ? times.slice(0, 100).map((time) => midnight + time * 1000) : []
      const computed = between(cron, midnight - 1, midnight + daySeconds * 1000 - 1, 100)
      if (computed.join() !== expected.join()) expect(computed, `"${text}": ${words}`).toEqual(expected)
      if (named) daysWithTimes += 1
    }
  }
  expect(daysWithTimes).toBeGreaterThan(5000)
}, 60_000)

test('"every N" is said only where all distances are N, across every clock change of 16 years in 40 zones', () => {
  const random = seeded(8)
  let claims = 0
  for (const zone of zones40) {
    const changes: number[] = []
    for (
      let at = Date.parse("2010-01-01") / 1000;
      at < Date.parse("2026-01-01") / 1000;
      at = changes.at(-1) ?? at
    ) {
      changes.push(spanAt(cronOf("* * * * *", { zone }).clock, at).end)
    }
    const minute = ["*", "*/2", "*/5", "*/15", "*/20", "*/30", "*/45", "*/7", "3/10", "0-59", "0"]
    for (const text of [
      ...minute.map((field) => `${field} * * * *`),
      "*/10 * * * * *",
      "*/7 * * * * *",
      "* * * * * *",
    ]) {
      const ambiguous = random() < 0.7 ? "auto" : "first"
      const cron = cronOf(text, { zone, ambiguous })
      const rate = /^every (?:(\d+) )?(second|minute)/.exec(wordsOf(cron))
      if (rate === null) continue
      const step = Number(rate[1] ?? 1) * (rate[2] === "minute" ? 60_000 : 1000)
      for (const change of changes.slice(0, -1)) {
        const span = Math.min(3 * 3_600_000, step * 60)
        const list = between(cron, change * 1000 - span, change * 1000 + span, 10_000)
        const uneven = list.findIndex((at, index) => index > 0 && at - (list[index - 1] ?? 0) !== step)
        if (uneven >= 0)
          expect.unreachable(`"${text}" in ${zone}: ${new Date(list[uneven] ?? 0).toISOString()}`)
      }
      claims += 1
    }
  }
  expect(claims).toBeGreaterThan(200)
}, 60_000)

test.each<[string, CronOptions, string]>([
  ["*/45 * * * *", {}, "at minute 0 and 45 of every hour, UTC"],
  ["*/15 * * * *", { zone: "Europe/Berlin" }, "every 15 minutes, Europe/Berlin time"],
  ["0-59/15 * * * *", { zone: "Europe/Berlin" }, "every 15 minutes, Europe/Berlin time"],
  [
    "0-59/15 0-23 * * *",
    { zone: "Europe/Berlin" },
    "at minute 0, 15, 30 and 45 of every hour, Europe/Berlin time",
  ],
  ["0 9 * * 1-5", { zone: "Europe/Berlin" }, "at 09:00 on Monday to Friday, Europe/Berlin time"],
  ["0 9,17 * * *", {}, "at 09:00 and 17:00 every day, UTC"],
  ["0 0 1-7 * +MON", {}, "at 00:00 on day 1 to 7 of the month if it is Monday, UTC"],
  ["0 0 1,15 * 5", {}, "at 00:00 on day 1 and 15 of the month and also on Friday, UTC"],
  ["0 0 1-31 1 4", {}, "at 00:00 every day in January, UTC"],
  ["0 0 30 2 *", {}, "at 00:00 on day 30 of the month in February (a date that never comes), UTC"],
  [
    "30 2 * * *",
    { zone: "America/New_York", gap: "skip", ambiguous: "both" },
    "at 02:30 every day, America/New_York time; a time that a clock change skips does not run; " +
      "a time that a clock change repeats runs both times",
  ],
])("%s %j: %s", (text, options, words) => {
  expect(wordsOf(cronOf(text, options))).toBe(words)
})
