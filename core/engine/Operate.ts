// What people do to a schedule by hand: start a run now, leave out the next instant. Both are a step of the schedule
// like the planner's own, under the version that was read, so they need nothing of a store that it has not.
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type { InvalidInput, InvalidSchedule, StoreError, UnknownJob } from "../domain/Errors.ts"
import { isFinal, type NewRun } from "../domain/Run.ts"
import type { OccurrenceReason, ScheduleRow } from "../domain/Schedule.ts"
import { RunStore, ScheduleStore, StoreInfo } from "../ports/Store.ts"
import { planSkip } from "../trigger/Occurrences.ts"
import type { ParsedTrigger } from "../trigger/Slots.ts"
import type { RunsOf } from "./ScheduledRuns.ts"

/** What became of "run now": `overlap` when its last run is alive, and the schedule starts none beside it. */
export type RunNow =
  | { readonly result: "created"; readonly runId: string; readonly cancelledId: string | null }
  | { readonly result: "overlap" | "unknown" }

/** What became of "skip the next": `none` when it has no next instant. */
export type SkipNext =
  | { readonly result: "skipped"; readonly at: number }
  | { readonly result: "none" | "unknown" }

/** How to do it. */
export interface Operate {
  readonly runNow: (id: string) => Effect.Effect<RunNow, StoreError | UnknownJob | InvalidInput>
  readonly skipNext: (id: string) => Effect.Effect<SkipNext, StoreError | InvalidSchedule>
}

// A planner that is first each time has left nothing to skip.
const triesMax = 10

/** Over the stores; `runsOf` makes the rows of a run, the last one its own. */
export const makeOperate = (options: {
  readonly runsOf: RunsOf
  readonly parse: (schedule: ScheduleRow) => Result.Result<ParsedTrigger, InvalidSchedule>
}): Effect.Effect<Operate, never, RunStore | ScheduleStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const schedules = yield* ScheduleStore
    const info = yield* StoreInfo
    const rowOf = Effect.fnUntraced(function* (id: string) {
      return (yield* schedules.schedules()).find((row) => row.id === id)
    })
    const stepOf = (row: ScheduleRow) => {
      const { id, version, cursor, nextAt, waitsUntil } = row
      const place = { scheduleId: id, version, cursor, nextAt, waitsUntil }
      return { ...place, cancelRunId: null, runs: [], lastRunId: null, zoneData: row.zoneData }
    }
    const instant = (at: number, runId: string | null, reason: OccurrenceReason | null) => [
      { at, lastAt: at, count: 1, runId, reason, nominalAt: null },
    ]

    const runNow: Operate["runNow"] = Effect.fnUntraced(function* (id) {
      // Conflicts come of a planner at work, or of an instant that is decided already: both pass.
      for (let shift = 0; ; shift++) {
        const row = yield* rowOf(id)
        if (row === undefined) return { result: "unknown" }
        const [last] = row.lastRunId === null ? [] : yield* store.get([row.lastRunId])
        const isAlive = last !== undefined && !isFinal(last.state)
        if (isAlive && row.overlap !== "allow" && row.overlap !== "cancelRunning")
          return { result: "overlap" }
        const at = (yield* info.now) + shift
        const runs = yield* Effect.fromResult(options.runsOf(row, { nominalAt: at, dueAt: at, late: false }))
        const runId = (runs[runs.length - 1] as NewRun).id
        const cancelRunId = isAlive && row.overlap === "cancelRunning" ? row.lastRunId : null
        // A fixed delay counts from the end of this run.
        const place = row.trigger.kind === "after" ? { nextAt: null, waitsUntil: at } : {}
        const step = { ...stepOf(row), ...place, cancelRunId, runs, lastRunId: runId }
        const [answer] = yield* schedules.fire([{ ...step, occurrences: instant(at, runId, null) }])
        if (answer === "fired") return { result: "created", runId, cancelledId: cancelRunId }
      }
    })

    const skipNext: Operate["skipNext"] = Effect.fnUntraced(function* (id) {
      for (let tries = 0; tries < triesMax; tries++) {
        const row = yield* rowOf(id)
        if (row === undefined) return { result: "unknown" }
        const trigger = yield* Effect.fromResult(options.parse(row))
        const made = planSkip(row, trigger)
        const at = made?.decisions.find(({ reason }) => reason === "skipped")?.at
        if (made === null || at === undefined) return { result: "none" }
        const { cursor, nextAt, decisions } = made
        const occurrences = decisions.map((decision) => ({ ...decision, runId: null }))
        const [answer] = yield* schedules.fire([{ ...stepOf(row), cursor, nextAt, occurrences }])
        if (answer === "fired") return { result: "skipped", at }
      }
      return { result: "none" }
    })
    return { runNow, skipNext }
  })
