// What people are told that calendars and jitter will do: the same instants that the planner decides, with the reason.
import * as Result from "effect/Result"
import { expect, test } from "vitest"
import type { Placement } from "../../../core/domain/Schedule.ts"
import { compileCalendars } from "../../../core/trigger/CalendarSet.ts"
import { type PlacedTrigger, previewPlaced } from "../../../core/trigger/PlacedPreview.ts"
import { makeTriggerParser } from "../../../core/trigger/Dialects.ts"
import { makeParseTrigger } from "../../../core/trigger/Triggers.ts"

const zone = "Europe/Berlin"
const book = Result.getOrThrow(
  compileCalendars([
    { name: "workdays", zone, rule: { weekdays: ["mon", "tue", "wed", "thu", "fri"] } },
    { name: "freeze", zone, rule: { spans: [{ from: "2026-12-23", to: "2026-12-28T08:30" }] } },
    { name: "over", zone, rule: { days: ["2020-01-01"] } },
  ]),
)
const shown = (expression: string, placement: Placement, count = 2) => {
  const trigger = { kind: "cron", expression, zone, ...placement } as const
  const parsed = Result.getOrThrow(makeParseTrigger(makeTriggerParser(), book)({ id: "nightly", trigger }))
  const at = Date.parse("2026-12-22T12:00:00Z")
  return previewPlaced(parsed as PlacedTrigger, { createdAt: at, cursor: at }, at, count).map(
    ({ local, notes }) => [local, ...notes],
  )
}

test("what is left out before a start, and why", () => {
  expect(shown("0 9 * * *", { only: "workdays", except: "freeze" })).toEqual([
    [
      "Mon 2026-12-28 09:00:00 +01:00",
      'left out: 2 instants from Sat 2026-12-26 09:00:00 +01:00, outside calendar "workdays"',
      'left out: 3 instants from Wed 2026-12-23 09:00:00 +01:00, in blackout "freeze"',
    ],
    ["Tue 2026-12-29 09:00:00 +01:00"],
  ])
})

test("what is held, for how many, and until when", () => {
  expect(shown("0 6 * * *", { except: "freeze", closed: "hold" })).toEqual([
    ["Mon 2026-12-28 08:30:00 +01:00", 'held by blackout "freeze" until then, for 6 instants'],
    ["Tue 2026-12-29 06:00:00 +01:00"],
  ])
  expect(shown("0 9 26 * *", { only: "workdays", closed: "hold" }, 1)).toEqual([
    ["Mon 2026-12-28 00:00:00 +01:00", 'held outside calendar "workdays" until then'],
  ])
})

test("what has moved, and from where", () => {
  expect(shown("0 9 26 * *", { only: "workdays", closed: "next" }, 1)).toEqual([
    ["Mon 2026-12-28 09:00:00 +01:00", 'moved from Sat 2026-12-26, which is outside calendar "workdays"'],
  ])
  expect(shown("0 9 24-26 * *", { only: "workdays", closed: "previous" })).toEqual([
    ["Thu 2026-12-24 09:00:00 +01:00"],
    [
      "Fri 2026-12-25 09:00:00 +01:00",
      'moved from Sat 2026-12-26, which is outside calendar "workdays", for 2 instants',
    ],
  ])
})

test("jitter, and a calendar that opens no more", () => {
  const [first] = shown("0 9 * * *", { jitterMillis: 60_000 })
  expect(first?.[1]).toMatch(/^\d+(\.\d+)? s later by jitter$/)
  expect(shown("0 9 * * *", { only: "over" })).toEqual([])
})
