// Where calendars and jitter put the instants of a pattern, against a list: each instant of the pattern is moved by
// hand, minute by minute, and what the timeline says must be that list. Then the decision: under absences of any
// length every instant of the pattern is accounted for just once.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { Calendar, CalendarRule } from "../../../core/domain/Calendar.ts"
import type {
  Closed,
  DueSchedule,
  OccurrenceReason,
  Placement,
  Trigger,
} from "../../../core/domain/Schedule.ts"
import { compileCalendars } from "../../../core/trigger/CalendarSet.ts"
import { parseCron } from "../../../core/trigger/CronFields.ts"
import { isOpen } from "../../../core/trigger/InstantSet.ts"
import { type Decision, firstAt, plan, rowsMax } from "../../../core/trigger/Occurrences.ts"
import { type Place, placeOf, reasonOf } from "../../../core/trigger/Placement.ts"
import { rollDaysMax } from "../../../core/trigger/Rolled.ts"
import { cronSlots, type ParsedTrigger, slotsOf, type Timeline } from "../../../core/trigger/Slots.ts"
import { int, type Random, seeded } from "./samples.ts"

const second = 1000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000
const utc = (text: string): number => Date.parse(text)

type Placed = Exclude<ParsedTrigger, { kind: "after" | "at" }> & { readonly place?: Place }

const parsed = (
  trigger: Trigger,
  rules: Readonly<Record<string, CalendarRule>>,
  { zone = "UTC", id = "nightly" }: { readonly zone?: string; readonly id?: string } = {},
): ParsedTrigger => {
  const calendars: ReadonlyArray<Calendar> = Object.entries(rules).map(([name, rule]) => ({
    name,
    zone,
    rule,
  }))
  const book = Result.getOrThrow(compileCalendars(calendars))
  const place = Result.getOrThrow(placeOf({ id, trigger }, book))
  const cron =
    trigger.kind === "cron"
      ? { cron: cronSlots(Result.getOrThrow(parseCron(trigger.expression, { zone: trigger.zone }))) }
      : {}
  return { ...trigger, ...cron, ...place } as ParsedTrigger
}
const cron = (expression: string, placement: Placement & { zone?: string } = {}): Trigger => ({
  kind: "cron",
  expression,
  zone: "UTC",
  ...placement,
})
const every = (periodMillis: number, placement: Placement = {}): Trigger => ({
  kind: "every",
  periodMillis,
  startAt: null,
  ...placement,
})

/** What clocks in the zone show, as "2026-10-25 02:30:00", from Intl, which is asked once a quarter of an hour. */
const wallText = (zone: string) => {
  const known = offsets.get(zone) ?? new Map<number, number>()
  offsets.set(zone, known)
  return (at: number): string => {
    const quarter = Math.floor(at / (15 * minute))
    const offset = known.get(quarter) ?? offsetOf(zone, quarter * 15 * minute)
    known.set(quarter, offset)
    return new Date(at + offset).toISOString().slice(0, 19).replace("T", " ")
  }
}
const offsets = new Map<string, Map<number, number>>()
const offsetOf = (zone: string, at: number): number => {
  const options = { timeZone: zone, dateStyle: "short", timeStyle: "medium" } as const
  return utc(`${new Intl.DateTimeFormat("sv-SE", options).format(at).replace(" ", "T")}Z`) - at
}

/** The pattern's instants from `from` to `to`, by the pattern alone. */
const listed = (
  trigger: ParsedTrigger,
  createdAt: number,
  from: number,
  to: number,
): ReadonlyArray<number> => {
  if (trigger.kind === "cron") return walk(trigger.cron.after, from - 1, (at) => at <= to)
  if (trigger.kind !== "every") return expect.unreachable()
  const found: Array<number> = []
  for (let at = createdAt; at <= to; at += trigger.periodMillis) if (at >= from) found.push(at)
  return found
}

/** Where an instant goes, by trying one moment after the other; `null`: nowhere. */
const goesTo = (at: number, place: Place, zone: string): number | null => {
  const open = (instant: number): boolean => isOpen(place.open, instant)
  if (open(at)) return at
  if (place.closed === "skip") return null
  if (place.closed === "hold") {
    // Windows open at whole minutes.
    for (let to = Math.ceil(at / minute) * minute; to < at + 40 * day; to += minute) if (open(to)) return to
    return null
  }
  const text = wallText(zone)
  const time = text(Math.floor(at / second) * second).slice(11)
  for (let days = 1; days <= rollDaysMax; days++) {
    const date = new Date(
      utc(`${text(at).slice(0, 10)}T00:00:00Z`) + (place.closed === "next" ? days : -days) * day,
    )
    const wall = `${date.toISOString().slice(0, 10)} ${time}`
    const near = utc(`${wall.replace(" ", "T")}Z`)
    // Two hours before the moment at which it would be if the clocks did not change.
    let to = near - (utc(`${text(at).replace(" ", "T")}Z`) - Math.floor(at / second) * second) - 2 * hour
    // The first moment at which clocks show that time or, where they skip it, a later one.
    while (text(to) < wall) to += 5 * minute
    if (open(to)) return to
  }
  return null
}

