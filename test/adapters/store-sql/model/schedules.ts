// Operations on schedules, their ledger, calendars and nodes.
import type { OccurrenceReason, PutSchedule, ScheduleRow, Trigger } from "../../../../core/domain/Schedule.ts"
import { overlaps } from "../../../../core/domain/Schedule.ts"
import type { Fill, Fire } from "../../../../core/ports/StoreDriver.ts"
import { jobs, type Made, nodes, operation, type World } from "./world.ts"

const scheduleIds = ["s1", "s2", "__proto__", "s3"] as const
const many = Array.from({ length: 12 }, (_, place) => `m${String(place).padStart(2, "0")}`)
const reasons: ReadonlyArray<OccurrenceReason> = ["overlap", "missed", "paused", "calendar"]
const gridMillis = 1_000

const triggers: ReadonlyArray<Trigger> = [
  { kind: "every", periodMillis: gridMillis, startAt: null },
  { kind: "every", periodMillis: gridMillis, startAt: null, holdOnFailure: true },
  { kind: "after", delayMillis: 5_000 },
  { kind: "after", delayMillis: 5_000, holdOnFailure: true },
  { kind: "cron", expression: "* * * * *", zone: "UTC" },
]

export const putSchedules = (world: World): Made => {
  const { choice } = world
  const ids = choice.percent(15) ? many : choice.list(1, 3, () => choice.of(scheduleIds))
  return operation(
    "putSchedules",
    ids.map((id): PutSchedule => ({
      id,
      job: choice.of(jobs),
      trigger: choice.of(triggers),
      input: choice.of([null, "1"]),
      overlap: choice.of(overlaps),
      ...(choice.percent(30) ? { catchUp: choice.of([{}, { mode: "all", max: 3 }] as const) } : {}),
      fromConfig: choice.percent(80),
      cursor: world.instant(60_000, 0),
      nextAt: choice.percent(80) ? world.instant(5_000, 5_000) : null,
      zoneData: choice.of([null, "2026a"]),
      createdAt: world.instant(60_000, 0),
    })),
  )
}

const idOf = ({ choice, schedules }: World): string =>
  schedules.length > 0 && choice.percent(90) ? choice.of(schedules).id : choice.of(scheduleIds)

/** Without a schedule there is not much to do. */
const isVain = ({ choice, schedules }: World): boolean => schedules.length === 0 && choice.percent(85)

export const deleteSchedules = (world: World): Made => operation("deleteSchedules", [idOf(world)])

export const pauseSchedule = (world: World): Made | null =>
  isVain(world)
    ? null
    : operation("pauseSchedule", idOf(world), world.choice.percent(50), world.choice.of([null, "A holiday"]))

export const allSchedules = (): Made => operation("schedules")
export const dueSchedules = ({ choice }: World): Made => operation("dueSchedules", choice.of([1, 3, 1_000]))
export const nextScheduleAt = (): Made => operation("nextScheduleAt")

/** A run of its own: no schedule started the run of a step. */
const ownId = (world: World): string | null => {
  const own = world.runs.filter(({ parentId }) => parentId === null)
  return own.length === 0 ? null : world.choice.of(own).id
}

