// Schedules: saved, paused and removed. What moves them is in fire.ts.
import type { PutSchedule } from "../../core/domain/Schedule.ts"
import { type Sql, wait } from "./Sql.ts"
import type { ScheduleKept } from "./Tables.ts"
import type { Work } from "./Work.ts"

/** Saves schedules; one that says what it said before stays as it is. */
export function* putSchedules(work: Work, given: ReadonlyArray<PutSchedule>): Sql<void> {
  if (given.length === 0) return
  const rows = new Map<string, ScheduleKept>()
  for (const row of yield* wait(work.tables.schedules.find([...new Set(given.map(({ id }) => id))])))
    rows.set(row.id, row)
  for (const each of given) rows.set(each.id, yield* put(work, each, rows.get(each.id)))
}

function* put(work: Work, schedule: PutSchedule, row: ScheduleKept | undefined): Sql<ScheduleKept> {
  const { schedules } = work.tables
  const now = work.now()
  const { id, job, input, overlap, fromConfig, cursor, nextAt, zoneData } = schedule
  const trigger = JSON.stringify(schedule.trigger)
  const catchUp = schedule.catchUp === undefined ? null : JSON.stringify(schedule.catchUp)
  const edited = { id, job, trigger, input, overlap, catchUp, fromConfig }
  if (row === undefined) {
    const triggerId = yield* wait(schedules.takeTrigger(trigger, now))
    const made = { ...edited, cursor, nextAt, zoneData, triggerId }
    yield* wait(schedules.insert(made, schedule.createdAt))
    return { ...made, version: 1, waitsUntil: null, pausedAt: null }
  }
  const isSame =
    row.trigger === trigger &&
    row.job === job &&
    row.input === input &&
    row.overlap === overlap &&
    row.catchUp === catchUp &&
    row.fromConfig === fromConfig
  if (isSame) return row
  const after = { ...row, ...edited, version: row.version + 1 }
  if (row.trigger !== trigger) {
    yield* wait(schedules.leaveTriggers([id], now))
    const triggerId = yield* wait(schedules.takeTrigger(trigger, now))
    // What the old pattern decided ahead must not silence the new one.
    const anew = { cursor: Math.min(row.cursor, cursor), nextAt, waitsUntil: null, zoneData, triggerId }
    Object.assign(after, anew)
  }
  yield* wait(schedules.edit(after))
  return after
}

/** Removes schedules; their ledger stays. */
export function* deleteSchedules(work: Work, ids: ReadonlyArray<string>): Sql<void> {
  if (ids.length === 0) return
  const { schedules } = work.tables
  yield* wait(schedules.leaveTriggers(ids, work.now()))
  yield* wait(schedules.remove(ids))
}

/** Pauses a schedule, or resumes it. The cursor stays: the planner says of each instant that it passed in the pause. */
export function* pauseSchedule(work: Work, id: string, paused: boolean, note: string | null): Sql<boolean> {
  const { schedules } = work.tables
  const [row] = yield* wait(schedules.find([id]))
  if (row === undefined) return false
  // Pausing what is paused, or resuming what is not, moves nothing.
  if ((row.pausedAt !== null) === paused) return true
  const now = work.now()
  const change = paused
    ? { pausedAt: now, pausedNote: note, resumedAt: null }
    : { pausedAt: null, pausedNote: null, resumedAt: now }
  yield* wait(schedules.pause(id, change))
  return true
}
