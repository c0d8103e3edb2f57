// Catch-up, overlap and limits: what becomes of each instant when nobody looked for a while, when the last run is
// alive, and where a schedule begins and ends. A small world plays it through: a clock, and runs that take their time.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { DueSchedule, Trigger } from "../../../core/domain/Schedule.ts"
import { parseCron } from "../../../core/trigger/CronFields.ts"
import { cronSlots } from "../../../core/trigger/Slots.ts"
import {
  type Decision,
  firstAt,
  lateMillis,
  type ParsedTrigger,
  plan,
  queueMax,
  rowsMax,
} from "../../../core/trigger/Occurrences.ts"

const start = Date.UTC(2026, 0, 1)
const second = 1000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

const every = (periodMillis: number, limits: Partial<Trigger> = {}): ParsedTrigger =>
  ({ kind: "every", periodMillis, startAt: null, ...limits }) as ParsedTrigger
const cron = (expression: string, limits: Partial<Trigger> = {}): ParsedTrigger =>
  ({
    kind: "cron",
    expression,
    zone: "UTC",
    cron: cronSlots(Result.getOrThrow(parseCron(expression))),
    ...limits,
  }) as ParsedTrigger

const schedule = (trigger: ParsedTrigger, fields: Partial<DueSchedule> = {}): DueSchedule => ({
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
  zoneData: null,
  lastRunAlive: false,
  lastRunEndedAt: null,
  ...fields,
})

interface Played {
  /** Nominal instant, start and end of each run, in slots of the period. */
  readonly runs: ReadonlyArray<{ readonly at: number; readonly from: number; readonly to: number }>
  readonly rows: ReadonlyArray<Decision>
  readonly row: DueSchedule
  /** How often a run was cancelled by the next. */
  readonly cancelled: number
}

/** Looks whenever the schedule is due, from `now` until `until`; each run takes `runMillis`. */
const play = (first: DueSchedule, now: number, until: number, runMillis: number): Played => {
  let row = first
  let cancelled = 0
  const runs: Array<{ at: number; from: number; to: number }> = []
  const rows: Array<Decision> = []
  for (let looks = 0; looks < 10_000; looks++) {
    const last = runs[runs.length - 1]
    const endsAt = last?.to ?? now
    const due = row.nextAt ?? (row.waitsUntil === null ? null : endsAt)
    if (due === null || due > until) break
    now = Math.max(now, due)
    row = {
      ...row,
      lastRunAlive: last !== undefined && last.to > now,
      lastRunEndedAt: last !== undefined && last.to <= now ? last.to : null,
    }
    const made = plan(row, row.trigger as ParsedTrigger, now)
    if (made.cancelsLast && last !== undefined) {
      last.to = now
      cancelled++
    }
    rows.push(...made.decisions)
    const fresh = made.decisions.filter(({ reason }) => reason === null)
    for (const { at } of fresh) runs.push({ at, from: now, to: now + runMillis })
    const { cursor, nextAt, waitsUntil } = made
    row = { ...row, cursor, nextAt, waitsUntil, runCount: row.runCount + fresh.length }
  }
  return { runs, rows, row, cancelled }
}

const overlapping = ({ runs }: Played): number =>
  runs.filter(({ from }, index) => runs.slice(0, index).some(({ to }) => to > from)).length
/** Each instant once and in order, none left out. */
const checkRows = ({ rows }: Played, period: number): void => {
  let expected = start
  for (const { at, lastAt, count } of rows) {
    if (at !== expected) throw new Error(`${at} is decided, expected ${expected}`)
    expect(count).toBe((lastAt - at) / period + 1)
    expected = lastAt + period
  }
}
const slots = (instants: ReadonlyArray<{ readonly at: number }>, period: number): Array<number> =>
  instants.map(({ at }) => (at - start) / period)
const reasons = ({ rows }: Played): Array<string> => rows.map(({ reason }) => reason ?? "run")

