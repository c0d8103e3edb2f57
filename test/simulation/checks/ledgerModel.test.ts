// The model of the ledger can fail: calls that break one promise about occurrences are told, and honest ones are not.
import { describe, expect, test } from "vitest"
import type { Run } from "../../../core/domain/Run.ts"
import type { NewSchedule, Occurrence, ScheduleRow, Trigger } from "../../../core/domain/Schedule.ts"
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import type { StoreOperation } from "../../../core/ports/Store.ts"
import type { Change } from "../Ground.ts"
import { LedgerModel } from "./ledgerModel.ts"
import { knownUntil, offsetAt } from "./patterns.ts"

const start = Date.UTC(2024, 5, 12, 9)
const second = 1000
const everySecond: Trigger = { kind: "every", periodMillis: second, startAt: start }

type Row = Fire["occurrences"][number]
const ran = (seconds: number, more: Partial<Row> = {}): Row => ({
  ...left(seconds, "missed"),
  runId: `run${seconds}`,
  reason: null,
  ...more,
})
const left = (seconds: number, reason: Row["reason"], more: Partial<Row> = {}): Row => {
  const at = start + seconds * second
  return { at, lastAt: at, count: 1, runId: null, reason, nominalAt: null, ...more }
}

/** A store of one schedule that does as it is told, and a model that watches it. */
const stage = (given: Partial<NewSchedule> = {}, asked = 0) => {
  const told: Array<string> = []
  const model = new LedgerModel({
    calendars: [{ name: "freeze", zone: "UTC", rule: { spans: [span(3, 5)] } }],
    asked: () => asked,
    violated: (invariant, what) => told.push(`${invariant} ${what}`),
  })
  let now = start
  const call = (
    operation: StoreOperation,
    args: ReadonlyArray<unknown>,
    answer: unknown,
    changes: ReadonlyArray<Change> = [],
  ) => model.saw({ operation, args, now, changes: [...changes] }, answer)
  const known = () => {
    const row = model.schedules.get("s")
    if (row === undefined) throw new Error("There is no schedule")
    return row
  }
  const put = (schedule: Partial<NewSchedule> = {}, nextAt = start): void => {
    const common = { id: "s", job: "j", input: null, overlap: "skip" as const, fromConfig: true }
    const row = { ...common, trigger: everySecond, ...given, ...schedule }
    call("putSchedules", [[{ ...row, cursor: now - 1, nextAt, zoneData: null }]], undefined)
  }
  /** Somebody reads that it is due. */
  const read = (lastRunAlive = false): void => call("dueSchedules", [1], [{ ...known(), lastRunAlive }])
  /** A step, and the runs that it makes; a run that is named in `ends` has ended before it. */
  const fire = (
    occurrences: ReadonlyArray<Row>,
    step: Partial<Fire> = {},
    { answer = "fired", run = {} }: { answer?: string; run?: Partial<Run> | null } = {},
  ): void => {
    const made = occurrences.filter(({ runId }) => runId !== null)
    const { version, waitsUntil, cursor } = known()
    const last = occurrences[occurrences.length - 1]
    const place = { version, cursor: Math.max(cursor, last?.lastAt ?? 0), waitsUntil }
    const nextAt = (last?.lastAt ?? now) + second
    const lastRunId = made[made.length - 1]?.runId ?? null
    const runs = made.map(({ runId, at, nominalAt }) => ({ ...runOf(runId ?? "", nominalAt ?? at), ...run }))
    const fired = {
      scheduleId: "s",
      ...place,
      nextAt,
      occurrences,
      runs,
      cancelRunId: null,
      lastRunId,
      ...step,
    }
    const changes = run === null ? [] : runs.map((after) => ({ before: null, after, error: null }))
    call("fire", [[fired]], [answer], changes)
  }
  const end = (seconds: number, state: Run["state"] = "succeeded"): void => {
    const before = runOf(`run${seconds}`, start)
    call("settle", [[]], [], [{ before, after: { ...before, state, endedAt: now }, error: null }])
  }
  const at = (seconds: number): void => {
    now = start + seconds * second
  }
  put()
  return { told, model, call, put, read, fire, end, at, known }
}
type Stage = ReturnType<typeof stage>

