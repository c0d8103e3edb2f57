// What `dueSchedules` and `nextScheduleAt` promise: every schedule is seen when its instant has come by the
// store's clock, with what is needed to decide on overlap and fixed delay.
import * as Effect from "effect/Effect"
import type { Trigger } from "../../domain/Schedule.ts"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { claimOne, failing, newRun, runId, settle, success } from "../Fixtures.ts"
import { fireAt, fireOne, newSchedule, put, rowOf } from "./fixtures.ts"

const after: Trigger = { kind: "after", delayMillis: 5_000 }

const dueIds = Effect.fnUntraced(function* (limit = 10) {
  return (yield* (yield* ScheduleStore).dueSchedules(limit)).map((row) => row.id)
})

/** Cases of `dueSchedules` and `nextScheduleAt`. */
export const dueCases: ReadonlyArray<Case> = [
  {
    name: "dueSchedules > at its instant by the store's clock, not a millisecond before",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start + 1_000 }))
      clock.advance(999)
      yield* expectSame("early", yield* dueIds(), [])
      clock.advance(1)
      yield* expectSame("due", yield* dueIds(), ["s"])
    }),
  },
  {
    name: "dueSchedules > the earliest instant first, at most the limit",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const at = (nextAt: number) => ({ cursor: now - 10_000, nextAt })
      yield* put(
        newSchedule("a", at(now - 10)),
        newSchedule("b", at(now - 30)),
        newSchedule("c", at(now + 1)),
        newSchedule("d", at(now - 20)),
        newSchedule("e", at(now)),
      )
      yield* expectSame("all", yield* dueIds(), ["b", "d", "a", "e"])
      yield* expectSame("two", yield* dueIds(2), ["b", "d"])
    }),
  },
  {
    name: "dueSchedules > those that wait for a run that is alive take no place of the limit",
    run: Effect.gen(function* () {
      const start = (yield* ContractClock).now()
      for (const [n, id] of ["a", "b", "c"].entries()) {
        yield* put(newSchedule(id, { cursor: start - 1, nextAt: start }, { trigger: after }))
        const waits = { nextAt: null, waitsUntil: start }
        yield* fireOne(fireAt(yield* rowOf(id), start, newRun(n + 1, { job: id }), waits))
      }
      yield* settle(success(yield* claimOne({ jobs: ["b"] })))
      yield* expectSame("one", yield* dueIds(1), ["b"])
      yield* settle(success(yield* claimOne({ jobs: ["c"] })))
      yield* expectSame("the first of two is one of them", (yield* dueIds(1)).length, 1)
      yield* expectSame("two", (yield* dueIds(2)).sort(), ["b", "c"])
    }),
  },
  {
    name: "dueSchedules > the row as it is stored, and whether the last run lives",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start }))
      const fresh = yield* rowOf("s")
      yield* expectSame("without a run", yield* schedules.dueSchedules(10), [
        { ...fresh, lastRunAlive: false, lastRunEndedAt: null },
      ])
      yield* fireOne(fireAt(fresh, start, newRun(1)))
      clock.advance(1_000)
      const row = yield* rowOf("s")
      yield* expectSame("alive", yield* schedules.dueSchedules(10), [
        { ...row, lastRunAlive: true, lastRunEndedAt: null },
      ])
      yield* settle(failing(yield* claimOne(), 60_000))
      yield* expectFields("between attempts", (yield* schedules.dueSchedules(10))[0], { lastRunAlive: true })
      yield* (yield* RunStore).cancel([runId(1)], "Not wanted")
      yield* expectSame("ended", yield* schedules.dueSchedules(10), [
        { ...row, lastRunAlive: false, lastRunEndedAt: clock.now() },
      ])
    }),
  },
  {
    name: "dueSchedules > a schedule that a failure holds waits for a decision: its dead run counts as alive until then",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const start = clock.now()
      const trigger: Trigger = { kind: "every", periodMillis: 1_000, startAt: null, holdOnFailure: true }
      const decisions = [
        () => runs.drop([runId(1)]),
        () => Effect.asVoid(runs.replay([runId(2)], [runId(12)])),
        () => Effect.void,
      ]
      for (const [index, decide] of decisions.entries()) {
        const n = index + 1
        const id = `s${n}`
        yield* put(newSchedule(id, { cursor: start, nextAt: start }, { trigger }))
        yield* fireOne(fireAt(yield* rowOf(id), start, newRun(n), { nextAt: null, waitsUntil: start }))
        const run = yield* claimOne()
        // Only a dead run holds: the last of the three succeeded.
        yield* settle(n === 3 ? success(run) : failing(run, null))
        yield* expectSame(`${id} before`, yield* dueIds(), n === 3 ? [id] : [])
        yield* decide()
        yield* expectFields(`${id} after`, (yield* schedules.dueSchedules(10))[0], {
          id,
          lastRunAlive: false,
          lastRunEndedAt: clock.now(),
        })
        yield* schedules.deleteSchedules([id])
        yield* runs.cancel([runId(12)], "Not wanted")
      }
      // One that is due by its instant says so too.
      yield* put(newSchedule("s", { cursor: start, nextAt: start }, { trigger }))
      yield* fireOne(fireAt(yield* rowOf("s"), start, newRun(4), { nextAt: start + 1_000 }))
      yield* settle(failing(yield* claimOne(), null))
      clock.advance(1_000)
      yield* expectFields("by its instant", (yield* schedules.dueSchedules(10))[0], {
        lastRunAlive: true,
        lastRunEndedAt: null,
      })
    }),
  },
  {
    name: "dueSchedules > a fixed delay waits for its last run, and is due as soon as that has ended",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start }, { trigger: after }))
      yield* fireOne(fireAt(yield* rowOf("s"), start, newRun(1), { nextAt: null, waitsUntil: start }))
      clock.advance(60_000)
      yield* expectSame("waits", yield* dueIds(), [])
      yield* expectSame("nothing to wake for", yield* schedules.nextScheduleAt(), null)
      yield* settle(success(yield* claimOne()))
      const endedAt = clock.now()
      clock.advance(1)
      const [due] = yield* schedules.dueSchedules(10)
      yield* expectFields("due", due, { id: "s", nextAt: null, lastRunAlive: false, lastRunEndedAt: endedAt })
      yield* fireOne(
        fireAt(yield* rowOf("s"), 0, null, { cursor: endedAt, nextAt: endedAt + 5_000, occurrences: [] }),
      )
      yield* expectSame("planned", yield* dueIds(), [])
      yield* expectFields("the last run is kept", yield* rowOf("s"), { lastRunId: runId(1) })
    }),
  },
  {
    name: "dueSchedules > a fixed delay that never ran, and other kinds without an instant, are not due",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* put(
        newSchedule("after", { cursor: now, nextAt: null }, { trigger: after }),
        newSchedule("at", { cursor: now, nextAt: now }, { trigger: { kind: "at", at: now } }),
      )
      yield* fireOne(fireAt(yield* rowOf("at"), now, newRun(1), { nextAt: null }))
      yield* settle(success(yield* claimOne()))
      yield* expectSame("due", yield* dueIds(), [])
    }),
  },
  {
    name: "dueSchedules > a fixed delay that is paused stays still after its run has ended",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      yield* put(newSchedule("s", { cursor: now, nextAt: now }, { trigger: after }))
      yield* fireOne(fireAt(yield* rowOf("s"), now, newRun(1), { nextAt: null, waitsUntil: now }))
      yield* settle(success(yield* claimOne()))
      yield* schedules.pauseSchedule("s", true)
      yield* expectSame("paused", yield* dueIds(), [])
      yield* schedules.pauseSchedule("s", false)
      yield* expectSame("resumed", yield* dueIds(), ["s"])
    }),
  },
  {
    name: "nextScheduleAt > the earliest instant of all, none when there is none",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      yield* expectSame("empty", yield* schedules.nextScheduleAt(), null)
      yield* put(
        newSchedule("a", { cursor: now, nextAt: now + 3_000 }),
        newSchedule("b", { cursor: now, nextAt: now + 2_000 }),
        newSchedule("c", { cursor: now, nextAt: null }, { trigger: after }),
      )
      yield* expectSame("two", yield* schedules.nextScheduleAt(), now + 2_000)
      yield* schedules.deleteSchedules(["b"])
      yield* expectSame("one", yield* schedules.nextScheduleAt(), now + 3_000)
    }),
  },
]
