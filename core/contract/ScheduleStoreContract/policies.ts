// What a store keeps for the policies of a schedule: what waits for the end of the last run, which run the next one
// takes the place of, how many there were, and the pause with its note.
import * as Effect from "effect/Effect"
import { finalStates } from "../../domain/Run.ts"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame, expectTrue } from "../Case.ts"
import {
  claim,
  claimOne,
  enqueue,
  failing,
  newRun,
  runId,
  settle,
  statesOf,
  stored,
  success,
} from "../Fixtures.ts"
import { everySecond, fireAt, fireOne, newSchedule, put, rowOf } from "./fixtures.ts"

const dueIds = Effect.gen(function* () {
  return (yield* (yield* ScheduleStore).dueSchedules(10)).map((row) => row.id)
})

/** Saved, and its first instant started a run whose end the next step waits for. */
const waiting = Effect.gen(function* () {
  const now = (yield* ContractClock).now()
  yield* put(newSchedule("s", { cursor: now - 1, nextAt: now }, { overlap: "queueAll" }))
  const run = newRun(1, { scheduleId: "s", nominalAt: now })
  yield* fireOne(fireAt(yield* rowOf("s"), now, run, { nextAt: null, waitsUntil: now + 7 }))
  return yield* rowOf("s")
})

/** Cases of what a schedule waits for, replaces and counts. */
export const policyCases: ReadonlyArray<Case> = [
  ...finalStates.map((state): Case => ({
    name: `dueSchedules > a schedule of any kind that waits is due when its last run has ended ${state}`,
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const now = clock.now()
      yield* put(newSchedule("s", { cursor: now, nextAt: now }, { overlap: "queueOne" }))
      const run = newRun(1, { startWithinMillis: 60_000, needs: state === "skipped" ? [runId(2)] : [] })
      const step = fireAt(yield* rowOf("s"), now, run, { nextAt: null, waitsUntil: now + 7 })
      yield* enqueue(newRun(2, { job: "need" }))
      yield* fireOne(step)
      clock.advance(1_000)
      yield* expectSame("waits", yield* dueIds, [])
      if (state === "succeeded") yield* settle(success(yield* claimOne()))
      if (state === "dead") yield* settle(failing(yield* claimOne()))
      if (state === "cancelled") yield* (yield* RunStore).cancel([runId(1)], "Not wanted")
      if (state === "skipped") yield* (yield* RunStore).cancel([runId(2)], "Not wanted")
      if (state === "expired") {
        clock.advance(59_000)
        yield* (yield* RunStore).promote(10)
      }
      yield* expectSame("state", yield* statesOf(runId(1)), [state])
      yield* expectSame("due", yield* dueIds, ["s"])
    }),
  })),
  {
    name: "dueSchedules > what waits and is paused stays still",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      yield* waiting
      yield* settle(success(yield* claimOne()))
      yield* schedules.pauseSchedule("s", true)
      yield* expectSame("paused", yield* dueIds, [])
      yield* schedules.pauseSchedule("s", false)
      yield* expectSame("resumed", yield* dueIds, ["s"])
    }),
  },
  {
    name: "putSchedules > a changed trigger waits for nothing; other changes leave what waits",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const { waitsUntil } = yield* waiting
      const at = { cursor: now, nextAt: now + 9_000 }
      yield* put(newSchedule("s", at, { overlap: "queueOne" }))
      yield* expectFields("overlap", yield* rowOf("s"), { nextAt: null, waitsUntil })
      yield* put(newSchedule("s", at, { overlap: "queueOne", catchUp: { mode: "all", max: 3 } }))
      yield* expectFields("catch-up", yield* rowOf("s"), { waitsUntil, catchUp: { mode: "all", max: 3 } })
      yield* put(newSchedule("s", at, { overlap: "queueOne" }))
      yield* expectSame("no catch-up", (yield* rowOf("s")).catchUp, undefined)
      yield* put(newSchedule("s", at, { trigger: { ...everySecond, countMax: 5 } }))
      yield* expectFields("trigger", yield* rowOf("s"), { nextAt: now + 9_000, waitsUntil: null })
    }),
  },
  {
    name: "fire > cancels the run that the new one takes the place of, in the same step",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      const before = yield* waiting
      const held = yield* claimOne()
      const step = fireAt(before, at + 1_000, newRun(2), { cancelRunId: runId(1) })
      yield* expectSame("answer", yield* fireOne(step), "fired")
      const replaced = yield* stored(runId(1))
      yield* expectFields("replaced", replaced, { state: "cancelled", endedAt: at })
      yield* expectTrue("a reason", (replaced.reason ?? "").length > 0)
      const settled = yield* settle(success(held))
      yield* expectSame("a late result", settled.result, "stale")
      yield* expectSame(
        "claimed",
        (yield* claim()).map((run) => run.id),
        [runId(2)],
      )
    }),
  },
  {
    name: "fire > a step that is a conflict cancels nothing, and one that has ended stays as it ended",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      const before = yield* waiting
      const old = fireAt({ id: "s", version: before.version - 1 }, at + 1_000, newRun(2), {
        cancelRunId: runId(1),
      })
      yield* expectSame("answer", yield* fireOne(old), "conflict")
      yield* expectFields("kept", yield* stored(runId(1)), { state: "ready" })
      yield* settle(success(yield* claimOne()))
      const step = fireAt(before, at + 1_000, newRun(2), { cancelRunId: runId(1) })
      yield* expectSame("answer", yield* fireOne(step), "fired")
      yield* expectFields("ended", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "fire > the run is cancelled first: its key is free, and what needs it is skipped",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      yield* put(newSchedule("s", { cursor: at, nextAt: at }))
      yield* fireOne(fireAt(yield* rowOf("s"), at, newRun(1, { key: "k" })))
      const step = fireAt(yield* rowOf("s"), at + 1_000, newRun(2, { key: "k" }), { cancelRunId: runId(1) })
      const runs = [newRun(3, { needs: [runId(1)] }), newRun(2, { key: "k", needs: [] })]
      yield* expectSame("answer", yield* fireOne({ ...step, runs }), "fired")
      yield* expectSame("states", yield* statesOf(...[1, 2, 3].map(runId)), ["cancelled", "ready", "skipped"])
    }),
  },
  {
    name: "fire > so is the key of what needed it",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      yield* put(newSchedule("s", { cursor: at, nextAt: at }))
      yield* fireOne(fireAt(yield* rowOf("s"), at, newRun(1)))
      yield* enqueue(newRun(2, { needs: [runId(1)] }), newRun(3, { needs: [runId(2)], key: "k" }))
      const step = fireAt(yield* rowOf("s"), at + 1_000, newRun(5), { cancelRunId: runId(1) })
      const runs = [newRun(4, { key: "k" }), newRun(5, { needs: [runId(4)] })]
      yield* expectSame("answer", yield* fireOne({ ...step, runs }), "fired")
      yield* expectSame("states", yield* statesOf(...[3, 4, 5].map(runId)), ["skipped", "ready", "blocked"])
    }),
  },
  {
    name: "fire > counts runs, not instants, and an edit does not begin anew",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      yield* expectFields("one", yield* waiting, { runCount: 1 })
      yield* fireOne(fireAt(yield* rowOf("s"), at + 1_000))
      yield* expectFields("none more", yield* rowOf("s"), { runCount: 1 })
      yield* put(newSchedule("s", { cursor: at, nextAt: at }, { trigger: { ...everySecond, countMax: 2 } }))
      yield* fireOne(fireAt(yield* rowOf("s"), at + 2_000, newRun(2)))
      yield* expectFields("two", yield* rowOf("s"), { runCount: 2 })
    }),
  },
  {
    name: "fire > the ledger keeps the trigger that named the instant, also after an edit",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const at = (yield* ContractClock).now()
      const other = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" } as const
      yield* waiting
      yield* put(newSchedule("s", { cursor: at, nextAt: at }, { trigger: other }))
      yield* fireOne(fireAt(yield* rowOf("s"), at + 1_000, newRun(2)))
      yield* schedules.deleteSchedules(["s"])
      const texts = (yield* schedules.occurrences({ scheduleId: "s", limit: 10 })).map(
        ({ trigger }) => trigger,
      )
      yield* expectSame("texts", texts, [JSON.stringify(other), JSON.stringify(everySecond)])
    }),
  },
  {
    name: "pauseSchedule > keeps the note until it is resumed, and knows since when it goes on",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start, nextAt: start }))
      yield* schedules.pauseSchedule("s", true, "the printer is empty; DROP TABLE")
      yield* schedules.pauseSchedule("s", true, "again")
      const pausedNote = "the printer is empty; DROP TABLE"
      yield* expectFields("paused", yield* rowOf("s"), { pausedAt: start, pausedNote, resumedAt: null })
      clock.advance(5_000)
      yield* schedules.pauseSchedule("s", false)
      const resumedAt = start + 5_000
      yield* expectFields("resumed", yield* rowOf("s"), { pausedAt: null, pausedNote: null, resumedAt })
      yield* schedules.pauseSchedule("s", true)
      yield* expectFields("without a note", yield* rowOf("s"), { pausedNote: null, resumedAt })
    }),
  },
]