/** One step of a schedule: instants behind its cursor, one by one or as a row of several, and runs for some. */
const fireOf = (world: World, row: ScheduleRow, versionsLater: number): Fire => {
  const { choice } = world
  const plain = choice.percent(60)
  let at = row.cursor + gridMillis * versionsLater * 10
  const runs: Array<Fire["runs"][number]> = []
  // No instant is decided before it comes.
  const left = Math.max(0, Math.floor((world.now - at) / (4 * gridMillis)))
  const occurrences = choice.list(0, Math.min(3, left), () => {
    at += gridMillis
    const from = at
    const nominalAt = choice.percent(80) ? null : at - 500
    if (choice.percent(50)) {
      const fields = { scheduleId: row.id, nominalAt: at, ...(plain ? { key: null } : {}) }
      if (!plain && choice.percent(40)) runs.push(world.newRun({ needs: world.needs() }))
      const needs = plain ? [] : choice.some(runs, 2).map(({ id }) => id)
      const run = world.newRun({ ...fields, needs })
      runs.push(run)
      return { at, lastAt: at, count: 1, runId: run.id, reason: null, nominalAt }
    }
    const count = choice.int(1, 4)
    at += gridMillis * (count - 1)
    return { at: from, lastAt: at, count, runId: null, reason: choice.of(reasons), nominalAt }
  })
  const twice = occurrences[0]
  const waitsUntil = choice.percent(70) ? null : at
  return {
    scheduleId: row.id,
    version: row.version + versionsLater - (choice.percent(8) ? 1 : 0),
    cursor: at,
    nextAt: choice.percent(waitsUntil === null ? 75 : 20) ? world.instant(2_000, 10_000) : null,
    waitsUntil,
    cancelRunId: plain || choice.percent(50) ? null : choice.percent(80) ? row.lastRunId : ownId(world),
    occurrences: twice !== undefined && choice.percent(3) ? [...occurrences, twice] : occurrences,
    runs,
    lastRunId: occurrences.findLast(({ runId }) => runId !== null)?.runId ?? null,
    zoneData: choice.of([null, "2026a"]),
  }
}

export const fire = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice, schedules } = world
  const rows = choice.percent(40) ? schedules : choice.some(schedules, 3)
  const fires = rows.flatMap((row) => {
    const first = fireOf(world, row, 0)
    return choice.percent(8) ? [first, fireOf(world, row, 1)] : [first]
  })
  return operation("fire", fires)
}

/** Instants of the past: of the grid, decided or not, and beside it. */
export const backfill = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice, schedules } = world
  return operation(
    "backfill",
    choice.list(1, 3, (): Fill => {
      const row = schedules.length > 0 && choice.percent(95) ? choice.of(schedules) : undefined
      const cursor = row?.cursor ?? world.now
      const at = cursor - gridMillis * choice.int(0, 6) - (choice.percent(10) ? 500 : 0)
      const need = choice.percent(15) ? [world.newRun({ needs: world.needs() })] : []
      const needs = need.map(({ id }) => id)
      const own = world.newRun({ scheduleId: row?.id ?? "s1", nominalAt: at, needs })
      return { scheduleId: row?.id ?? "gone", at, runs: [...need, own] }
    }),
  )
}

export const occurrences = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice } = world
  return operation("occurrences", {
    ...(choice.percent(60) ? { scheduleId: idOf(world) } : {}),
    ...(choice.percent(40) ? { before: world.instant(60_000, 10_000) } : {}),
    limit: choice.of([1, 3, 200]),
  })
}

const calendarNames = ["work", "__proto__", "holidays"] as const

export const putCalendars = ({ choice }: World): Made =>
  operation(
    "putCalendars",
    choice.list(1, 2, () => ({
      name: choice.of(calendarNames),
      definition: choice.of(['{"zone":"UTC"}', '{"zone":"Europe/Berlin"}']),
      fromConfig: choice.percent(50),
    })),
  )
export const calendars = (): Made => operation("calendars")
export const deleteCalendars = ({ choice }: World): Made =>
  operation("deleteCalendars", [choice.of(calendarNames)])

export const join = ({ choice }: World, leaseMillis?: number): Made =>
  operation(
    "join",
    { id: choice.of(nodes), host: "höst", pid: choice.int(1, 9), runtime: "test" },
    leaseMillis ?? choice.of([500, 5_000, 60_000]),
  )
export const renew = ({ choice }: World): Made =>
  operation("renew", choice.of(nodes), choice.of([500, 5_000]))
export const leave = ({ choice }: World): Made => operation("leave", choice.of(nodes))
export const allNodes = (): Made => operation("nodes")
