// What an engine is told: its jobs and schedules, its size and its times. Values are checked where they are
// written (the SDK, the Effect entry); here they have their defaults.
import type { Calendar } from "../domain/Calendar.ts"
import type { JobBook } from "../domain/Job.ts"
import type { NewSchedule } from "../domain/Schedule.ts"
import type { EngineEvent } from "../observe/Event.ts"
import type { CronDialects } from "../ports/CronDialect.ts"
import type { ZoneSource } from "../trigger/ZoneData.ts"
import type { WorkersConfig } from "../worker/WorkersConfig.ts"
import type { NodeIdentity } from "./Membership.ts"

/** An engine's configuration; times in milliseconds. */
export interface EngineConfig {
  readonly book: JobBook
  /** The schedules of the config: saved at the start, and those that the config no longer has are removed. */
  readonly schedules: ReadonlyArray<NewSchedule>
  /** The calendars of the config, saved and removed likewise; one that vanished stays while a schedule names it. */
  readonly calendars?: ReadonlyArray<Calendar>
  /** Dialects that cron schedules may name, beside the house's own; absent: none. */
  readonly dialects?: CronDialects
  /** How many runs at once; 0, with `workers` only: none but the beginnings of flows. */
  readonly slots: number
  readonly leaseMillis: number
  /** How long to wait without a hint before looking at the store again. */
  readonly pollMillis: number
  /** From how many schedules that are due at once nodes share their planning; absent: the default. */
  readonly shareFrom?: number
  /** How long ended runs are kept; `null`: for ever. */
  readonly retentionMillis: number | null
  readonly identity: NodeIdentity
  /** Whose zone data: absent, the host's, of a release that is not known. */
  readonly zones?: ZoneSource
  /** How workers are served; absent: none are. */
  readonly workers?: WorkersConfig
  /** Hears events from the very first one, also those of the start. */
  readonly onEvent?: (event: EngineEvent) => void
}

/** Defaults of everything that has one. */
export const engineDefaults = {
  slots: 10,
  leaseMillis: 5000,
  pollMillis: 1000,
  shareFrom: 32,
  retentionMillis: 30 * 86_400_000,
  /** How long a drain waits for running handlers. */
  graceMillis: 30_000,
} as const

/** Slots that one engine may have. */
export const slotsMax = 10_000
