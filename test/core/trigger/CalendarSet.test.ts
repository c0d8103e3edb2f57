// Calendars against a scan that knows nothing of sets: each sampled instant is judged by what clocks in the zone
// show then. And what a search for a change promises: it is the first, and it ends.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { Calendar, CalendarRule } from "../../../core/domain/Calendar.ts"
import { compileCalendars, depthMax, entriesMax } from "../../../core/trigger/CalendarSet.ts"
import {
  closesAfter,
  horizonMillis,
  type InstantSet,
  isOpen,
  nextChange,
  opensAfter,
  opensFrom,
  previousChange,
} from "../../../core/trigger/InstantSet.ts"
import { int, type Random, seeded } from "./samples.ts"

const minute = 60_000
const hour = 3_600_000
const day = 86_400_000
const utc = (text: string): number => Date.parse(text)

const setOf = (zone: string, rule: CalendarRule, others: ReadonlyArray<Calendar> = []): InstantSet => {
  const book = Result.getOrThrow(compileCalendars([...others, { name: "it", zone, rule }]))
  return book.get("it")?.set ?? expect.unreachable()
}
const refusal = (rule: unknown, others: ReadonlyArray<Calendar> = [], zone = "UTC") => {
  const made = compileCalendars([...others, { name: "it", zone, rule: rule as CalendarRule }])
  if (Result.isSuccess(made)) return expect.unreachable("it is accepted")
  return made.failure
}

/** What clocks in the zone show, from Intl alone: weekday, date, and seconds of the day. */
const clockOf = (zone: string) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  })
  return (at: number) => {
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
    return {
      weekday: String(part["weekday"]).toLowerCase(),
      date: `${part["year"]}-${part["month"]}-${part["day"]}`,
      time: `${part["hour"]}:${part["minute"]}:${part["second"]}`,
    }
  }
}
type Shown = ReturnType<ReturnType<typeof clockOf>>
type Sample = { readonly rule: CalendarRule; readonly holds: (shown: Shown, at: number) => boolean }

const two = (value: number): string => String(value).padStart(2, "0")
const names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const
const dayBefore = {
  sun: "sat",
  mon: "sun",
  tue: "mon",
  wed: "tue",
  thu: "wed",
  fri: "thu",
  sat: "fri",
} as const

/** A random rule around `near`, with its own predicate. */
const sampleRule = (random: Random, near: number, depth: number): Sample => {
  const date = (): string => new Date(near + int(random, -6, 6) * day).toISOString().slice(0, 10)
  const kind = random()
  if (depth > 0 && kind < 0.4) {
    const parts = Array.from({ length: int(random, 1, 3) }, () => sampleRule(random, near, depth - 1))
    const rules = parts.map(({ rule }) => rule)
    if (kind < 0.15)
      return { rule: { union: rules }, holds: (...of) => parts.some(({ holds }) => holds(...of)) }
    if (kind < 0.27)
      return { rule: { intersection: rules }, holds: (...of) => parts.every(({ holds }) => holds(...of)) }
    const [first, ...others] = parts
    return {
      rule: { minus: rules },
      holds: (...of) => (first?.holds(...of) ?? false) && !others.some(({ holds }) => holds(...of)),
    }
  }
  if (kind < 0.5) {
    const [from = "", to = ""] = [date(), date()].toSorted()
    return { rule: { days: [`${from}/${to}`] }, holds: ({ date: shown }) => from <= shown && shown <= to }
  }
  if (kind < 0.6) {
    const [from, to] = [date().slice(5), date().slice(5)]
    return {
      rule: { yearly: [`${from}/${to}`] },
      holds: ({ date: shown }) =>
        from <= to
          ? from <= shown.slice(5) && shown.slice(5) <= to
          : shown.slice(5) >= from || shown.slice(5) <= to,
    }
  }
  if (kind < 0.85) {
    const weekdays = names.filter(() => random() < 0.6)
    if (weekdays.length === 0) weekdays.push("wed")
    const time = (): string => `${two(int(random, 0, 23))}:${two(int(random, 0, 3) * 15)}`
    const [from, to] = [time(), time()]
    if (from === to)
      return { rule: { weekdays }, holds: ({ weekday }) => weekdays.includes(weekday as never) }
    return {
      rule: { weekdays, from, to },
      holds: ({ weekday, time: shown }) => {
        const today = weekdays.includes(weekday as never)
        if (from < to) return today && shown >= from && shown < to
        return (today && shown >= from) || (weekdays.includes(dayBefore[weekday as "sun"]) && shown < to)
      },
    }
  }
  if (kind < 0.92) return { rule: { always: true }, holds: () => true }
  const from = near + int(random, -300, 300) * 10 * minute
  const to = from + int(random, 1, 300) * 10 * minute
  const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  return { rule: { spans: [span] }, holds: (_, at) => from <= at && at < to }
}

