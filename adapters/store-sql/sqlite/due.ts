// Which schedules there are, and which are due.
import { asc, sql } from "drizzle-orm"
import { finalStates } from "../../../core/domain/Run.ts"
import type { DueSchedule, ScheduleRow } from "../../../core/domain/Schedule.ts"
import { batchMax, checkLimit } from "../../../core/ports/StoreLimits.ts"
import { decodeDue, decodeSchedule, dueColumns } from "../rows.ts"
import { schedules } from "./schema.ts"
import type { Session } from "./Session.ts"
import { at, build, prepare, prepareScan } from "./Statement.ts"

/** The part of a store that finds schedules. */
export const makeDue = ({ database, now }: Session) => {
  const all = prepare(database, build.select().from(schedules).orderBy(asc(schedules.id)))
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

  return {
    schedules: (): ReadonlyArray<ScheduleRow> => all.all().map(decodeSchedule),
    dueSchedules: (limit: number): ReadonlyArray<DueSchedule> => {
      checkLimit(limit, batchMax)
      const ready = waiting({ limit })
      const come = ready.length < limit ? due({ now: now(), limit: limit - ready.length }) : []
      return [...ready, ...come].map(decodeDue)
    },
    nextScheduleAt: (): number | null => (next.get()?.["next_at"] ?? null) as number | null,
  }
}