interface Expected {
  /** Each moment with the instants of the pattern that it stands for. */
  readonly moments: ReadonlyMap<number, ReadonlyArray<number>>
  readonly left: ReadonlyMap<number, OccurrenceReason>
}

const expected = (instants: ReadonlyArray<number>, place: Place, zone: string): Expected => {
  const moments = new Map<number, Array<number>>()
  const left = new Map<number, OccurrenceReason>()
  for (const at of instants) {
    const to = goesTo(at, place, zone)
    if (to !== null)
      moments.set(to + place.offsetMillis, [...(moments.get(to + place.offsetMillis) ?? []), at])
    else left.set(at + place.offsetMillis, reasonOf(place, at) ?? expect.unreachable())
  }
  return { moments, left }
}

const walk = (step: (at: number) => number | null, from: number, isIn: (at: number) => boolean) => {
  const found: Array<number> = []
  for (let at = step(from); at !== null && isIn(at) && found.length < 20_000; at = step(at)) found.push(at)
  return found
}

const rules: ReadonlyArray<CalendarRule> = [
  { weekdays: ["mon", "tue", "wed", "thu", "fri"] },
  { weekdays: ["mon", "tue", "wed", "thu", "fri"], from: "09:00", to: "17:00" },
  { minus: [{ weekdays: ["mon", "tue", "wed", "thu", "fri"] }, { days: ["2026-10-21/2026-10-28"] }] },
  { weekdays: ["sat", "sun", "wed"], from: "22:00", to: "04:00" },
  { cron: "0 */6 * * *", lasting: "2h30m" },
]
const blackouts: ReadonlyArray<CalendarRule> = [
  { days: ["2026-10-24/2026-10-26"] },
  { spans: [{ from: "2026-10-25T01:30", to: "2026-10-27T02:30" }] },
  { weekdays: ["wed"], from: "08:00", to: "12:30" },
  { cron: "15 * * * *", lasting: "20m" },
]
const zones = ["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe"]

const sample = (random: Random, modes: ReadonlyArray<Closed>) => {
  const pick = <A>(of: ReadonlyArray<A>): A => of[int(random, 0, of.length - 1)] as A
  const zone = pick(zones)
  const closed = pick(modes)
  const moves = closed === "next" || closed === "previous"
  const which = int(random, 1, 3)
  const placement: Placement = {
    ...((which & 1) === 0 ? {} : { only: "open" }),
    ...((which & 2) === 0 ? {} : { except: "freeze" }),
    closed,
    ...(random() < 0.5 ? {} : { jitterMillis: 50 * minute }),
  }
  const expressions = moves
    ? ["0 9 * * *", "30 2 * * *", "0 */6 * * *", "15 8,12,16 * * 1,6", "0 3 1-25/4 * *"]
    : ["*/15 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * *", "*/20 2-10 * * 2,6"]
  const trigger =
    random() < 0.25
      ? every(pick(moves ? [2 * hour, 5 * hour] : [10 * minute, hour, 5 * hour]), placement)
      : { ...cron(pick(expressions), placement), zone }
  const made = parsed(trigger, { open: pick(rules), freeze: pick(blackouts) }, { zone })
  return { trigger: made as Placed, zone, place: made.place ?? expect.unreachable() }
}

const name = ({ trigger, zone }: { trigger: Placed; zone: string }): string => {
  const { place: _, ...rest } = trigger
  return `${zone} ${JSON.stringify({ ...rest, cron: undefined })}`
}

