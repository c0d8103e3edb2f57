// Schedules: saved, paused, and found when they are due. What moves them is in fire.ts.
import { asc, eq, sql } from "drizzle-orm"
import type { DueSchedule, PutSchedule, ScheduleRow } from "../../core/domain/Schedule.ts"
import { finalStates } from "../../core/domain/Run.ts"
import { batchMax, checkBatch, checkLimit } from "../../core/ports/StoreLimits.ts"
import { decodeDue, decodeSchedule, dueColumns } from "./rows.ts"
import type { Session } from "./Session.ts"
import { schedules } from "./schema.ts"
import { at, build, prepare, prepareScan } from "./Statement.ts"

/** The part of a store that keeps schedules. */
export const makeSchedules = (session: Session) => {
  const { database, now } = session
  const byId = prepare(
    database,
    build
      .select()
      .from(schedules)
      .where(eq(schedules.id, at("id"))),
  )
  const insert = prepare(
    database,
    build.insert(schedules).values({
      ...Object.fromEntries(
        [
          "id",
          "job",
          "trigger",
          "input",
          "overlap",
          "catchUp",
          "fromConfig",
          "cursor",
          "nextAt",
          "createdAt",
          "zoneData",
          "triggerId",
        ].map((name) => [name, at(name)]),
      ),
      version: 1,
      runCount: 0,
    } as unknown as typeof schedules.$inferInsert),
  )
  const edit = prepare(
    database,
    build
      .update(schedules)
      .set({
        ...(Object.fromEntries(
          [
            "job",
            "trigger",
            "input",
            "overlap",
            "catchUp",
            "fromConfig",
            "cursor",
            "nextAt",
            "waitsUntil",
            "zoneData",
            "triggerId",
          ].map((name) => [name, at(name)]),
        ) as object),
        version: sql`${schedules.version} + 1`,
      })
      .where(eq(schedules.id, at("id"))),
  )
  const all = prepare(database, build.select().from(schedules).orderBy(asc(schedules.id)))
  const remove = prepare(database, build.delete(schedules).where(eq(schedules.id, at("id"))))
  const pause = prepare(
    database,
    build
      .update(schedules)
      .set({
        pausedAt: at<number>("pausedAt"),
        pausedNote: at<string>("pausedNote"),
        resumedAt: sql`coalesce(${at("resumedAt")}, ${schedules.resumedAt})`,
        version: sql`${schedules.version} + 1`,
      })
      .where(eq(schedules.id, at("id"))),
  )
  const ended = sql.raw(finalStates.map((state) => `'${state}'`).join(", "))
  const columns = sql.raw(dueColumns.map((name) => `s.${name}`).join(", "))
  // Whether the last run of a schedule counts as alive although it is dead. Never null, or its opposite would be too.
  const held = sql`(r.state = 'dead' and ifnull(json_extract(s.trigger, '$.holdOnFailure'), 0) = 1 and exists (
    select 1 from dead_letters as d where d.run_id = s.last_run_id and d.replayed_by is null))`
  const due = prepareScan(
    database,
    sql`select ${columns}, r.state, r.ended_at, ${held} from schedules as s indexed by schedules_next
      left join runs as r on r.id = s.last_run_id
      where s.next_at is not null and s.paused_at is null and s.next_at <= ${at("now")}
      order by s.next_at, s.id limit ${at("limit")}`,
  )
  const waiting = prepareScan(
    database,
    sql`select ${columns}, r.state, r.ended_at, 0 from schedules as s indexed by schedules_waiting
      left join runs as r on r.id = s.last_run_id
      where s.waits_until is not null and s.next_at is null and s.paused_at is null
      and (r.id is null or (r.state in (${ended}) and not ${held})) limit ${at("limit")}`,
  )
  const next = prepare(
    database,
    sql`select min(next_at) as next_at from schedules indexed by schedules_next
      where next_at is not null and paused_at is null`,
  )
  const take = prepare(
    database,
    sql`insert into triggers (text, used_at) values (${at("text")}, ${at("now")})
      on conflict (text) do update set used_at = excluded.used_at returning id`,
  )
  const leave = prepare(
    database,
    sql`update triggers set used_at = ${at("now")} where id = (select trigger_id from schedules where id = ${at("id")})`,
  )
  const idOf = (text: string): number => take.get({ text, now: now() })?.["id"] as number

  const put = (schedule: PutSchedule): void => {
    const row = byId.get({ id: schedule.id })
    const trigger = JSON.stringify(schedule.trigger)
    const catchUp = schedule.catchUp === undefined ? null : JSON.stringify(schedule.catchUp)
    const values = { ...schedule, trigger, catchUp, fromConfig: schedule.fromConfig ? 1 : 0 }
    if (row === undefined) {
      insert.run({ ...values, triggerId: idOf(trigger), createdAt: now() })
      return
    }
    const same = row["trigger"] === trigger
    const unchanged =
      same &&
      row["job"] === schedule.job &&
      row["input"] === schedule.input &&
      row["overlap"] === schedule.overlap &&
      row["catch_up"] === catchUp &&
      row["from_config"] === values.fromConfig
    if (unchanged) return
    const cursor = row["cursor"] as number
    const kept = {
      cursor,
      nextAt: row["next_at"] as number | null,
      waitsUntil: row["waits_until"] as number | null,
      zoneData: row["zone_data"] as string | null,
      triggerId: row["trigger_id"] as number,
    }
    if (!same) leave.run({ id: schedule.id, now: now() })
    const anew = {
      cursor: Math.min(cursor, schedule.cursor),
      waitsUntil: null,
      triggerId: idOf(trigger),
    }
    edit.run({ ...values, ...(same ? kept : anew) })
  }

  return {
    putSchedules: (rows: ReadonlyArray<PutSchedule>): void => {
      checkBatch("schedules", rows)
      session.transaction(() => rows.forEach(put))
    },
    schedules: (): ReadonlyArray<ScheduleRow> => all.all().map(decodeSchedule),
    deleteSchedules: (ids: ReadonlyArray<string>): void => {
      checkBatch("ids", ids)
      session.transaction(() =>
        ids.forEach((id) => {
          leave.run({ id, now: now() })
          remove.run({ id })
        }),
      )
    },
    // The cursor stays: the planner says of each instant that it passed in the pause.
    pauseSchedule: (id: string, paused: boolean, note: string | null = null): boolean =>
      session.transaction(() => {
        const row = byId.get({ id })
        // Pausing what is paused, or resuming what is not, moves nothing.
        const same = row !== undefined && (row["paused_at"] !== null) === paused
        if (row !== undefined && !same) {
          const at = now()
          pause.run({
            id,
            pausedAt: paused ? at : null,
            pausedNote: paused ? note : null,
            resumedAt: paused ? null : at,
          })
        }
        return row !== undefined
      }),
    dueSchedules: (limit: number): ReadonlyArray<DueSchedule> => {
      checkLimit(limit, batchMax)
      const ready = waiting({ limit })
      const come = ready.length < limit ? due({ now: now(), limit: limit - ready.length }) : []
      return [...ready, ...come].map(decodeDue)
    },
    nextScheduleAt: (): number | null => (next.get()?.["next_at"] ?? null) as number | null,
  }
}
