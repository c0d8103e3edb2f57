// The operations of schedules in the memory store: the decision about an instant, its run and the move of the
// cursor are one synchronous section.
import { isFinal } from "../../core/domain/Run.ts"
import type { DueSchedule, Occurrence, PutSchedule, ScheduleRow } from "../../core/domain/Schedule.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { type Fill, type Filled, type Fire, replacedReason } from "../../core/ports/StoreDriver.ts"
import { enqueueAll, EnqueuePlan } from "./enqueue.ts"
import {
  batchMax,
  checkBatch,
  checkFills,
  checkFires,
  checkLimit,
  pageMax,
} from "../../core/ports/StoreLimits.ts"
import type { RunTable } from "./RunTable.ts"
import type { ScheduleTable } from "./ScheduleTable.ts"

/** The operations that keep schedules. */
export const makeSchedules = (table: ScheduleTable, runs: RunTable, clock: () => number) => ({
  putSchedules: (schedules: ReadonlyArray<PutSchedule>): void => {
    checkBatch("schedules", schedules)
    for (const schedule of schedules) put(table, schedule)
  },

  schedules: (): ReadonlyArray<ScheduleRow> => table.all(),

  deleteSchedules: (ids: ReadonlyArray<string>): void => {
    checkBatch("ids", ids)
    for (const id of ids) table.delete(id)
  },

  pauseSchedule: (id: string, paused: boolean, note: string | null = null): boolean => {
    const row = table.get(id)
    if (row === undefined) return false
    if (paused === (row.pausedAt !== null)) return true
    const now = clock()
    const pause = paused
      ? { pausedAt: now, pausedNote: note }
      : { pausedAt: null, pausedNote: null, resumedAt: now }
    table.put({ ...row, version: row.version + 1, ...pause })
    return true
  },

  dueSchedules: (limit: number): ReadonlyArray<DueSchedule> => {
    checkLimit(limit, batchMax)
    const due: Array<DueSchedule> = []
    for (const row of table.due(clock(), limit)) {
      const last = row.lastRunId === null ? undefined : runs.entries.get(row.lastRunId)?.run
      const isHeld =
        row.trigger.holdOnFailure === true && runs.letters.get(last?.id ?? "")?.replayedBy === null
      const lastRunAlive = last !== undefined && (isHeld || !isFinal(last.state))
      if (row.nextAt === null && lastRunAlive) continue
      due.push({ ...row, lastRunAlive, lastRunEndedAt: isHeld ? null : (last?.endedAt ?? null) })
      if (due.length === limit) break
    }
    return due
  },

  nextScheduleAt: (): number | null => table.nextAt(),

  fire: (fires: ReadonlyArray<Fire>): ReadonlyArray<"fired" | "conflict"> => {
    checkFires(fires)
    const now = clock()
    checkFireRuns(table, runs, fires, now)
    return fires.map((each) => fireOne(table, runs, each, now))
  },

  backfill: (fills: ReadonlyArray<Fill>): ReadonlyArray<Filled> => {
    checkFills(fills)
    const now = clock()
    checkFillRuns(table, runs, fills, now)
    return fills.map((fill) => fillOne(table, runs, fill, now))
  },

  occurrences: (filter: {
    readonly scheduleId?: string
    readonly before?: number
    readonly limit: number
  }): ReadonlyArray<Occurrence> => {
    checkLimit(filter.limit, pageMax)
    return table.page(filter.scheduleId, filter.before ?? Number.POSITIVE_INFINITY, filter.limit)
  },
})

// One step that is refused must leave nothing of the others: who will do anything is decided before anyone does.
const checkFireRuns = (
  table: ScheduleTable,
  runs: RunTable,
  fires: ReadonlyArray<Fire>,
  now: number,
): void => {
  const plan = new EnqueuePlan(runs, now)
  const before = new Map<string, Array<Fire>>()
  for (const fire of fires) {
    const done = before.get(fire.scheduleId) ?? []
    if (conflicts(table, fire, done)) continue
    before.set(fire.scheduleId, [...done, fire])
    if (fire.cancelRunId !== null) plan.cancel(fire.cancelRunId)
    for (const run of fire.runs) plan.add(run)
  }
}

const checkFillRuns = (
  table: ScheduleTable,
  runs: RunTable,
  fills: ReadonlyArray<Fill>,
  now: number,
): void => {
  const plan = new EnqueuePlan(runs, now)
  const filled = new Set<string>()
  for (const { scheduleId, at, runs: own } of fills) {
    const name = `${at} ${scheduleId}`
    const isFilled = filled.has(name) || (table.decided(scheduleId, at)?.runId ?? null) !== null
    if (isFilled || table.get(scheduleId) === undefined) continue
    if (own.length > 0) filled.add(name)
    for (const run of own) plan.add(run)
  }
}