describe("the timeline of a pattern with calendars", () => {
  test("is the list of its instants, each moved by hand, forwards and backwards", () => {
    const random = seeded(41)
    const createdAt = utc("2026-09-10T00:00:00Z")
    const [from, to] = [utc("2026-10-20T00:07:00Z"), utc("2026-11-02T00:00:00Z")]
    for (let round = 0; round < 60; round++) {
      const made = sample(random, ["skip", "hold", "next", "previous"])
      const { trigger, zone, place } = made
      const slots: Timeline = slotsOf(trigger, { createdAt, cursor: createdAt - 1 })
      // A month to either side moves into the fortnight that is compared.
      const all = listed(trigger, createdAt, Math.max(createdAt, from - 34 * day), to + 34 * day)
      const { moments, left } = expected(all, place, zone)
      const isIn = (at: number): boolean => at > from && at <= to
      const wanted = [...moments.keys()].filter(isIn).toSorted((a, b) => a - b)
      expect(walk(slots.after, from, isIn), name(made)).toEqual(wanted)
      expect(walk((at) => slots.upTo(at - 1), to + 1, isIn).reverse(), name(made)).toEqual(wanted)
      for (const at of wanted) {
        const nominal = moments.get(at) ?? []
        expect(slots.nominalOf(at), `${name(made)} at ${new Date(at).toISOString()}`).toEqual({
          nominalAt: Math.max(...nominal),
          count: nominal.length,
        })
      }
      const [first, last] = [wanted[int(random, 0, 3)], wanted[wanted.length - 1]]
      if (first !== undefined && last !== undefined) {
        const counted = wanted.filter((at) => at >= first).flatMap((at) => moments.get(at) ?? [])
        expect(slots.count(first, last), name(made)).toBe(counted.length)
      }
      const leftIn = [...left].filter(([at]) => isIn(at) && place.closed !== "hold")
      for (const reason of ["calendar", "blackout"] as const) {
        const closed = slots.leftOut.find((each) => each.reason === reason)?.slots
        const these = leftIn.filter(([, why]) => why === reason).map(([at]) => at)
        expect(closed === undefined ? [] : walk(closed.after, from, isIn), name(made)).toEqual(these)
        if (closed === undefined || these.length === 0) continue
        expect(walk((at) => closed.upTo(at - 1), to + 1, isIn).reverse(), name(made)).toEqual(these)
        expect(closed.count(these[0] as number, these[these.length - 1] as number)).toBe(these.length)
      }
      const both = [...wanted, ...leftIn.map(([at]) => at)].toSorted((a, b) => a - b)
      expect(new Set(both).size).toBe(both.length)
      expect(walk(slots.next, from, isIn), name(made)).toEqual(both)
    }
  })

  test("spreads the schedules of one pattern, and moves none of them from day to day", () => {
    const offsets = Array.from({ length: 1000 }, (_, index) => {
      const trigger = parsed(
        cron("0 9 * * *", { jitterMillis: 600_000 }),
        {},
        { id: `job-${index}` },
      ) as Placed
      const slots = slotsOf(trigger, { createdAt: 0, cursor: utc("2026-11-30T12:00:00Z") })
      const first = slots.after(utc("2026-11-30T12:00:00Z")) ?? 0
      expect(slots.after(first)).toBe(first + day)
      expect(slots.nominalOf(first).nominalAt).toBe(utc("2026-12-01T09:00:00Z"))
      return first - utc("2026-12-01T09:00:00Z")
    })
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...offsets)).toBeLessThan(600_000)
    const tenths = Array.from({ length: 10 }, () => 0)
    for (const offset of offsets) tenths[Math.floor(offset / 60_000)]! += 1
    for (const size of tenths) expect(size).toBeGreaterThan(60)
  })

  test("refuses calendars that are not there", () => {
    const made = placeOf({ id: "a", trigger: cron("0 9 * * *", { except: "freeze" }) }, new Map())
    expect(Result.getOrThrow(Result.flip(made))).toMatchObject({
      field: "except",
      reason: 'there is no calendar "freeze"',
    })
  })
})

const scheduleOf = (
  trigger: ParsedTrigger,
  start: number,
  fields: Partial<DueSchedule> = {},
): DueSchedule => ({
  id: "nightly",
  job: "report",
  trigger,
  input: null,
  overlap: "skip",
  fromConfig: true,
  version: 1,
  cursor: start - 1,
  nextAt: firstAt(trigger, start, start),
  waitsUntil: null,
  pausedAt: null,
  pausedNote: null,
  resumedAt: null,
  createdAt: start,
  lastRunId: null,
  runCount: 0,
  lastRunAlive: false,
  lastRunEndedAt: null,
  zoneData: null,
  ...fields,
})

