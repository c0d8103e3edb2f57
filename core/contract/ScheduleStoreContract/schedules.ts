// What saving, pausing and deleting promise: an edit never lets the old pattern start anything, and never
// decides an instant twice.
import * as Effect from "effect/Effect"
import { type NewSchedule, overlaps, type Trigger } from "../../domain/Schedule.ts"
import { ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame, expectTrue } from "../Case.ts"
import { newRun, runId } from "../Fixtures.ts"
import { everySecond, fireAt, fireOne, newSchedule, put, rowOf } from "./fixtures.ts"

const triggers: ReadonlyArray<Trigger> = [
  { kind: "cron", expression: "0 3 * * MON-FRI", zone: "Europe/Berlin" },
  { kind: "cron", expression: "0 3 * * *", zone: "Europe/Berlin", gap: "before", ambiguous: "both" },
  { kind: "cron", expression: "0 3 * * *", zone: "Europe/Berlin", dialect: "another" },
  { kind: "every", periodMillis: 90_000, startAt: 1_700_000_000_000 },
  { kind: "every", periodMillis: 1, startAt: null },
  { kind: "after", delayMillis: 5_000 },
  { kind: "at", at: 1_800_000_000_000 },
  { kind: "every", periodMillis: 90_000, startAt: null, startsAt: 1_700_000_000_000, countMax: 3 },
  { kind: "after", delayMillis: 5_000, endsAt: 1_800_000_000_000 },
]