/** Changes of every kind: usual, at midnight, by half an hour, across the date line, back over midnight. */
const places = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"],
  ["America/Sao_Paulo", "2018-02-18T02:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["America/St_Johns", "2006-10-29T02:31:00Z"],
  ["America/Havana", "2026-11-01T05:00:00Z"],
  ["UTC", "2028-02-29T00:00:00Z"],
] as const

describe("a calendar", () => {
  test("holds just the instants that clocks in its zone show inside, around every clock change", () => {
    const random = seeded(31)
    for (const [zone, text] of places) {
      const near = utc(text)
      const clock = clockOf(zone)
      for (let round = 0; round < 25; round++) {
        const { rule, holds } = sampleRule(random, near, 2)
        const set = setOf(zone, rule)
        // Near the change by the minute, further away at random.
        const times = Array.from({ length: 60 }, (_, index) => near + (index - 30) * 5 * minute)
        for (let more = 0; more < 60; more++) times.push(near + int(random, -8 * 1440, 8 * 1440) * minute)
        for (const at of times)
          expect(isOpen(set, at), `${zone} ${JSON.stringify(rule)} at ${new Date(at).toISOString()}`).toBe(
            holds(clock(at), at),
          )
      }
    }
  })

  test("tells the first change after an instant, and the last one before it", () => {
    const random = seeded(32)
    for (const [zone, text] of places) {
      const near = utc(text)
      const clock = clockOf(zone)
      for (let round = 0; round < 4; round++) {
        const { rule, holds } = sampleRule(random, near, 2)
        const set = setOf(zone, rule)
        const at = near + int(random, -2 * 96, 2 * 96) * 15 * minute
        const inside = holds(clock(at), at)
        let later = at
        // All samples change at whole quarters of an hour, and so do the zones but one that changes at a minute.
        const unit = zone === "America/St_Johns" || "spans" in rule ? minute : 5 * minute
        while (later < at + 2 * day && holds(clock(later), later) === inside) later += unit
        let earlier = at - unit
        while (earlier > at - 2 * day && holds(clock(earlier), earlier) === inside) earlier -= unit
        const name = `${zone} ${JSON.stringify(rule)} at ${new Date(at).toISOString()}`
        const next = nextChange(set, at)
        if (later < at + 2 * day) expect(next, name).toBe(later)
        else expect(next === null || next >= at + 2 * day, name).toBe(true)
        const previous = previousChange(set, at)
        if (earlier > at - 2 * day) expect(previous, name).toBe(earlier + unit)
        else expect(previous === null || previous <= at - 2 * day + unit, name).toBe(true)
      }
    }
  })

  test("knows days of 23 and 25 hours, and days whose midnight does not exist", () => {
    const spring = setOf("Europe/Berlin", { days: ["2026-03-29"] })
    expect(opensAfter(spring, utc("2026-03-01T00:00:00Z"))).toBe(utc("2026-03-28T23:00:00Z"))
    expect(closesAfter(spring, utc("2026-03-01T00:00:00Z"))).toBe(utc("2026-03-29T22:00:00Z"))
    const autumn = setOf("Europe/Berlin", { days: ["2026-10-25"] })
    const opens = opensAfter(autumn, utc("2026-10-01T00:00:00Z")) ?? 0
    expect((closesAfter(autumn, opens) ?? 0) - opens).toBe(25 * hour)
    const noMidnight = setOf("America/Sao_Paulo", { days: ["2018-11-04"] })
    expect(opensAfter(noMidnight, utc("2018-11-01T00:00:00Z"))).toBe(utc("2018-11-04T03:00:00Z"))
  })

  test("has windows that a cron expression begins, also those that meet", () => {
    const set = setOf("UTC", { cron: "0 2 * * 0", lasting: "2h" })
    expect(opensAfter(set, utc("2026-11-30T00:00:00Z"))).toBe(utc("2026-12-06T02:00:00Z"))
    expect(closesAfter(set, utc("2026-12-06T03:00:00Z"))).toBe(utc("2026-12-06T04:00:00Z"))
    expect(isOpen(set, utc("2026-12-06T04:00:00Z"))).toBe(false)
    const meeting = setOf("UTC", { cron: "0 0-5 * * *", lasting: "90m" })
    expect(closesAfter(meeting, utc("2026-12-06T00:10:00Z"))).toBe(utc("2026-12-06T06:30:00Z"))
    expect(previousChange(meeting, utc("2026-12-06T05:10:00Z"))).toBe(utc("2026-12-06T00:00:00Z"))
  })

  test("has windows that are the same after somebody asked about the end of time", () => {
    const windows = setOf("Europe/Berlin", { cron: "0 22 * * *", lasting: "4h" })
    const inside = utc("2026-03-01T22:30:00Z")
    for (const far of [
      utc("2199-12-31T22:30:00Z"),
      utc("2300-01-01T00:00:00Z"),
      8.64e15,
      -8.64e15,
      -Infinity,
    ]) {
      expect(isOpen(windows, far)).toBe(false)
      expect(isOpen(windows, inside)).toBe(true)
    }
  })

  test("reads wall times of a span: a skipped one is the end of the gap, one that comes twice the first", () => {
    const gap = setOf("Europe/Berlin", { spans: [{ from: "2026-03-29T02:30", to: "2026-03-29T12:00" }] })
    expect(opensAfter(gap, utc("2026-03-28T00:00:00Z"))).toBe(utc("2026-03-29T01:00:00Z"))
    const twice = setOf("Europe/Berlin", { spans: [{ from: "2026-10-25T02:30", to: "2026-10-26" }] })
    expect(opensAfter(twice, utc("2026-10-24T00:00:00Z"))).toBe(utc("2026-10-25T00:30:00Z"))
    expect(closesAfter(twice, utc("2026-10-25T12:00:00Z"))).toBe(utc("2026-10-25T23:00:00Z"))
  })

  test("names others, on the clocks of their own zones", () => {
    const holidays: Calendar = { name: "holidays", zone: "Asia/Tokyo", rule: { yearly: ["01-01"] } }
    const set = setOf("UTC", { minus: [{ always: true }, { calendar: "holidays" }] }, [holidays])
    expect(closesAfter(set, utc("2026-12-01T00:00:00Z"))).toBe(utc("2026-12-31T15:00:00Z"))
  })
})

