// Cron against three witnesses: croner in UTC, a scan of every minute, and the properties of the house rules.
// Random texts come from fixed seeds and carry their own predicate, so that no witness leans on our parser.
import { Cron as Croner } from "croner"
import * as Result from "effect/Result"
import { afterAll, describe, expect, test } from "vitest"
import { between, betweenMax, matches, nextAfter, previousBefore } from "../../../core/trigger/Cron.ts"
import { type Cron, parseCron } from "../../../core/trigger/CronFields.ts"

const cronOf = (text: string): Cron => Result.getOrThrow(parseCron(text))
const utc = (text: string): number => Date.parse(text)
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
const dayMillis = 86_400_000

type Random = () => number
const seeded = (seed: number): Random => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
const int = (random: Random, min: number, max: number): number => min + Math.floor(random() * (max - min + 1))

/** A day as the calendar shows it; `weekdays[d]` is the weekday of day d of its month. */
type Day = { month: number; day: number; length: number; weekdays: readonly number[] }
type Item = { text: string; values: readonly number[]; onDay?: (day: Day) => boolean }

const numbers = (random: Random, min: number, max: number): Item => {
  const every = (first: number, last: number, step: number): number[] => {
    const values: number[] = []
    for (let value = first; value <= last; value += step) values.push(value)
    return values
  }
  const kind = random()
  const first = int(random, min, max - 1)
  const last = int(random, first + 1, max)
  if (kind < 0.5) return { text: String(first), values: [first] }
  if (kind < 0.7) return { text: `${first}-${last}`, values: every(first, last, 1) }
  const step = int(random, 1, last - first)
  if (kind < 0.85) return { text: `${first}-${last}/${step}`, values: every(first, last, step) }
  // The weekday field ends at 7 for us and at 6 for croner, so `n/step` is left to the cases.
  if (max === 7) return { text: "7", values: [7] }
  const wide = int(random, 1, max - first)
  return { text: `${first}/${wide}`, values: every(first, max, wide) }
}

const field = (random: Random, min: number, max: number, letters?: (random: Random) => Item): Item => {
  const kind = random()
  const all = Array.from({ length: max - min + 1 }, (_, index) => min + index)
  if (kind < 0.3) return { text: letters !== undefined && kind < 0.05 ? "?" : "*", values: all }
  if (kind < 0.4) {
    const step = int(random, 1, Math.min(max - min, 15))
    return { text: `*/${step}`, values: all.filter((value) => (value - min) % step === 0) }
  }
  const items: Item[] = []
  for (let left = int(random, 1, 3); left > 0; left -= 1) {
    items.push(letters !== undefined && random() < 0.3 ? letters(random) : numbers(random, min, max))
  }
  // Croner takes LW only alone.
  const chosen = items.some((item) => item.text === "LW")
    ? items.filter((item) => item.text === "LW").slice(0, 1)
    : items
  return {
    text: chosen.map((item) => item.text).join(","),
    values: chosen.flatMap((item) => item.values),
    onDay: (day) => chosen.some((item) => item.onDay?.(day) ?? false),
  }
}

/** R7 in other words: no Monday-to-Friday of the month is nearer to the target. */
const nearestTo = (day: Day, target: number): boolean => {
  const distance = (of: number): number =>
    (day.weekdays[of] ?? 0) % 6 === 0 ? Infinity : Math.abs(of - target)
  if (target > day.length || distance(day.day) === Infinity) return false
  return day.weekdays.every((_, of) => of === 0 || distance(day.day) <= distance(of))
}
const dayLetters = (random: Random): Item => {
  const kind = random()
  if (kind < 0.3) return { text: "L", values: [], onDay: (day) => day.day === day.length }
  if (kind < 0.5) return { text: "LW", values: [], onDay: (day) => nearestTo(day, day.length) }
  const target = int(random, 1, 31)
  return { text: `${target}W`, values: [], onDay: (day) => nearestTo(day, target) }
}
const weekdayLetters = (random: Random): Item => {
  const number = int(random, 0, 7)
  const nth = int(random, 1, 6)
  const text = nth === 6 ? `${number}L` : `${number}#${nth}`
  const inWeek = (at: Day): boolean => (nth === 6 ? at.day + 7 > at.length : Math.ceil(at.day / 7) === nth)
  return { text, values: [], onDay: (at) => at.weekdays[at.day] === number % 7 && inWeek(at) }
}

