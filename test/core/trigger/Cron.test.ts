// Cron against three witnesses: croner in UTC, a scan of every minute, and the properties of the house rules.
// Random texts come from fixed seeds. UTC only: zones are in `CronZones.test.ts`.
import { Cron as Croner } from "croner"
import * as Result from "effect/Result"
import { afterAll, describe, expect, test } from "vitest"
import { between, betweenMax, matches, nextAfter, previousBefore } from "../../../core/trigger/Cron.ts"
import { type Cron, parseCron } from "../../../core/trigger/CronFields.ts"
import { dayOf, int, sample, seeded } from "./samples.ts"

const cronOf = (text: string): Cron => Result.getOrThrow(parseCron(text))
const utc = (text: string): number => Date.parse(text)
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
const dayMillis = 86_400_000

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
