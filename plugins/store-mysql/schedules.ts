// Schedules as they are read, the ledger and the calendars.
import {
  batchMax,
  type CalendarRow,
  checkBatch,
  checkLimit,
  decodeDue,
  decodeOccurrence,
  decodeSchedule,
  dueColumns,
  type DueSchedule,
  finalStates,
  type Occurrence,
  pageMax,
  type Row,
  type ScheduleRow,
} from "uhrwerk/sql"
import type { Connection } from "./Connection.ts"
import { bit, clock, type Given, insertRows } from "./Statement.ts"

/** The part of a store that shows schedules and the ledger, and keeps calendars; `now` answers `null` for the server's. */
export const makeSchedules = (connection: Connection, now: () => Given) => {
  const columns = dueColumns.map((name) => `s.\`${name}\``).join(", ")
  // Whether the last run of a schedule counts as alive although it is dead. Never null, or its opposite would be too.
  const held = `(case when e.state = 'dead' and coalesce(json_contains(s.\`trigger\`, 'true', '$.holdOnFailure'), 0) = 1
      and exists (select 1 from dead_letters as d where d.run_id = s.last_run_id and d.replayed_by is null)
    then 1 else 0 end)`
  const from = (index: string) => `from schedules as s force index (${index})
    left join live as l on l.id = s.last_run_id left join ended as e on e.id = s.last_run_id
    where s.paused_at is null`
  const state = "coalesce(l.state, e.state) as state, e.ended_at"
  const due = (
    bound: string,
  ) => `select ${columns}, ${state}, ${held} as held ${from("schedules_next")} and s.next_at <= ${bound}
    order by s.next_at, s.id limit ?`
  const waiting = `select ${columns}, ${state}, 0 as held ${from("schedules_waiting")} and s.next_at is null
    and s.waits_until is not null and l.id is null and (e.id is null or (e.state in (?) and ${held} = 0)) limit ?`

  const dueOf = (row: Row): DueSchedule =>
    decodeDue([
      ...dueColumns.map((name) => row[name] ?? null),
      row["state"] ?? null,
      row["ended_at"] ?? null,
      row["held"] ?? null,
    ])
  const readDue = (limit: number): Promise<ReadonlyArray<Row>> => {
    const given = now()
    return given === null ? connection.read(due(clock), [limit]) : connection.read(due("?"), [given, limit])
  }

  return {
    schedules: async (): Promise<ReadonlyArray<ScheduleRow>> =>
      (await connection.read("select * from schedules order by id")).map(decodeSchedule),
    dueSchedules: async (limit: number): Promise<ReadonlyArray<DueSchedule>> => {
      checkLimit(limit, batchMax)
      const ready = await connection.read(waiting, [finalStates, limit])
      const come = ready.length < limit ? await readDue(limit - ready.length) : []
      return [...ready, ...come].map(dueOf)
    },
    nextScheduleAt: async (): Promise<number | null> => {
      const [row] = await connection.read(
        `select next_at from schedules force index (schedules_next) where paused_at is null and next_at is not null
          order by next_at limit 1`,
      )
      return (row?.["next_at"] ?? null) as number | null
    },
    occurrences: async (filter: {
      readonly scheduleId?: string
      readonly before?: number
      readonly limit: number
    }): Promise<ReadonlyArray<Occurrence>> => {
      checkLimit(filter.limit, pageMax)
      const { scheduleId, before = Number.MAX_SAFE_INTEGER, limit } = filter
      const [index, which, values] =
        scheduleId === undefined
          ? ["occurrences_at", "", []]
          : ["occurrences_schedule", "p.schedule_id = ? and", [scheduleId]]
      const rows = await connection.read(
        `select o.*, t.text as \`trigger\` from (select p.seq, p.at from occurrences as p force index (${index})
            where ${which} p.at < ? order by p.at desc, p.seq desc limit ?) as page
          straight_join occurrences as o on o.seq = page.seq left join triggers as t on t.id = o.trigger_id
          order by page.at desc, page.seq desc`,
        [...values, before, limit],
      )
      return rows.map(decodeOccurrence)
    },
    putCalendars: async (rows: ReadonlyArray<CalendarRow>): Promise<void> => {
      checkBatch("calendars", rows)
      // The last of one name counts. In their order, so that two who save the same ones do not hold each other up.
      const byName = [...new Map(rows.map((row) => [row.name, row])).values()].sort((a, b) =>
        a.name < b.name ? -1 : 1,
      )
      if (byName.length > 0)
        await connection.transaction((queryable) =>
          insertRows(
            queryable,
            `insert into calendars (name, definition, from_config) values ? on duplicate key update
              definition = values(definition), from_config = values(from_config)`,
            byName.map(({ name, definition, fromConfig }) => [name, definition, bit(fromConfig)]),
          ),
        )
    },
    calendars: async (): Promise<ReadonlyArray<CalendarRow>> =>
      (await connection.read("select * from calendars order by name")).map((row) => ({
        name: row["name"] as string,
        definition: row["definition"] as string,
        fromConfig: row["from_config"] === 1,
      })),
    deleteCalendars: async (names: ReadonlyArray<string>): Promise<void> => {
      checkBatch("names", names)
      if (names.length > 0) await connection.change("delete from calendars where name in (?)", [names])
    },
  }
}