/** Looks when the schedule is due, or as much later as `absence` says; each run takes `runMillis`. */
const play = (
  first: DueSchedule,
  until: number,
  { absence, runMillis }: { readonly absence: () => number; readonly runMillis: number },
) => {
  let row = first
  let now = first.createdAt
  let looked = now
  let runEnds: number | null = null
  const rows: Array<Decision & { readonly decidedAt: number }> = []
  for (let looks = 0; looks < 50_000; looks++) {
    const due: number | null = row.nextAt ?? (row.waitsUntil === null ? null : (runEnds ?? now))
    if (due === null || due > until) break
    now = Math.max(now, due) + absence()
    if (now > until) break
    looked = now
    row = {
      ...row,
      lastRunAlive: runEnds !== null && runEnds > now,
      lastRunEndedAt: runEnds !== null && runEnds <= now ? runEnds : null,
    }
    const made = plan(row, row.trigger as ParsedTrigger, now)
    for (const decision of made.decisions) rows.push({ ...decision, decidedAt: now })
    const ran = made.decisions.filter(({ reason }) => reason === null).length
    if (ran > 0) runEnds = now + runMillis
    const { cursor, nextAt, waitsUntil } = made
    row = { ...row, cursor, nextAt, waitsUntil, runCount: row.runCount + ran }
  }
  return { rows, row, now: looked }
}