/** Cases of `putSchedules`, `schedules`, `deleteSchedules` and `pauseSchedule`. */
export const scheduleCases: ReadonlyArray<Case> = [
  {
    name: "putSchedules > a new schedule is stored as it was given, of whatever kind, its age too",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      for (const [n, trigger] of triggers.entries()) {
        const given = newSchedule(
          `s${n}`,
          { cursor: now - n, nextAt: n === 3 ? null : now + n, createdAt: now - 5_000 - n },
          {
            trigger,
            input: '{"a":"⏰"}',
            overlap: overlaps[n % overlaps.length] ?? "skip",
            fromConfig: n % 2 === 0,
            ...(n % 2 === 0 ? {} : { catchUp: { mode: "all" as const, windowMillis: 1_000, max: 5 } }),
          },
        )
        yield* put(given)
        const { version, ...row } = yield* rowOf(given.id)
        yield* expectSame("row", row, {
          ...given,
          waitsUntil: null,
          pausedAt: null,
          pausedNote: null,
          resumedAt: null,
          lastRunId: null,
          runCount: 0,
        })
        yield* expectTrue("a version", Number.isInteger(version))
      }
      yield* expectSame("all", (yield* schedules.schedules()).length, triggers.length)
    }),
  },
  {
    name: "putSchedules > an id may be any text",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const at = { cursor: 0, nextAt: 0 }
      const ids = ["__proto__", "constructor", "a'; DROP TABLE schedules; --", "%", "Größe ⏰"]
      yield* put(...ids.map((id) => newSchedule(id, at, { job: id })))
      yield* expectSame("ids", (yield* schedules.schedules()).map((row) => row.id).sort(), ids.toSorted())
      yield* schedules.deleteSchedules(["%", "_"])
      yield* expectSame("left", (yield* schedules.schedules()).length, ids.length - 1)
    }),
  },
  {
    name: "putSchedules > saved again as it was, it keeps its place",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start }))
      yield* fireOne(fireAt(yield* rowOf("s"), start))
      const { version: _, ...before } = yield* rowOf("s")
      clock.advance(60_000)
      yield* put(newSchedule("s", { cursor: clock.now(), nextAt: clock.now() + 1_000 }))
      const { version: __, ...after } = yield* rowOf("s")
      yield* expectSame("row", after, before)
    }),
  },
  {
    name: "putSchedules > a changed trigger replaces the next instant and keeps the cursor",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* put(newSchedule("s", { cursor: now, nextAt: now + 1_000 }))
      const before = yield* rowOf("s")
      for (const [n, trigger] of triggers.entries()) {
        const nextAt = trigger.kind === "after" ? null : now + 5_000 + n
        yield* put(newSchedule("s", { cursor: now + 99_000, nextAt }, { trigger }))
        const row = yield* rowOf("s")
        yield* expectFields(trigger.kind, row, { trigger, cursor: now, nextAt, createdAt: before.createdAt })
      }
    }),
  },
  {
    name: "putSchedules > an edit takes back a cursor that was ahead; without a change of the trigger it stays",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const at = { cursor: now - 1, nextAt: now + 1_000 }
      yield* put(newSchedule("s", { cursor: now + 99_000, nextAt: now + 100_000 }))
      yield* put(newSchedule("s", at, { overlap: "queueAll" }))
      yield* expectFields("overlap", yield* rowOf("s"), { cursor: now + 99_000, nextAt: now + 100_000 })
      yield* put(newSchedule("s", at, { trigger: { kind: "every", periodMillis: 7_000, startAt: null } }))
      yield* expectFields("trigger", yield* rowOf("s"), at)
    }),
  },
  {
    name: "putSchedules > after an edit, a step that was planned before it is a conflict",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      const at = { cursor: now, nextAt: now }
      const edits: ReadonlyArray<Partial<NewSchedule>> = [
        { trigger: { kind: "cron", expression: "0 0 * * *", zone: "UTC" } },
        { trigger: { kind: "cron", expression: "0 0 * * *", zone: "Asia/Tokyo" } },
        { trigger: { kind: "cron", expression: "0 0 * * 1", zone: "Asia/Tokyo" } },
        { trigger: { kind: "cron", expression: "0 0 * * 1", zone: "Asia/Tokyo", gap: "skip" } },
        {
          trigger: {
            kind: "cron",
            expression: "0 0 * * 1",
            zone: "Asia/Tokyo",
            gap: "skip",
            ambiguous: "last",
          },
        },
        { trigger: { kind: "cron", expression: "0 0 * * 1", zone: "Asia/Tokyo" } },
        { trigger: { kind: "cron", expression: "0 0 * * 1", zone: "Asia/Tokyo", dialect: "another" } },
        { trigger: everySecond },
        { trigger: { kind: "every", periodMillis: 1_000, startAt: 5 } },
        { trigger: everySecond, job: "other" },
        { trigger: everySecond, job: "other", input: "1" },
        { trigger: everySecond, job: "other", input: "1", overlap: "allow" },
        { trigger: { ...everySecond, countMax: 9 }, job: "other", input: "1", overlap: "allow" },
        { trigger: { ...everySecond, endsAt: 9 }, job: "other", input: "1", overlap: "allow" },
        { trigger: { ...everySecond, startsAt: 9 }, job: "other", input: "1", overlap: "allow" },
        { job: "other", input: "1", overlap: "queueOne", catchUp: { mode: "all" } },
        { job: "other", input: "1", overlap: "queueOne", catchUp: { mode: "all", max: 7 } },
        { job: "other", input: "1", overlap: "queueOne" },
      ]
      yield* put(newSchedule("s", at))
      for (const edit of edits) {
        const planned = yield* rowOf("s")
        yield* put(newSchedule("s", at, edit))
        const what = JSON.stringify(edit)
        yield* expectTrue(`the version grows with ${what}`, (yield* rowOf("s")).version > planned.version)
        yield* expectSame(what, yield* fireOne(fireAt(planned, now)), "conflict")
      }
      yield* expectSame("ledger", yield* schedules.occurrences({ limit: 10 }), [])
    }),
  },
  {
    name: "putSchedules > a schedule stays paused when it is saved again",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      const at = { cursor: now, nextAt: now }
      yield* put(newSchedule("s", at))
      yield* schedules.pauseSchedule("s", true)
      yield* put(newSchedule("s", at), newSchedule("t", at))
      yield* put(newSchedule("s", at, { trigger: { kind: "at", at: now } }))
      yield* expectFields("row", yield* rowOf("s"), { pausedAt: now })
      yield* expectSame(
        "due",
        (yield* schedules.dueSchedules(10)).map((row) => row.id),
        ["t"],
      )
    }),
  },
  {
    name: "deleteSchedules > what is deleted is never due again, and deleting is safe to repeat",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      const at = { cursor: now, nextAt: now }
      yield* put(newSchedule("s", at), newSchedule("t", at))
      const planned = yield* rowOf("s")
      yield* schedules.deleteSchedules(["s", "nobody"])
      yield* schedules.deleteSchedules(["s"])
      yield* expectSame(
        "left",
        (yield* schedules.schedules()).map((row) => row.id),
        ["t"],
      )
      yield* expectSame(
        "due",
        (yield* schedules.dueSchedules(10)).map((row) => row.id),
        ["t"],
      )
      yield* expectSame("fire", yield* fireOne(fireAt(planned, now)), "conflict")
    }),
  },
  {
    name: "putSchedules > an edit keeps what the schedule has done: its last run, how many, its pause and its age",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start - 1, nextAt: start }))
      yield* fireOne(fireAt(yield* rowOf("s"), start, newRun(1)))
      for (const isPaused of [true, false, true]) {
        clock.advance(1)
        yield* schedules.pauseSchedule("s", isPaused, "Holidays")
      }
      const before = yield* rowOf("s")
      const { lastRunId, runCount, createdAt, pausedAt, pausedNote, resumedAt } = before
      const kept = { lastRunId, runCount, createdAt, pausedAt, pausedNote, resumedAt }
      yield* expectSame("done so far", [lastRunId, runCount, resumedAt], [runId(1), 1, start + 2])
      const trigger = { kind: "every", periodMillis: 5_000, startAt: null } as const
      for (const fields of [{ input: "1" }, { input: "1", trigger }]) {
        yield* put(newSchedule("s", { cursor: start, nextAt: null }, fields))
        yield* expectFields("after an edit", yield* rowOf("s"), kept)
      }
    }),
  },
  {
    name: "pauseSchedule > a paused schedule is not due and wakes nobody, and a step planned before is a conflict",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start }))
      const planned = yield* rowOf("s")
      yield* expectSame("answer", yield* schedules.pauseSchedule("s", true), true)
      yield* expectFields("row", yield* rowOf("s"), { pausedAt: start, cursor: start, nextAt: start })
      yield* expectSame("due", yield* schedules.dueSchedules(10), [])
      yield* expectSame("next", yield* schedules.nextScheduleAt(), null)
      yield* expectSame("fire", yield* fireOne(fireAt(planned, start)), "conflict")
      clock.advance(1_000)
      yield* expectSame("repeated", yield* schedules.pauseSchedule("s", true), true)
      yield* expectFields("row", yield* rowOf("s"), { pausedAt: start })
    }),
  },
  {
    name: "pauseSchedule > a resumed schedule knows since when, and keeps its cursor",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      const future = start + 3_600_000
      yield* put(
        newSchedule("past", { cursor: start, nextAt: start + 1_000 }),
        newSchedule("future", { cursor: start, nextAt: future }),
      )
      for (const id of ["past", "future"]) yield* schedules.pauseSchedule(id, true)
      clock.advance(60_000)
      for (const id of ["past", "future"]) {
        yield* expectSame("answer", yield* schedules.pauseSchedule(id, false), true)
        yield* expectFields(id, yield* rowOf(id), { pausedAt: null, resumedAt: clock.now(), cursor: start })
      }
      yield* expectFields("what lies ahead stays", yield* rowOf("future"), { nextAt: future })
      yield* expectSame(
        "due",
        (yield* schedules.dueSchedules(10)).map((row) => row.id),
        ["past"],
      )
    }),
  },
  {
    name: "pauseSchedule > resuming what is not paused moves nothing",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start + 1_000 }))
      clock.advance(60_000)
      yield* expectSame("answer", yield* schedules.pauseSchedule("s", false), true)
      yield* expectFields("row", yield* rowOf("s"), { cursor: start, nextAt: start + 1_000 })
    }),
  },
  {
    name: "pauseSchedule > answers false for a schedule that is not there",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const answers = [yield* schedules.pauseSchedule("s", true), yield* schedules.pauseSchedule("s", false)]
      yield* expectSame("answers", answers, [false, false])
    }),
  },
  {
    name: "putSchedules, deleteSchedules > 1,001 rows are refused",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const ids = Array.from({ length: 1_001 }, (_, n) => `s${n}`)
      yield* expectLimit("schedules", put(...ids.map((id) => newSchedule(id, { cursor: 0, nextAt: null }))))
      yield* expectSame("none is stored", yield* schedules.schedules(), [])
      yield* expectLimit("ids", schedules.deleteSchedules(ids))
    }),
  },
]
