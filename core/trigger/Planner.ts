// The planner: decides, when a schedule's instant comes, what becomes of it, and stores decision, run and the
// schedule's next instant in one step. It sleeps until the earliest next instant of all schedules.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { InvalidInput, InvalidSchedule, StoreError, UnknownJob } from "../domain/Errors.ts"
import type { NewRun } from "../domain/Run.ts"
import type { DueSchedule, OccurrenceReason } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { Notifier } from "../ports/Notifier.ts"
import { ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { TriggerParser } from "./Dialects.ts"
import { type Decision, isLate, plan } from "./Occurrences.ts"

/** Plans. */
export interface Planner {
  /** A schedule was saved, or a run ended that one waits for: look now. */
  readonly wake: () => void
  /** Decides nothing more. */
  readonly close: () => void
}

// Schedules in one look at the store; between two looks others get their turn.
const dueMax = 200

// Rows of runs in one step; more are left to the next one.
const stepMax = 1000

/**
 * Starts the planner, which stops with the scope. `runsOf` makes the rows of an instant's run, the last one its own;
 * a late one gives way to fresh work.
 */
export const makePlanner = (options: {
  readonly runsOf: (
    schedule: DueSchedule,
    nominalAt: number,
    late: boolean,
  ) => Result.Result<ReadonlyArray<NewRun>, UnknownJob | InvalidInput>
  readonly parse: TriggerParser
  readonly pollMillis: number
  readonly events: Events
  readonly onTrouble: (doing: string, error: StoreError | UnknownJob | InvalidInput | InvalidSchedule) => void
}): Effect.Effect<Planner, never, Scope.Scope | ScheduleStore | StoreInfo | Notifier> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const info = yield* StoreInfo
    const notifier = yield* Notifier
    const clock = yield* Clock.Clock
    const wanted = Latch.makeUnsafe(true)
    let closed = false

    const fire = Effect.fnUntraced(function* (schedule: DueSchedule) {
      const trigger = yield* Effect.fromResult(options.parse(schedule.trigger))
      const now = yield* info.now
      const made = plan(schedule, trigger, now)
      let { cursor, nextAt, waitsUntil } = made
      const runs: Array<NewRun> = []
      const occurrences = []
      let lastRunId: string | null = null
      for (const decision of made.decisions) {
        let runId: string | null = null
        if (decision.reason === null) {
          const late = isLate(decision.at, now)
          const rows = yield* Effect.fromResult(options.runsOf(schedule, decision.at, late))
          if (runs.length > 0 && runs.length + rows.length > stepMax) {
            cursor = Math.max(schedule.cursor, decision.at - 1)
            nextAt = decision.at
            waitsUntil = null
            break
          }
          runs.push(...rows)
          lastRunId = runId = rows[rows.length - 1]?.id ?? null
        }
        occurrences.push({ ...decision, runId })
      }
      const cancelRunId = made.cancelsLast ? schedule.lastRunId : null
      const place = { scheduleId: schedule.id, version: schedule.version, cursor, nextAt, waitsUntil }
      const step = { ...place, cancelRunId }
      if ((yield* store.fire({ ...step, occurrences, runs, lastRunId })) === "conflict") {
        // Somebody else was first, and then this one conflicts too; or the instants were decided in an earlier life
        // of the schedule, as the ledger outlives it, and then it goes on behind them.
        yield* store.fire({ ...place, cancelRunId: null, occurrences: [], runs: [], lastRunId: null })
        return
      }
      if (cancelRunId !== null) notifier.publish({ kind: "cancelled", ids: [cancelRunId] })
      if (runs.length > 0) notifier.publish({ kind: "runs", dueAt: runs[0]?.dueAt ?? now })
      for (const event of skipped(schedule.id, occurrences)) options.events.publish(event)
    })

    /** One look; answers for how long to sleep. */
    const look = Effect.gen(function* () {
      if (closed) return options.pollMillis
      const due = yield* store.dueSchedules(dueMax)
      let failures = 0
      for (const schedule of due) {
        if (closed) return options.pollMillis
        // A schedule that cannot be planned must not keep the others from it.
        yield* Effect.catch(fire(schedule), (error) =>
          Effect.sync(() => {
            failures++
            options.onTrouble(`plan schedule "${schedule.id}"`, error)
          }),
        )
      }
      if (due.length === dueMax && failures < dueMax) return 0
      const nextAt = yield* store.nextScheduleAt()
      const wait = nextAt === null ? options.pollMillis : nextAt - clock.currentTimeMillisUnsafe()
      return Math.min(options.pollMillis, Math.max(wait, failures > 0 ? options.pollMillis : 0))
    })
    const loop = Effect.gen(function* () {
      while (true) {
        wanted.closeUnsafe()
        const wait = yield* Effect.catch(look, (error) =>
          Effect.sync(() => {
            options.onTrouble("look for due schedules", error)
            return options.pollMillis
          }),
        )
        if (wait <= 0) yield* Effect.yieldNow
        else yield* Effect.raceFirst(wanted.await, Effect.sleep(wait))
      }
    })
    yield* supervise("planner", loop)

    return {
      wake: () => {
        wanted.openUnsafe()
      },
      close: () => {
        closed = true
      },
    }
  })

/** One event for all instants that share a reason: after an absence there may be thousands. */
const skipped = (scheduleId: string, decisions: ReadonlyArray<Decision>) => {
  const events = new Map<
    OccurrenceReason,
    { kind: "occurrence"; scheduleId: string; at: number; count: number; reason: OccurrenceReason }
  >()
  for (const { at, count, reason } of decisions) {
    if (reason === null) continue
    const known = events.get(reason)
    events.set(reason, {
      kind: "occurrence",
      scheduleId,
      at: known?.at ?? at,
      count: (known?.count ?? 0) + count,
      reason,
    })
  }
  return events.values()
}
