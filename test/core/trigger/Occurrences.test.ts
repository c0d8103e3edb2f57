// Which instants of a schedule have come, and what becomes of each: no drift, none twice, none left out, and bounded
// work however long nobody looked. Clocks go back, jump forward and stand still here; none of them is real.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { DueSchedule, Trigger } from "../../../core/domain/Schedule.ts"
import { between, nextAfter } from "../../../core/trigger/Cron.ts"
import { parseCron } from "../../../core/trigger/CronFields.ts"
import { cronSlots } from "../../../core/trigger/Slots.ts"
import {
  catchUpMillis,
  type Decision,
  firstAt,
  type ParsedTrigger,
  type Plan,
  plan,
  rowsMax,
} from "../../../core/trigger/Occurrences.ts"
import { wentBack } from "../../../core/trigger/StepBack.ts"

const start = Date.UTC(2026, 0, 1)
const second = 1000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Every = Extract<Trigger, { kind: "every" }>
const every = (periodMillis: number, startAt: number | null = null): Every => ({
  kind: "every",
  periodMillis,
  startAt,
})
const cron = (expression: string) => {
  const pattern = Result.getOrThrow(parseCron(expression))
  return { kind: "cron", expression, zone: "UTC", cron: cronSlots(pattern), pattern } as const
}
const after = (delayMillis: number): ParsedTrigger => ({ kind: "after", delayMillis })
const at = (instant: number): ParsedTrigger => ({ kind: "at", at: instant })

const schedule = (trigger: ParsedTrigger, fields: Partial<DueSchedule> = {}): DueSchedule =>
  Object.freeze({
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
    runCount: 0,
    zoneData: null,
    createdAt: start,
    lastRunId: null,
    lastRunAlive: false,
    lastRunEndedAt: null,
    ...fields,
  })

/** The schedule after this step. */
const moved = (before: DueSchedule, { cursor, nextAt, waitsUntil }: Plan): DueSchedule =>
  Object.freeze({ ...before, cursor, nextAt, waitsUntil, version: before.version + 1 })

const instants = ({ decisions }: Plan): Array<number> => decisions.map((decision) => decision.at)
const total = ({ decisions }: Plan): number => decisions.reduce((sum, { count }) => sum + count, 0)

/** What holds for every plan: rows in order and apart from each other, and a way on that leads on. */
const checked = (before: DueSchedule, now: number): Plan => {
  const made = plan(before, before.trigger as ParsedTrigger, now)
  let last = before.cursor
  for (const { at, lastAt, count, reason } of made.decisions) {
    // An `at` may lie before the cursor of a schedule that was another one before.
    if (before.trigger.kind !== "at" && !(at > last)) throw new Error(`${at} is not after ${last}`)
    if (lastAt < at || (count === 1) !== (lastAt === at)) throw new Error(`${count} from ${at} to ${lastAt}`)
    if (count > 1 && reason !== "missed") throw new Error(`${count} instants with reason ${reason}`)
    last = lastAt
  }
  if (before.trigger.kind !== "after" && last > Math.max(now, before.cursor))
    throw new Error(`${last} is decided, and it is ${now}`)
  expect(made.cursor).toBeGreaterThanOrEqual(before.cursor)
  expect(made.decisions.length).toBeLessThanOrEqual(rowsMax + 2)
  const runs = made.decisions.filter(({ reason }) => reason === null)
  expect(runs.length).toBeLessThanOrEqual(1)
  if (runs.length === 1) expect(runs[0]).toBe(made.decisions[made.decisions.length - 1])
  return made
}

const run = (instant: number): Decision => ({
  at: instant,
  lastAt: instant,
  count: 1,
  nominalAt: null,
  reason: null,
})
const missed = (instant: number): Decision => ({ ...run(instant), reason: "missed" })