describe("the algebra of sets", () => {
  test("keeps its laws: De Morgan, distribution, and a set without itself is empty", () => {
    const random = seeded(33)
    const near = utc("2026-03-29T01:00:00Z")
    const all: CalendarRule = { always: true }
    for (let round = 0; round < 40; round++) {
      const [a, b, c] = [0, 1, 2].map(() => sampleRule(random, near, 1).rule) as [
        CalendarRule,
        CalendarRule,
        CalendarRule,
      ]
      const not = (rule: CalendarRule): CalendarRule => ({ minus: [all, rule] })
      const laws: ReadonlyArray<readonly [CalendarRule, CalendarRule]> = [
        [not({ union: [a, b] }), { intersection: [not(a), not(b)] }],
        [
          { intersection: [a, { union: [b, c] }] },
          { union: [{ intersection: [a, b] }, { intersection: [a, c] }] },
        ],
        [{ minus: [a, b, c] }, { minus: [a, { union: [b, c] }] }],
        [{ minus: [a, a] }, not(all)],
      ]
      for (const [left, right] of laws) {
        const [one, other] = [setOf("Europe/Berlin", left), setOf("Europe/Berlin", right)]
        for (let at = near - 2 * day, looks = 0; looks < 20; looks++) {
          expect(isOpen(one, at)).toBe(isOpen(other, at))
          const change = nextChange(one, at)
          expect(nextChange(other, at)).toBe(change)
          if (change === null) break
          at = change
        }
      }
    }
  })
})

