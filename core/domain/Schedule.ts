// When a job starts by itself: the four triggers, a schedule's row, and the occurrences of its ledger.

/** When a schedule fires. Texts are kept as they were written. */
export type Trigger =
  | {
      readonly kind: "cron"
      readonly expression: string
      readonly zone: string
      /** Absent: `after`. */
      readonly gap?: Gap
      /** Absent: `auto`. */
      readonly ambiguous?: Ambiguous
    }
  /** Fixed rate: slot k is `startAt + k * periodMillis`, for ever. */
  | { readonly kind: "every"; readonly periodMillis: number; readonly startAt: number | null }
  /** Fixed delay, counted from the end of the previous run, whatever its outcome. */
  | { readonly kind: "after"; readonly delayMillis: number }
  | { readonly kind: "at"; readonly at: number }

/**
 * What becomes of wall times that a clock change skips, for schedules at fixed times: one run right `after` the
 * change, one `before` it (at the last whole minute, or second for an expression with other seconds than 0), or
 * none (`skip`). A schedule whose minute, hour or second starts with `*` skips them whatever is written here.
 */
export type Gap = "after" | "before" | "skip"

/**
 * Which of two passes counts when a clock change repeats wall times. `auto`: the `first` one for schedules at fixed
 * times, `both` for those whose minute, hour or second starts with `*`. The others hold for all schedules.
 */
export type Ambiguous = "auto" | "first" | "last" | "both"

/** What happens to an occurrence while the schedule's previous run is alive. */
export type Overlap = "skip" | "allow"

/** A schedule as it is saved: everything but what the planner keeps. */
export interface NewSchedule {
  /** Unique; a job's own schedule carries the job's name. */
  readonly id: string
  readonly job: string
  readonly trigger: Trigger
  readonly input: string | null
  readonly overlap: Overlap
  /** Whether it came from the config, so that one that vanished there is removed here. */
  readonly fromConfig: boolean
}

/** A schedule as it is stored. */
export interface ScheduleRow extends NewSchedule {
  /** Grows with every fire and edit: a planner that read an older one does nothing. */
  readonly version: number
  /** All instants up to here are decided. */
  readonly cursor: number
  /** The next instant; `null`: none, or the previous run of a fixed delay has not ended. */
  readonly nextAt: number | null
  readonly pausedAt: number | null
  readonly createdAt: number
  readonly lastRunId: string | null
}

/** A schedule that is due, with what the planner must know to decide. */
export interface DueSchedule extends ScheduleRow {
  /** Whether its last run has not ended. */
  readonly lastRunAlive: boolean
  /** When its last run ended; `null` when it has none, or it is alive or pruned. */
  readonly lastRunEndedAt: number | null
}

/** Why an occurrence has no run. */
export type OccurrenceReason = "overlap" | "missed"

/**
 * One row of the ledger: what became of one instant of a schedule. A row of more than one instant
 * (`count` > 1) stands for all from `at` to `lastAt`, which share the reason.
 */
export interface Occurrence {
  readonly scheduleId: string
  readonly at: number
  readonly lastAt: number
  readonly count: number
  readonly runId: string | null
  readonly reason: OccurrenceReason | null
  /** When it was decided. */
  readonly decidedAt: number
}