describe("Occurrences > the first instant", () => {
  test("a fixed rate starts at its start, or at the creation of the schedule", () => {
    expect(firstAt(every(minute), start, start)).toBe(start)
    expect(firstAt(every(minute, start + 5), start, start)).toBe(start + 5)
  })

  test("a fixed rate that started long ago goes on with its next slot, now included", () => {
    expect(firstAt(every(minute), start, start + 1)).toBe(start + minute)
    expect(firstAt(every(minute), start, start + minute)).toBe(start + minute)
    expect(firstAt(every(minute, start - 10 * day - 1), start, start)).toBe(start + minute - 1)
  })

  test("a fixed delay starts at once, one instant at that instant, even in the past", () => {
    expect(firstAt(after(hour), start, start + 7)).toBe(start + 7)
    expect(firstAt(at(start + hour), start, start)).toBe(start + hour)
    expect(firstAt(at(start - hour), start, start)).toBe(start - hour)
  })

  test("a cron schedule starts strictly after now, one that is over never", () => {
    expect(firstAt(cron("0 * * * *"), start, start)).toBe(start + hour)
    expect(firstAt(cron("0 * * * *"), start, start - 1)).toBe(start)
    expect(firstAt(cron("0 0 0 1 1 * 2025"), start, start)).toBeNull()
  })
})

describe("Occurrences > fixed rate", () => {
  test("SC-S03 100,000 slots with lateness each time are exactly start + k x period", () => {
    const random = seeded(3)
    let current = schedule(every(20))
    for (let slot = 0; slot < 100_000; slot++) {
      const due = start + slot * 20
      if (current.nextAt !== due) throw new Error(`Slot ${slot} is at ${current.nextAt}, not ${due}`)
      const made = plan(current, every(20), due + Math.floor(random() * 20))
      if (made.decisions.length !== 1 || made.decisions[0]?.at !== due)
        throw new Error(`Slot ${slot} was decided as ${JSON.stringify(made.decisions)}`)
      current = moved(current, made)
    }
  })

  test("odd periods and starts do not drift either, far from the start", () => {
    const trigger = every(1_234_567, start - 987_654_321_987)
    const anchor = trigger.startAt as number
    let current = schedule(trigger)
    for (let slot = 0; slot < 1000; slot++) {
      const due = current.nextAt as number
      expect((due - anchor) % trigger.periodMillis).toBe(0)
      const made = checked(current, due)
      expect(made.decisions).toEqual([run(due)])
      expect(made.nextAt).toBe(due + trigger.periodMillis)
      current = moved(current, made)
    }
  })

  test("nothing is due before its instant", () => {
    const made = checked(schedule(every(minute, start + hour)), start + hour - 1)
    expect(made).toMatchObject({ decisions: [], nextAt: start + hour })
  })

  test("SC-S04 at its instant it is, and the next one is strictly after it", () => {
    const first = checked(schedule(every(minute)), start)
    expect(first).toMatchObject({ decisions: [run(start)], cursor: start, nextAt: start + minute })
    expect(checked(moved(schedule(every(minute)), first), start).decisions).toEqual([])
  })

  test("late by less than a day it is caught up, with the newest instant only", () => {
    const made = checked(schedule(every(6 * hour)), start + 13 * hour)
    expect(made.decisions).toEqual([missed(start), missed(start + 6 * hour), run(start + 12 * hour)])
    expect(made).toMatchObject({ cursor: start + 13 * hour, nextAt: start + 18 * hour })
  })

  test("late by a day it is still caught up, by a millisecond more it is not", () => {
    const weekly = schedule(every(7 * day))
    expect(catchUpMillis).toBe(day)
    expect(checked(weekly, start + day).decisions).toEqual([run(start)])
    expect(checked(weekly, start + day + 1).decisions).toEqual([missed(start)])
  })

  for (const count of [1, 2, 3, 499, 500, 501, 502, 503, 10_000, 2_600_000]) {
    test(`${count} missed instants and the newest: few rows, none left out`, () => {
      const now = start + count * second + 1
      const made = checked(schedule(every(second)), now)
      expect(total(made)).toBe(count + 1)
      expect(made.decisions).toHaveLength(Math.min(count, rowsMax + 1) + 1)
      expect(made.decisions[0]).toMatchObject({ at: start, count: Math.max(1, count - rowsMax) })
      let expected = start
      for (const { at, lastAt, count } of made.decisions) {
        expect(at).toBe(expected)
        expect(lastAt).toBe(at + (count - 1) * second)
        expected = lastAt + second
      }
      expect(expected).toBe(made.nextAt)
      expect(made.decisions[made.decisions.length - 1]).toEqual(run(start + count * second))
    })
  }

  test("a jump forward of 30 days with a period of 10 ms is one bounded step", () => {
    const now = start + 30 * day
    const made = checked(schedule(every(10)), now)
    expect(total(made)).toBe(259_200_001)
    expect(made).toMatchObject({ cursor: now, nextAt: now + 10 })
    expect(made.decisions).toHaveLength(rowsMax + 2)
    expect(made.decisions[0]).toMatchObject({
      at: start,
      lastAt: now - (rowsMax + 1) * 10,
      count: 259_200_000 - rowsMax,
      nominalAt: null,
      reason: "missed",
    })
  })

  test("SC-S27 an edited schedule decides nothing again of what its old pattern decided", () => {
    // Cursor and next instant as a store leaves them when the trigger changes.
    const edited = schedule(every(15 * minute), { cursor: start + hour, nextAt: start + 15 * minute })
    const made = checked(edited, start + 2 * hour)
    expect(instants(made)).toEqual([1.25, 1.5, 1.75, 2].map((hours) => start + hours * hour))
  })

  test("what came up in a pause is not decided afterwards", () => {
    // A resumed schedule: the cursor stands at the resumption, the next instant is still the old one.
    const resumed = schedule(every(minute), { cursor: start + day, nextAt: start + minute })
    expect(checked(resumed, start + day).decisions).toEqual([])
    expect(checked(resumed, start + day).nextAt).toBe(start + day + minute)
  })
})

