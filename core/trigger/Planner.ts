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
import type { EngineEvent, Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { Notifier } from "../ports/Notifier.ts"
import { ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { Fire } from "../ports/StoreDriver.ts"
import { cursorBefore, type Decision, isLate, plan } from "./Occurrences.ts"
import type { ParseTrigger } from "./Triggers.ts"
import { disagree, makeZoneStamp, type ZoneSource } from "./ZoneData.ts"

/** Plans. */
export interface Planner {
  /** A schedule was saved, or a run ended that one waits for: look now. */
  readonly wake: () => void
  /** Decides nothing more. */
  readonly close: () => void
}

// Schedules in one look at the store; between two looks others get their turn.
const dueMax = 500

// Rows of runs in one step; more are left to the next one.
const stepMax = 1000

/**
 * Starts the planner, which stops with the scope. `runsOf` makes the rows of an instant's run, the last one its own;
 * a late one gives way to fresh work.
 */
export const makePlanner = (options: {
  readonly runsOf: (
    schedule: DueSchedule,
    decision: Pick<Decision, "at" | "nominalAt">,
    late: boolean,
  ) => Result.Result<ReadonlyArray<NewRun>, UnknownJob | InvalidInput>
  readonly zones: ZoneSource
  readonly parse: ParseTrigger
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
    const stamp = makeZoneStamp(options.zones)
    const differences = onceAZone(options.events)

    /** The step of a due schedule. */
    const stepOf = Effect.fnUntraced(function* (schedule: DueSchedule, now: number) {
      const trigger = yield* Effect.fromResult(options.parse(schedule))
      const clockOf = trigger.kind === "cron" ? trigger.cron.clock : null
      const stored = schedule.nextAt ?? now
      const own = clockOf === null ? null : stamp(clockOf, stored)
      const foreign = disagree(schedule.zoneData, own)
      const made = plan(schedule, trigger, now, foreign)
      let { cursor, nextAt, waitsUntil } = made
      if (foreign && own !== null) {
        const what = { scheduleId: schedule.id, stored: schedule.zoneData ?? "", own }
        differences.tell({ kind: "zoneData", ...what, before: schedule.nextAt, after: nextAt })
      }
      const runs: Array<NewRun> = []
      const occurrences: Array<Fire["occurrences"][number]> = []
      let lastRunId: string | null = null
      for (const decision of made.decisions) {
        let runId: string | null = null
        if (decision.reason === null) {
          const late = isLate(decision.at, now)
          const rows = yield* Effect.fromResult(options.runsOf(schedule, decision, late))
          if (runs.length > 0 && runs.length + rows.length > stepMax) {
            cursor = cursorBefore(schedule, trigger, decision.at)
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
      const zoneData = clockOf === null ? null : stamp(clockOf, nextAt ?? now)
      return { ...place, cancelRunId, occurrences, runs, lastRunId, zoneData } satisfies Fire
    })

    /** Stores steps and tells of them. */
    const fire = Effect.fnUntraced(function* (steps: ReadonlyArray<Fire>) {
      const answers = yield* store.fire(steps)
      const conflicts: Array<Fire> = []
      let dueAt = Number.POSITIVE_INFINITY
      for (const [index, step] of steps.entries()) {
        if (answers[index] === "conflict") {
          // Somebody else was first, and then this one conflicts too; or the instants were decided in an earlier life
          // of the schedule, as the ledger outlives it, and then it goes on behind them.
          conflicts.push({ ...step, cancelRunId: null, occurrences: [], runs: [], lastRunId: null })
          continue
        }
        if (step.cancelRunId !== null) notifier.publish({ kind: "cancelled", ids: [step.cancelRunId] })
        for (const run of step.runs) dueAt = Math.min(dueAt, run.dueAt ?? dueAt)
        for (const event of skipped(step.scheduleId, step.occurrences)) options.events.publish(event)
      }
      if (dueAt < Number.POSITIVE_INFINITY) notifier.publish({ kind: "runs", dueAt })
      if (conflicts.length > 0) yield* store.fire(conflicts)
    })

    /** Like `fire`, and if that fails, one by one: a schedule that cannot be planned must not keep the others from it. */
    const fireEach = Effect.fnUntraced(function* (steps: ReadonlyArray<Fire>) {
      const together = yield* Effect.result(fire(steps))
      if (Result.isSuccess(together)) return 0
      let failures = 0
      for (const step of steps) {
        if (closed) break
        yield* Effect.catch(steps.length === 1 ? Effect.fail(together.failure) : fire([step]), (error) =>
          Effect.sync(() => {
            failures++
            options.onTrouble(`plan schedule "${step.scheduleId}"`, error)
          }),
        )
      }
      return failures
    })

    /** One look; answers for how long to sleep. */
    const look = Effect.gen(function* () {
      if (closed) return options.pollMillis
      const due = yield* store.dueSchedules(dueMax)
      const now = due.length === 0 ? 0 : yield* info.now
      let failures = 0
      let steps: Array<Fire> = []
      let rows = 0
      for (const schedule of due) {
        const step = yield* Effect.result(stepOf(schedule, now))
        if (Result.isFailure(step)) {
          failures++
          options.onTrouble(`plan schedule "${schedule.id}"`, step.failure)
          continue
        }
        const size = Math.max(step.success.occurrences.length, step.success.runs.length)
        if (rows + size > stepMax) {
          failures += yield* fireEach(steps)
          steps = []
          rows = 0
        }
        if (closed) return options.pollMillis
        steps.push(step.success)
        rows += size
      }
      if (steps.length > 0) failures += yield* fireEach(steps)
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

/** Tells of differing zone data once for each pair of stamps: all schedules of a zone may share it. */
const onceAZone = (events: Events) => {
  const told = new Set<string>()
  return {
    tell: (event: Extract<EngineEvent, { kind: "zoneData" }>): void => {
      const name = [event.stored, event.own].map((text) => text.slice(0, text.lastIndexOf(" "))).join(" ")
      if (told.has(name) || told.size >= toldMax) return
      told.add(name)
      events.publish(event)
    },
  }
}
const toldMax = 1000
