// What a cron text may say, and how a refusal points at the place and names the way out (rules R1-R10, R14).
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { InvalidSchedule } from "../../../core/domain/Errors.ts"
import { between } from "../../../core/trigger/Cron.ts"
import { type Cron, parseCron, textLengthMax } from "../../../core/trigger/CronFields.ts"

const cronOf = (text: string): Cron => Result.getOrThrow(parseCron(text))
const faultOf = (text: unknown, zone?: string): InvalidSchedule => {
  const answer = parseCron(text, zone === undefined ? {} : { zone })
  if (Result.isSuccess(answer)) throw new Error(`accepted: ${String(text)}`)
  return answer.failure
}
/** The fields alone: without the text, the zone, and what only the look of a text decides. */
const meaning = (text: string): Partial<Cron> => {
  const {
    text: _text,
    zone: _zone,
    clock: _clock,
    wild: _wild,
    gap: _gap,
    ambiguous: _both,
    ...rest
  } = cronOf(text)
  return rest
}
const bits = (...values: readonly number[]): number => values.reduce((word, value) => word | (1 << value), 0)

describe("parseCron", () => {
  test("keeps the text as it was written, and is frozen through and through", () => {
    const cron = cronOf("  0\t9  * * 1-5 ")
    expect(cron.text).toBe("  0\t9  * * 1-5 ")
    expect(cron.zone).toBe("UTC")
    for (const part of [
      cron,
      cron.seconds,
      cron.minutes,
      cron.nthWeekdays,
      cronOf("0 0 0 1 1 * 2030").years,
    ]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })

  test("turns every field into the bits of its values", () => {
    expect(meaning("0,31,32,59 0,23 1,31 1,12 0,6")).toEqual({
      seconds: [1, 0],
      minutes: [bits(0, 31), bits(0, 27)],
      hours: bits(0, 23),
      days: bits(1, 31),
      months: bits(1, 12),
      weekdays: bits(0, 6),
      years: null,
      lastDay: false,
      lastWorkday: false,
      nearestWorkdays: 0,
      nthWeekdays: [0, 0, 0, 0, 0, 0],
      dayRule: "or",
    })
    expect(cronOf("0,59 0 0 * * *").seconds).toEqual([1, bits(27)])
    expect(cronOf("0 0 0 * * * 1970,2199").years).toEqual([1, 0, 0, 0, 0, 0, 0, bits(229 - 224)])
  })

  test("reads names of months and weekdays in any case, in ranges, and mixed with numbers", () => {
    expect(meaning("0 0 1 jan,Jul *")).toEqual(meaning("0 0 1 1,7 *"))
    expect(meaning("0 0 * feb-4 mOn-3")).toEqual(meaning("0 0 * 2-4 1-3"))
    expect(meaning("0 0 * * SUN/2")).toEqual(meaning("0 0 * * 0,2,4,6"))
  })

  test("takes 0 and 7 as Sunday, once, and lets ranges end on it", () => {
    for (const text of ["0 0 * * 7", "0 0 * * SUN", "0 0 * * SUN,0,7", "0 0 * * 7-7"]) {
      expect(cronOf(text).weekdays, text).toBe(bits(0))
    }
    expect(cronOf("0 0 * * */7").weekdays).toBe(bits(0))
    expect(cronOf("0 0 * * FRI-SUN").weekdays).toBe(bits(5, 6, 0))
    expect(cronOf("0 0 * * 5-7").weekdays).toBe(bits(5, 6, 0))
    expect(cronOf("0 0 * * 1-7/2").weekdays).toBe(bits(1, 3, 5, 0))
    expect(cronOf("0 0 * * 5/1").weekdays).toBe(bits(5, 6, 0))
    expect(cronOf("0 0 * * SUN-SUN").weekdays).toBe(bits(0, 1, 2, 3, 4, 5, 6))
  })

  test("lets a step follow a star, a range or one value, up to the distance from first to last", () => {
    expect(meaning("*/15 * * * *")).toEqual(meaning("0,15,30,45 * * * *"))
    expect(meaning("5/15 * * * *")).toEqual(meaning("5-59/15 * * * *"))
    expect(meaning("*/59 * * * *")).toEqual(meaning("0,59 * * * *"))
    expect(meaning("0 1-23/22 * * *")).toEqual(meaning("0 1,23 * * *"))
  })

  test("joins day and weekday with AND when either text starts with a star, a question mark or a plus", () => {
    for (const days of ["* * 1", "1 * *", "*/2 * 1", "1 * */7", "? * 1", "1 * ?", "*,5 * 1", "1 * +1"]) {
      expect(cronOf(`0 0 ${days}`).dayRule, days).toBe("and")
    }
    for (const days of ["1 * 1", "1-31 * 1", "1 * 0-6", "5,* * 1", "L * 5", "1W * 5", "1 * 5L"]) {
      expect(cronOf(`0 0 ${days}`).dayRule, days).toBe("or")
    }
  })

  test("keeps L, LW, W and # apart from plain days, alone and in lists", () => {
    expect(cronOf("0 0 L,LW,1W,31W,15 * *")).toMatchObject({
      days: bits(15),
      lastDay: true,
      lastWorkday: true,
      nearestWorkdays: bits(1, 31),
    })
    expect(cronOf("0 0 * * 5L,MON#1,fri#L,7#5,3")).toMatchObject({
      weekdays: bits(3),
      nthWeekdays: [bits(1), 0, 0, 0, bits(0), bits(5)],
    })
  })

  test.each([
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
    ["@monthly", "0 0 1 * *"],
    ["@weekly", "0 0 * * 0"],
    ["@daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    ["@hourly", "0 * * * *"],
  ])("takes %s for %s", (nickname, text) => {
    expect(meaning(nickname)).toEqual(meaning(text))
    expect(cronOf(nickname).text).toBe(nickname)
  })

  test("keeps the zone as it was written, and takes UTC without one", () => {
    const zoneOf = (zone: string): string => Result.getOrThrow(parseCron("0 0 * * *", { zone })).zone
    for (const zone of ["Etc/UTC", "Asia/Calcutta", "europe/berlin", "US/Eastern"])
      expect(zoneOf(zone)).toBe(zone)
    expect(cronOf("0 0 * * *").zone).toBe("UTC")
  })

  test("is wild when minute, hour or a written second starts with a star, and fixed otherwise", () => {
    for (const text of [
      "* 2 * * *",
      "*/30 2 * * *",
      "*,5 2 * * *",
      "30 * * * *",
      "30 */2 * * *",
      "@hourly",
    ]) {
      expect(cronOf(text), text).toMatchObject({ wild: true, gap: "skip", ambiguous: "both" })
    }
    for (const text of ["* 30 2 * * *", "0 * 2 * * *", "0 0 * * * * 2030"])
      expect(cronOf(text).wild, text).toBe(true)
    for (const text of [
      "30 2 * * *",
      "0-59 2 * * *",
      "0,30 1-5/2 * * *",
      "5,* 2 * * *",
      "0 30 2 * * *",
      "@daily",
    ]) {
      expect(cronOf(text), text).toMatchObject({ wild: false, gap: "after", ambiguous: "first" })
    }
  })

  test("takes how clock changes are met, and refuses what it does not know", () => {
    const cron = Result.getOrThrow(parseCron("30 2 * * *", { gap: "before", ambiguous: "last" }))
    expect(cron).toMatchObject({ gap: "before", ambiguous: "last" })
    expect(Result.getOrThrow(parseCron("* * * * *", { gap: "before", ambiguous: "first" }))).toMatchObject({
      gap: "skip",
      ambiguous: "first",
    })
    for (const [field, next] of [
      ["gap", 'Write "after" or "before" or "skip"'],
      ["ambiguous", 'Write "auto" or "first" or "last" or "both"'],
    ] as const) {
      const fault = Result.getOrThrow(Result.flip(parseCron("0 0 * * *", { [field]: "never" })))
      expect([fault.field, fault.next]).toEqual([field, next])
    }
  })
})

const write = 'Write minute hour day month weekday, for example "0 9 * * 1-5"'
const ascii = "Use ASCII letters, digits and * , - / with blanks or tabs"
const nth = "Write 5#1 to 5#5, or 5L for the last"
const plus = "Leave + away: it stands only before the whole weekday field"
const rate = (span: string): string => `Use a fixed rate: every("${span}")`
const far = (step: number, first: number, last: number): string =>
  `the step ${step} is larger than ${last - first}, the distance from ${first} to ${last}`
const names = "Write one of @yearly @annually @monthly @weekly @daily @midnight @hourly"

describe("a refusal names field, place, reason and the next step", () => {
  test.each<[text: unknown, field: string, position: number | undefined, reason: string, next: string]>([
    [null, "cron", undefined, "a cron text must be a string, this is null", write],
    [5, "cron", undefined, "a cron text must be a string, this is of type number", write],
    ["", "cron", 0, "the text is empty", write],
    [" \t ", "cron", 0, "the text is empty", write],
    ["* * * *", "cron", 7, "a cron text has 5, 6 or 7 fields, this one has 4", write],
    ["* * * * * * * *", "cron", 14, "a cron text has 5, 6 or 7 fields, this one has 8", write],
    ["０ 0 * * *", "cron", 0, "the character U+FF10 is not allowed", ascii],
    ["0 0 * * *\n", "cron", 9, "the character U+000A is not allowed", ascii],
    ["@dayly", "cron", 0, '"@dayly" is not a known nickname', names],
    [" @Daily", "cron", 1, '"@Daily" is not a known nickname', names],
    ["@every 5m", "cron", 0, '"@every 5m" is not a known nickname', 'Use every("5m")'],
    ["@reboot", "cron", 0, "@reboot names no time", "Enqueue the job where your program starts"],
    ["1,,2 * * * *", "cron.minute", 2, "a value is missing", "Remove the extra sign, or write the value"],
    ["0 0 * * +", "cron.weekday", 9, "a value is missing", "Remove the extra sign, or write the value"],
    ["60 * * * *", "cron.minute", 0, '"60" is not between 0 and 59', "Write 0-59"],
    ["0 1-24 * * *", "cron.hour", 4, '"24" is not between 0 and 23', "Write 0-23"],
    ["0 0 0 * *", "cron.day", 4, '"0" is not between 1 and 31', "Write 1-31"],
    ["0 0 * 13 *", "cron.month", 6, '"13" is not between 1 and 12', "Write 1-12 or JAN-DEC"],
    ["0 0 * * 1,8", "cron.weekday", 10, '"8" is not between 0 and 7', "Write 0-7 or SUN-SAT"],
    ["61 0 0 * * *", "cron.second", 0, '"61" is not between 0 and 59', "Write 0-59"],
    ["0 0 0 1 1 * 2200", "cron.year", 12, '"2200" is not between 1970 and 2199', "Write 1970-2199"],
    ["5x * * * *", "cron.minute", 0, '"5x" is not a minute', "Write 0-59"],
    ["0 0 * MON *", "cron.month", 6, '"MON" is not a month', "Write 1-12 or JAN-DEC"],
    ["0 0 * * Monday", "cron.weekday", 8, '"Monday" is not a weekday', "Write MON"],
    ["0 0 +1 * *", "cron.day", 4, '"+1" is not a day', plus],
    ["? * * * *", "cron.minute", 0, '"?" is for the day and weekday fields only', "Write * instead"],
    ["1-2-3 * * * *", "cron.minute", 0, '"1-2-3" is not a range', "Write first-last, for example 1-5"],
    ["0 0 * * FRI-MON", "cron.weekday", 8, 'the range "FRI-MON" runs downwards', "Write FRI-SUN,MON"],
    ["0 0 * * 6-2", "cron.weekday", 8, 'the range "6-2" runs downwards', "Write 6-7,1-2"],
    ["0 22-2 * * *", "cron.hour", 2, 'the range "22-2" runs downwards', "Write 22-23,0-2"],
    ["0 22-2/2 * * *", "cron.hour", 2, 'the range "22-2" runs downwards', "Write 22,0,2"],
    ["0 0 * NOV-FEB *", "cron.month", 6, 'the range "NOV-FEB" runs downwards', "Write NOV-DEC,JAN-FEB"],
    ["0 0 0 1 1 * 2030-2027", "cron.year", 12, 'the range "2030-2027" runs downwards', "Write 2027-2030"],
    ["/5 * * * *", "cron.minute", 0, '"/5" is a step of nothing', "Write */5"],
    ["*/5/2 * * * *", "cron.minute", 0, '"*/5/2" has two steps', "Keep one: */5"],
    ["*/-2 * * * *", "cron.minute", 2, '"-2" is not a step', "Write it like */2"],
    ["*/0 * * * *", "cron.minute", 2, "a step must be 1 or more", "Write * without a step"],
    ["*/90 * * * *", "cron.minute", 2, far(90, 0, 59), rate("90m")],
    ["*/60 * * * *", "cron.minute", 2, far(60, 0, 59), rate("60m")],
    ["0 */36 * * *", "cron.hour", 4, far(36, 0, 23), rate("36h")],
    ["0 0 */40 * *", "cron.day", 6, far(40, 1, 31), rate("40d")],
    ["0 0 1 */12 *", "cron.month", 8, far(12, 1, 12), "Write a step from 1 to 11"],
    ["5-20/30 * * * *", "cron.minute", 5, far(30, 5, 20), "Write a step from 1 to 15"],
    ["59/1 * * * *", "cron.minute", 3, far(1, 59, 59), "Write 59 without a step"],
    ["0 0 1-15W * *", "cron.day", 4, '"1-15W" is not a day', "Give each day its own W, for example 1W,15W"],
    ["0 0 L-3 * *", "cron.day", 4, '"L-3" is not a day', "Write L, LW or 15W"],
    ["0 0 15w * *", "cron.day", 4, '"15w" is not in capitals', "Write 15W"],
    ["0 0 32W * *", "cron.day", 4, '"32" is not between 1 and 31', "Write 1-31"],
    ["0 0 * * 1#6", "cron.weekday", 8, '"1#6" is not a weekday of the month', nth],
    ["0 0 * * L", "cron.weekday", 8, '"L" is not a weekday of the month', nth],
    ["0 0 * * FRIL", "cron.weekday", 8, '"FRIL" is not a weekday of the month', "Write FRI#L"],
    ["0 0 * * 8#1", "cron.weekday", 8, '"8" is not between 0 and 7', "Write 0-7 or SUN-SAT"],
  ])("%j", (text, field, position, reason, next) => {
    const fault = faultOf(text)
    expect([fault.field, fault.position, fault.reason, fault.next]).toEqual([field, position, reason, next])
    expect(fault.message).toBe(`${field}: ${reason}. ${next}`)
  })

  test("a text of 1024 characters is read, one more is refused unread", () => {
    expect(cronOf("0 0 * * *".padEnd(textLengthMax)).minutes).toEqual([1, 0])
    expect(faultOf("0 0 * * *".padEnd(textLengthMax + 1))).toMatchObject({
      field: "cron",
      position: 1024,
      reason: "the text has 1025 characters, more than 1024",
      next: "Shorten its lists with ranges and steps",
    })
  })

  test("a zone that is no IANA name is refused, with the names it looks like", () => {
    const example = 'Write an IANA name such as "Europe/Berlin", or "UTC"'
    for (const [zone, reason, next] of [
      ["", "the zone is empty", example],
      [" ", "the zone is empty", example],
      [null, "a zone must be a string", example],
      [5, "a zone must be a string", example],
      ["Mars/Phobos", 'the zone "Mars/Phobos" is not known', example],
      ["x".repeat(5000), `the zone "${"x".repeat(40)}..." is not known`, example],
      ["Europ/Berlin", 'the zone "Europ/Berlin" is not known', 'Write "Europe/Berlin"'],
      ["Europe/Berlin ", 'the zone "Europe/Berlin " is not known', 'Write "Europe/Berlin"'],
      ["berlin", 'the zone "berlin" is not known', 'Write "Europe/Berlin"'],
      ["New York", 'the zone "New York" is not known', 'Write "America/New_York"'],
      ["Z", 'the zone "Z" is not known', 'Write "UTC"'],
    ] as const) {
      const fault = faultOf("0 0 * * *", zone as string)
      expect([fault.field, fault.position, fault.reason, fault.next]).toEqual([
        "zone",
        undefined,
        reason,
        next,
      ])
    }
  })

  test("a zone that only some runtimes know is refused on all", () => {
    for (const zone of [
      "PST",
      "IST",
      "JST",
      "SystemV/PST8",
      "US/Pacific-New",
      "Factory",
      "Etc/Unknown",
      "GMT+5",
    ]) {
      expect(faultOf("0 0 * * *", zone).field, zone).toBe("zone")
    }
    const ahead = 'Write "Etc/GMT-2" for 2 hours ahead of UTC, or the name of a place'
    for (const zone of ["+02:00", "+0200", "+2", "UTC+2", "GMT+2"])
      expect(faultOf("0 0 * * *", zone).next).toBe(ahead)
    for (const zone of [
      "UTC",
      "utc",
      "GMT",
      "EST",
      "EST5EDT",
      "CET",
      "Zulu",
      "Etc/GMT+12",
      "Eire",
      "Europe/Kyiv",
    ]) {
      expect(Result.isSuccess(parseCron("0 0 * * *", { zone })), zone).toBe(true)
    }
  })

  test("the list shown for a downward range is accepted, and is the range taken over the end of its field", () => {
    const wrap = (first: number, last: number, min: number, size: number): Set<number> => {
      const values = new Set<number>()
      for (let value = first; value !== last; value = min + ((value - min + 1) % size)) values.add(value)
      return values.add(last)
    }
    const cases = [
      ["hour", 0, 24, (part: string) => `0 ${part} * * *`, (cron: Cron) => cron.hours],
      ["month", 1, 12, (part: string) => `0 0 * ${part} *`, (cron: Cron) => cron.months],
      ["weekday", 0, 7, (part: string) => `0 0 * * ${part}`, (cron: Cron) => cron.weekdays],
    ] as const
    for (const [name, min, size, text, pick] of cases) {
      for (let first = min + 1; first < min + size; first += 1) {
        for (let last = min; last < first; last += 1) {
          const { next } = faultOf(text(`${first}-${last}`))
          const list = next.replace("Write ", "")
          expect(pick(cronOf(text(list))), `${name} ${first}-${last}`).toBe(
            bits(...wrap(first, last, min, size)),
          )
        }
      }
    }
  })

  test("random rubbish of the allowed characters is accepted or refused in kind, and never throws", () => {
    const alphabet = "0123456789*/,-?LW#+@ \tMONJAFEB"
    let state = 7
    const next = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) % below
    }
    let accepted = 0
    for (let round = 0; round < 20_000; round += 1) {
      const piece = (): string =>
        Array.from({ length: 1 + next(3) }, () => alphabet[next(alphabet.length)]).join("")
      const text = Array.from({ length: 5 }, () => (next(3) === 0 ? piece() : "*")).join(" ")
      const answer = parseCron(text)
      if (Result.isSuccess(answer)) {
        accepted += 1
        expect(between(answer.success, 0, Infinity, 2).length).toBeLessThanOrEqual(2)
      } else {
        expect(answer.failure._tag).toBe("InvalidSchedule")
        expect(answer.failure.position).toBeGreaterThanOrEqual(0)
        expect(answer.failure.position).toBeLessThanOrEqual(text.length)
      }
    }
    expect(accepted).toBeGreaterThan(1000)
  })
})