describe("catch-up", () => {
  const downFor3 = (catchUp: DueSchedule["catchUp"], late: number, fields: Partial<DueSchedule> = {}) =>
    play(
      schedule(every(minute), catchUp === undefined ? fields : { catchUp, ...fields }),
      start + 2 * minute + late,
      start + 2 * minute + late,
      0,
    )

  test("SC-S24 down over three slots: skip runs none, latest one, all three in order", () => {
    expect(reasons(downFor3({ mode: "skip" }, 30 * second))).toEqual(["missed", "missed", "missed"])
    expect(reasons(downFor3({ mode: "latest" }, 30 * second))).toEqual(["missed", "missed", "run"])
    const all = downFor3({ mode: "all" }, 30 * second)
    expect(slots(all.runs, minute)).toEqual([0, 1, 2])
    expect(reasons(all)).toEqual(["run", "run", "run"])
  })

  test("SC-S24 a window of 90 s with slots each minute takes what is younger only", () => {
    const made = downFor3({ mode: "all", windowMillis: 90 * second }, 45 * second)
    expect(reasons(made)).toEqual(["missed", "missed", "run"])
    expect(reasons(downFor3({ mode: "latest", windowMillis: 10 * second }, 45 * second))).not.toContain("run")
  })

  test("skip runs what is late by no more than is ordinary", () => {
    expect(reasons(downFor3({ mode: "skip" }, lateMillis))).toEqual(["missed", "missed", "run"])
    expect(reasons(downFor3({ mode: "skip" }, lateMillis + 1))).toEqual(["missed", "missed", "missed"])
  })

  test("skip leaves out a single instant that is late as well", () => {
    const once: ParsedTrigger = { kind: "at", at: start }
    const late = schedule(once, { catchUp: { mode: "skip" } })
    expect(plan(late, once, start + hour)).toMatchObject({ decisions: [{ reason: "missed" }], nextAt: null })
    expect(plan(schedule(once), once, start + 400 * day).decisions).toMatchObject([{ reason: null }])
  })

  for (const overlap of ["skip", "queueOne", "queueAll"] as const) {
    test(`all, ${overlap}: what is caught up runs one after the other, never two at once`, () => {
      const first = schedule(every(minute), { overlap, catchUp: { mode: "all", max: 5 } })
      const made = play(first, start + 100 * minute, start + 130 * minute, 10 * second)
      expect(slots(made.runs, minute)).toEqual(Array.from({ length: 35 }, (_, k) => 96 + k))
      expect(overlapping(made)).toBe(0)
      checkRows(made, minute)
    })
  }

  test("all, allow: all of them in one step, up to the cap", () => {
    const first = schedule(every(minute), { overlap: "allow", catchUp: { mode: "all", max: 5 } })
    const made = plan(first, every(minute), start + 100 * minute)
    expect(made.decisions.filter(({ reason }) => reason === null)).toHaveLength(5)
    expect(made).toMatchObject({ waitsUntil: null, nextAt: start + 101 * minute })
  })

  test("all with skip: what comes while it catches up is recorded as overlap, and it comes to an end", () => {
    const first = schedule(every(minute), { catchUp: { mode: "all", max: 3 } })
    const made = play(first, start + 10 * minute, start + 30 * minute, 150 * second)
    expect(slots(made.runs, minute).slice(0, 3)).toEqual([8, 9, 10])
    expect(overlapping(made)).toBe(0)
    checkRows(made, minute)
    expect(reasons(made)).toContain("overlap")
    // 10 + 3 x 2.5 minutes: caught up, and from the next slots on it is on time.
    expect(made.runs.slice(3).every(({ at, from }) => from === at)).toBe(true)
  })

  test("all with skip waits for a run that survived the absence", () => {
    const first = schedule(every(minute), { catchUp: { mode: "all" }, lastRunAlive: true, lastRunId: "r" })
    const made = plan(first, every(minute), start + hour)
    expect(made).toMatchObject({ decisions: [], nextAt: null, waitsUntil: start + hour, cursor: start - 1 })
  })

  for (const overlap of ["skip", "allow", "queueOne", "queueAll", "cancelRunning"] as const)
    for (const mode of ["skip", "latest", "all"] as const)
      for (const trigger of [every(second), cron("* * * * * *", {})])
        test(`SC-S25 ${trigger.kind}, ${overlap}, ${mode}: 2.6 million missed instants are bounded work`, () => {
          const now = start + 30 * day
          const first = schedule(trigger, { overlap, catchUp: { mode, max: 500, windowMillis: 60 * day } })
          const began = performance.now()
          const made = plan(first, trigger, now)
          expect(performance.now() - began).toBeLessThan(1000)
          expect(made.decisions.length).toBeLessThanOrEqual(1000)
          expect(made.decisions.length).toBeGreaterThan(rowsMax)
        })
})