describe("Occurrences > cron", () => {
  const hourly = cron("0 * * * *")

  test("SC-S04 each instant once, the next strictly after it", () => {
    let current = schedule(hourly)
    for (let hours = 1; hours <= 1000; hours++) {
      const due = start + hours * hour
      expect(current.nextAt).toBe(due)
      const made = checked(current, due + 7)
      expect(made).toMatchObject({ decisions: [run(due)], cursor: due + 7, nextAt: due + hour })
      current = moved(current, made)
    }
  })

  test("missed instants of less than a day: the newest one is caught up", () => {
    const made = checked(schedule(hourly), start + 3 * hour + 1)
    expect(made.decisions).toEqual([missed(start + hour), missed(start + 2 * hour), run(start + 3 * hour)])
  })

  test("the newest one is older than a day: none is caught up", () => {
    const monthly = schedule(cron("0 0 1 * *"))
    const made = checked(monthly, Date.UTC(2026, 2, 2, 0, 0, 0, 1))
    expect(made.decisions).toEqual([missed(Date.UTC(2026, 1, 1)), missed(Date.UTC(2026, 2, 1))])
    expect(made.nextAt).toBe(Date.UTC(2026, 3, 1))
  })

  for (const count of [1, 2, 500, 501, 502, 5000, 99_000]) {
    test(`${count} missed instants: few rows, none left out`, () => {
      const trigger = cron("*/7 * * * * *")
      const all = between(trigger.pattern, start - 1, start + 200 * day, 10_000)
      const due = all[Math.min(count, all.length - 1)] as number
      const now = count < all.length ? due : (nextAfter(trigger.pattern, start + count * 6000) as number)
      const current = schedule(trigger, { cursor: start - 1, nextAt: start })
      const made = checked(current, now)
      expect(made.decisions[0]?.at).toBe(start)
      let expected: number | null = start
      for (const { at, lastAt, count } of made.decisions) {
        expect(at).toBe(expected)
        if (count <= 10_000) expect(between(trigger.pattern, at - 1, lastAt, 10_000)).toHaveLength(count)
        expected = nextAfter(trigger.pattern, lastAt)
      }
      expect(expected).toBe(made.nextAt)
      if (count < all.length) expect(total(made)).toBe(count + 1)
    })
  }

  test("2.6 million missed instants are one bounded step; the count then says 'at least'", () => {
    const now = start + 2_600_000 * second
    const made = checked(schedule(cron("* * * * * *")), now)
    expect(made.decisions).toHaveLength(rowsMax + 2)
    expect(made.decisions[0]).toMatchObject({
      at: start + second,
      lastAt: now - (rowsMax + 1) * second,
      count: 100_000,
      nominalAt: null,
      reason: "missed",
    })
    expect(made).toMatchObject({ cursor: now, nextAt: now + second })
  })

  test("an expression that ended has its last instants decided, and then no next one", () => {
    const ending = cron("0 0 12 * 1 * 2026")
    const last = Date.UTC(2026, 0, 31, 12)
    const current = schedule(ending, { cursor: last - day, nextAt: last })
    const made = checked(current, last + hour)
    expect(made).toMatchObject({ decisions: [run(last)], cursor: last + hour, nextAt: null })
    expect(checked(moved(current, made), last + day).decisions).toEqual([])
    const late = checked(schedule(ending), last + 400 * day)
    expect(total(late)).toBe(31)
    expect(late.decisions.every(({ reason }) => reason === "missed")).toBe(true)
    expect(late.nextAt).toBeNull()
  })

  test("an expression that never occurs decides nothing, for ever", () => {
    const made = checked(schedule(cron("0 0 30 2 *"), { nextAt: start }), start + day)
    expect(made).toMatchObject({ decisions: [], nextAt: null })
  })
})

