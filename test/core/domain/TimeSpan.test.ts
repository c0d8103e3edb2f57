// Spans and instants as people write them: what each text means, and that whatever has no sure meaning is refused with
// its field, a reason and the next thing to do.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import { parseInstant, parseSpan, quote, spanMaxMillis } from "../../../core/domain/TimeSpan.ts"

const span = (value: unknown, min?: number): number => Result.getOrThrow(parseSpan("delay", value, min))
const instant = (value: unknown): number => Result.getOrThrow(parseInstant("at", value))

const refused = (result: Result.Result<number, InvalidInput>, field: string): InvalidInput => {
  if (Result.isSuccess(result)) throw new Error(`It was accepted as ${result.success}`)
  const { failure } = result
  expect(failure).toBeInstanceOf(InvalidInput)
  expect(failure.field).toBe(field)
  expect(failure.reason).toMatch(/\S/)
  expect(failure.next).toMatch(/^[A-Z].*\.$/)
  expect(failure.message).toBe(`${field}: ${failure.reason}. ${failure.next}`)
  return failure
}

/** A name for a test, whatever the value is. */
const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : quote(value)

/** One list of several: values of a kind stand on one line. */
const groups = (lists: ReadonlyArray<ReadonlyArray<unknown>>): ReadonlyArray<unknown> => lists.flat()

