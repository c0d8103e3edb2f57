// Bugs about schedules and their ledger.
import * as Effect from "effect/Effect"
import * as Context from "effect/Context"
import { planEnqueue } from "../../../adapters/store-memory/enqueue.ts"
import { ScheduleStore } from "../../../core/ports/Store.ts"
import type { DueSchedule } from "../../../core/domain/Schedule.ts"
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
          for (const run of planEnqueue(table, runs, atOnce(honest.now())).created) table.insert(run)
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

/** What the planner is told of a schedule is not how it is. */
const misread = (name: string, how: (schedule: DueSchedule) => Partial<DueSchedule>): Planted => ({
  name,
  breaks: ["I2"],
  make: () => ({
    driver: (honest) => ({
      ...honest,
      dueSchedules: (limit) =>
        atOnce(honest.dueSchedules(limit)).map((schedule) => ({ ...schedule, ...how(schedule) })),
    }),
  }),
})

/** The oldest instant that may be caught up is not. */
export const catchUpOffByOne = misread("catching up with all takes one instant less", ({ catchUp }) =>
  catchUp?.mode === "all" ? { catchUp: { ...catchUp, max: Math.max(1, (catchUp.max ?? 100) - 1) } } : {},
)

/** A second run starts while the first one waits for its next attempt. */
export const overlapWithRetry: Planted = {
  name: "a last run that retries does not count as alive",
  breaks: ["I2"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      dueSchedules: (limit) =>
        atOnce(honest.dueSchedules(limit)).map((schedule) => {
          const isRetrying = table.entries.get(schedule.lastRunId ?? "")?.run.state === "retrying"
          return isRetrying ? { ...schedule, lastRunAlive: false } : schedule
        }),
    }),
  }),
}

/** The next run comes too soon by the time that the last one took. */
export const delayFromStart: Planted = {
  name: "a fixed delay counts from the start of the last run",
  breaks: ["I2"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      dueSchedules: (limit) =>
        atOnce(honest.dueSchedules(limit)).map((schedule) => {
          const last = table.entries.get(schedule.lastRunId ?? "")?.run
          return schedule.lastRunEndedAt === null || last === undefined
            ? schedule
            : { ...schedule, lastRunEndedAt: last.startedAt ?? last.createdAt }
        }),
    }),
  }),
}