describe("Occurrences > overlap", () => {
  for (const trigger of [every(minute), cron("* * * * *")]) {
    const due = start + minute
    const alive = { nextAt: due, lastRunId: "r", lastRunAlive: true }

    test(`${trigger.kind}: skip gives the instant its reason while the last run is alive`, () => {
      const made = checked(schedule(trigger, { ...alive, overlap: "skip" }), due)
      expect(made.decisions).toEqual([{ ...run(due), reason: "overlap" }])
      expect(made.nextAt).toBe(due + minute)
    })

    test(`${trigger.kind}: skip starts a run when the last one has ended`, () => {
      const ended = { ...alive, lastRunAlive: false, lastRunEndedAt: due - 1 }
      expect(checked(schedule(trigger, { ...ended, overlap: "skip" }), due).decisions).toEqual([run(due)])
    })

    test(`${trigger.kind}: allow starts a run beside it`, () =>
      expect(checked(schedule(trigger, { ...alive, overlap: "allow" }), due).decisions).toEqual([run(due)]))

    test(`${trigger.kind}: what was missed is missed, only the newest overlaps`, () => {
      const made = checked(schedule(trigger, { ...alive, overlap: "skip" }), due + 2 * minute)
      expect(made.decisions).toEqual([
        missed(due),
        missed(due + minute),
        { ...run(due + 2 * minute), reason: "overlap" },
      ])
    })
  }

  test("too old goes before overlap", () => {
    const current = schedule(every(7 * day), { lastRunAlive: true })
    expect(checked(current, start + 2 * day).decisions).toEqual([missed(start)])
  })

  test("SC-S29 a run that takes 2.5 periods skips two instants and never overlaps", () => {
    let current = schedule(every(10 * second))
    let freeAt = 0
    const reasons: Array<string | null> = []
    for (let slot = 0; slot < 20; slot++) {
      const now = current.nextAt as number
      current = Object.freeze({ ...current, lastRunAlive: now < freeAt })
      const made = checked(current, now)
      reasons.push(...made.decisions.map(({ reason }) => reason))
      if (made.decisions[0]?.reason === null) freeAt = now + 25 * second
      current = moved(current, made)
    }
    expect(reasons.map((reason, slot) => reason === (slot % 3 === 0 ? null : "overlap"))).not.toContain(false)
  })
})

describe("Occurrences > at", () => {
  test("in the future: nothing, and it stays due then", () =>
    expect(checked(schedule(at(start + 1)), start)).toMatchObject({
      decisions: [],
      cursor: start - 1,
      nextAt: start + 1,
    }))

  test("SC-S31 at its instant and long after it, it is decided: once", () => {
    for (const late of [0, 1, day, 1000 * day]) {
      const current = schedule(at(start))
      const made = checked(current, start + late)
      expect(made).toMatchObject({ decisions: [run(start)], cursor: start + late, nextAt: null })
      expect(checked(moved(current, made), start + late + 1)).toMatchObject({ decisions: [], nextAt: null })
    }
  })

  test("in the past already when it is made, also before 1970", () => {
    for (const instant of [start - hour, 0, -1, -1e15]) {
      const made = checked(schedule(at(instant)), start)
      expect(made).toMatchObject({ decisions: [run(instant)], cursor: start, nextAt: null })
    }
  })

  test("a clock that stepped back does not decide it again", () => {
    const current = schedule(at(start + hour))
    const decided = moved(current, checked(current, start + hour))
    for (const now of [start, start + hour - 1, start + hour, start + 2 * hour])
      expect(checked(decided, now)).toMatchObject({ decisions: [], nextAt: null, cursor: start + hour })
  })

  test("while another run of the schedule is alive, overlap counts as for others", () => {
    const alive = { lastRunId: "r", lastRunAlive: true }
    expect(checked(schedule(at(start), { ...alive, overlap: "skip" }), start).decisions).toEqual([
      { ...run(start), reason: "overlap" },
    ])
    expect(checked(schedule(at(start), { ...alive, overlap: "allow" }), start).decisions).toEqual([
      run(start),
    ])
  })
})