const span = (from: number, to: number) => ({
  from: new Date(start + from * second).toISOString(),
  to: new Date(start + to * second).toISOString(),
})
const runOf = (id: string, at: number): Run =>
  ({ id, job: "j", scheduleId: "s", nominalAt: at, dueAt: at, state: "ready", endedAt: null }) as Run

/** Seconds 0 to 2 as they should be, and what comes at second 3. */
const thirdSecond = ({ at, read, fire, end }: Stage): void => {
  for (const each of [0, 1, 2]) {
    at(each)
    read()
    fire([ran(each)])
    end(each)
  }
  at(3)
  read()
}

const toldOf = (play: (stage: Stage) => void, given: Partial<NewSchedule> = {}, asked = 0) => {
  const made = stage(given, asked)
  thirdSecond(made)
  expect(made.told).toEqual([])
  play(made)
  return made.told
}

describe("honest calls are not told", () => {
  test.each<[string, (stage: Stage) => void, Partial<NewSchedule>, number]>([
    ["on time", ({ fire }) => fire([ran(3)]), {}, 0],
    [
      "late: the newest runs",
      ({ at, fire }) => (at(5), fire([left(3, "missed"), left(4, "missed"), ran(5)])),
      {},
      0,
    ],
    [
      "while the last run is alive",
      ({ fire, at, read }) => (fire([ran(3)]), at(4), read(true), fire([left(4, "overlap")])),
      {},
      0,
    ],
    [
      "a pause",
      ({ call, at, read, fire }) => {
        call("pauseSchedule", ["s", true], true)
        at(5)
        call("pauseSchedule", ["s", false], true)
        read()
        fire([left(3, "paused"), left(4, "paused"), left(5, "paused")])
      },
      {},
      0,
    ],
    ["skipped and run by hand", (it) => (it.fire([left(3, "skipped")]), byHand(it)), {}, 1],
    [
      "many share a row",
      ({ at, fire }) => (at(9), fire([left(3, "missed", { lastAt: start + 8 * second, count: 6 }), ran(9)])),
      {},
      0,
    ],
    [
      "an edit",
      ({ put, read, fire }) => (put(halves, start + 3000), read(), fire([ran(3)], { nextAt: start + 3500 })),
      {},
      0,
    ],
    [
      "a backfill",
      ({ call, fire, at }) => {
        at(4)
        fire([left(3, "missed"), ran(4)])
        fill(call, "created")
        fill(call, "exists")
      },
      {},
      1,
    ],
  ])("%s", (_name, play, given, asked) => {
    expect(toldOf(play, given, asked)).toEqual([])
  })
})

const halves = { trigger: { kind: "every", periodMillis: 500, startAt: start } as const }
/** A run beside the instants: the schedule stands where it stood. */
const byHand = ({ fire, known, at }: Stage) => {
  const { cursor, nextAt } = known()
  at(3.123)
  fire([ran(3.123)], { cursor, nextAt })
}
const fill = (call: Stage["call"], result: string) => {
  const at = start + 3 * second
  const after = runOf("filled", at)
  const changes = result === "created" ? [{ before: null, after, error: null }] : []
  const fills = [{ scheduleId: "s", at, runs: [after] }]
  call("backfill", [fills], [{ at, runId: "filled", result }], changes)
}

