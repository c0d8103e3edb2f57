// What the schedule cases are made of: a schedule with defaults, its stored row, and one step of it.
import * as Effect from "effect/Effect"
import type {
  NewSchedule,
  OccurrenceReason,
  PutSchedule,
  ScheduleRow,
  Trigger,
} from "../../domain/Schedule.ts"
import type { StoreError } from "../../domain/Errors.ts"
import { ScheduleStore } from "../../ports/Store.ts"
import type { Fire } from "../../ports/StoreDriver.ts"
import { ContractViolation } from "../Case.ts"

/** A trigger of one second. */
export const everySecond: Trigger = { kind: "every", periodMillis: 1_000, startAt: null }

/** A schedule of a second for the job "report", from the config, without overlap. */
export const newSchedule = (
  id: string,
  at: { readonly cursor: number; readonly nextAt: number | null; readonly createdAt?: number },
  fields: Partial<NewSchedule> = {},
): PutSchedule => ({
  id,
  job: "report",
  trigger: everySecond,
  input: null,
  overlap: "skip",
  fromConfig: true,
  zoneData: null,
  createdAt: at.cursor,
  ...fields,
  ...at,
})

/** Saves schedules. */
export const put = (
  ...schedules: ReadonlyArray<PutSchedule>
): Effect.Effect<void, StoreError, ScheduleStore> =>
  Effect.gen(function* () {
    yield* (yield* ScheduleStore).putSchedules(schedules)
  })

/** The stored row of a schedule. */
export const rowOf = (
  id: string,
): Effect.Effect<ScheduleRow, StoreError | ContractViolation, ScheduleStore> =>
  Effect.gen(function* () {
    const row = (yield* (yield* ScheduleStore).schedules()).find((schedule) => schedule.id === id)
    return (
      row ??
      (yield* new ContractViolation({ what: `schedule "${id}"`, expected: "stored", actual: "not there" }))
    )
  })

/** A step that decides one instant, with a run if there is one. */
export const fireAt = (
  row: Pick<ScheduleRow, "id" | "version">,
  at: number,
  run: Fire["runs"][number] | null = null,
  fields: Partial<Fire> = {},
): Fire => ({
  scheduleId: row.id,
  version: row.version,
  cursor: at,
  nextAt: at + 1_000,
  waitsUntil: null,
  cancelRunId: null,
  occurrences: [decision(at, run?.id ?? null, run === null ? "missed" : null)],
  runs: run === null ? [] : [run],
  lastRunId: run?.id ?? null,
  zoneData: null,
  ...fields,
})

/** One decided instant. */
export const decision = (
  at: number,
  runId: string | null,
  reason: OccurrenceReason | null,
): Fire["occurrences"][number] => ({ at, lastAt: at, count: 1, runId, reason, nominalAt: null })

/** One step alone; answers what became of it. */
export const fireOne = (
  step: Fire,
): Effect.Effect<"fired" | "conflict" | undefined, StoreError, ScheduleStore> =>
  Effect.gen(function* () {
    return (yield* (yield* ScheduleStore).fire([step]))[0]
  })
