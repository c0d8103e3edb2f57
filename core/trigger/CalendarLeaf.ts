// The rules of a calendar that hold dates and times themselves: texts are read and become sets. The lower half of
// `CalendarSet.ts`, which joins them. Pure; each refusal names the entry, and each entry is counted.
import * as Result from "effect/Result"
import { type CalendarRule, type CalendarSpan, weekdayNames } from "../domain/Calendar.ts"
import { InvalidInput } from "../domain/Errors.ts"
import { parseInstant, parseSpan, quote } from "../domain/TimeSpan.ts"
import { parseCron } from "./CronFields.ts"
import { civilFromDays, daysFromCivil, daySeconds, monthLength, yearMax, yearMin } from "./Civil.ts"
import { type InstantSet, instantOf, ofSpans, ofWeek, ofWindows, ofYear, onClocks } from "./InstantSet.ts"
import type { Zone } from "./Zone.ts"

/** A rule without rules inside. */
export type Leaf = Exclude<
  CalendarRule,
  | { readonly calendar: string }
  | { readonly union: ReadonlyArray<CalendarRule> }
  | { readonly intersection: ReadonlyArray<CalendarRule> }
  | { readonly minus: ReadonlyArray<CalendarRule> }
  | { readonly always: true }
>

type Read<A> = Result.Result<A, InvalidInput>

/** The set of a leaf on the clocks of a zone; its entries are added to `counted`. */
export const leafSet = (
  field: string,
  rule: Leaf,
  clock: Zone,
  counted: { entries: number },
): Read<InstantSet> => {
  if ("days" in rule)
    return Result.map(readAll(`${field}.days`, rule.days, counted, readDays), (spans) =>
      onClocks(clock, ofSpans(spans)),
    )
  if ("yearly" in rule)
    return Result.map(readAll(`${field}.yearly`, rule.yearly, counted, readYearly), (ranges) =>
      onClocks(clock, ofYear(masksOf(ranges))),
    )
  if ("weekdays" in rule)
    return Result.map(readWeek(field, rule, counted), (spans) => onClocks(clock, ofWeek(spans)))
  if ("spans" in rule)
    return Result.map(
      readAll(`${field}.spans`, rule.spans, counted, (at, span) => readSpan(at, span, clock)),
      ofSpans,
    )
  return readWindows(field, rule, clock)
}

/** Each entry of a list that must hold some. */
const readAll = <A, B>(
  field: string,
  entries: ReadonlyArray<A>,
  counted: { entries: number },
  read: (field: string, entry: A) => Read<B>,
): Read<ReadonlyArray<B>> => {
  if (!Array.isArray(entries) || entries.length === 0)
    return refuse(field, "it is not a list of entries", "Name at least one, or leave it out.")
  counted.entries += entries.length
  const found: Array<B> = []
  // More are refused by the caller, and need not be read.
  for (const [index, entry] of entries.slice(0, readMax).entries()) {
    const one = read(`${field}[${index}]`, entry)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    found.push(one.success)
  }
  return Result.succeed(found)
}

const readMax = 10_000

const readDays = (field: string, text: string): Read<readonly [number, number]> => {
  const [first, last, more] = partsOf(text).map(dayOf)
  if (first === undefined || more !== undefined || (text.includes("/") && last === undefined))
    return refuse(field, `${quote(text)} is no date`, 'Write "2026-12-25" or "2026-12-24/2027-01-01".')
  if (last !== undefined && last < first)
    return refuse(field, `${quote(text)} ends before it begins`, "Write the earlier date first.")
  return Result.succeed([first * daySeconds, ((last ?? first) + 1) * daySeconds])
}

const partsOf = (text: unknown): ReadonlyArray<string> => (typeof text === "string" ? text.split("/", 3) : [])

/** The day number of a date; nothing when it is none, such as 30 February. */
const dayOf = (text: string): number | undefined => {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  return year >= yearMin && year <= yearMax && isDate(year, month, day)
    ? daysFromCivil(year, month, day)
    : undefined
}

const isDate = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= monthLength(year, month)

// A leap year, so that it knows 29 February.
const sampleYear = 2024
const sampleFirst = daysFromCivil(sampleYear, 1, 1)

const readYearly = (field: string, text: string): Read<readonly [number, number]> => {
  const [first, last, more] = partsOf(text).map((part) => dayOf(`${sampleYear}-${part}`))
  if (first === undefined || more !== undefined || (text.includes("/") && last === undefined))
    return refuse(field, `${quote(text)} is no date of a year`, 'Write "12-25" or "12-24/01-01".')
  return Result.succeed([first - sampleFirst, (last ?? first) - sampleFirst])
}