describe("Occurrences > after", () => {
  test("the first run starts at once, and its end is waited for", () => {
    const made = checked(schedule(after(hour)), start)
    expect(made).toMatchObject({ decisions: [run(start)], cursor: start, nextAt: null })
  })

  const waiting = { cursor: start, nextAt: null, lastRunId: "r" }
  const endedAt = (instant: number) => ({ ...waiting, lastRunEndedAt: instant })

  test("the next one is due the delay after the end, however long the run took", () => {
    for (const end of [start + 1, start + hour, start + 40 * day]) {
      const current = schedule(after(minute), endedAt(end))
      const set = checked(current, end + 5)
      expect(set).toMatchObject({ decisions: [], cursor: start, nextAt: end + minute })
      const made = checked(moved(current, set), end + minute + 3)
      expect(made).toMatchObject({ decisions: [run(end + minute)], cursor: end + minute + 3, nextAt: null })
    }
  })

  test("an end that was long ago is due at once, and stands for itself: nothing was missed", () => {
    const made = checked(schedule(after(minute), endedAt(start + hour)), start + 30 * day)
    expect(made.decisions).toEqual([run(start + hour + minute)])
    expect(made.cursor).toBe(start + 30 * day)
  })

  test("a last run that was pruned leaves the cursor to count from", () => {
    const current = schedule(after(minute), { ...waiting, lastRunEndedAt: null })
    expect(checked(current, start + 1).nextAt).toBe(start + minute)
    expect(checked(current, start + minute).decisions).toEqual([run(start + minute)])
  })

  test("no delay at all never decides an instant twice", () => {
    let current = schedule(after(0))
    let now = start
    const decided = new Set<number>()
    for (let round = 0; round < 100; round++) {
      const made = checked(current, now)
      for (const { at } of made.decisions) {
        expect(decided.has(at)).toBe(false)
        decided.add(at)
      }
      // The run ends in the very millisecond of its start.
      current = Object.freeze({ ...moved(current, made), lastRunId: "r", lastRunEndedAt: now })
      now = Math.max(now, made.cursor)
    }
    expect(decided.size).toBeGreaterThan(90)
  })

  test("an edit while the last run is alive: skip gives a reason, and its end is waited for", () => {
    const edited = { cursor: start, nextAt: start + 5, lastRunId: "r", lastRunAlive: true }
    const made = checked(schedule(after(minute), { ...edited, overlap: "skip" }), start + 5)
    expect(made).toMatchObject({
      decisions: [{ ...run(start + 5), reason: "overlap" }],
      cursor: start + 5,
      nextAt: null,
    })
  })

  test("an edit onto an instant that was decided moves behind the cursor", () => {
    const edited = schedule(after(minute), { cursor: start + hour, nextAt: start })
    const made = checked(edited, start + hour)
    expect(made.decisions).toEqual([run(start + hour + 1)])
    expect(made.cursor).toBe(start + hour + 1)
  })
})

describe("Occurrences > clocks that step back", () => {
  for (const trigger of [every(minute), cron("* * * * *")]) {
    for (const step of [1, second, hour, 400 * day]) {
      test(`${trigger.kind}: back by ${step} ms, nothing is decided twice and the next instant is a new one`, () => {
        const current = schedule(trigger, { nextAt: start + minute })
        const decided = moved(current, checked(current, start + 5 * minute))
        const back = checked(decided, start + 5 * minute - step)
        expect(back.decisions).toEqual([])
        expect(back.cursor).toBe(decided.cursor)
        expect(back.nextAt).toBe(start + 6 * minute)
        const again = checked(moved(decided, back), start + 6 * minute)
        expect(again.decisions).toEqual([run(start + 6 * minute)])
      })
    }
  }

  test("an edit after a step back goes on behind what is decided", () => {
    // The clock stood an hour later when the cursor was written.
    const edited = schedule(every(minute), { cursor: start + hour, nextAt: start + minute })
    const made = checked(edited, start + minute)
    expect(made).toMatchObject({ decisions: [], cursor: start + hour, nextAt: start + hour + minute })
  })

  test("after: the delay counts from an end before the cursor, which lies ahead of the clock", () => {
    const current = schedule(after(minute), {
      cursor: start + hour,
      nextAt: null,
      lastRunId: "r",
      lastRunEndedAt: start + 10,
    })
    const made = plan(current, after(minute), start + 2 * minute)
    expect(made.decisions.map(({ at }) => at)).toEqual([start + 10 + minute])
    expect(made.cursor).toBe(start + hour)
  })
})

