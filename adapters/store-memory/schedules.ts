// The operations of schedules in the memory store: the decision about an instant, its run and the move of the
// cursor are one synchronous section.
import { isFinal } from "../../core/domain/Run.ts"
import type {
  DueSchedule,
  NewSchedule,
  Occurrence,
  ScheduleRow,
  Trigger,
} from "../../core/domain/Schedule.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { type Fire, replacedReason } from "../../core/ports/StoreDriver.ts"
import { planEnqueue } from "./enqueue.ts"
import { batchMax, checkBatch, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import type { RunTable } from "./RunTable.ts"
import type { ScheduleTable } from "./ScheduleTable.ts"

type PutSchedule = NewSchedule & { readonly cursor: number; readonly nextAt: number | null }

/** The operations that keep schedules. */
export const makeSchedules = (table: ScheduleTable, runs: RunTable, clock: () => number) => ({
  putSchedules: (schedules: ReadonlyArray<PutSchedule>): void => {
    checkBatch("schedules", schedules)
    const now = clock()
    for (const schedule of schedules) put(table, schedule, now)
  },

  schedules: (): ReadonlyArray<ScheduleRow> => [...table.rows.values()],

  deleteSchedules: (ids: ReadonlyArray<string>): void => {
    checkBatch("ids", ids)
    for (const id of ids) table.rows.delete(id)
  },

  pauseSchedule: (id: string, paused: boolean, note: string | null = null): boolean => {
    const row = table.rows.get(id)
    if (row === undefined) return false
    if (paused === (row.pausedAt !== null)) return true
    const now = clock()
    const pause = paused
      ? { pausedAt: now, pausedNote: note }
      : { pausedAt: null, pausedNote: null, resumedAt: now }
    table.rows.set(id, { ...row, version: row.version + 1, ...pause })
    return true
  },

  dueSchedules: (limit: number): ReadonlyArray<DueSchedule> => {
    checkLimit(limit, batchMax)
    const now = clock()
    const due: Array<DueSchedule> = []
    for (const row of table.rows.values()) {
      if (row.pausedAt !== null) continue
      const last = row.lastRunId === null ? undefined : runs.entries.get(row.lastRunId)?.run
      const lastRunAlive = last !== undefined && !isFinal(last.state)
      const hasWaited = row.waitsUntil !== null && !lastRunAlive
      if (row.nextAt === null ? hasWaited : row.nextAt <= now) {
        due.push({ ...row, lastRunAlive, lastRunEndedAt: last?.endedAt ?? null })
      }
    }
    return due.sort(byNextAt).slice(0, limit)
  },

  nextScheduleAt: (): number | null => {
    let next: number | null = null
    for (const { nextAt, pausedAt } of table.rows.values()) {
      if (nextAt !== null && pausedAt === null && (next === null || nextAt < next)) next = nextAt
    }
    return next
  },

  fire: (fire: Fire): "fired" | "conflict" => {
    checkBatch("occurrences", fire.occurrences)
    checkBatch("runs", fire.runs)
    const row = table.rows.get(fire.scheduleId)
    if (row === undefined || row.version !== fire.version || decidesTwice(table, fire)) return "conflict"
    const now = clock()
    const { created } = planEnqueue(runs, fire.runs, now)
    const replaced = fire.cancelRunId === null ? undefined : runs.entries.get(fire.cancelRunId)
    const cancelled = replaced === undefined ? null : Transition.cancelled(replaced.run, replacedReason, now)
    if (replaced !== undefined && cancelled !== null) runs.apply(replaced, cancelled, now)
    for (const run of created) runs.insert(run)
    const trigger = JSON.stringify(row.trigger)
    for (const { at, lastAt, count, runId, reason } of fire.occurrences) {
      table.decide({ scheduleId: row.id, at, lastAt, count, runId, reason, decidedAt: now, trigger })
    }
    table.rows.set(row.id, {
      ...row,
      version: row.version + 1,
      cursor: fire.cursor,
      nextAt: fire.nextAt,
      waitsUntil: fire.waitsUntil,
      runCount: row.runCount + fire.occurrences.filter(({ runId }) => runId !== null).length,
      lastRunId: fire.lastRunId ?? row.lastRunId,
    })
    return "fired"
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

const put = (table: ScheduleTable, schedule: PutSchedule, now: number): void => {
  const { id, job, trigger, input, overlap, catchUp, fromConfig, cursor, nextAt } = schedule
  const policy = catchUp === undefined ? {} : { catchUp: { ...catchUp } }
  const given = { id, job, trigger: { ...trigger }, input, overlap, ...policy, fromConfig }
  const row = table.rows.get(id)
  if (row === undefined) {
    table.rows.set(id, { ...given, ...fresh, cursor, nextAt, createdAt: now })
    return
  }
  const keepsTime = isSameTrigger(row.trigger, trigger)
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
  const place = keepsTime ? {} : { nextAt, waitsUntil: null }
  table.rows.set(id, { ...kept, ...given, ...place, version: row.version + 1 })
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

// Texts of the same fields in another order are the same trigger.
const isSameTrigger = (a: Trigger, b: Trigger): boolean => sorted(a) === sorted(b)

const sorted = (trigger: Trigger): string =>
  JSON.stringify(Object.entries(trigger).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const decidesTwice = (table: ScheduleTable, fire: Fire): boolean => {
  const instants = new Set(fire.occurrences.map((occurrence) => occurrence.at))
  if (instants.size < fire.occurrences.length) return true
  return fire.occurrences.some((occurrence) => table.isDecided(fire.scheduleId, occurrence.at))
}

const byNextAt = (a: ScheduleRow, b: ScheduleRow): number =>
  (a.nextAt ?? Number.NEGATIVE_INFINITY) < (b.nextAt ?? Number.NEGATIVE_INFINITY)
    ? -1
    : a.nextAt === b.nextAt
      ? 0
      : 1
