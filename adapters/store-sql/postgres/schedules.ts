// Schedules as they are read, the ledger and the calendars.
import { finalStates } from "../../../core/domain/Run.ts"
import type { DueSchedule, Occurrence, ScheduleRow } from "../../../core/domain/Schedule.ts"
import type { CalendarRow } from "../../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, pageMax } from "../../../core/ports/StoreLimits.ts"
import { decodeDue, decodeOccurrence, decodeSchedule, dueColumns } from "../rows.ts"
import type { Connection, Row } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, batch, clock, literal, prepare, type SQL, sql, texts } from "./Statement.ts"

/** The part of a store that shows schedules and the ledger, and keeps calendars. */
export const makeSchedules = (connection: Connection, tables: Tables, now: () => number | null) => {
  const { schedules, live, ended, deadLetters, occurrences, triggers, calendars } = tables
  const all = prepare(sql`select * from ${schedules} order by id`)
  const limit = at("limit", "integer")
  // Whether the last run of a schedule counts as alive although it is dead.
  const held = sql`(case when e.state = 'dead' and s.trigger::json ->> 'holdOnFailure' = 'true' then (exists (
    select 1 from ${deadLetters} as d where d.run_id = s.last_run_id and d.replayed_by is null))::int else 0 end)`
  const columns = sql.raw(dueColumns.map((name) => `s.${name}`).join(", "))
  const from = sql`from ${schedules} as s
    left join lateral (select * from ${live} as row where row.id = s.last_run_id limit 1) as l on true
    left join lateral (select * from ${ended} as row where row.id = s.last_run_id limit 1) as e on true`
  const stateOf = sql`coalesce(l.state, e.state) as state, e.ended_at`
  const due = prepare(sql`select ${columns}, ${stateOf}, ${held} as held ${from}
    where s.next_at is not null and s.paused_at is null and s.next_at <= (select ${clock})
    order by s.next_at, s.id limit ${limit}`)
  const waiting = prepare(sql`select ${columns}, ${stateOf}, 0 as held ${from}
    where s.waits_until is not null and s.next_at is null and s.paused_at is null and l.id is null
    and (e.id is null or (e.state in ${texts(finalStates)} and ${held} = 0)) limit ${limit}`)
  const next = prepare(
    sql`select min(next_at) as next_at from ${schedules} where next_at is not null and paused_at is null`,
  )
  const ledger = (which: SQL) =>
    prepare(sql`select o.*, t.text as trigger from ${occurrences} as o left join lateral (
        select * from ${triggers} as row where row.id = o.trigger_id limit 1) as t on true
      where ${which} o.at < ${at("before", "bigint")} order by o.at desc limit ${limit}`)
  const pages = { all: ledger(sql``), ofOne: ledger(sql`o.schedule_id = ${at("scheduleId", "text")} and`) }
  const given = batch({ name: "text", definition: "text", from_config: "smallint" })
  // In the order of their names, so that two who save the same ones do not hold each other up.
  const put = prepare(sql`insert into ${calendars} (name, definition, from_config)
    select distinct on (name) name, definition, from_config from ${given.given} order by name, place desc
    on conflict (name) do update set definition = excluded.definition, from_config = excluded.from_config`)
  const allCalendars = prepare(sql`select * from ${calendars} order by name`)
  const remove = prepare(sql`delete from ${calendars} where name = any(${at("names", "text[]")})`)

  const dueOf = (row: Row): DueSchedule =>
    decodeDue([
      ...dueColumns.map((name) => row[name] ?? null),
      row["state"] ?? null,
      row["ended_at"] ?? null,
      row["held"] ?? null,
    ])

  return {
    schedules: async (): Promise<ReadonlyArray<ScheduleRow>> => (await all(connection)).map(decodeSchedule),
    dueSchedules: async (limit: number): Promise<ReadonlyArray<DueSchedule>> => {
      checkLimit(limit, batchMax)
      const ready = await waiting(connection, { limit })
      const come =
        ready.length < limit ? await due(connection, { now: now(), limit: limit - ready.length }) : []
      return [...ready, ...come].map(dueOf)
    },
    nextScheduleAt: async (): Promise<number | null> =>
      ((await next(connection))[0]?.["next_at"] ?? null) as number | null,
    occurrences: async (filter: {
      readonly scheduleId?: string
      readonly before?: number
      readonly limit: number
    }): Promise<ReadonlyArray<Occurrence>> => {
      checkLimit(filter.limit, pageMax)
      const { scheduleId = null, before = Number.MAX_SAFE_INTEGER, limit } = filter
      const page = scheduleId === null ? pages.all : pages.ofOne
      return (await page(connection, { scheduleId, before, limit })).map(decodeOccurrence)
    },
    putCalendars: async (rows: ReadonlyArray<CalendarRow>): Promise<void> => {
      checkBatch("calendars", rows)
      const encoded = rows.map(({ name, definition, fromConfig }) => ({
        name,
        definition,
        from_config: fromConfig ? 1 : 0,
      }))
      await put(connection, given.values(encoded))
    },
    calendars: async (): Promise<ReadonlyArray<CalendarRow>> =>
      (await allCalendars(connection)).map((row) => ({
        name: row["name"] as string,
        definition: row["definition"] as string,
        fromConfig: row["from_config"] === 1,
      })),
    deleteCalendars: async (names: ReadonlyArray<string>): Promise<void> => {
      checkBatch("names", names)
      await remove(connection, { names: literal(names) })
    },
  }
}
