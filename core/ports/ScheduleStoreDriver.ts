// The part of the storage port that is about schedules: where each stands, what its steps decide, the ledger of its
// instants, and calendars.
import type { NewRun } from "../domain/Run.ts"
import type { DueSchedule, Occurrence, PutSchedule, ScheduleRow } from "../domain/Schedule.ts"
import type { Awaitable } from "./StoreDriver.ts"

/** One step of a schedule: decided instants and their runs, and where it stands afterwards. */
export interface Fire {
  readonly scheduleId: string
  /** The version that the planner read: another one means that nothing is done. */
  readonly version: number
  readonly cursor: number
  readonly nextAt: number | null
  /** Not `null`: the schedule is due again when its last run has ended; see `ScheduleRow`. */
  readonly waitsUntil: number | null
  /** Cancelled in the same step, before its runs are stored, unless it has ended; `null`: none. */
  readonly cancelRunId: string | null
  readonly occurrences: ReadonlyArray<Omit<Occurrence, "scheduleId" | "decidedAt" | "trigger" | "zoneData">>
  readonly runs: ReadonlyArray<NewRun>
  /** The schedule's last run, whose end the next step may wait for; `null` keeps the one there is. */
  readonly lastRunId: string | null
  /** The zone data that the instants and `nextAt` were computed with; `null` when no zone matters. */
  readonly zoneData: string | null
}

/** An instant of the past that is to get a run after all: its own run is the last one, after those that it needs. */
export interface Fill {
  readonly scheduleId: string
  readonly at: number
  readonly runs: ReadonlyArray<NewRun>
}

/** What became of one fill: `exists` when the instant has a run, whose id this is. */
export interface Filled {
  readonly at: number
  readonly runId: string | null
  readonly result: "created" | "exists" | "unknown"
}

/** A named set of instants that schedules keep to or keep away from. */
export interface CalendarRow {
  readonly name: string
  /** JSON text of its zone and rule, as it was given. */
  readonly definition: string
  readonly fromConfig: boolean
}

/** Schedules and their ledger. */
export interface ScheduleStoreDriver {
  /**
   * Saves schedules. One that says what it said before stays as it is, its version too. A new one starts with `cursor`,
   * `nextAt`, `zoneData` and `createdAt` as given. One that is there keeps its age, its cursor, its pause, its last run and their number; if
   * its trigger changed, `nextAt` and `zoneData` are replaced and nothing waits, so the old pattern never fires again,
   * and the cursor goes back to the given one where it is ahead of that: what the old pattern decided ahead (a skipped instant,
   * or a clock that was set back) must not silence the new one.
   */
  putSchedules(schedules: ReadonlyArray<PutSchedule>): Awaitable<void>
  schedules(): Awaitable<ReadonlyArray<ScheduleRow>>
  /** Removes schedules; their runs and their ledger stay. */
  deleteSchedules(ids: ReadonlyArray<string>): Awaitable<void>
  /**
   * Pauses with a note, or resumes: `resumedAt` is then the store's now, and the cursor stays, so that the planner
   * can say what passed in the pause. Answers whether the schedule is there.
   */
  pauseSchedule(id: string, paused: boolean, note?: string | null): Awaitable<boolean>
  /**
   * Schedules that are not paused and are due at the store's now, the earliest first, then by id; and those that have a
   * `waitsUntil` and no `nextAt`, and whose last run has ended, is gone or never was. At most `limit` of both, of which
   * those that still wait take none.
   */
  dueSchedules(limit: number): Awaitable<ReadonlyArray<DueSchedule>>
  /** The earliest `nextAt` of all that are not paused; `null` when none is set. */
  nextScheduleAt(): Awaitable<number | null>
  /**
   * For each step: decides instants, stores and counts their runs and moves the cursor, all or nothing, once per
   * version; a conflict of one holds up no other. It is one when the version is another, or an instant was decided
   * before, be it in this step. A run whose id or key is there is not stored again. At most 1,000 steps, occurrences
   * and runs in one call; a refusal means that no step was done.
   */
  fire(fires: ReadonlyArray<Fire>): Awaitable<ReadonlyArray<"fired" | "conflict">>
  /**
   * Gives instants of the past a run: one that has a run keeps it, one that had a reason or was never decided gets
   * this one. Where the schedule stands, and its last run, stay. `unknown` without the schedule.
   */
  backfill(fills: ReadonlyArray<Fill>): Awaitable<ReadonlyArray<Filled>>
  /** Saves calendars by their names. */
  putCalendars(calendars: ReadonlyArray<CalendarRow>): Awaitable<void>
  /** All of them, by name. */
  calendars(): Awaitable<ReadonlyArray<CalendarRow>>
  deleteCalendars(names: ReadonlyArray<string>): Awaitable<void>
  /** The ledger of a schedule or of all, the latest `at` first; `before`: rows that begin before it. */
  occurrences(filter: {
    readonly scheduleId?: string
    readonly before?: number
    readonly limit: number
  }): Awaitable<ReadonlyArray<Occurrence>>
}