describe("Occurrences > property: random looks at a clock that jumps", () => {
  /** Follows a schedule for some looks; throws at the first instant that is decided twice or left out. */
  const follow = (trigger: Every | ReturnType<typeof cron>, seed: number, looks: number, jumpMax: number) => {
    const random = seeded(seed)
    const slotAfter = (instant: number): number | null =>
      trigger.kind === "cron"
        ? nextAfter(trigger.pattern, instant)
        : instant < anchor
          ? anchor
          : anchor + (Math.floor((instant - anchor) / trigger.periodMillis) + 1) * trigger.periodMillis
    const anchor = trigger.kind === "every" ? (trigger.startAt ?? start) : 0
    let now = start
    let current = schedule(trigger)
    let expected = current.nextAt
    let decided = 0
    let skipped = 0
    for (let look = 0; look < looks; look++) {
      const dice = random()
      if (dice < 0.15) now -= Math.floor(random() ** 3 * jumpMax)
      else if (dice < 0.9) now += Math.floor(random() ** 4 * jumpMax)
      else now = Math.max(now, current.nextAt ?? now) + (dice < 0.95 ? 0 : -1)
      const isDue = current.nextAt !== null && current.nextAt <= now
      // A look that nobody asked for must do no harm either.
      if (!isDue && random() < 0.7) continue
      current = Object.freeze({
        ...current,
        lastRunAlive: random() < 0.3,
        overlap: random() < 0.5 ? "skip" : "allow",
      })
      const made = checked(current, now)
      for (const { at, lastAt, count } of made.decisions) {
        if (at !== expected)
          throw new Error(`Seed ${seed}, look ${look}: ${at} decided, expected ${expected}`)
        if (trigger.kind === "every") {
          if (count !== (lastAt - at) / trigger.periodMillis + 1)
            throw new Error(`Seed ${seed}: count ${count}`)
        } else if (
          count > 1 &&
          between(trigger.pattern, at - 1, lastAt, 10_000).length !== Math.min(count, 10_000)
        ) {
          throw new Error(`Seed ${seed}: count ${count}`)
        }
        decided += count
        if (count > 1) skipped++
        expected = slotAfter(lastAt)
      }
      if (made.nextAt !== null && made.nextAt <= made.cursor)
        throw new Error(`Seed ${seed}, look ${look}: next ${made.nextAt} is not beyond ${made.cursor}`)
      // What is next is what comes right behind the last that is decided: nothing in between is left out.
      if (made.nextAt !== expected)
        throw new Error(`Seed ${seed}, look ${look}: next ${made.nextAt}, not ${expected}`)
      current = moved(current, made)
    }
    return { decided, skipped }
  }

  test("fixed rates", () => {
    let decided = 0
    let skipped = 0
    for (let seed = 1; seed <= 300; seed++) {
      const random = seeded(seed + 1000)
      const period = 10 + Math.floor(random() ** 3 * hour)
      const startAt = random() < 0.5 ? null : start + Math.floor((random() - 0.5) * 4 * day)
      const found = follow(every(period, startAt), seed, 200, period * (random() < 0.2 ? 5000 : 20))
      decided += found.decided
      skipped += found.skipped
    }
    expect(decided).toBeGreaterThan(100_000)
    expect(skipped).toBeGreaterThan(100)
  })

  test("cron expressions, also some that end", () => {
    // How far the clock jumps at most: now and then over more instants than have a row each.
    const texts: ReadonlyArray<readonly [text: string, jumpMax: number]> = [
      ["* * * * *", 12 * hour],
      ["*/5 * * * * *", hour],
      ["0 9 * * MON-FRI", 60 * day],
      ["30 2 L * *", 400 * day],
      ["0 0 29 2 *", 1000 * day],
      ["0 0 13 * FRI", 400 * day],
      ["15 30 12 * * * 2026", 60 * day],
      ["0 */6 1 1-3 *", 60 * day],
      ["* * * * * * 2026", 20 * minute],
    ]
    let decided = 0
    let skipped = 0
    for (const [index, [text, jumpMax]] of texts.entries())
      for (let seed = 1; seed <= 15; seed++) {
        const found = follow(cron(text), seed * 100 + index, 100, jumpMax)
        decided += found.decided
        skipped += found.skipped
      }
    expect(decided).toBeGreaterThan(10_000)
    expect(skipped).toBeGreaterThan(10)
  })

  test("fixed delays: no instant twice, ascending, never before its time", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seeded(seed)
      const delay = Math.floor(random() ** 2 * hour)
      let now = start
      let current = schedule(after(delay))
      let last = Number.NEGATIVE_INFINITY
      let runs = 0
      for (let look = 0; look < 200; look++) {
        now += Math.floor((random() - 0.1) * 2 * delay) + (random() < 0.5 ? 1 : 0)
        const hasWaited = current.lastRunId !== null && !current.lastRunAlive
        if (current.nextAt === null ? !hasWaited : current.nextAt > now) {
          if (current.lastRunAlive && random() < 0.5)
            current = Object.freeze({
              ...current,
              lastRunAlive: false,
              lastRunEndedAt: random() < 0.1 ? null : now,
            })
          continue
        }
        const made = checked(current, now)
        const [decision] = made.decisions
        if (decision !== undefined) {
          expect(decision.at).toBeGreaterThan(last)
          if (current.lastRunEndedAt !== null)
            expect(decision.at).toBeGreaterThanOrEqual(current.lastRunEndedAt + delay)
          last = decision.at
          runs++
          current = Object.freeze({
            ...moved(current, made),
            lastRunId: "r",
            lastRunAlive: true,
            lastRunEndedAt: null,
          })
        } else current = moved(current, made)
      }
      expect(runs).toBeGreaterThan(5)
    }
  })
})