describe("overlap", () => {
  const playOf = (overlap: DueSchedule["overlap"], runMillis: number, minutes = 20) =>
    play(schedule(every(minute), { overlap }), start, start + (minutes - 1) * minute, runMillis)
  const long = 150 * second

  test("SC-S29 a run of 2.5 intervals over 20 slots", () => {
    const skip = playOf("skip", long)
    expect(slots(skip.runs, minute)).toEqual([0, 3, 6, 9, 12, 15, 18])
    expect(reasons(skip).filter((reason) => reason === "overlap")).toHaveLength(13)
    const allow = playOf("allow", long)
    expect(allow.runs).toHaveLength(20)
    const replace = playOf("cancelRunning", long)
    expect(replace.runs).toHaveLength(20)
    expect(replace.cancelled).toBe(19)
    for (const made of [skip, replace]) expect(overlapping(made)).toBe(0)
    for (const made of [skip, allow, replace]) checkRows(made, minute)
  })

  test("queueOne: one waits and starts when the last one has ended; the others are overlap", () => {
    const made = playOf("queueOne", long)
    // 0 runs to 2.5; 1 waits, 2 does not; 1 runs to 5; 3 waits, and so on.
    expect(made.runs.slice(0, 4)).toEqual([
      { at: start, from: start, to: start + long },
      { at: start + minute, from: start + long, to: start + 2 * long },
      { at: start + 3 * minute, from: start + 2 * long, to: start + 3 * long },
      { at: start + 6 * minute, from: start + 3 * long, to: start + 4 * long },
    ])
    expect(overlapping(made)).toBe(0)
    checkRows(made, minute)
  })

  test("queueAll: each one runs, one after the other", () => {
    const made = play(schedule(every(minute), { overlap: "queueAll" }), start, start + 50 * minute, long)
    expect(slots(made.runs, minute)).toEqual(made.runs.map((_, index) => index))
    expect(made.runs.every(({ from }, index) => from === start + index * long)).toBe(true)
    expect(overlapping(made)).toBe(0)
  })

  test("queueAll: of more than its cap the newest wait, and the others are overlap", () => {
    const first = schedule(every(second), {
      overlap: "queueAll",
      waitsUntil: start,
      nextAt: null,
      lastRunId: "r",
    })
    const made = plan(first, every(second), start + 2999 * second)
    const run = made.decisions.filter(({ reason }) => reason === null)
    expect(run).toMatchObject([{ at: start + (3000 - queueMax) * second }])
    expect(
      made.decisions.filter(({ reason }) => reason === "overlap").reduce((n, { count }) => n + count, 0),
    ).toBe(3000 - queueMax)
  })

  for (const overlap of ["queueOne", "queueAll"] as const) {
    test(`${overlap}: a run that ends in time queues nothing`, () => {
      const made = playOf(overlap, 10 * second)
      expect(made.runs).toHaveLength(20)
      expect(made.runs.every(({ at, from }) => at === from)).toBe(true)
    })

    test(`${overlap}: random lengths never overlap, and no instant is left out or decided twice`, () => {
      let seed = 7
      const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
      for (let round = 0; round < 50; round++) {
        const made = play(
          schedule(every(minute), { overlap }),
          start + Math.floor(random() * 4 * minute),
          start + 60 * minute,
          Math.floor(random() * 5 * minute),
        )
        expect(overlapping(made)).toBe(0)
        checkRows(made, minute)
      }
    })
  }

  test("a fixed delay whose run is alive after an edit waits, or takes its place", () => {
    const after: ParsedTrigger = { kind: "after", delayMillis: minute }
    const alive = { nextAt: start, lastRunId: "r", lastRunAlive: true }
    const queued = plan(schedule(after, { ...alive, overlap: "queueOne" }), after, start)
    expect(queued).toMatchObject({ decisions: [], nextAt: null, waitsUntil: start })
    const replaced = plan(schedule(after, { ...alive, overlap: "cancelRunning" }), after, start)
    expect(replaced).toMatchObject({ decisions: [{ reason: null }], cancelsLast: true })
  })
})

