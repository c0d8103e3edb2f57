// What an .ics text means as a calendar: dates of the RFC's own kinds of rules worked out by hand, the cases that
// libraries stumble over, and refusals instead of silent cuts.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { fromIcs, parseIcs, spansMax } from "../../../adapters/calendar-ics/mod.ts"
import type { CalendarRule } from "../../../core/domain/Calendar.ts"
import { compileCalendars } from "../../../core/trigger/CalendarSet.ts"

const file = (...events: ReadonlyArray<string>): string =>
  ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", ...events, "END:VCALENDAR"].join("\r\n")
let uids = 0
const event = (...lines: ReadonlyArray<string>): string => {
  const uid = lines.some((line) => line.startsWith("UID:")) ? [] : [`UID:e${uids++}`]
  return ["BEGIN:VEVENT", ...uid, ...lines, "END:VEVENT"].join("\r\n")
}
const range = { from: "2026-01-01T00:00:00Z", until: "2030-01-01T00:00:00Z" }
const read = (text: string, options: Parameters<typeof fromIcs>[1] = {}): CalendarRule =>
  fromIcs(text, { ...range, ...options })
const days = (rule: string, start: string, options = {}): ReadonlyArray<string> => {
  const made = read(file(event(`DTSTART;VALUE=DATE:${start}`, `RRULE:${rule}`)), options)
  return "days" in made ? made.days : expect.unreachable()
}
const refusal = (text: string, options = {}) =>
  Result.getOrThrow(Result.flip(parseIcs(text, { ...range, ...options })))

describe("an event", () => {
  test("of whole days is days, its end being the day after the last one", () => {
    const made = read(
      file(
        event("DTSTART;VALUE=DATE:20261225", "SUMMARY:Christmas"),
        event("DTSTART;VALUE=DATE:20261228", "DTEND;VALUE=DATE:20270102"),
        event("DTSTART;VALUE=DATE:20270401", "DURATION:P2D"),
      ),
    )
    expect(made).toEqual({ days: ["2026-12-25", "2026-12-28/2027-01-01", "2027-04-01/2027-04-02"] })
  })

  test("with times is a span: in UTC, in a zone, or on the clocks of the calendar", () => {
    const made = read(
      file(
        event("DTSTART:20260301T100000Z", "DTEND:20260301T120000Z"),
        event("DTSTART;TZID=America/New_York:20260601T090000", "DURATION:PT90M"),
        event("DTSTART:20260701T090000", "DTEND:20260701T100000"),
      ),
      { zone: "Europe/Berlin" },
    )
    expect(made).toEqual({
      spans: [
        { from: "2026-03-01T10:00:00.000Z", to: "2026-03-01T12:00:00.000Z" },
        { from: "2026-06-01T13:00:00.000Z", to: "2026-06-01T14:30:00.000Z" },
        { from: "2026-07-01T07:00:00.000Z", to: "2026-07-01T08:00:00.000Z" },
      ],
    })
  })

  test("keeps its wall time across a clock change, and a day of clocks its own length", () => {
    const made = read(
      file(event("DTSTART;TZID=Europe/Berlin:20260327T180000", "DURATION:P1D", "RRULE:FREQ=DAILY;COUNT=3")),
    )
    expect(made).toMatchObject({
      spans: [
        { from: "2026-03-27T17:00:00.000Z", to: "2026-03-28T17:00:00.000Z" },
        { from: "2026-03-28T17:00:00.000Z", to: "2026-03-29T16:00:00.000Z" },
        { from: "2026-03-29T16:00:00.000Z", to: "2026-03-30T16:00:00.000Z" },
      ],
    })
  })

  test("that is cancelled is left out, also one instance of a series", () => {
    const series = [
      "UID:s",
      "DTSTART;TZID=Europe/Berlin:20260105T090000",
      "DTEND;TZID=Europe/Berlin:20260105T100000",
      "RRULE:FREQ=WEEKLY;COUNT=4",
      "EXDATE;TZID=Europe/Berlin:20260112T090000",
      "RDATE:20260107T080000Z",
    ]
    const moved = [
      "UID:s",
      "RECURRENCE-ID;TZID=Europe/Berlin:20260119T090000",
      "DTSTART;TZID=Europe/Berlin:20260120T140000",
      "DTEND;TZID=Europe/Berlin:20260120T150000",
    ]
    const off = [
      "UID:s",
      "RECURRENCE-ID:20260126T080000Z",
      "STATUS:CANCELLED",
      "DTSTART:20260126T080000Z",
      "DTEND:20260126T090000Z",
    ]
    const gone = event("STATUS:CANCELLED", "DTSTART;VALUE=DATE:20260301")
    const made = read(file(event(...series), event(...moved), event(...off), gone))
    expect(made).toMatchObject({
      spans: [
        { from: "2026-01-05T08:00:00.000Z" },
        { from: "2026-01-07T08:00:00.000Z", to: "2026-01-07T09:00:00.000Z" },
        { from: "2026-01-20T13:00:00.000Z" },
      ],
    })
  })

  test("in a zone that only the file defines follows that definition", () => {
    const zone = [
      "BEGIN:VTIMEZONE",
      "TZID:Our own time",
      "BEGIN:STANDARD",
      "DTSTART:20001029T030000",
      "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU",
      "TZOFFSETFROM:+0200",
      "TZOFFSETTO:+0100",
      "END:STANDARD",
      "BEGIN:DAYLIGHT",
      "DTSTART:20000326T020000",
      "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
      "TZOFFSETFROM:+0100",
      "TZOFFSETTO:+0200",
      "END:DAYLIGHT",
      "END:VTIMEZONE",
    ].join("\r\n")
    const made = read(
      file(
        zone,
        event("DTSTART;TZID=Our own time:20260701T090000", "DURATION:PT1H"),
        event("DTSTART;TZID=Our own time:20261201T090000", "DURATION:PT1H"),
      ),
    )
    expect(made).toMatchObject({
      spans: [{ from: "2026-07-01T07:00:00.000Z" }, { from: "2026-12-01T08:00:00.000Z" }],
    })
  })
})

