// The planner: decides, when a schedule's instant comes, what becomes of it, and stores decision, run and the
// schedule's next instant in one step. It sleeps until the earliest next instant of all schedules.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { InvalidInput, InvalidSchedule, StoreError, UnknownJob } from "../domain/Errors.ts"
import type { OccurrenceReason } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { Notifier } from "../ports/Notifier.ts"
import { type NodeStore, ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { Fire } from "../ports/StoreDriver.ts"
import type { Decision } from "./Occurrences.ts"
import {
  makeStepOf,
  type PlannedStep,
  type RunsOfInstant,
  standingStill,
  stepMax,
  withoutDecided,
} from "./PlannedStep.ts"
import { makeSharing, type SharingOptions } from "./Sharing.ts"
import { stepBackMillis, wentBack } from "./StepBack.ts"
import type { ParseTrigger } from "./Triggers.ts"
import type { ZoneSource } from "./ZoneData.ts"

/** Plans. */
export interface Planner {
  /** A schedule was saved, or a run ended that one waits for: look now. */
  readonly wake: () => void
  /** Decides nothing more. */
  readonly close: () => void
}

// Schedules in one look at the store; between two looks others get their turn.
const dueMax = 500
// Until what was left to other nodes is looked at again.
const leftMillis = 20
// Rows of the ledger in one look.
const pageMax = 200

/** Starts the planner, which stops with the scope. */
export const makePlanner = (options: {
  readonly runsOf: RunsOfInstant
  readonly zones: ZoneSource
  readonly parse: ParseTrigger
  readonly sharing: SharingOptions
  readonly pollMillis: number
  readonly events: Events
  readonly onTrouble: (doing: string, error: StoreError | UnknownJob | InvalidInput | InvalidSchedule) => void
}): Effect.Effect<Planner, never, Scope.Scope | ScheduleStore | NodeStore | StoreInfo | Notifier> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const info = yield* StoreInfo
    const notifier = yield* Notifier
    const clock = yield* Clock.Clock
    const wanted = Latch.makeUnsafe(true)
    let closed = false
    const stepOf = makeStepOf(options)
    const share = yield* makeSharing(options.sharing)
    let lastLook = Number.NEGATIVE_INFINITY

    /** The step without what has a row in the ledger. */
    const undecided = Effect.fnUntraced(function* (planned: PlannedStep) {
      const { scheduleId, occurrences } = planned.fire
      const first = occurrences[0]?.at ?? 0
      const hasRow = new Set<number>()
      for (let before = Math.max(0, ...occurrences.map(({ lastAt }) => lastAt)) + 1; ;) {
        const page = yield* store.occurrences({ scheduleId, before, limit: pageMax })
        for (const { at } of page) hasRow.add(at)
        const last = page[page.length - 1]
        if (last === undefined || page.length < pageMax || last.at <= first) break
        before = last.at
      }
      return withoutDecided(planned, hasRow)
    })

    /** Stores steps and tells of them; answers for the places of those that conflict. */
    const fireOnce = Effect.fnUntraced(function* (steps: ReadonlyArray<Fire>) {
      const answers = yield* store.fire(steps)
      const conflicts: Array<number> = []
      let dueAt = Number.POSITIVE_INFINITY
      for (const [index, step] of steps.entries()) {
        if (answers[index] === "conflict") {
          conflicts.push(index)
          continue
        }
        if (step.cancelRunId !== null) notifier.publish({ kind: "cancelled", ids: [step.cancelRunId] })
        for (const run of step.runs) dueAt = Math.min(dueAt, run.dueAt ?? dueAt)
        for (const event of skipped(step.scheduleId, step.occurrences)) options.events.publish(event)
      }
      if (dueAt < Number.POSITIVE_INFINITY) notifier.publish({ kind: "runs", dueAt })
      return conflicts
    })

    /** Stores steps; where one conflicts, what can be of it. */
    const fire = Effect.fnUntraced(function* (steps: ReadonlyArray<PlannedStep>) {
      const fires: Array<Fire> = []
      // Whether a row for many holds an instant that has a row, the store cannot know.
      for (const step of steps) fires.push(step.many.size > 0 ? yield* undecided(step) : step.fire)
      const again: Array<Fire> = []
      for (const index of yield* fireOnce(fires)) {
        const step = steps[index] as PlannedStep
        // Somebody else was first, and then this one conflicts too; or instants were decided before: by a backfill, a
        // run by hand or in an earlier life of the schedule. Then it goes on behind them, with those that are left.
        const [alone] = step.fire.occurrences
        const isAlone = alone !== undefined && step.fire.occurrences.length === 1 && step.many.size === 0
        again.push(isAlone ? withoutDecided(step, new Set([alone.at])) : yield* undecided(step))
      }
      if (again.length > 0) yield* fireOnce(again)
    })

    /** Like `fire`, and if that fails, one by one: a schedule that cannot be planned must not keep the others from it. */
    const fireEach = Effect.fnUntraced(function* (steps: ReadonlyArray<PlannedStep>) {
      const together = yield* Effect.result(fire(steps))
      if (Result.isSuccess(together)) return 0
      let failures = 0
      for (const step of steps) {
        if (closed) break
        yield* Effect.catch(steps.length === 1 ? Effect.fail(together.failure) : fire([step]), (error) =>
          Effect.sync(() => {
            failures++
            options.onTrouble(`plan schedule "${step.fire.scheduleId}"`, error)
          }),
        )
      }
      return failures
    })

    /** The clock was set back: what means elapsed time does not stand still until it is past here again. */
    const goOn = Effect.fnUntraced(function* (millis: number) {
      const now = yield* info.now
      const steps: Array<Fire> = []
      for (const row of yield* store.schedules()) {
        const nextAt = row.pausedAt === null ? wentBack(row, now) : null
        if (nextAt !== null) steps.push({ ...standingStill(row), nextAt })
      }
      options.events.publish({ kind: "clockBack", millis, schedules: steps.length })
      for (let from = 0; from < steps.length; from += stepMax)
        yield* store.fire(steps.slice(from, from + stepMax))
    })

    /** One look; answers for how long to sleep. */
    const look = Effect.gen(function* () {
      if (closed) return options.pollMillis
      // The store's clock, not ours: it names the instants, and ours may be set back alone.
      const looked = yield* info.now
      if (looked < lastLook - stepBackMillis) yield* goOn(lastLook - looked)
      lastLook = looked
      const due = yield* store.dueSchedules(dueMax)
      const now = due.length === 0 ? 0 : yield* info.now
      let failures = 0
      let steps: Array<PlannedStep> = []
      let rows = 0
      const { taken, left } = yield* share(due, now)
      for (const schedule of taken) {
        const step = stepOf(schedule, now)
        if (Result.isFailure(step)) {
          failures++
          options.onTrouble(`plan schedule "${schedule.id}"`, step.failure)
          continue
        }
        const { occurrences, runs } = step.success.fire
        const size = Math.max(occurrences.length, runs.length)
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
      if (left > 0) {
        if (due.length === dueMax && failures < taken.length) return 0
        return failures > 0 ? options.pollMillis : leftMillis
      }
      if (due.length === dueMax && failures < dueMax) return 0
      const nextAt = yield* store.nextScheduleAt()
      let wait = nextAt === null ? options.pollMillis : nextAt - clock.currentTimeMillisUnsafe()
      // By the store's clock it has not come: without a sleep, a node whose clock is ahead would ask without an end.
      if (nextAt !== null && wait <= 0 && due.length === 0) wait = nextAt - (yield* info.now)
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