describe("limits", () => {
  test("startsAt and endsAt are instants of the schedule themselves, and there is none outside", () => {
    for (const trigger of [
      every(minute, { startsAt: start + 2 * minute, endsAt: start + 4 * minute }),
      cron("* * * * *", { startsAt: start + 2 * minute, endsAt: start + 4 * minute }),
    ]) {
      const made = play(schedule(trigger), start, start + hour, 0)
      expect(slots(made.runs, minute)).toEqual([2, 3, 4])
      expect(made.rows).toHaveLength(3)
      expect(made.row.nextAt).toBeNull()
    }
  })

  test("limits between two slots move no slot", () => {
    const trigger = every(minute, { startsAt: start + 90 * second, endsAt: start + 200 * second })
    expect(slots(play(schedule(trigger), start, start + hour, 0).runs, minute)).toEqual([2, 3])
  })

  test("a fixed delay starts and ends with them", () => {
    const limits = { startsAt: start + hour, endsAt: start + hour + 5 * minute }
    const after: ParsedTrigger = { kind: "after", delayMillis: minute, ...limits }
    const made = play(schedule(after), start, start + day, minute)
    expect(made.runs.map(({ from }) => (from - start - hour) / minute)).toEqual([0, 2, 4])
    expect(made.row).toMatchObject({ nextAt: null, waitsUntil: null })
  })

  for (const overlap of ["skip", "allow", "queueOne", "queueAll", "cancelRunning"] as const)
    test(`countMax, ${overlap}: so many runs, and then the schedule is over`, () => {
      for (const runMillis of [0, 150 * second]) {
        const made = play(
          schedule(every(minute, { countMax: 4 }), { overlap }),
          start,
          start + day,
          runMillis,
        )
        expect(made.runs).toHaveLength(4)
        expect(made.row).toMatchObject({ nextAt: null, waitsUntil: null, runCount: 4 })
      }
    })

  test("countMax cuts what is caught up, the oldest first", () => {
    const trigger = every(minute, { countMax: 2 })
    const first = schedule(trigger, { overlap: "allow", catchUp: { mode: "all", max: 5 } })
    const made = plan(first, trigger, start + 9 * minute)
    expect(
      slots(
        made.decisions.filter(({ reason }) => reason === null),
        minute,
      ),
    ).toEqual([5, 6])
    expect(made.nextAt).toBeNull()
    expect(plan({ ...first, runCount: 2 }, trigger, start + hour)).toMatchObject({
      decisions: [],
      nextAt: null,
    })
  })
})

describe("a pause", () => {
  test("what passed in it is recorded as paused, what came since then runs", () => {
    const resumed = schedule(every(minute), { resumedAt: start + 3 * minute })
    const made = play(resumed, start + 4 * minute, start + 4 * minute, 0)
    expect(reasons(made)).toEqual(["paused", "paused", "paused", "paused", "run"])
    checkRows(made, minute)
  })

  test("a long one is few rows", () => {
    const resumed = schedule(every(second), { resumedAt: start + 30 * day })
    const made = plan(resumed, every(second), start + 30 * day)
    expect(made.decisions).toHaveLength(rowsMax + 1)
    expect(made.decisions.reduce((n, { count }) => n + count, 0)).toBe(2_592_001)
    expect(made.nextAt).toBe(start + 30 * day + second)
  })
})