/** Bit `day` of entry `month`, for ranges of days of a leap year; one that runs backwards goes past its end. */
const masksOf = (ranges: ReadonlyArray<readonly [first: number, last: number]>): ReadonlyArray<number> => {
  const masks = Array.from({ length: 13 }, () => 0)
  for (const [first, last] of ranges) {
    for (let day = first; day <= (last < first ? last + 366 : last); day++) {
      const civil = civilFromDays(sampleFirst + (day % 366))
      const month = (civil >> 5) & 15
      masks[month] = (masks[month] ?? 0) | (1 << (civil & 31))
    }
  }
  return masks
}

const readWeek = (
  field: string,
  { weekdays, from, to }: Extract<Leaf, { weekdays: unknown }>,
  counted: { entries: number },
): Read<ReadonlyArray<readonly [number, number]>> =>
  Result.gen(function* () {
    const days = yield* readAll(`${field}.weekdays`, weekdays, counted, (at, name) => {
      const index = weekdayNames.indexOf(name)
      return index >= 0
        ? Result.succeed(index)
        : refuse(
            at,
            `${quote(name)} is no weekday`,
            `Write ${weekdayNames.map((day) => `"${day}"`).join(", ")}.`,
          )
    })
    const start = yield* readTime(`${field}.from`, from ?? "00:00")
    const end = yield* readTime(`${field}.to`, to ?? "24:00")
    if (start === end || start === daySeconds)
      return yield* refuse(
        `${field}.to`,
        "no time lies between `from` and `to`",
        "Write two times, or neither.",
      )
    const length = end > start ? end - start : end + daySeconds - start
    return days.map((day) => [day * daySeconds + start, day * daySeconds + start + length] as const)
  })

const readTime = (field: string, text: string): Read<number> => {
  const [, hour = 99, minute = 0, second = 0] =
    /^(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)?.map((part) => Number(part ?? 0)) ?? []
  const time = hour * 3600 + minute * 60 + second
  return minute < 60 && second < 60 && time <= daySeconds
    ? Result.succeed(time)
    : refuse(field, `${quote(text)} is no time of day`, 'Write "09:00" or "17:30:00", up to "24:00".')
}

const readSpan = (field: string, span: CalendarSpan, clock: Zone): Read<readonly [number, number]> =>
  Result.gen(function* () {
    if (typeof span !== "object" || span === null)
      return yield* refuse(field, `${quote(span)} is no span`, "Write { from, to }.")
    const from = yield* readInstant(`${field}.from`, span.from, clock)
    const to = yield* readInstant(`${field}.to`, span.to, clock)
    if (to <= from)
      return yield* refuse(`${field}.to`, "no time lies between `from` and `to`", "Give a later one.")
    return [from, to]
  })

/** An instant with an offset, a wall time of the zone, or a date, which means where that day begins. */
const readInstant = (field: string, text: string, clock: Zone): Read<number> => {
  const [, date, time = "00:00"] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?))?$/.exec(text) ?? []
  if (date === undefined) {
    const instant = parseInstant(field, text)
    if (Result.isSuccess(instant) && Math.abs(instant.success) < rangeMillis) return instant
  }
  const day = date === undefined ? undefined : dayOf(date)
  if (day === undefined)
    return refuse(
      field,
      `${quote(text)} is no instant`,
      'Write "2026-12-24T18:00:00Z", or "2026-12-24T18:00" for the zone\'s clocks.',
    )
  return Result.map(readTime(field, time), (seconds) => instantOf(clock, day * daySeconds + seconds))
}

// Up to 2199, and as far back.
const rangeMillis = 7_258_118_400_000

const readWindows = (
  field: string,
  { cron: text, lasting }: Extract<Leaf, { cron: unknown }>,
  clock: Zone,
): Read<InstantSet> =>
  Result.gen(function* () {
    const cron = yield* Result.mapError(
      parseCron(text, { zone: clock.name }),
      ({ field: part, reason, next }) => new InvalidInput({ field: `${field}.${part}`, reason, next }),
    )
    const lastingMillis = yield* parseSpan(`${field}.lasting`, lasting, 1000)
    if (lastingMillis > lastingMaxMillis)
      return yield* refuse(
        `${field}.lasting`,
        `${quote(lasting)} is more than 366 days`,
        "Write a shorter span.",
      )
    return ofWindows(cron, lastingMillis)
  })

const lastingMaxMillis = 366 * 86_400_000

const refuse = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))
