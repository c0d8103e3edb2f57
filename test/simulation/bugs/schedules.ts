// Bugs about schedules and their ledger: what the store lets through, and what planners make of what they read.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { enqueueAll } from "../../../adapters/store-memory/enqueue.ts"
import type { RunTable } from "../../../adapters/store-memory/RunTable.ts"
import type { DueSchedule } from "../../../core/domain/Schedule.ts"
import { ScheduleStore } from "../../../core/ports/Store.ts"
import { atOnce, type Planted } from "./Planted.ts"

/** Two planners decide the same instant, and both store their run. */
export const occurrenceTwice: Planted = {
  name: "fire stores its runs though the version conflicts",
  breaks: ["I2"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      fire: (fires) => {
        const answers = atOnce(honest.fire(fires))
        for (const [place, { runs }] of fires.entries()) {
          if (answers[place] === "fired") continue
          enqueueAll(table, runs, atOnce(honest.now()))
        }
        return answers
      },
    }),
  }),
}

/** First the cursor, then the instants: what comes between loses them. */
export const cursorOutsideFire: Planted = {
  name: "the cursor moves in a call of its own",
  breaks: ["I2"],
  make: () => ({
    store: (honest) => {
      const schedules = Context.get(honest, ScheduleStore)
      return Context.add(honest, ScheduleStore, {
        ...schedules,
        fire: (fires) =>
          Effect.andThen(
            schedules.fire(fires.map((fire) => ({ ...fire, occurrences: [], runs: [], lastRunId: null }))),
            schedules.fire(fires.map((fire) => ({ ...fire, version: fire.version + 1 }))),
          ),
      })
    },
  }),
}

/** A planner that makes something else of a due schedule than what the store says. */
const misread = (
  name: string,
  how: (schedule: DueSchedule, runs: RunTable) => Partial<DueSchedule> | null,
): Planted => ({
  name,
  breaks: ["I2"],
  make: () => ({
    store: (honest, { ground: { table } }) => {
      const schedules = Context.get(honest, ScheduleStore)
      return Context.add(honest, ScheduleStore, {
        ...schedules,
        dueSchedules: (limit) =>
          Effect.map(schedules.dueSchedules(limit), (due) =>
            due.map((schedule) => ({ ...schedule, ...how(schedule, table) })),
          ),
      })
    },
  }),
})

/** After an absence there is one run too many. */
export const oneTooMany: Planted = {
  ...misread("catching up with all takes one instant more", ({ catchUp }) =>
    catchUp?.mode === "all" ? { catchUp: { ...catchUp, max: (catchUp.max ?? 100) + 1 } } : null,
  ),
  swarm: { schedules: 6, crashMillis: 8000 },
}

/** After an absence there is one run too few. */
export const oneTooFew = misread("catching up with all takes one instant less", ({ catchUp }) =>
  catchUp?.mode === "all" ? { catchUp: { ...catchUp, max: Math.max(1, (catchUp.max ?? 100) - 1) } } : null,
)

/** A second run starts while the first one waits for its next attempt. */
export const overlapWithRetry = misread(
  "a last run that retries does not count as alive",
  ({ lastRunId }, { entries }) =>
    entries.get(lastRunId ?? "")?.run.state === "retrying" ? { lastRunAlive: false } : null,
)

/** The next run comes too soon by the time that the last one took. */
export const delayFromStart = misread(
  "a fixed delay counts from the start of the last run",
  ({ lastRunId, lastRunEndedAt }, { entries }) => {
    const last = entries.get(lastRunId ?? "")?.run
    return lastRunEndedAt === null || last === undefined ? null : { lastRunEndedAt: last.createdAt }
  },
)