const sample = (random: Random, fieldCount: number) => {
  const minute = field(random, 0, 59)
  const hour = field(random, 0, 23)
  const day = field(random, 1, 31, dayLetters)
  const month = field(random, 1, 12)
  const weekday = field(random, 0, 7, weekdayLetters)
  const plus = random() < 0.1 ? "+" : ""
  const texts = [minute.text, hour.text, day.text, month.text, plus + weekday.text]
  if (fieldCount > 5) texts.unshift(field(random, 0, 59).text)
  if (fieldCount > 6) texts.push(random() < 0.5 ? "*" : numbers(random, 1970, 2199).text)
  const and = plus === "+" || /^[*?]/.test(day.text) || /^[*?]/.test(weekday.text)
  const onDay = (at: Day): boolean => {
    const byDay = day.values.includes(at.day) || (day.onDay?.(at) ?? false)
    const number = at.weekdays[at.day] ?? 0
    const byWeekday = weekday.values.some((value) => value % 7 === number) || (weekday.onDay?.(at) ?? false)
    return month.values.includes(at.month) && (and ? byDay && byWeekday : byDay || byWeekday)
  }
  return { text: texts.join(" "), and, onDay, minutes: new Set(minute.values), hours: new Set(hour.values) }
}

const dayOf = (millis: number): Day => {
  const date = new Date(millis)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const weekdays = Array.from({ length: length + 1 }, (_, day) =>
    new Date(Date.UTC(year, month, day)).getUTCDay(),
  )
  return { month: month + 1, day: date.getUTCDate(), length, weekdays }
}

describe("nextAfter", () => {
  test("gives croner's answer for 2000 random texts of five to seven fields, from three instants each", () => {
    const random = seeded(20_261_130)
    let answers = 0
    for (let round = 0; round < 2000; round += 1) {
      const { text, and } = sample(random, int(random, 5, 7))
      const cron = cronOf(text)
      const croner = new Croner(text, { timezone: "UTC", paused: true, domAndDow: and, sloppyRanges: true })
      for (let reference = 0; reference < 3; reference += 1) {
        const from = int(random, utc("1990-01-01T00:00:00Z"), utc("2150-01-01T00:00:00Z"))
        const theirs = croner.nextRun(new Date(from))?.getTime() ?? null
        const expected = theirs !== null && theirs < utc("2200-01-01T00:00:00Z") ? theirs : null
        expect(iso(nextAfter(cron, from)), `"${text}" after ${iso(from)}`).toBe(iso(expected))
        if (expected !== null) answers += 1
      }
    }
    expect(answers).toBeGreaterThan(4000)
  })

  test("finds what a scan of every minute of 40 days finds, for 200 random texts", () => {
    const random = seeded(4711)
    let found = 0
    for (let round = 0; round < 200; round += 1) {
      const { text, onDay, minutes, hours } = sample(random, 5)
      const start = utc("2023-01-01T00:00:00Z") + int(random, 0, 2000) * dayMillis
      const end = start + 40 * dayMillis
      const scanned: number[] = []
      for (let midnight = start; midnight < end; midnight += dayMillis) {
        if (!onDay(dayOf(midnight))) continue
        for (let minute = 0; minute < 1440; minute += 1) {
          if (!hours.has(Math.floor(minute / 60)) || !minutes.has(minute % 60)) continue
          scanned.push(midnight + minute * 60_000)
        }
      }
      const cron = cronOf(text)
      const listed: number[] = []
      let at = nextAfter(cron, start - 1)
      for (; at !== null && at < end; at = nextAfter(cron, at)) listed.push(at)
      expect(listed, `"${text}" from ${iso(start)}`).toEqual(scanned)
      found += scanned.length
    }
    expect(found).toBeGreaterThan(10_000)
  })

  test("is strictly later than its reference, to the millisecond", () => {
    const cron = cronOf("0 13 * * *")
    const noon = utc("2026-02-15T13:00:00Z")
    expect(nextAfter(cron, noon - 1)).toBe(noon)
    expect(nextAfter(cron, noon - 0.5)).toBe(noon)
    expect(nextAfter(cron, noon)).toBe(noon + dayMillis)
    expect(nextAfter(cron, noon + 7)).toBe(noon + dayMillis)
  })

  test("knows that 1900 and 2100 have no leap day and 2000 has", () => {
    const cron = cronOf("0 0 29 2 *")
    expect(iso(nextAfter(cron, utc("1896-03-01T00:00:00Z")))).toBe("1904-02-29T00:00:00.000Z")
    expect(iso(nextAfter(cron, utc("1996-03-01T00:00:00Z")))).toBe("2000-02-29T00:00:00.000Z")
    expect(iso(nextAfter(cron, utc("2096-03-01T00:00:00Z")))).toBe("2104-02-29T00:00:00.000Z")
    expect(nextAfter(cron, utc("2196-03-01T00:00:00Z"))).toBeNull()
  })

  test("reaches the last second of 2199 and nothing after it", () => {
    const cron = cronOf("59 59 23 31 12 * *")
    const last = utc("2199-12-31T23:59:59Z")
    expect(nextAfter(cron, last - 1)).toBe(last)
    expect(nextAfter(cron, last)).toBeNull()
    expect(nextAfter(cronOf("* * * * *"), last)).toBeNull()
  })
})