describe("TimeSpan > spans", () => {
  const right: ReadonlyArray<readonly [unknown, number]> = [
    ["1ms", 1],
    ["1s", 1000],
    ["1m", 60_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["1w", 604_800_000],
    ["500ms", 500],
    ["0s", 0],
    ["0ms", 0],
    ["007s", 7000],
    ["1h30m", 5_400_000],
    ["1d12h30m", 131_400_000],
    ["1m2ms", 60_002],
    ["2ms1m", 60_002],
    ["1w1d1h1m1s1ms", 694_861_001],
    ["1.5h", 5_400_000],
    ["0.5s", 500],
    ["1.0005s", 1001],
    ["0.1ms", 1],
    [0, 0],
    [1, 1],
    [0.2, 1],
    [1000.001, 1001],
    [Number.MIN_VALUE, 1],
    [spanMaxMillis, spanMaxMillis],
    ["36525d", spanMaxMillis],
  ]
  for (const [value, millis] of right)
    test(`${shown(value)} is ${millis} ms`, () => expect(span(value)).toBe(millis))

  test("minus zero is zero", () => expect(span(-0) === 0).toBe(true))

  test("a fraction is exact: what people write in decimals gains no millisecond from binary numbers", () => {
    expect(["0.07h", "1.1h", "2.3h", "8.7m", "4.35h", "1.005s"].map((text) => span(text))).toEqual([
      252_000, 3_960_000, 8_280_000, 522_000, 15_660_000, 1005,
    ])
    for (let hundredths = 0; hundredths <= 3000; hundredths++) {
      const text = `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}`
      expect(span(`${text}s`), `${text}s`).toBe(hundredths * 10)
      expect(span(`${text}m`), `${text}m`).toBe(hundredths * 600)
      expect(span(`${text}h`), `${text}h`).toBe(hundredths * 36_000)
      expect(span(`${text}d`), `${text}d`).toBe(hundredths * 864_000)
    }
  })

  const wrong: ReadonlyArray<unknown> = groups([
    [Number.NaN, Infinity, -Infinity, -1, -0.001, -1e15, 1e300, Number.MAX_VALUE, spanMaxMillis + 1],
    ["", " ", "5", "5 minutes", "5 m", " 5m", "5m ", "5M", "5H", "5min", "5mss", "m", "ms", "-5m", "+5m"],
    ["1e3ms", ".5s", "1.s", "1..5s", "1,5s", "1h-30m", "1h 30m", "PT5M", "NaN", "Infinity", "Infinitys"],
    ["٥m", "5ｍ", "5m\n", "5m\u0000", "0x10ms", "1_000ms", "1y", "1M", "5µs", "36525d1ms", "5218w"],
    [`${"1s".repeat(32)}1s`, "9".repeat(64), `${"0".repeat(64)}1s`, "1s".repeat(100_000)],
    [null, undefined, true, false, 5n, Symbol("5m"), {}, [], ["5m"], () => "5m", new Date(5)],
    [{ valueOf: () => 5 }, new Number(5), new String("5m"), { minutes: 5 }, new Date(Number.NaN)],
  ])
  for (const [index, value] of wrong.entries())
    test(`${shown(value)} is refused (${index})`, () => {
      refused(parseSpan("jobs[2].delay", value), "jobs[2].delay")
    })

  test("a text of 64 characters is read, one of 65 is not", () => {
    expect(span("1s".repeat(32))).toBe(32_000)
    refused(parseSpan("delay", `${"1s".repeat(32)}s`), "delay")
  })

  test("the reason says which limit it was", () => {
    expect(refused(parseSpan("delay", Number.NaN), "delay").reason).toContain("NaN is not a finite number")
    expect(refused(parseSpan("delay", -5), "delay").reason).toContain("-5 is less than the 0 ms")
    expect(refused(parseSpan("delay", 1e300), "delay").reason).toContain("more than 100 years")
    expect(refused(parseSpan("delay", "5 minutes"), "delay").reason).toBe('"5 minutes" is not a time span')
    expect(refused(parseSpan("delay", {}), "delay").reason).toBe("an object is not a time span")
  })

  test("the least that is allowed is allowed, less is not", () => {
    expect(span(10, 10)).toBe(10)
    expect(span("10ms", 10)).toBe(10)
    for (const value of [9, 9.999, "9ms", 0]) refused(parseSpan("every", value, 10), "every")
  })

  test("reading one text leaves nothing behind for the next", () => {
    for (const text of ["1h30", "5 minutes", "1h", "x", "1h30m"]) parseSpan("delay", text)
    expect(span("1h30m")).toBe(5_400_000)
    expect(span("1h30m")).toBe(5_400_000)
  })
})

describe("TimeSpan > instants", () => {
  const nine = Date.UTC(2027, 0, 31, 9)
  const right: ReadonlyArray<readonly [unknown, number]> = [
    [new Date(nine), nine],
    [new Date(-1), -1],
    [nine, nine],
    [0, 0],
    [-1, -1],
    [-1e15, -1e15],
    [nine + 0.25, nine + 1],
    [8.64e15, 8.64e15],
    [-8.64e15, -8.64e15],
    ["2027-01-31T09:00:00Z", nine],
    ["2027-01-31T09:00Z", nine],
    ["2027-01-31T09:00:00.250Z", nine + 250],
    ["2027-01-31T09:00:00.1Z", nine + 100],
    ["2027-01-31T10:00:00+01:00", nine],
    ["2027-01-31T14:30:00+05:30", nine],
    ["2027-01-31T14:30:00+0530", nine],
    ["2027-01-30T23:00:00-10:00", nine],
    ["2027-01-31T24:00:00Z", nine + 15 * 3_600_000],
    ["1969-07-20T20:17:40Z", Date.UTC(1969, 6, 20, 20, 17, 40)],
    ["2028-02-29T00:00:00Z", Date.UTC(2028, 1, 29)],
    ["2000-02-29T00:00:00Z", Date.UTC(2000, 1, 29)],
    ["+012027-01-31T09:00:00Z", Date.UTC(12_027, 0, 31, 9)],
    ["+275760-09-13T00:00:00Z", 8.64e15],
  ]
  for (const [value, millis] of right)
    test(`${shown(value)} is ${millis}`, () => expect(instant(value)).toBe(millis))

  const wrong: ReadonlyArray<unknown> = groups([
    ["2027-01-31T09:00:00", "2027-01-31T09:00", "2027-01-31", "2027", "09:00", "2027-01-31 09:00:00Z"],
    ["2027-1-31T09:00:00Z", "27-01-31T09:00:00Z", "2027-01-31T9:00:00Z", "2027-01-31T09Z", "tomorrow"],
    ["31.01.2027 09:00", "Sun, 31 Jan 2027 09:00:00 GMT", "2027-01-31T09:00:00 Z", "2027-01-31t09:00:00z"],
    ["2027-01-31T09:00:00Z ", "\n2027-01-31T09:00:00Z", "2027-01-31T09:00:00[Europe/Berlin]", "", "now"],
    ["2027-01-31T09:00:00CET", "2027-01-31T09:00:00+1", "2027-01-31T09:00:00+01", "1800000000000"],
    ["2027-13-01T00:00:00Z", "2027-00-01T00:00:00Z", "2027-01-00T00:00:00Z", "2027-01-32T00:00:00Z"],
    ["2027-02-29T00:00:00Z", "2027-02-30T00:00:00Z", "2027-04-31T09:00:00+02:00", "1900-02-29T00:00:00Z"],
    ["2027-01-31T25:00:00Z", "2027-01-31T24:00:01Z", "2027-01-31T09:60:00Z", "2027-01-31T09:00:60Z"],
    ["2027-01-31T09:00:00+24:00", "2027-01-31T09:00:00+01:60", "12027-01-31T09:00:00Z"],
    ["-000000-01-01T00:00:00Z", "+275760-09-13T00:00:00.001Z", "+999999-01-01T00:00:00Z"],
    [new Date(Number.NaN), new Date("never"), Number.NaN, Infinity, -Infinity, 8.64e15 + 1, -8.64e15 - 1],
    [1e300, null, undefined, true, 5n, Symbol("now"), {}, [], [2027], () => 5, { getTime: () => 5 }],
  ])
  for (const [index, value] of wrong.entries())
    test(`${shown(value)} is refused (${index})`, () => {
      refused(parseInstant('schedule "nightly".at', value), 'schedule "nightly".at')
    })

  test("every last day of a month is a date, the day after it is none", () => {
    const two = (value: number): string => String(value).padStart(2, "0")
    for (const year of [1900, 2000, 2023, 2024, 2100])
      for (let month = 1; month <= 12; month++) {
        const last = new Date(Date.UTC(year, month, 0)).getUTCDate()
        const text = (day: number): string => `${year}-${two(month)}-${two(day)}T12:00:00+00:00`
        expect(instant(text(last))).toBe(Date.UTC(year, month - 1, last, 12))
        refused(parseInstant("at", text(last + 1)), "at")
      }
  })

  test("every instant survives being written as ISO text", () => {
    let state = 5
    for (let round = 0; round < 1000; round++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const millis = Math.floor((state / 2 ** 32 - 0.5) * 2 * 8.64e15)
      expect(instant(new Date(millis).toISOString())).toBe(millis)
    }
  })
})

describe("TimeSpan > delays and instants that lost their way elsewhere", () => {
  for (const value of [Number.NaN, Infinity, -Infinity, "5", null, 1e300, new Date(Number.NaN)])
    test(`SC-S02 ${shown(value)} is refused as a delay and as an instant, naming the field`, () => {
      refused(parseSpan("delay", value), "delay")
      refused(parseInstant("at", value), "at")
    })

  test("SC-S02 an instant of the past is that instant: due now, once", () => {
    expect(instant(-1)).toBe(-1)
    expect(instant(-1e15)).toBe(-1e15)
    expect(instant(new Date(Date.UTC(1969, 0, 1)))).toBe(Date.UTC(1969, 0, 1))
  })

  test("SC-S02 a negative delay is refused, so it can never wait in a list for ever", () => {
    refused(parseSpan("delay", -1), "delay")
    refused(parseSpan("delay", -1e15), "delay")
  })
})

describe("TimeSpan > quote", () => {
  test("each kind of value is told as a person knows it", () => {
    expect([5, null, undefined, Number.NaN, "a", new Date(0), new Date(Number.NaN)].map(quote)).toEqual([
      "5",
      "null",
      "undefined",
      "NaN",
      '"a"',
      "1970-01-01T00:00:00.000Z",
      "Invalid Date",
    ])
    expect([{}, [], () => 1, 5n, true, Symbol("s")].map(quote)).toEqual([
      "an object",
      "an object",
      "a function",
      "a bigint",
      "a boolean",
      "a symbol",
    ])
  })

  test("no text takes more than 60 characters", () => {
    for (const text of ["a".repeat(56), "a".repeat(57), "a".repeat(1e6), "\u0000".repeat(56), '"'.repeat(99)])
      expect(quote(text).length).toBeLessThanOrEqual(60)
    expect(quote("a".repeat(56))).toBe(JSON.stringify("a".repeat(56)))
    expect(quote("a".repeat(57))).toBe(`"${"a".repeat(56)}…"`)
  })
})
