// Croner's dialect gives what croner gives, also where the house rules say otherwise, and refuses in our form.
import { Cron as Croner } from "croner"
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import {
  between,
  type CronerSchedule,
  keptMax,
  matches,
  nextAfter,
  parseCroner,
  previousBefore,
} from "../../../adapters/dialect-croner/mod.ts"
import { nextAfter as nextOfOurs } from "../../../core/trigger/Cron.ts"
import { parseCron } from "../../../core/trigger/CronFields.ts"

const schedule = (text: string, zone: string): CronerSchedule =>
  Result.getOrThrow(parseCroner(text, { zone }))
const from = Date.parse("2026-03-27T12:00:00Z")

describe("croner's dialect", () => {
  test("lists what croner lists, forwards and backwards", () => {
    for (const [text, zone] of [
      ["30 2 * * *", "Europe/Berlin"],
      ["0,30 2 * * *", "Europe/Berlin"],
      ["0 0 */2 * 1", "America/New_York"],
      ["15 30 2 L * *", "Australia/Sydney"],
      ["@weekly", "UTC"],
    ] as const) {
      const one = schedule(text, zone)
      const expected = new Croner(text, { timezone: zone, paused: true })
        .nextRuns(20, new Date(from))
        .map((date) => date.getTime())
      expect(between(one, from, Infinity, 20), text).toEqual(expected)
      for (const [index, at] of expected.entries()) {
        expect(matches(one, at)).toBe(true)
        expect(matches(one, at + 1)).toBe(false)
        if (index > 0) expect(previousBefore(one, at)).toBe(expected[index - 1])
      }
    }
  })

  test("differs from the house rules where croner does", () => {
    const text = "0 0 */2 * 1"
    const ours = Result.getOrThrow(parseCron(text))
    expect(nextAfter(schedule(text, "UTC"), from)).not.toBe(nextOfOurs(ours, from))
  })

  test("refuses with the field and croner's reason", () => {
    const faultOf = (text: unknown, zone = "UTC") =>
      Result.getOrThrow(Result.flip(parseCroner(text, { zone })))
    expect(faultOf("61 * * * *")).toMatchObject({
      field: "cron",
      reason: expect.stringContaining("61") as string,
    })
    expect(faultOf("0 0 * * *", "Mars/Phobos")).toMatchObject({ field: "zone" })
    for (const text of [null, 5, "", "2030-01-01T00:00:00Z", "0".padEnd(1025, ",0")]) {
      expect(faultOf(text).field, String(text).slice(0, 30)).toBe("cron")
    }
  })

  test("has no answer at the ends of the Date range, and keeps answering beyond what it keeps", () => {
    const daily = schedule("0 0 * * *", "UTC")
    for (const end of [8.64e15, -8.64e15, Infinity, -Infinity, NaN]) {
      expect(nextAfter(daily, end)).toBeNull()
      expect(previousBefore(daily, end)).toBeNull()
      expect(matches(daily, end)).toBe(false)
    }
    for (let round = 0; round < keptMax + 50; round += 1) {
      schedule(`${round % 60} ${Math.floor(round / 60)} * * *`, "UTC")
    }
    expect(nextAfter(daily, from)).toBe(Date.parse("2026-03-28T00:00:00Z"))
  })
})