describe("the properties of the house rules", () => {
  const random = seeded(99)
  const samples = Array.from({ length: 300 }, () => ({
    cron: cronOf(sample(random, int(random, 5, 7)).text),
    from: int(random, utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")),
  }))
  const lists = samples.map(({ cron, from }) => between(cron, from, Infinity, 20))
  const each = (check: (cron: Cron, list: readonly number[], from: number) => void): void => {
    for (const [index, { cron, from }] of samples.entries()) check(cron, lists[index] ?? [], from)
  }
  const zoneBefore = process.env["TZ"]
  afterAll(() => {
    if (zoneBefore === undefined) delete process.env["TZ"]
    else process.env["TZ"] = zoneBefore
  })

  test("1: results are strictly increasing", () =>
    each((_cron, list, from) => {
      for (const [index, at] of list.entries()) expect(at).toBeGreaterThan(list[index - 1] ?? from)
    }))

  test("2 and 3: a result is found from one millisecond before it, and the one after it from itself", () =>
    each((cron, list) => {
      for (const [index, at] of list.entries()) {
        expect(nextAfter(cron, at - 1)).toBe(at)
        if (index + 1 < list.length) expect(nextAfter(cron, at)).toBe(list[index + 1])
      }
    }))

  test("4: the list from a later reference is the tail of the list from an earlier one", () =>
    each((cron, list) => {
      const last = list.at(-1)
      if (last === undefined) return
      for (const [index, at] of list.entries()) {
        for (const later of [at, at + 1, at + 999]) {
          expect(between(cron, later, last, 20)).toEqual(list.slice(index + 1).filter((one) => one > later))
        }
      }
    }))

  test("5: previousBefore lists the same instants backwards", () =>
    each((cron, list) => {
      for (let index = list.length - 1; index > 0; index -= 1) {
        const at = list[index] ?? 0
        expect(previousBefore(cron, at)).toBe(list[index - 1])
        expect(previousBefore(cron, at + 1)).toBe(at)
        expect(previousBefore(cron, at + 1000)).toBe(at)
      }
    }))

  test("6: the zone of the process changes nothing", () => {
    for (const zone of ["UTC", "Australia/Sydney", "America/Sao_Paulo", "Pacific/Apia"]) {
      process.env["TZ"] = zone
      each((cron, list, from) => expect(between(cronOf(cron.text), from, Infinity, 20)).toEqual(list))
    }
  })

  test("7: references at the ends of the Date range, infinite ones and NaN have no answer", () =>
    each((cron) => {
      for (const end of [8.64e15, -8.64e15, Infinity, -Infinity, NaN]) {
        expect(nextAfter(cron, end)).toBeNull()
        expect(previousBefore(cron, end)).toBeNull()
        expect(between(cron, end, end, 5)).toEqual([])
        expect(matches(cron, end)).toBe(false)
      }
    }))

  test("matches holds for every result, not a millisecond later, and not a second later unless that is one", () =>
    each((cron, list) => {
      for (const [index, at] of list.entries()) {
        expect(matches(cron, at)).toBe(true)
        expect(matches(cron, at + 1)).toBe(false)
        if ((list[index + 1] ?? 0) > at + 1000) expect(matches(cron, at + 1000)).toBe(false)
      }
    }))
})

describe("previousBefore", () => {
  test("ends at 1970 with a year field, and at the year 1 without", () => {
    expect(previousBefore(cronOf("0 0 0 1 1 * *"), 0)).toBeNull()
    const [start, daily] = [utc("0001-01-01T00:00:00Z"), cronOf("@daily")]
    expect(previousBefore(cronOf("@yearly"), 0)).toBe(utc("1969-01-01T00:00:00Z"))
    expect(previousBefore(daily, start + 1)).toBe(start)
    expect(previousBefore(daily, start)).toBeNull()
    expect(previousBefore(cronOf("0 0 30 2 *"), utc("2199-01-01T00:00:00Z"))).toBeNull()
  })
})

describe("between", () => {
  const hourly = cronOf("@hourly")
  const from = utc("2026-01-01T00:00:00Z")

  test("leaves its start out and takes its end in, so that spans laid end to end count none twice", () => {
    const middle = from + 3 * 3_600_000
    const hours = (list: readonly number[]): number[] => list.map((at) => (at - from) / 3_600_000)
    expect(hours(between(hourly, from, middle, 10))).toEqual([1, 2, 3])
    expect(hours(between(hourly, middle, middle + dayMillis, 2))).toEqual([4, 5])
  })

  test("never gives more than its limit, and has a limit of its own", () => {
    expect(between(hourly, from, from + dayMillis, 5)).toHaveLength(5)
    expect(between(cronOf("* * * * *"), from, Infinity, Infinity)).toHaveLength(betweenMax)
    for (const none of [0, -1, NaN]) expect(between(hourly, from, from + dayMillis, none)).toEqual([])
    expect(between(hourly, from + dayMillis, from, 5)).toEqual([])
  })
})
