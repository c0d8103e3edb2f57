// What the operations on schedules, their ledger and calendars owe to a caller who did not hear the answer.
import * as Effect from "effect/Effect"
import { ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock } from "../Case.ts"
import { claimOne, newRun, runId } from "../Fixtures.ts"
import {
  decision,
  everySecond,
  fireAt,
  fireOne,
  newSchedule,
  put,
  rowOf,
} from "../ScheduleStoreContract/fixtures.ts"
import { trial } from "./fixtures.ts"

const operate = <A, E>(
  call: (schedules: ScheduleStore["Service"]) => Effect.Effect<A, E>,
): Effect.Effect<A, E, ScheduleStore> => Effect.flatMap(ScheduleStore, call)

/** Schedules "a" and "b", due now; "a" has a run that is running. */
const saved = Effect.gen(function* () {
  const now = (yield* ContractClock).now()
  const at = { cursor: now - 2_000, nextAt: now - 1_000 }
  yield* put(newSchedule("a", at), newSchedule("b", at))
  yield* fireOne({ ...fireAt(yield* rowOf("a"), now - 1_000, newRun(1)), nextAt: now })
  yield* claimOne()
  return now
})

const calendars = ["workdays", "freeze"].map((name) => ({
  name,
  definition: '{"days":[]}',
  fromConfig: true,
}))

/** Cases of operations on schedules. */
export const scheduleFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "putSchedules",
    what: "a new one, one that is the same and one with another trigger",
    promise: "nothing changes, and no version grows",
    prepare: Effect.gen(function* () {
      const now = yield* saved
      const at = { cursor: now - 2_000, nextAt: now + 5_000 }
      const other = { trigger: { ...everySecond, periodMillis: 5_000 } }
      return put(newSchedule("a", at, other), newSchedule("b", at), newSchedule("c", at))
    }),
  }),
  ...trial({
    operation: "deleteSchedules",
    promise: "nothing more is deleted",
    prepare: Effect.as(
      saved,
      operate((schedules) => schedules.deleteSchedules(["a", "z"])),
    ),
  }),
  ...trial({
    operation: "pauseSchedule",
    what: "a pause",
    promise: "it answers that it is there, and the pause began the first time",
    prepare: Effect.as(
      saved,
      operate((schedules) => schedules.pauseSchedule("a", true, "The disk is full")),
    ),
  }),
  ...trial({
    operation: "pauseSchedule",
    what: "a resume",
    promise: "it answers that it is there, and the pause ended the first time",
    prepare: Effect.gen(function* () {
      yield* saved
      yield* operate((schedules) => schedules.pauseSchedule("a", true, "The disk is full"))
      return operate((schedules) => schedules.pauseSchedule("a", false))
    }),
  }),
  ...trial({
    operation: "fire",
    promise: "it answers conflict, and the row shows the step with its own run as the last",
    prepare: Effect.gen(function* () {
      const now = yield* saved
      const a = fireAt(yield* rowOf("a"), now, newRun(2), { cancelRunId: runId(1), waitsUntil: now })
      const b = fireAt(yield* rowOf("b"), now, newRun(4, { needs: [runId(3)] }))
      const needs = { ...b, runs: [newRun(3), ...b.runs] }
      return operate((schedules) => schedules.fire([a, needs]))
    }),
    recorded: (answers) => answers.map(() => "conflict"),
  }),
  ...trial({
    operation: "fire",
    what: "a step without a run or an instant",
    promise: "it answers conflict, by the version alone",
    prepare: Effect.gen(function* () {
      const now = yield* saved
      const step = { ...fireAt(yield* rowOf("a"), now + 60_000), occurrences: [] }
      return operate((schedules) => schedules.fire([step]))
    }),
    recorded: () => ["conflict"],
  }),
  ...trial({
    operation: "backfill",
    promise: "it answers exists with the first runs, and stores no other",
    prepare: Effect.gen(function* () {
      const now = yield* saved
      const missed = { ...decision(now - 9_000, null, "missed"), lastAt: now - 5_000, count: 5 }
      yield* fireOne({ ...fireAt(yield* rowOf("b"), now), occurrences: [missed] })
      const fill = (at: number, n: number) => ({ scheduleId: "b", at, runs: [newRun(n, { nominalAt: at })] })
      const unknown = { ...fill(now, 13), scheduleId: "z" }
      return operate((schedules) =>
        schedules.backfill([fill(now - 7_000, 11), fill(now - 90_000, 12), unknown]),
      )
    }),
    recorded: (answers) =>
      answers.map((answer) => (answer.result === "created" ? { ...answer, result: "exists" } : answer)),
  }),
  ...trial({
    operation: "putCalendars",
    promise: "they are there once",
    prepare: Effect.succeed(operate((schedules) => schedules.putCalendars(calendars))),
  }),
  ...trial({
    operation: "deleteCalendars",
    promise: "nothing more is deleted",
    prepare: Effect.as(
      operate((schedules) => schedules.putCalendars(calendars)),
      operate((schedules) => schedules.deleteCalendars(["freeze", "gone"])),
    ),
  }),
]
