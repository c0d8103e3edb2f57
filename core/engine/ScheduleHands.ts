// What people and programs do to schedules while an engine runs: save and remove those that are not of the config, pause,
// start a run now, leave out the next instant, fill the past. Each is in the store first, and then told to whoever plans.
import * as Effect from "effect/Effect"
import { InvalidSchedule, type StoreError } from "../domain/Errors.ts"
import type { NewSchedule, ScheduleRow } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import type { Notifier } from "../ports/Notifier.ts"
import { RunStore, ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { ParseTrigger } from "../trigger/Triggers.ts"
import type { ZoneSource } from "../trigger/ZoneData.ts"
import { type Backfill, makeBackfill } from "./Backfill.ts"
import { makeOperate, type Operate } from "./Operate.ts"
import { type RowsOf, makeRowsOf } from "./SavedSchedules.ts"
import type { RunsOf } from "./ScheduledRuns.ts"

/** What can be done to schedules. */
export interface ScheduleHands {
  /**
   * Saves a schedule that is new, or another one under its id, which keeps its age, its place, its pause and its ledger;
   * answers its row. Its first instant comes after now; one that has none is refused.
   */
  readonly saveSchedule: (schedule: NewSchedule) => Effect.Effect<ScheduleRow, StoreError | InvalidSchedule>
  /** Removes a schedule; its runs and its ledger stay. Harmless when it is not there. */
  readonly deleteSchedule: (id: string) => Effect.Effect<void, StoreError>
  /** Pauses with a note, or resumes. Answers whether the schedule is there. */
  readonly pauseSchedule: (
    id: string,
    paused: boolean,
    note?: string | null,
  ) => Effect.Effect<boolean, StoreError>
  /** Starts a run of the schedule now, beside its instants. Its overlap holds; a fixed delay counts from this run. */
  readonly runNow: Operate["runNow"]
  /** Decides the next instant as skipped. */
  readonly skipNext: Operate["skipNext"]
  /** Gives instants of the past their runs. */
  readonly backfill: Backfill
}

/** Over the stores. */
export const makeScheduleHands = (options: {
  readonly runsOf: RunsOf
  readonly parse: ParseTrigger
  readonly zones: ZoneSource
  readonly notifier: Notifier["Service"]
  readonly events: Events
}): Effect.Effect<ScheduleHands, never, RunStore | ScheduleStore | StoreInfo> =>
  Effect.gen(function* () {
    const { notifier, events, parse, zones } = options
    const store = yield* ScheduleStore
    const rowsOf: RowsOf = makeRowsOf(zones)
    const backfill = yield* makeBackfill(options)
    const operate = yield* makeOperate(options)
    const info = yield* StoreInfo
    const tell = (hint: Parameters<Notifier["Service"]["publish"]>[0]) =>
      Effect.sync(() => notifier.publish(hint))

    return {
      saveSchedule: Effect.fnUntraced(function* (schedule) {
        const known = yield* store.schedules()
        const rows = yield* Effect.fromResult(rowsOf([schedule], { known, parse, now: yield* info.now }))
        const [made] = rows
        if (made?.nextAt === null && schedule.trigger.kind !== "after")
          return yield* new InvalidSchedule({
            field: `schedule "${schedule.id}"`,
            reason: "no instant of it comes any more, so it would never start anything",
            next: "Correct its times or its limits.",
          })
        yield* store.putSchedules(rows)
        const row = (yield* store.schedules()).find(({ id }) => id === schedule.id)
        yield* tell({ kind: "schedules" })
        // Somebody has removed it at this very moment: it was there all the same.
        return row ?? { ...unmoved, ...(rows[0] as (typeof rows)[number]) }
      }),
      deleteSchedule: (id) => Effect.andThen(store.deleteSchedules([id]), tell({ kind: "schedules" })),
      pauseSchedule: (id, paused, note = null) =>
        Effect.tap(store.pauseSchedule(id, paused, note), () => tell({ kind: "schedules" })),
      runNow: (id) =>
        Effect.tap(operate.runNow(id), (answer) =>
          Effect.sync(() => {
            if (answer.result !== "created") return
            if (answer.cancelledId !== null)
              notifier.publish({ kind: "cancelled", ids: [answer.cancelledId] })
            notifier.publish({ kind: "runs", dueAt: 0 })
          }),
        ),
      skipNext: (id) =>
        Effect.tap(operate.skipNext(id), (answer) =>
          Effect.sync(() => {
            if (answer.result !== "skipped") return
            const what = { kind: "occurrence", scheduleId: id, count: 1, reason: "skipped" } as const
            events.publish({ ...what, at: answer.at })
            notifier.publish({ kind: "schedules" })
          }),
        ),
      backfill: (id, request) => Effect.tap(backfill(id, request), () => tell({ kind: "runs", dueAt: 0 })),
    }
  })

const unmoved = {
  version: 1,
  waitsUntil: null,
  pausedAt: null,
  pausedNote: null,
  resumedAt: null,
  runCount: 0,
  lastRunId: null,
}