describe("a recurrence", () => {
  test.each([
    ["FREQ=YEARLY", "20200229", ["2028-02-29"]],
    ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "20260101", ["2026-01-01"]],
    [
      "FREQ=MONTHLY;BYMONTHDAY=31;COUNT=4",
      "20260131",
      ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"],
    ],
    ["FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", "20260131", ["2026-01-31", "2026-02-28", "2026-03-31"]],
    [
      "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
      "20261126",
      ["2026-11-26", "2027-11-25", "2028-11-23", "2029-11-22"],
    ],
    ["FREQ=YEARLY;BYDAY=20MO;COUNT=3", "20260518", ["2026-05-18", "2027-05-17", "2028-05-15"]],
    ["FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=3", "20260511", ["2026-05-11", "2027-05-17", "2028-05-15"]],
    [
      "FREQ=YEARLY;BYYEARDAY=1,-1;UNTIL=20280101",
      "20260101",
      ["2026-01-01", "2026-12-31", "2027-01-01", "2027-12-31", "2028-01-01"],
    ],
    [
      "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3",
      "20260130",
      ["2026-01-30", "2026-02-27", "2026-03-31"],
    ],
    ["FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", "20260213", ["2026-02-13", "2026-03-13", "2026-11-13"]],
    [
      "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
      "20260804",
      ["2026-08-04", "2026-08-09", "2026-08-18", "2026-08-23"],
    ],
    [
      "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
      "20260804",
      ["2026-08-04", "2026-08-16", "2026-08-18", "2026-08-30"],
    ],
    ["FREQ=DAILY;INTERVAL=10;COUNT=3", "20260225", ["2026-02-25", "2026-03-07", "2026-03-17"]],
    [
      "FREQ=DAILY;BYMONTH=1;UNTIL=20270102",
      "20260130",
      ["2026-01-30", "2026-01-31", "2027-01-01", "2027-01-02"],
    ],
    ["FREQ=WEEKLY;UNTIL=20260115", "20260101", ["2026-01-01", "2026-01-08", "2026-01-15"]],
  ])("%s from %s", (rule, start, expected) => {
    expect(days(rule, start)).toEqual(expected)
  })

  test("that began long ago is read in the range only, and counts what came before it", () => {
    expect(days("FREQ=YEARLY", "19001225")).toEqual(["2026-12-25", "2027-12-25", "2028-12-25", "2029-12-25"])
    expect(days("FREQ=WEEKLY;COUNT=3", "20251222")).toEqual(["2026-01-05"])
    expect(days("FREQ=WEEKLY;INTERVAL=3", "20200106", { until: "2026-02-01T00:00:00Z" })).toEqual([
      "2026-01-19",
    ])
  })

  test("UNTIL in UTC ends by the instant, on the clocks of the start's zone", () => {
    const made = read(
      file(
        event(
          "DTSTART;TZID=America/New_York:20260101T200000",
          "DURATION:PT1H",
          "RRULE:FREQ=DAILY;UNTIL=20260104T010000Z",
        ),
      ),
    )
    expect("spans" in made ? made.spans.map(({ from }) => from) : []).toEqual([
      "2026-01-02T01:00:00.000Z",
      "2026-01-03T01:00:00.000Z",
      "2026-01-04T01:00:00.000Z",
    ])
  })
})

describe("what is refused", () => {
  const start = "DTSTART:20260101T090000Z"
  test.each([
    ["hello", "no iCalendar text"],
    ["BEGIN:VEVENT\r\nEND:VEVENT", "no iCalendar text"],
    [file(), "no event lies within the range"],
    [file(event("SUMMARY:nothing")), "it has none"],
    [file(event("DTSTART;TZID=Nowhere/Town:20260101T090000")), "neither known nor defined"],
    [file(event(start, "DTEND:20260101T080000Z")), "not after the start"],
    [file(event(start, "DTEND;VALUE=DATE:20260102")), "the other a time"],
    [file(event(start, "DURATION:PT1H", "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30")), "within a day"],
    [file(event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260101T090000Z", start)), "later instances"],
    [
      file(event(start, "DURATION:PT1S", "RRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7,8,9,10")),
      `more than ${spansMax}`,
    ],
  ])("%# of these", (text, reason) => {
    const error = refusal(text)
    expect(error._tag).toBe("InvalidInput")
    expect(error.message).toContain(reason)
  })

  test("ranges and zones that are none", () => {
    expect(refusal(file(), { until: "2020-01-01T00:00:00Z" }).field).toBe("until")
    expect(refusal(file(), { zone: "Europe/Berln" }).field).toBe("zone")
  })

  test("many recurrences that name nothing end at a bound", () => {
    const never = Array.from({ length: 40 }, () =>
      event("DTSTART;VALUE=DATE:16000101", "RRULE:FREQ=YEARLY;COUNT=9;BYMONTH=2;BYMONTHDAY=30"),
    )
    expect(refusal(file(...never)).reason).toContain("too many days")
  })
})

test("what is read is a rule that a calendar takes", () => {
  const rule = read(
    file(event("DTSTART;VALUE=DATE:20261225"), event("DTSTART:20260301T100000Z", "DURATION:PT2H")),
  )
  const made = compileCalendars([{ name: "holidays", zone: "Europe/Berlin", rule }])
  expect(Result.isSuccess(made)).toBe(true)
})
