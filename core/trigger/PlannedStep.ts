// One due schedule's step: its decision as rows for the store. Plain functions, as a crowded minute has a hundred
// thousand of them; the planner stores what comes of it.
import * as Result from "effect/Result"
import type { InvalidInput, InvalidSchedule, UnknownJob } from "../domain/Errors.ts"
import type { NewRun } from "../domain/Run.ts"
import type { DueSchedule, ScheduleRow } from "../domain/Schedule.ts"
import type { EngineEvent, Events } from "../observe/Event.ts"
import type { Fire } from "../ports/StoreDriver.ts"
import { withoutRows } from "./Decisions.ts"
import { behind, type Decision, cursorBefore, isLate, plan } from "./Occurrences.ts"
import type { Slots } from "./Slots.ts"
import type { ParseTrigger } from "./Triggers.ts"
import { disagree, makeZoneStamp, type ZoneSource } from "./ZoneData.ts"

/** Makes the rows of an instant's run, the last one its own; a late one gives way to fresh work. */
export type RunsOfInstant = (
  schedule: DueSchedule,
  decision: Pick<Decision, "at" | "nominalAt">,
  late: boolean,
) => Result.Result<ReadonlyArray<NewRun>, UnknownJob | InvalidInput>

/** A step, and where it ends if runs of it cannot be: `null`: where it ends with them. */
export interface PlannedStep {
  readonly fire: Fire
  readonly otherwise: Pick<Fire, "cursor" | "nextAt" | "waitsUntil"> | null
  /**
   * The instants among which its rows for many count, by the instant at which such a row begins. The store takes a row
   * for many as it is, so the instants that have a row of their own must be taken out of it before.
   */
  readonly many: ReadonlyMap<number, Slots>
}

/** Decides a schedule at `now`, by the store's clock. */
export type StepOf = (
  schedule: DueSchedule,
  now: number,
) => Result.Result<PlannedStep, UnknownJob | InvalidInput | InvalidSchedule>

/** Rows of runs in one step; more are left to the next one. */
export const stepMax = 1000

/** Over whoever reads triggers and makes runs. */
export const makeStepOf = (options: {
  readonly parse: ParseTrigger
  readonly runsOf: RunsOfInstant
  readonly zones: ZoneSource
  readonly events: Events
}): StepOf => {
  const stamp = makeZoneStamp(options.zones)
  const differences = onceAZone(options.events)
  return (schedule, now) => {
    const parsed = options.parse(schedule)
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    const trigger = parsed.success
    const clockOf = trigger.kind === "cron" ? trigger.cron.clock : null
    const own = clockOf === null ? null : stamp(clockOf, schedule.nextAt ?? now)
    const foreign = disagree(schedule.zoneData, own)
    const made = plan(schedule, trigger, now, foreign)
    let { cursor, nextAt, waitsUntil } = made
    if (foreign && own !== null) {
      const what = { scheduleId: schedule.id, stored: schedule.zoneData ?? "", own }
      differences.tell({ kind: "zoneData", ...what, before: schedule.nextAt, after: nextAt })
    }
    const runs: Array<NewRun> = []
    const occurrences: Array<Fire["occurrences"][number]> = []
    const many = new Map<number, Slots>()
    let lastRunId: string | null = null
    for (const decision of made.decisions) {
      const { at, lastAt, count, reason, nominalAt, among } = decision
      let runId: string | null = null
      if (reason === null) {
        const rows = options.runsOf(schedule, decision, isLate(at, now))
        if (Result.isFailure(rows)) return Result.fail(rows.failure)
        if (runs.length > 0 && runs.length + rows.success.length > stepMax) {
          cursor = cursorBefore(schedule, trigger, at)
          nextAt = at
          waitsUntil = null
          break
        }
        runs.push(...rows.success)
        lastRunId = runId = rows.success[rows.success.length - 1]?.id ?? null
      }
      occurrences.push({ at, lastAt, count, runId, reason, nominalAt })
      if (among !== undefined) many.set(at, among)
    }
    const last = occurrences[occurrences.length - 1]
    let otherwise: PlannedStep["otherwise"] = null
    // In time that comes again, the moment in which a fixed delay is over may be decided: then the next one is it.
    if (last !== undefined && trigger.kind === "after" && schedule.cursor > now)
      otherwise = { cursor, nextAt: Math.max(last.at + 1, now), waitsUntil: null }
    else if (last !== undefined && made.isCountedOut) otherwise = behind(schedule, trigger, last.at)
    const fire = {
      scheduleId: schedule.id,
      version: schedule.version,
      cursor,
      nextAt,
      waitsUntil,
      cancelRunId: made.cancelsLast ? schedule.lastRunId : null,
      occurrences,
      runs,
      lastRunId,
      zoneData: clockOf === null ? null : stamp(clockOf, nextAt ?? now),
    }
    return Result.succeed({ fire, otherwise, many })
  }
}

/** The step that changes nothing, to change a part of it. */
export const standingStill = ({ id, version, cursor, nextAt, waitsUntil, zoneData }: ScheduleRow): Fire => ({
  scheduleId: id,
  version,
  cursor,
  nextAt,
  waitsUntil,
  cancelRunId: null,
  occurrences: [],
  runs: [],
  lastRunId: null,
  zoneData,
})

/** The step without those of its instants that have a row already, and without their runs. */
export const withoutDecided = (
  { fire: step, otherwise, many }: PlannedStep,
  hasRow: ReadonlySet<number>,
): Fire => {
  const occurrences = step.occurrences.flatMap((row) => {
    const among = many.get(row.at)
    if (among === undefined) return hasRow.has(row.at) ? [] : [row]
    const left = withoutRows(row, among, hasRow)
    return left === null ? [] : [{ ...row, ...left }]
  })
  const kept = new Set(occurrences.map(({ runId }) => runId))
  const own = new Set(step.occurrences.map(({ runId }) => runId))
  const runs: Array<NewRun> = []
  let some: Array<NewRun> = []
  // The rows of a run end with its own.
  for (const run of step.runs) {
    some.push(run)
    if (!own.has(run.id)) continue
    if (kept.has(run.id)) runs.push(...some)
    some = []
  }
  const lastRunId = occurrences.findLast(({ runId }) => runId !== null)?.runId ?? null
  const place = runs.length < step.runs.length ? otherwise : null
  const cancelRunId = lastRunId === null ? null : step.cancelRunId
  return { ...step, ...place, occurrences, runs, lastRunId, cancelRunId }
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