describe("plan with calendars", () => {
  test("accounts for every instant of the pattern just once, whatever the absences", () => {
    const random = seeded(42)
    const start = utc("2026-10-14T00:03:30Z")
    const until = start + 11 * day
    for (let round = 0; round < 60; round++) {
      const made = sample(random, ["skip", "hold", "next", "previous"])
      const { trigger, zone, place } = made
      const overlap = (["skip", "allow", "queueOne", "queueAll"] as const)[int(random, 0, 3)] ?? "skip"
      const mode = (["latest", "all", "skip"] as const)[int(random, 0, 2)] ?? "latest"
      const absence = (): number => (random() < 0.1 ? int(random, 0, 40) * hour : int(random, 0, 2000))
      const runMillis = random() < 0.3 ? int(random, 0, 90) * minute : 0
      const label = `${name(made)} ${overlap} ${mode}`
      const schedule = scheduleOf(trigger, start, { overlap, catchUp: { mode } })
      const { rows, row, now } = play(schedule, until, { absence, runMillis })
      expect(rows.length, label).toBeGreaterThan(0)
      const all = listed(trigger, start, start, until + 34 * day)
      const { moments, left } = expected(all, place, zone)
      // What waits for the end of a run, or for the next look, is not decided yet.
      const doneUpTo = row.waitsUntil === null ? now : Math.max(...rows.map(({ lastAt }) => lastAt))
      const of = new Map<number, number>()
      // A first instant that would have moved to a day before the schedule was there is gone.
      for (const [at, nominal] of moments) if (at >= start && at <= doneUpTo) of.set(at, nominal.length)
      for (const at of left.keys()) if (at <= doneUpTo && place.closed !== "hold") of.set(at, 1)
      const decided = new Map<number, number>()
      for (const { at, count, nominalAt, lastAt, reason } of rows) {
        expect(decided.has(at), `${label} decides ${new Date(at).toISOString()} twice`).toBe(false)
        decided.set(at, count)
        if (at !== lastAt) continue
        if (reason === "calendar" || reason === "blackout") expect(left.get(at), label).toBe(reason)
        else expect(nominalAt ?? at, label).toBe(Math.max(...(moments.get(at) ?? [])))
      }
      expect(
        [...decided].toSorted(([a], [b]) => a - b),
        label,
      ).toEqual([...of].toSorted(([a], [b]) => a - b))
    }
  })

  test("tells of a closed instant when it passes, and not days later", () => {
    const trigger = parsed(cron("0 9 * * *", { only: "workdays" }), {
      workdays: { weekdays: ["mon", "tue", "wed", "thu", "fri"] },
    })
    const start = utc("2026-11-27T08:00:00Z")
    const { rows } = play(scheduleOf(trigger, start), start + 4 * day, { absence: () => 5, runMillis: 0 })
    expect(rows.map(({ reason, decidedAt, at }) => [reason, decidedAt - at])).toEqual([
      [null, 5],
      ["calendar", 5],
      ["calendar", 5],
      [null, 5],
    ])
  })

  test("latest runs the newest open instant, though newer ones are closed", () => {
    const trigger = parsed(cron("0 9 * * *", { only: "workdays" }), {
      workdays: { weekdays: ["mon", "tue", "wed", "thu", "fri"] },
    })
    const start = utc("2026-11-25T08:00:00Z")
    const made = plan(
      scheduleOf(trigger, start, { catchUp: { windowMillis: 7 * day } }),
      trigger,
      utc("2026-11-29T12:00:00Z"),
    )
    expect(made.decisions.map(({ reason }) => reason)).toEqual([
      "missed",
      "missed",
      null,
      "calendar",
      "calendar",
    ])
    expect(made.nextAt).toBe(utc("2026-11-30T09:00:00Z"))
  })

  test("hold starts one run when the window opens, for all that came, and knows the newest of them", () => {
    const freeze: CalendarRule = { spans: [{ from: "2026-12-01T00:00Z", to: "2026-12-15T08:30Z" }] }
    const bad = compileCalendars([{ name: "freeze", zone: "UTC", rule: freeze }])
    expect(Result.isSuccess(bad)).toBe(true)
    const trigger = parsed(cron("* * * * *", { except: "freeze", closed: "hold" }), { freeze })
    const start = utc("2026-12-01T00:00:30Z")
    const { rows, row } = play(scheduleOf(trigger, start), utc("2026-12-15T08:31:00Z"), {
      absence: () => 0,
      runMillis: 0,
    })
    const opens = utc("2026-12-15T08:30:00Z")
    expect(rows).toMatchObject([
      { at: opens, nominalAt: null, count: 14 * 1440 + 510, reason: null },
      { at: opens + minute, count: 1 },
    ])
    expect(row.nextAt).toBe(opens + 2 * minute)
  })

  test("a freeze that is declared after an instant has run does not run it again", () => {
    const start = utc("2026-12-01T08:00:00Z")
    const bare = parsed(cron("0 9 * * *"), {})
    const { row } = play(scheduleOf(bare, start), utc("2026-12-01T10:00:00Z"), {
      absence: () => 0,
      runMillis: 0,
    })
    const freeze: CalendarRule = { spans: [{ from: "2026-12-01T00:00Z", to: "2026-12-01T18:00Z" }] }
    const trigger = parsed(cron("0 9 * * *", { except: "freeze", closed: "hold" }), { freeze }) as Placed
    expect(slotsOf(trigger, row).next(row.cursor)).toBe(utc("2026-12-02T09:00:00Z"))
  })

  test("a step is small, though a window was closed for weeks and each second came in it", () => {
    const freeze: CalendarRule = { spans: [{ from: "2026-12-01T00:00Z", to: "2026-12-29T00:00Z" }] }
    for (const closed of ["skip", "hold"] as const) {
      const trigger = parsed(every(second, { except: "freeze", closed }), { freeze })
      const start = utc("2026-12-01T00:00:00Z")
      const made = plan(scheduleOf(trigger, start), trigger, start + 28 * day - second)
      expect(made.decisions.length).toBeLessThanOrEqual(rowsMax + 1)
      const counted = made.decisions.reduce((sum, { count }) => sum + count, 0)
      expect(counted).toBe(closed === "skip" ? 28 * 86_400 : 0)
      expect(made.nextAt).toBe(start + 28 * day)
    }
  })

  test("at: skipped or held; after: held until a window opens, and a closed one counts on", () => {
    const freeze: CalendarRule = { spans: [{ from: "2026-12-01T00:00Z", to: "2026-12-02T00:00Z" }] }
    const start = utc("2026-12-01T00:00:00Z")
    const opens = start + day
    const run = (trigger: Trigger, until: number) =>
      play(scheduleOf(parsed(trigger, { freeze }), start), until, { absence: () => 0, runMillis: minute })
        .rows
    const at = { kind: "at", at: start + hour, except: "freeze" } as const
    expect(run(at, start + 3 * day)).toMatchObject([{ at: start + hour, reason: "blackout" }])
    expect(run({ ...at, closed: "hold" }, start + 3 * day)).toMatchObject([
      { at: opens, nominalAt: start + hour, reason: null },
    ])
    const after = { kind: "after", delayMillis: 6 * hour, except: "freeze" } as const
    expect(run(after, opens + hour)).toMatchObject([
      ...[0, 6, 12, 18].map((hours) => ({ at: start + hours * hour, reason: "blackout" })),
      { at: opens, reason: null },
    ])
    expect(run({ ...after, closed: "hold" }, opens + 7 * hour)).toMatchObject([
      { at: opens, reason: null },
      { at: opens + 6 * hour + minute, reason: null, nominalAt: null },
    ])
  })

  test("a fixed delay that is closed after the clock stepped back is left out now, not where its cursor is", () => {
    const start = utc("2026-03-02T00:00:00Z")
    const freeze = { days: ["2026-03-02"] }
    const trigger = parsed({ kind: "after", delayMillis: minute, except: "freeze" }, { freeze })
    const schedule = { ...scheduleOf(trigger, start), cursor: start + hour, nextAt: start + minute }
    expect(plan(schedule, trigger, start + minute).decisions).toMatchObject([
      { at: start + minute, reason: "blackout" },
    ])
  })
})