describe("Occurrences > elapsed time after a step back", () => {
  const back = (trigger: ParsedTrigger, now: number, fields: Partial<DueSchedule> = {}) =>
    wentBack(schedule(trigger, { cursor: start + hour, nextAt: start + hour + minute, ...fields }), now)

  test("a fixed rate goes on at once, on an instant that is none of its own; a fixed delay after its delay", () => {
    expect(back(every(minute), start + 5)).toBe(start + 5)
    expect(back(every(minute), start + minute)).toBe(start + minute + 1)
    expect(back(after(minute), start + 5)).toBe(start + 5 + minute)
  })

  test("what is near enough, waits, begins later, is on a clock or has a place stays where it stands", () => {
    expect(back(every(minute), start + hour)).toBeNull()
    expect(back(every(2 * hour), start)).toBeNull()
    expect(back(every(minute), start, { nextAt: null, waitsUntil: start + hour })).toBeNull()
    expect(back(every(minute), start, { cursor: start - 1 })).toBeNull()
    expect(back(cron("* * * * *"), start)).toBeNull()
    expect(back(at(start + hour), start)).toBeNull()
    for (const placed of [
      { only: "x" },
      { except: "x" },
      { jitterMillis: 5 },
      { startsAt: 0 },
      { endsAt: 9e15 },
    ])
      expect(back({ ...every(minute), ...placed }, start)).toBeNull()
  })

  test("until the clock is past the decided ones, and then on its own grid, without a hole", () => {
    let current = schedule(every(minute), { cursor: start + 5 * minute, nextAt: start + 1500 })
    const found: Array<number> = []
    for (let now = start + 1500; now < start + 8 * minute; now += 500) {
      if ((current.nextAt ?? now) > now) continue
      const made = checkedOnce(current, now)
      found.push(...made)
      current = moved(current, plan(current, every(minute), now))
    }
    expect(found.map((each) => (each - start) / 1000)).toEqual([1.5, 61.5, 121.5, 181.5, 241.5, 360, 420])
  })

  const checkedOnce = (current: DueSchedule, now: number): ReadonlyArray<number> =>
    plan(current, every(minute), now).decisions.map((decision) => decision.at)
})
