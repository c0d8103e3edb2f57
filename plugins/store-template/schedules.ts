// Schedules, the texts of their triggers, and the ledger: what was decided about each instant.
import {
  isOver,
  type Occurrence,
  type ScheduleDue,
  type ScheduleReads,
  type ScheduleStored,
  type ScheduleTable,
} from "uhrwerk/sql"
import type { Database } from "./Database.ts"
import type { OccurrenceStored, Rows } from "./rows.ts"

/** Makes the table of an open database. */
export const makeSchedules = (database: Database, rows: Rows): ScheduleTable & ScheduleReads => {
  /** Changes a schedule, which gets a further version. */
  const change = (id: string, fields: Partial<ScheduleStored>): void =>
    rows.schedules
      .some([id])
      .forEach((row) => rows.schedules.put({ ...row, ...fields, version: row.version + 1 }))

  return {
    find: (ids) => rows.schedules.some(ids),
    insert: (schedule, createdAt) =>
      rows.schedules.put({ ...newSchedule, ...schedule, version: 1, createdAt }),
    edit: (schedule) => change(schedule.id, schedule),
    remove: (ids) => ids.forEach((id) => rows.schedules.remove(id)),
    pause: (id, { pausedAt, pausedNote, resumedAt }) =>
      change(id, { pausedAt, pausedNote, ...(resumedAt === null ? {} : { resumedAt }) }),

    // Unique: the text.
    takeTrigger: (text, usedAt) => {
      const id = rows.triggers.where((trigger) => trigger.text === text)[0]?.id ?? database.nextId()
      rows.triggers.put({ id, text, usedAt })
      return id
    },
    leaveTriggers: (ids, usedAt) => {
      const left = rows.schedules.some(ids).map(({ triggerId }) => String(triggerId))
      for (const trigger of rows.triggers.some(left)) rows.triggers.put({ ...trigger, usedAt })
    },
    forgetTriggers: (before) =>
      rows.triggers
        .where(({ id, usedAt }) => usedAt < before && !isNamed(rows, id))
        .forEach(({ id }) => rows.triggers.remove(String(id))),

    move: (fires) => {
      const held = fires.filter((fire) => rows.schedules.get(fire.scheduleId)?.version === fire.version)
      for (const { scheduleId, cursor, nextAt, waitsUntil, zoneData, lastRunId, occurrences } of held) {
        const before = rows.schedules.get(scheduleId) as ScheduleStored
        const runCount = before.runCount + occurrences.filter(({ runId }) => runId !== null).length
        const standing = { cursor, nextAt, waitsUntil, zoneData, runCount }
        change(scheduleId, { ...standing, lastRunId: lastRunId ?? before.lastRunId })
      }
      return held.length
    },
    decide: (decisions) => {
      const added = decisions.filter(({ scheduleId, at }) => decided(rows, scheduleId, at) === undefined)
      for (const decision of added) {
        const { triggerId } = rows.schedules.get(decision.scheduleId) as ScheduleStored
        rows.occurrences.put({ ...decision, triggerId, seq: database.nextId() })
      }
      return added.length
    },
    decided: (scheduleId, at) => decided(rows, scheduleId, at),
    fill: (seq, runId, decidedAt) =>
      rows.occurrences
        .some([String(seq)])
        .forEach((row) => rows.occurrences.put({ ...row, runId, decidedAt, reason: null, lastAt: row.at })),
    // Rows of several instants lie apart, so that the last that begins at or before this one is the one that holds it.
    countOut: (scheduleId, at) => {
      const earlier = rows.occurrences.where((row) => row.scheduleId === scheduleId && row.at <= at)
      const [row] = earlier.filter(({ count }) => count > 1).sort(latestFirst)
      if (row === undefined || row.lastAt < at) return
      rows.occurrences.put({ ...row, count: row.count - 1, at: row.at === at ? at + 1 : row.at })
    },
    forgetOccurrences: (before, limit) => {
      const old = rows.occurrences.where((row) => row.at < before && row.decidedAt < before)
      const gone = old.filter(({ runId }) => runId === null || rows.runs.get(runId) === undefined)
      for (const { seq } of gone.slice(0, limit)) rows.occurrences.remove(String(seq))
      return Math.min(gone.length, limit)
    },

    all: () => rows.schedules.where(() => true),
    // Index: `nextAt` of those that have one and are not paused; `nextAt` below reads along it too.
    due: (now, limit) =>
      rows.schedules
        .where(({ nextAt, pausedAt }) => nextAt !== null && nextAt <= now && pausedAt === null)
        .sort((a, b) => Number(a.nextAt) - Number(b.nextAt) || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
        .map((row) => withLastRun(rows, row)),
    // Index: id of those that have a `waitsUntil`, no `nextAt`, and are not paused.
    waiting: (limit) =>
      rows.schedules
        .where(
          ({ nextAt, waitsUntil, pausedAt }) => nextAt === null && waitsUntil !== null && pausedAt === null,
        )
        .map((row) => withLastRun(rows, row))
        .filter((row) => isOver(row, row.lastRun))
        .slice(0, limit),
    nextAt: () => {
      const set = rows.schedules.where(({ nextAt, pausedAt }) => nextAt !== null && pausedAt === null)
      return set.length === 0 ? null : Math.min(...set.map(({ nextAt }) => Number(nextAt)))
    },
    occurrences: ({ scheduleId, before, limit }) =>
      rows.occurrences
        .where((row) => row.at < before && (scheduleId === null || row.scheduleId === scheduleId))
        .sort(latestFirst)
        .slice(0, limit)
        .map((row) => occurrence(rows, row)),
  }
}

const newSchedule = {
  waitsUntil: null,
  pausedAt: null,
  pausedNote: null,
  resumedAt: null,
  lastRunId: null,
  runCount: 0,
}

const latestFirst = (a: OccurrenceStored, b: OccurrenceStored): number => b.at - a.at || b.seq - a.seq

// Index: schedule and `at`, unique.
const decided = (rows: Rows, scheduleId: string, at: number): OccurrenceStored | undefined =>
  rows.occurrences.where((row) => row.scheduleId === scheduleId && row.at === at)[0]

const isNamed = (rows: Rows, triggerId: number): boolean =>
  rows.schedules.where((schedule) => schedule.triggerId === triggerId).length > 0 ||
  rows.occurrences.where((row) => row.triggerId === triggerId).length > 0

const withLastRun = (rows: Rows, schedule: ScheduleStored): ScheduleDue => {
  const run = rows.runs.get(schedule.lastRunId ?? "")?.run
  if (run === undefined) return { ...schedule, lastRun: null }
  const hasOpenLetter = rows.letters.get(run.id)?.replayedBy === null
  return { ...schedule, lastRun: { state: run.state, endedAt: run.endedAt, hasOpenLetter } }
}

const occurrence = (rows: Rows, { seq: _seq, triggerId, ...row }: OccurrenceStored): Occurrence => ({
  ...row,
  trigger: rows.triggers.get(String(triggerId))?.text ?? null,
})
