// What people do to schedules by hand, on a running engine: each is one step of the store, after which those who plan, and
// those who look for runs, are told.
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type { InvalidSchedule } from "../domain/Errors.ts"
import type { ScheduleRow } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import type { Notifier } from "../ports/Notifier.ts"
import { type RunStore, ScheduleStore, type StoreInfo } from "../ports/Store.ts"
import type { ParsedTrigger } from "../trigger/Slots.ts"
import { makeBackfill } from "./Backfill.ts"
import type { EngineService } from "./EngineService.ts"
import { makeOperate } from "./Operate.ts"
import type { RunsOf } from "./ScheduledRuns.ts"

/** How to do it. */
export type ScheduleOperations = Pick<EngineService, "pauseSchedule" | "runNow" | "skipNext" | "backfill">

/** Over the store. */
export const makeScheduleOperations = (options: {
  readonly runsOf: RunsOf
  readonly parse: (schedule: ScheduleRow) => Result.Result<ParsedTrigger, InvalidSchedule>
  readonly notifier: Notifier["Service"]
  readonly events: Events
}): Effect.Effect<ScheduleOperations, never, RunStore | ScheduleStore | StoreInfo> =>
  Effect.gen(function* () {
    const { notifier, events } = options
    const store = yield* ScheduleStore
    const backfill = yield* makeBackfill(options)
    const operate = yield* makeOperate(options)
    return {
      pauseSchedule: (id, paused, note = null) =>
        Effect.tap(store.pauseSchedule(id, paused, note), () =>
          Effect.sync(() => notifier.publish({ kind: "schedules" })),
        ),
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
      backfill: (id, request) =>
        Effect.tap(backfill(id, request), () =>
          Effect.sync(() => notifier.publish({ kind: "runs", dueAt: 0 })),
        ),
    }
  })
