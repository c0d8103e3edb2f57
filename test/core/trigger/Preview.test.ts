// What is said about instants to come is what happens to them: notes are checked against the zone's clocks, read
// off Intl, and not against the code that writes them.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { between } from "../../../core/trigger/Cron.ts"
import { type Cron, type CronOptions, parseCron } from "../../../core/trigger/CronFields.ts"
import { fieldWords } from "../../../core/trigger/Describe.ts"
import { nextChange, nextTouched, preview, previewMax } from "../../../core/trigger/Preview.ts"
import { isWall } from "../../../core/trigger/WallTimes.ts"
import { zones40 } from "./samples.ts"

const cronOf = (text: string, options: CronOptions = {}): Cron => Result.getOrThrow(parseCron(text, options))
const berlin = (text: string, options: CronOptions = {}): Cron =>
  cronOf(text, { zone: "Europe/Berlin", ...options })
const lines = (cron: Cron, from: string, count: number): Array<string> =>
  preview(cron, Date.parse(from), count).map(({ local, notes }) => [local, ...notes].join(" | "))

const spring = "2027-03-27T12:00:00Z"
const autumn = "2027-10-30T12:00:00Z"

describe("preview", () => {
  test("a fixed time that a clock change skips is told where it runs instead", () => {
    expect(lines(berlin("30 2 * * *"), spring, 2)).toEqual([
      "Sun 2027-03-28 03:00:00 +02:00 | 02:30 does not exist on this day: it runs at 03:00",
      "Mon 2027-03-29 02:30:00 +02:00",
    ])
    expect(lines(berlin("30 2 * * *", { gap: "before" }), spring, 1)).toEqual([
      "Sun 2027-03-28 01:59:00 +01:00 | 02:30 does not exist on this day: it runs at 01:59",
    ])
    expect(lines(berlin("15 30 2 * * *", { gap: "before" }), spring, 1)).toEqual([
      "Sun 2027-03-28 01:59:59 +01:00 | 02:30:15 does not exist on this day: it runs at 01:59:59",
    ])
  })

  test("several that are skipped run once, and are named", () => {
    expect(lines(berlin("0,30 2 * * *"), spring, 1)).toEqual([
      "Sun 2027-03-28 03:00:00 +02:00 | 02:00 and 02:30 do not exist on this day: they run once at 03:00",
    ])
    expect(lines(berlin("10,20,30,40 2 * * *"), spring, 1)).toEqual([
      "Sun 2027-03-28 03:00:00 +02:00 | 02:10 to 02:40 do not exist on this day: they run once at 03:00",
    ])
  })

  test("what is left out is told at the next instant", () => {
    expect(lines(berlin("30 2 * * *", { gap: "skip" }), spring, 2)).toEqual([
      "Mon 2027-03-29 02:30:00 +02:00 | 02:30 does not exist on Sun 2027-03-28: left out",
      "Tue 2027-03-30 02:30:00 +02:00",
    ])
    // All of 30 December 2011 is missing in Samoa: a change of that size is not made up for.
    expect(lines(cronOf("0 12 * * *", { zone: "Pacific/Apia" }), "2011-12-29T23:00:00Z", 1)).toEqual([
      "Sat 2011-12-31 12:00:00 +14:00 | 12:00 does not exist on Fri 2011-12-30: left out",
    ])
  })

  test("times that come twice say which one it is, and whether both run", () => {
    expect(lines(berlin("30 2 * * *"), autumn, 2)).toEqual([
      "Sun 2027-10-31 02:30:00 +02:00 | 02:30 comes twice: the first one",
      "Mon 2027-11-01 02:30:00 +01:00",
    ])
    expect(lines(berlin("30 2 * * *", { ambiguous: "last" }), autumn, 1)).toEqual([
      "Sun 2027-10-31 02:30:00 +01:00 | 02:30 comes twice: the second one",
    ])
    expect(lines(berlin("30 */2 * * *"), "2027-10-30T23:00:00Z", 3)).toEqual([
      "Sun 2027-10-31 02:30:00 +02:00 | 02:30 comes twice and runs both times: the first one",
      "Sun 2027-10-31 02:30:00 +01:00 | 02:30 comes twice and runs both times: the second one",
      "Sun 2027-10-31 04:30:00 +01:00",
    ])
  })

  test("in 40 zones, a note stands exactly at the instants that Intl's clocks show as changed", () => {
    for (const zone of zones40) {
      const cron = cronOf("0,30 0-4 * * *", { zone })
      const from = Date.UTC(2026, 0, 1)
      const rows = preview(cron, from, previewMax)
      expect(rows.map(({ at }) => at)).toEqual(between(cron, from, Infinity, previewMax))
      const format = new Intl.DateTimeFormat("sv-SE", {
        timeZone: zone,
        dateStyle: "short",
        timeStyle: "medium",
      })
      for (const { at, local, notes } of rows) {
        const wall = format.format(at)
        expect(local.slice(4, 23)).toBe(wall)
        const isTwice = [-60, -30, 30, 60].some((minutes) => format.format(at + minutes * 60_000) === wall)
        expect(notes.some((note) => note.includes("comes twice"))).toBe(isTwice)
        // Clocks that jump over 23:00 leave out nothing that was meant.
        const [before, after] = [at - 1000, at].map((each) => Date.parse(`${format.format(each)}Z`) / 1000)
        let jumped = false
        for (let time = (before ?? 0) + 1; time < (after ?? 0); time += 1) jumped ||= isWall(cron, time)
        expect(notes.some((note) => note.includes("not exist"))).toBe(jumped)
        // Whatever runs at a time that the fields do not name has a note that says why.
        if (!isWall(cron, Date.parse(`${wall}Z`) / 1000)) expect(notes).not.toEqual([])
      }
    }
  })

  test("ends where the schedule ends, and is never longer than its limit", () => {
    expect(preview(cronOf("0 0 0 1 1 * 2027"), Date.UTC(2026, 0, 1), 5)).toHaveLength(1)
    expect(preview(cronOf("0 0 30 2 *"), 0, 5)).toEqual([])
    expect(preview(cronOf("* * * * *"), 0, 1e9)).toHaveLength(previewMax)
    expect(preview(cronOf("* * * * *"), Number.NaN, 5)).toEqual([])
  })
})