describe("a search ends", () => {
  const never: ReadonlyArray<CalendarRule> = [
    { minus: [{ always: true }, { always: true }] },
    { intersection: [{ weekdays: ["mon"] }, { weekdays: ["tue"] }] },
    { intersection: [{ cron: "* * * * * *", lasting: "1s" }, { days: ["1999-01-01"] }] },
    {
      minus: [
        { weekdays: ["mon"], from: "09:00", to: "17:00" },
        { cron: "* * * * *", lasting: "1m" },
      ],
    },
    { intersection: [{ yearly: ["02-29"] }, { days: ["2027-01-01/2027-12-31"] }] },
    { spans: [{ from: "1999-01-01", to: "1999-01-02" }] },
  ]

  test("for sets that never open and those that always are: null", () => {
    for (const rule of never) {
      const set = setOf("Europe/Berlin", rule)
      expect(opensFrom(set, utc("2026-12-01T00:00:00Z")), JSON.stringify(rule)).toBeNull()
      const full = setOf("Europe/Berlin", { minus: [{ always: true }, rule] })
      expect(closesAfter(full, utc("2026-12-01T00:00:00Z"))).toBeNull()
    }
    expect(
      nextChange(setOf("UTC", { cron: "* * * * *", lasting: "1d" }), utc("2026-12-01T00:00:00Z")),
    ).toBeNull()
  })

  test("at ten years, and at the ends of time", () => {
    const far = setOf("UTC", { days: ["2036-11-01", "2040-01-01"] })
    expect(opensAfter(far, utc("2026-12-01T00:00:00Z"))).toBe(utc("2036-11-01T00:00:00Z"))
    expect(opensAfter(far, utc("2036-11-03T00:00:00Z") - horizonMillis)).toBe(utc("2036-11-01T00:00:00Z"))
    expect(opensAfter(setOf("UTC", { days: ["2040-01-01"] }), utc("2026-12-01T00:00:00Z"))).toBeNull()
    for (const at of [-Infinity, Infinity, -8.64e15, 8.64e15, NaN]) {
      expect(isOpen(far, at)).toBe(false)
      expect(nextChange(setOf("Europe/Berlin", { weekdays: ["mon"] }), at)).toBeNull()
    }
  })

  test("in a chain of calendars that name the same two twice", () => {
    const chain = Array.from({ length: depthMax / 2 - 1 }, (_, index) => {
      const rule: CalendarRule =
        index === 0
          ? { weekdays: ["mon"] }
          : { union: Array.from({ length: 20 }, () => ({ calendar: `c${index - 1}` })) }
      return { name: `c${index}`, zone: "UTC", rule }
    })
    const set = setOf("UTC", { calendar: `c${chain.length - 1}` }, chain)
    expect(opensAfter(set, utc("2026-12-01T00:00:00Z"))).toBe(utc("2026-12-07T00:00:00Z"))
  })
})

