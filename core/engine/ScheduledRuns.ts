// The rows of a schedule's run: those of its job, and of the jobs that it needs.
import * as Result from "effect/Result"
import type { InvalidInput, UnknownJob } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import type { JobBook } from "../domain/Job.ts"
import type { NewRun } from "../domain/Run.ts"
import type { ScheduleRow } from "../domain/Schedule.ts"
import { newRuns } from "../run/Enqueue.ts"

/** What a scheduled run is for. */
export interface ScheduledInstant {
  /** The instant that it stands for. */
  readonly nominalAt: number
  /** From when it may start. */
  readonly dueAt: number
  /** What comes late makes way for what is on time. */
  readonly late: boolean
}

/** Makes the rows of an instant's run, the last one its own. */
export type RunsOf = (
  schedule: ScheduleRow,
  instant: ScheduledInstant,
) => Result.Result<ReadonlyArray<NewRun>, UnknownJob | InvalidInput>

const priorityMax = 1000

/** Over the jobs that are known. */
export const makeRunsOf =
  (book: JobBook, ids: IdSource): RunsOf =>
  (schedule, { nominalAt, dueAt, late }) =>
    Result.map(newRuns(book, ids, { job: schedule.job, input: schedule.input, dueAt }), (rows) =>
      rows.map((row) => ({
        ...row,
        nominalAt,
        priority: late ? Math.max(row.priority - 1, -priorityMax) : row.priority,
        scheduleId: row.job === schedule.job ? schedule.id : null,
      })),
    )