describe("clock changes to come", () => {
  const from = Date.UTC(2026, 10, 30)
  test("the next one of a zone, in words; none where the clocks stay", () => {
    expect(nextChange(berlin("* * * * *").clock, from)).toEqual({
      at: Date.UTC(2027, 2, 28, 1),
      shift: 3600,
      words: "Sun 2027-03-28: 02:00 becomes 03:00",
    })
    expect(nextChange(cronOf("* * * * *").clock, from)).toBeNull()
    expect(nextChange(cronOf("* * * * *", { zone: "Asia/Tokyo" }).clock, from)).toBeNull()
  })

  test("the first instant that one touches, whatever the policy; none where it never does", () => {
    const first = (text: string, options?: CronOptions) => nextTouched(berlin(text, options), from)?.local
    expect(first("30 2 * * *")).toBe("Sun 2027-03-28 03:00:00 +02:00")
    expect(first("30 2 * * *", { gap: "before" })).toBe("Sun 2027-03-28 01:59:00 +01:00")
    expect(first("30 2 * 10 *")).toBe("Sun 2027-10-31 02:30:00 +02:00")
    expect(first("30 2 * 10 *", { ambiguous: "last" })).toBe("Sun 2027-10-31 02:30:00 +01:00")
    expect(first("0 9 * * *")).toBeUndefined()
  })
})

describe("fields in words", () => {
  test.each([
    [
      "*/15 9-17 1,15 * MON-FRI",
      ["0, 15, 30 and 45", "9 to 17", "day 1 and 15", "every month", "Monday to Friday"],
    ],
    ["@weekly", ["0", "0", "every day", "every month", "Sunday"]],
    [
      "* 0 12 L 1-3 5#2",
      ["every second", "0", "12", "the last day", "January to March", "the second Friday"],
    ],
    ["0 0 0 1 1 ? 2027", ["0", "0", "day 1", "January", "every weekday", "2027"]],
  ])("%s", (text, words) => expect(fieldWords(cronOf(text)).map(([, each]) => each)).toEqual(words))
})