describe("what is refused, with its place", () => {
  test.each([
    [{ days: ["2026-02-30"] }, 'calendar "it".days[0]', "is no date"],
    [{ days: ["2026-12-24", "2026-12-24/2026-12-01"] }, 'calendar "it".days[1]', "ends before it begins"],
    [{ days: ["2026-12-24/"] }, 'calendar "it".days[0]', "is no date"],
    [{ days: [7] }, 'calendar "it".days[0]', "is no date"],
    [{ days: [] }, 'calendar "it".days', "not a list"],
    [{ days: "2026-12-24" }, 'calendar "it".days', "not a list"],
    [{ yearly: ["02-30"] }, 'calendar "it".yearly[0]', "no date of a year"],
    [{ weekdays: ["monday"] }, 'calendar "it".weekdays[0]', "no weekday"],
    [{ weekdays: ["mon"], from: "9:00" }, 'calendar "it".from', "no time of day"],
    [{ weekdays: ["mon"], from: "09:60" }, 'calendar "it".from', "no time of day"],
    [{ weekdays: ["mon"], from: "09:00", to: "09:00" }, 'calendar "it".to', "no time lies between"],
    [
      { spans: [{ from: "2026-12-24", to: "2026-12-24" }] },
      'calendar "it".spans[0].to',
      "no time lies between",
    ],
    [{ spans: [{ from: "soon", to: "2026-12-24" }] }, 'calendar "it".spans[0].from', "no instant"],
    [{ spans: [null] }, 'calendar "it".spans[0]', "no span"],
    [{ cron: "61 * * * *", lasting: "1h" }, 'calendar "it".cron.minute', "not between"],
    [{ cron: "1 * * * *", lasting: "0s" }, 'calendar "it".lasting', "less than"],
    [{ cron: "1 * * * *" }, 'calendar "it".lasting', "not a time span"],
    [{ cron: "1 * * * *", lasting: "400d" }, 'calendar "it".lasting', "366 days"],
    [{ calendar: "other" }, 'calendar "it".calendar', 'no calendar "other"'],
    [{ calendar: "it" }, 'calendar "it".calendar', "circle"],
    [{ union: [] }, 'calendar "it".union', "no list of rules"],
    [{ union: [{ days: ["2026-01-01"] }, {}] }, 'calendar "it".union[1]', "names no dates"],
    [{ days: ["2026-01-01"], yearly: ["01-01"] }, 'calendar "it"', "does not go with"],
    [{ days: ["2026-01-01"], from: "09:00" }, 'calendar "it"', "does not go with"],
    [null, 'calendar "it"', "not a rule"],
    ["weekdays", 'calendar "it"', "not a rule"],
  ])("%j", (rule, field, reason) => {
    const error = refusal(rule)
    expect(error._tag).toBe("InvalidInput")
    expect(error.field).toBe(field)
    expect(error.reason).toContain(reason)
    expect(error.next).not.toBe("")
  })

  test("zones that are not known, names that come twice, circles through others", () => {
    expect(refusal({ always: true }, [], "Europe/Berln").message).toContain("Europe/Berlin")
    expect(refusal({ always: true }, [{ name: "it", zone: "UTC", rule: { always: true } }]).reason).toContain(
      "this name",
    )
    const other: Calendar = { name: "b", zone: "UTC", rule: { union: [{ calendar: "it" }] } }
    expect(refusal({ calendar: "b" }, [other]).reason).toContain('"b" -> "it" -> "b"')
  })

  test("more entries, more levels and more calendars than there may be", () => {
    const days = Array.from({ length: entriesMax }, () => "2026-01-01")
    expect(refusal({ days }).reason).toContain("entries")
    expect(
      refusal({ union: [{ days: days.slice(0, 6000) }, { days: days.slice(0, 6000) }] }).reason,
    ).toContain("entries")
    const nested = (levels: number): CalendarRule =>
      levels === 1 ? { always: true } : { union: [nested(levels - 1)] }
    expect(isOpen(setOf("UTC", nested(depthMax)), 0)).toBe(true)
    expect(refusal(nested(depthMax + 1)).reason).toContain("levels")
    expect(refusal(nested(2000)).reason).toContain("levels")
    const inner: Calendar = { name: "inner", zone: "UTC", rule: nested(depthMax - 1) }
    expect(refusal({ union: [{ calendar: "inner" }] }, [inner]).reason).toContain("levels")
    const many = Array.from({ length: 1000 }, (_, index) => ({ ...inner, name: `c${index}` }))
    expect(refusal({ always: true }, many).reason).toContain("more than 1000")
  })
})
