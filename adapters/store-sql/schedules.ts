// Schedules and their ledger: the decision about an instant, its run and the cursor move in one transaction.
import { asc, eq, sql } from "drizzle-orm"
import type { DueSchedule, NewSchedule, Occurrence, ScheduleRow } from "../../core/domain/Schedule.ts"
import { finalStates } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { type Fire, replacedReason } from "../../core/ports/StoreDriver.ts"
import type { makeEnqueue } from "./enqueue.ts"
import { batchMax, checkBatch, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import { decodeOccurrence, decodeSchedule } from "./rows.ts"
import type { Session } from "./Session.ts"
import { occurrences, schedules } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

/** The part of a store that keeps schedules; `store` enqueues the runs of a fire within its transaction. */
export const makeSchedules = (session: Session, { store }: ReturnType<typeof makeEnqueue>) => {
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
          ["job", "trigger", "input", "overlap", "catchUp", "fromConfig", "nextAt", "waitsUntil"].map(
            (name) => [name, at(name)],
          ),
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
  const due = prepare(
    database,
    sql`select s.*, r.state as last_state, r.ended_at as last_ended_at from (
        select * from (select * from schedules indexed by schedules_next
          where next_at is not null and paused_at is null and next_at <= ${at("now")} order by next_at limit ${at("limit")})
        union all
        select * from (select w.* from schedules as w indexed by schedules_waiting left join runs as x on x.id = w.last_run_id
          where w.waits_until is not null and w.next_at is null and w.paused_at is null
          and (x.id is null or x.state in (${ended})) limit ${at("limit")})
      ) as s left join runs as r on r.id = s.last_run_id order by s.next_at limit ${at("limit")}`,
  )
  const next = prepare(
    database,
    sql`select min(next_at) as next_at from schedules indexed by schedules_next
      where next_at is not null and paused_at is null`,
  )
  const move = prepare(
    database,
    build
      .update(schedules)
      .set({
        version: sql`${schedules.version} + 1`,
        cursor: at<number>("cursor"),
        nextAt: at<number>("nextAt"),
        waitsUntil: at<number>("waitsUntil"),
        runCount: sql`${schedules.runCount} + ${at("runs")}`,
        lastRunId: sql`coalesce(${at("lastRunId")}, ${schedules.lastRunId})`,
      })
      .where(sql`${schedules.id} = ${at("id")} and ${schedules.version} = ${at("version")}`),
  )
  const decide = prepare(
    database,
    build
      .insert(occurrences)
      .values({
        ...Object.fromEntries(
          ["scheduleId", "at", "lastAt", "count", "runId", "reason", "decidedAt"].map((name) => [
            name,
            at(name),
          ]),
        ),
        trigger: sql`(select trigger from schedules where id = ${at("scheduleId")})`,
      } as unknown as typeof occurrences.$inferInsert)
      .onConflictDoNothing(),
  )
  const ledger = (condition: ReturnType<typeof sql>) =>
    prepare(
      database,
      sql`select * from occurrences where ${condition} at < ${at("before")} order by at desc limit ${at("limit")}`,
    )
  const ledgerOf = ledger(sql`schedule_id = ${at("scheduleId")} and`)
  const ledgerOfAll = ledger(sql``)

  const put = (schedule: NewSchedule & { readonly cursor: number; readonly nextAt: number | null }): void => {
    const row = byId.get({ id: schedule.id })
    const trigger = JSON.stringify(schedule.trigger)
    const catchUp = schedule.catchUp === undefined ? null : JSON.stringify(schedule.catchUp)
    const values = { ...schedule, trigger, catchUp, fromConfig: schedule.fromConfig ? 1 : 0 }
    if (row === undefined) {
      insert.run({ ...values, createdAt: now() })
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
    const kept = { nextAt: row["next_at"] as number | null, waitsUntil: row["waits_until"] as number | null }
    edit.run({ ...values, ...(same ? kept : { nextAt: schedule.nextAt, waitsUntil: null }) })
  }

  const replace = (id: string): void => {
    const found = session.find(id)
    const after = found === undefined ? null : Transition.cancelled(found.run, replacedReason, now())
    if (found !== undefined && after !== null) session.save(found.run, after, found.settledToken, null)
  }

  return {
    putSchedules: (
      rows: ReadonlyArray<NewSchedule & { readonly cursor: number; readonly nextAt: number | null }>,
    ) => {
      checkBatch("schedules", rows)
      session.transaction(() => rows.forEach(put))
    },
    schedules: (): ReadonlyArray<ScheduleRow> => all.all().map(decodeSchedule),
    deleteSchedules: (ids: ReadonlyArray<string>): void => {
      checkBatch("ids", ids)
      session.transaction(() => ids.forEach((id) => remove.run({ id })))
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
      return due.all({ now: now(), limit }).map((row) => {
        const state = row["last_state"] as string | null
        return {
          ...decodeSchedule(row),
          lastRunAlive: state !== null && !(finalStates as ReadonlyArray<string>).includes(state),
          lastRunEndedAt: row["last_ended_at"] as number | null,
        }
      })
    },
    nextScheduleAt: (): number | null => (next.get()?.["next_at"] ?? null) as number | null,
    fire: (fire: Fire): "fired" | "conflict" => {
      checkBatch("occurrences", fire.occurrences)
      checkBatch("runs", fire.runs)
      const { scheduleId, version, cursor, nextAt, waitsUntil, lastRunId } = fire
      const runs = fire.occurrences.filter(({ runId }) => runId !== null).length
      try {
        return session.transaction(() => {
          if (move.run({ id: scheduleId, version, cursor, nextAt, waitsUntil, runs, lastRunId }) === 0)
            throw conflict
          for (const occurrence of fire.occurrences) {
            if (decide.run({ ...occurrence, scheduleId, decidedAt: now() }) === 0) throw conflict
          }
          if (fire.cancelRunId !== null) replace(fire.cancelRunId)
          fire.runs.forEach(store)
          return "fired" as const
        })
      } catch (error) {
        if (error === conflict) return "conflict"
        throw error
      }
    },
    occurrences: (filter: {
      readonly scheduleId?: string
      readonly before?: number
      readonly limit: number
    }): ReadonlyArray<Occurrence> => {
      checkLimit(filter.limit, pageMax)
      const values = { before: filter.before ?? Number.MAX_SAFE_INTEGER, limit: filter.limit }
      const rows =
        filter.scheduleId === undefined
          ? ledgerOfAll.all(values)
          : ledgerOf.all({ ...values, scheduleId: filter.scheduleId })
      return rows.map(decodeOccurrence)
    },
  }
}

// Thrown inside a transaction to take back what it did, and caught right outside.
const conflict = new Error("Another planner was first")