describe("what breaks a promise is told", () => {
  test.each<[string, (stage: Stage) => void, RegExp, Partial<NewSchedule>?]>([
    ["a row twice", ({ fire }) => fire([ran(2)]), /fired, and should have conflict/],
    [
      "an instant twice, once among others",
      ({ at, fire }) => {
        at(9)
        fire([
          left(2.5, "missed", { at: start + 1.5 * second, lastAt: start + 8 * second, count: 7 }),
          ran(9),
        ])
      },
      /counts 7 instants .* which are 6 .* without those that have a row/,
    ],
    ["an instant without a row", ({ at, fire }) => (at(4), fire([ran(4)])), /no row for .*09:00:03/],
    [
      "an instant that is stepped over without rows",
      ({ fire }) => fire([], { cursor: start + 3 * second }),
      /no row for .*09:00:03/,
    ],
    ["a run before its time", ({ fire }) => fire([ran(3), ran(4)]), /I9 .* before it has come/],
    [
      "a reason before its time",
      ({ fire }) => fire([ran(3), left(4, "overlap")]),
      /I9 .* before it has come/,
    ],
    [
      "a run that is due before its instant",
      ({ fire }) => fire([ran(3)], {}, { run: { dueAt: start } }),
      /I9 .* is due before/,
    ],
    ["neither run nor reason", ({ fire }) => fire([left(3, null)]), /neither run nor reason/],
    ["both run and reason", ({ fire }) => fire([ran(3, { reason: "missed" })]), /both run and reason/],
    ["a run that is not there", ({ fire }) => fire([ran(3)], {}, { run: null }), /was not made with it/],
    ["a run of nobody", ({ fire }) => fire([ran(3)], {}, { run: { scheduleId: null } }), /has a run run3/],
    [
      "a run for another instant",
      ({ fire }) => fire([ran(3)], {}, { run: { nominalAt: start } }),
      /whose row says/,
    ],
    [
      "a run of a step that conflicts",
      ({ fire }) => fire([ran(3)], { version: 1 }, { answer: "conflict" }),
      /made by a step that was not done/,
    ],
    [
      "a step that conflicts with nothing",
      ({ fire }) => fire([left(3, "overlap")], {}, { answer: "conflict" }),
      /conflict, and should have fired/,
    ],
    ["an old version", ({ fire }) => fire([ran(3)], { version: 1 }), /fired, and should have conflict/],
    [
      "an instant that the pattern does not have",
      ({ fire }) => fire([left(2.5, "overlap")]),
      /no instant of/,
    ],
    ["a run by hand that nobody asked for", byHand, /no instant of it/],
    ["missed, in time", ({ fire }) => fire([left(3, "missed")]), /was missed, 0 ms later/],
    [
      "an old one runs",
      ({ at, known, read, fire }) => {
        at(5)
        known().read = null
        read()
        fire([ran(3)], { nextAt: start + 4 * second })
      },
      /there were 1 newer ones/,
    ],
    [
      "a late one runs",
      ({ at, known, read, fire }) => {
        at(9)
        known().read = null
        read()
        fire([ran(3)], { nextAt: start + 4 * second })
      },
      /6000 ms late/,
      { catchUp: { mode: "skip" } },
    ],
    ["overlap without a run alive", ({ fire }) => fire([left(3, "overlap")]), /was not alive/],
    [
      "two alive",
      ({ fire, at, read }) => (fire([ran(3)]), at(4), read(true), fire([ran(4)])),
      /run3 and run4 alive/,
    ],
    ["paused without a pause", ({ fire }) => fire([left(3, "paused")]), /passed in a pause/],
    [
      "decided in a pause",
      ({ call, fire }) => (call("pauseSchedule", ["s", true], true), fire([ran(3)])),
      /is paused, and/,
    ],
    ["skipped without a word", ({ fire }) => fire([left(3, "skipped")]), /nobody asked to skip/],
    ["closed where it is open", ({ fire }) => fire([left(3, "calendar")]), /calendars say open/],
    [
      "open where it is closed",
      ({ fire }) => fire([ran(3)]),
      /calendars say blackout/,
      { trigger: { ...everySecond, except: "freeze" } },
    ],
    [
      "a wrong count",
      ({ at, fire }) => {
        at(9)
        fire([left(3, "missed", { lastAt: start + 8 * second, count: 5 }), ran(9)])
      },
      /counts 5 instants/,
    ],
    [
      "more runs than it may have",
      ({ fire }) => fire([ran(3)], { nextAt: null }),
      /4 runs, of at most 3/,
      { trigger: { ...everySecond, countMax: 3 } },
    ],
    [
      "a run after the end",
      ({ fire, end, at, read }) => {
        fire([ran(3)], { nextAt: null })
        end(3)
        at(4)
        read()
        fire([ran(4)])
      },
      /no instant of/,
      { trigger: { ...everySecond, endsAt: start + 3500 } },
    ],
    ["an end that is none", ({ fire }) => fire([ran(3)], { nextAt: null }), /is over, and there is no row/],
    ["a cursor that goes back", ({ fire }) => fire([ran(3)], { cursor: start }), /set back/],
    [
      "an old pattern after an edit",
      ({ put, at, read, fire }) => {
        put({ trigger: { ...everySecond, startAt: start + 500 } }, start + 3500)
        at(4)
        read()
        fire([ran(4)], { nextAt: start + 4500 })
      },
      /no instant of/,
    ],
    ["a first instant that is not the first", ({ put }) => put(halves, start + 4000), /is first due at/],
    [
      "a filled instant that nobody asked for",
      ({ call, fire }) => (fire([left(3, "missed")]), fill(call, "created")),
      /nobody had asked/,
    ],
    [
      "a second run for an instant",
      ({ call, fire }) => (fire([ran(3)]), fill(call, "created")),
      /answers created/,
    ],
    [
      "a schedule that is read as it is not",
      ({ call, known }) => call("dueSchedules", [1], [{ ...known(), version: 1 }]),
      /read as it is not/,
    ],
    ["a last run that is said to be alive", ({ read }) => read(true), /not alive/],
  ])("%s", (_name, play, telling, given) => {
    expect(toldOf(play, given).join("\n")).toMatch(telling)
  })

  test("a fixed delay that ends too soon", () => {
    const { told, at, read, fire, end } = stage({ trigger: { kind: "after", delayMillis: 5 * second } })
    at(0)
    read()
    fire([ran(0)], { nextAt: null, waitsUntil: start })
    at(2)
    end(0)
    read()
    fire([], { cursor: start, nextAt: start + 7 * second, waitsUntil: null })
    expect(told).toEqual([])
    at(6)
    read()
    fire([ran(6)], { nextAt: null, waitsUntil: start + 6 * second })
    expect(told.join()).toMatch(/I2 .* its delay was over at .*09:00:07/)
  })

  test("due, and nobody decides; a store that keeps other rows than it was given", () => {
    const made = stage()
    thirdSecond(made)
    expect(made.model.due(start + 2500)).toEqual([])
    expect(made.model.due(start + 3000)).toEqual(["s 4"])
    const row = made.known() as unknown as ScheduleRow
    const rows = [0, 1, 2].map((each) => ran(each) as unknown as Occurrence)
    made.model.compare([row], () => rows)
    expect(made.told).toEqual([])
    made.model.compare([{ ...row, cursor: 0 }], () => rows.slice(1))
    made.model.compare([], () => [...rows.slice(1), ran(0, { runId: "another" }) as unknown as Occurrence])
    expect(made.told.join("\n")).toMatch(
      /cursor is 0[^]*2 rows, and should have 3[^]*0 schedules[^]*another row/,
    )
  })
})

test("the clock changes of the model are those of the zones", () => {
  const zones = ["UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]
  for (const zone of zones) {
    const format = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      timeStyle: "medium",
      dateStyle: "short",
      hourCycle: "h23",
    })
    for (let at = Date.UTC(2024, 0, 2); at < knownUntil; at += 1_800_000) {
      const shown = new Date(at + offsetAt(zone, at)).toISOString().slice(0, 19).replace("T", ", ")
      if (format.format(at) !== shown) expect(`${zone} ${format.format(at)}`).toBe(`${zone} ${shown}`)
    }
  }
})