/** Whether a step does nothing, after steps of its schedule that will have been done. */
const conflicts = (table: ScheduleTable, fire: Fire, done: ReadonlyArray<Fire> = []): boolean => {
  const row = table.get(fire.scheduleId)
  if (row === undefined || row.version + done.length !== fire.version) return true
  const instants = new Set(fire.occurrences.map(({ at }) => at))
  if (instants.size < fire.occurrences.length) return true
  const isDecided = (at: number): boolean =>
    table.isDecided(fire.scheduleId, at) ||
    done.some(({ occurrences }) => occurrences.some((each) => each.at === at))
  return fire.occurrences.some(({ at }) => isDecided(at))
}

const fireOne = (table: ScheduleTable, runs: RunTable, fire: Fire, now: number): "fired" | "conflict" => {
  const row = table.get(fire.scheduleId)
  if (row === undefined || conflicts(table, fire)) return "conflict"
  // First, so that its key is free, and so that what needs it is skipped.
  const replaced = fire.cancelRunId === null ? undefined : runs.entries.get(fire.cancelRunId)
  const cancelled = replaced === undefined ? null : Transition.cancelled(replaced.run, replacedReason, now)
  if (replaced !== undefined && cancelled !== null) runs.apply(replaced, cancelled, now)
  enqueueAll(runs, fire.runs, now)
  const origin = { trigger: JSON.stringify(row.trigger), zoneData: fire.zoneData }
  for (const { at, lastAt, count, runId, reason, nominalAt } of fire.occurrences) {
    const decision = { scheduleId: row.id, at, lastAt, count, runId, reason, decidedAt: now, nominalAt }
    table.decide({ ...decision, ...origin })
  }
  table.put({
    ...row,
    version: row.version + 1,
    cursor: fire.cursor,
    nextAt: fire.nextAt,
    waitsUntil: fire.waitsUntil,
    runCount: row.runCount + fire.occurrences.filter(({ runId }) => runId !== null).length,
    lastRunId: fire.lastRunId ?? row.lastRunId,
    zoneData: fire.zoneData,
  })
  return "fired"
}

const fillOne = (table: ScheduleTable, runs: RunTable, fill: Fill, now: number): Filled => {
  const { scheduleId, at } = fill
  const row = table.get(scheduleId)
  if (row === undefined) return { at, runId: null, result: "unknown" }
  const there = table.decided(scheduleId, at)
  if (there !== undefined && there.runId !== null) return { at, runId: there.runId, result: "exists" }
  enqueueAll(runs, fill.runs, now)
  const runId = fill.runs[fill.runs.length - 1]?.id ?? null
  const filled = { runId, reason: null, decidedAt: now }
  const origin = { nominalAt: null, trigger: JSON.stringify(row.trigger), zoneData: row.zoneData }
  // A row of one instant may stand for several of the pattern, which calendars held until then.
  const isAlone = there !== undefined && (there.count === 1 || there.lastAt === at)
  if (isAlone) table.replace({ ...there, lastAt: at, ...filled })
  else {
    table.countOut(scheduleId, at)
    table.decide({ scheduleId, at, lastAt: at, count: 1, ...filled, ...origin })
  }
  return { at, runId, result: "created" }
}

const put = (table: ScheduleTable, schedule: PutSchedule): void => {
  const { id, job, trigger, input, overlap, catchUp, fromConfig, cursor, nextAt, zoneData, createdAt } =
    schedule
  const policy = catchUp === undefined ? {} : { catchUp: { ...catchUp } }
  const given = { id, job, trigger: { ...trigger }, input, overlap, ...policy, fromConfig }
  const row = table.get(id)
  if (row === undefined) {
    table.put({ ...given, ...fresh, cursor, nextAt, zoneData, createdAt })
    return
  }
  // As text, which is what a file would keep.
  const keepsTime = JSON.stringify(row.trigger) === JSON.stringify(trigger)
  const isSame =
    keepsTime &&
    row.job === job &&
    row.input === input &&
    row.overlap === overlap &&
    JSON.stringify(row.catchUp) === JSON.stringify(catchUp) &&
    row.fromConfig === fromConfig
  // Every node saves its config when it starts: what is the same must not turn a step away.
  if (isSame) return
  const { catchUp: _, ...kept } = row
  // What the old trigger decided ahead says nothing of the new one.
  const anew = { cursor: Math.min(row.cursor, cursor), nextAt, waitsUntil: null, zoneData }
  const place = keepsTime ? {} : anew
  table.put({ ...kept, ...given, ...place, version: row.version + 1 })
}

const fresh = {
  version: 1,
  waitsUntil: null,
  pausedAt: null,
  pausedNote: null,
  resumedAt: null,
  lastRunId: null,
  runCount: 0,
}
