// When a job starts by itself: the four triggers, a schedule's row, and the occurrences of its ledger.

/** When a schedule fires. Texts are kept as they were written. */
export type Trigger = Limits & Placement & Hold & Pattern

/** What a failure of its run does to a schedule. */
export interface Hold {
  /** A last run that is dead counts as alive until somebody decides: replays or re-runs it, or drops its letter. */
  readonly holdOnFailure?: boolean
}

/** Where a schedule begins and ends, whatever its pattern; what is absent sets no limit. */
export interface Limits {
  /** No instant before this one. */
  readonly startsAt?: number
  /** No instant after this one. */
  readonly endsAt?: number
  /** At most this many runs in the life of the schedule. */
  readonly countMax?: number
}

/** How calendars and jitter place the instants of a pattern; what is absent changes none. */
export interface Placement {
  /** The calendar that an instant must be in. */
  readonly only?: string
  /** The calendar that an instant must not be in: a blackout. */
  readonly except?: string
  /** What becomes of the others; absent: `skip`. */
  readonly closed?: Closed
  /** Each instant comes later by the same time, which the schedule's id chooses below this one. */
  readonly jitterMillis?: number
}

/**
 * What becomes of an instant that calendars close. `skip`: no run. `hold`: one run when the window opens, for all
 * that came while it was closed. `next`, `previous`: the same wall time on the next or previous local day on which
 * it is open, at most 31 days away.
 */
export const closedModes = ["skip", "hold", "next", "previous"] as const

/** One of `closedModes`. */
export type Closed = (typeof closedModes)[number]

type Pattern =
  | {
      readonly kind: "cron"
      readonly expression: string
      readonly zone: string
      /** Absent: `after`. */
      readonly gap?: Gap
      /** Absent: `auto`. */
      readonly ambiguous?: Ambiguous
      /** By whose rules the text is read; absent: the house's own. */
      readonly dialect?: string
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

/** What happens to an occurrence while the schedule's previous run is alive; the words are in the glossary. */
export const overlaps = ["skip", "allow", "queueOne", "queueAll", "cancelRunning"] as const

/** One of `overlaps`. */
export type Overlap = (typeof overlaps)[number]

/** What happens to instants that were missed: none of them runs, the latest, or all up to a limit. */
export const catchUpModes = ["skip", "latest", "all"] as const

/** How missed instants are caught up; what is absent has its default. */
export interface CatchUp {
  /** Absent: `latest`. */
  readonly mode?: (typeof catchUpModes)[number]
  /** Instants older than this are not caught up; absent: a day. */
  readonly windowMillis?: number
  /** With `all`: the newest so many, 1 to 500; absent: 100. */
  readonly max?: number
}

/** A schedule as it is saved: everything but what the planner keeps. */
export interface NewSchedule {
  /** Unique; a job's own schedule carries the job's name. */
  readonly id: string
  readonly job: string
  readonly trigger: Trigger
  readonly input: string | null
  readonly overlap: Overlap
  readonly catchUp?: CatchUp
  /** Whether it came from the config, so that one that vanished there is removed here. */
  readonly fromConfig: boolean
}

/** A schedule as a store takes it: with where it stands if it is new there, or its trigger has changed. */
export interface PutSchedule extends NewSchedule {
  readonly cursor: number
  readonly nextAt: number | null
  readonly zoneData: string | null
  /** When it is new: the instant that its first one was counted from. Stamped later, it would name one twice. */
  readonly createdAt: number
}

/** A schedule as it is stored. */
export interface ScheduleRow extends NewSchedule {
  /** Grows with every fire and edit: a planner that read an older one does nothing. */
  readonly version: number
  /** All instants up to here are decided. */
  readonly cursor: number
  /** The next instant; `null`: none, or the next step waits for the end of the last run. */
  readonly nextAt: number | null
  /** Not `null`: the next step comes when the last run has ended, and instants up to here wait for it. */
  readonly waitsUntil: number | null
  readonly pausedAt: number | null
  /** Why it is paused, in the words of whoever did it. */
  readonly pausedNote: string | null
  /** When its last pause ended: instants up to here passed in the pause, unless they were decided. */
  readonly resumedAt: number | null
  readonly createdAt: number
  /** Runs that it started in its life. */
  readonly runCount: number
  /** The zone data that `nextAt` was computed with; `null` when no zone matters. */
  readonly zoneData: string | null
  readonly lastRunId: string | null
}

/** A schedule that is due, with what the planner must know to decide. */
export interface DueSchedule extends ScheduleRow {
  /** Whether its last run has not ended; one that holds its schedule (`Hold`) counts as alive. */
  readonly lastRunAlive: boolean
  /** When its last run ended; `null` when it has none, or it counts as alive or is pruned. */
  readonly lastRunEndedAt: number | null
}

/**
 * Why an occurrence has no run. `overlap`: the previous run was alive. `missed`: it was too late, or a newer instant
 * stood in for it, or there were more than catch-up takes. `paused`: it passed in a pause. `skipped`: somebody said so.
 * `calendar`: it lay outside the calendar that the schedule keeps to. `blackout`: it lay in the one that it avoids.
 */
export const occurrenceReasons = ["overlap", "missed", "paused", "skipped", "calendar", "blackout"] as const

/** One of `occurrenceReasons`. */
export type OccurrenceReason = (typeof occurrenceReasons)[number]

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
  /** When it was decided; the difference to `at` is how late it was. */
  readonly decidedAt: number
  /** The pattern's own instant, where it is another one than `at`; of several, the newest. */
  readonly nominalAt: number | null
  /** The trigger that named the instant, as JSON; `null` in rows of versions that did not keep it. */
  readonly trigger: string | null
  /** The zone data that it was computed with; `null` when no zone matters, or in rows of older versions. */
  readonly zoneData: string | null
}
