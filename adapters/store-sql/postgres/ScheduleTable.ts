// Schedules of PostgreSQL and their ledger, as the shared logic saves and moves them within a transaction. Decisions
// about a schedule's instants are only made with its row in hand.
import type { ScheduleKept, ScheduleTable } from "../Tables.ts"
import type { Queryable, Row } from "./Connection.ts"
import { decisionRow, decisions, moveRow, moves } from "./fire.ts"
import type { Tables } from "./schema.ts"
import { at, literal, prepare, sql } from "./Statement.ts"

/** The table within one transaction. */
export const scheduleTable = (statements: ScheduleStatements, queryable: Queryable): ScheduleTable => ({
  find: async (ids) => (await statements.find(queryable, { ids: literal(ids) })).map(decode),
  insert: async (schedule, createdAt) =>
    void (await statements.insert(queryable, {
      ...schedule,
      fromConfig: schedule.fromConfig ? 1 : 0,
      createdAt,
    })),
  edit: async (schedule) =>
    void (await statements.edit(queryable, { ...schedule, fromConfig: schedule.fromConfig ? 1 : 0 })),
  remove: async (ids) => void (await statements.remove(queryable, { ids: literal(ids) })),
  pause: async (id, change) => void (await statements.pause(queryable, { id, ...change })),
  takeTrigger: async (text, now) => (await statements.take(queryable, { text, now }))[0]?.["id"] as number,
  leaveTriggers: async (ids, now) => void (await statements.leave(queryable, { ids: literal(ids), now })),
  move: async (fires) => (await statements.move(queryable, moves.values(fires.map(moveRow)))).length,
  decide: async (rows) =>
    (
      await statements.decide(
        queryable,
        decisions.values(rows.map((row) => decisionRow(row, row.scheduleId, row.zoneData, row.decidedAt))),
      )
    ).length,
  decided: async (scheduleId, instant) => {
    const [row] = await statements.decided(queryable, { scheduleId, at: instant })
    if (row === undefined) return undefined
    return {
      seq: row["seq"] as number,
      count: row["count"] as number,
      lastAt: row["last_at"] as number,
      runId: row["run_id"] as string | null,
    }
  },
  fill: async (seq, runId, decidedAt) => void (await statements.fill(queryable, { seq, runId, decidedAt })),
  countOut: async (scheduleId, instant) =>
    void (await statements.countOut(queryable, { scheduleId, at: instant })),
  forgetOccurrences: async (before, limit) =>
    (await statements.forgetOccurrences(queryable, { before, limit })).length,
  forgetTriggers: async (before) => void (await statements.forgetTriggers(queryable, { before })),
})

const decode = (row: Row): ScheduleKept => ({
  id: row["id"] as string,
  job: row["job"] as string,
  trigger: row["trigger"] as string,
  triggerId: row["trigger_id"] as number,
  input: row["input"] as string | null,
  overlap: row["overlap"] as string,
  catchUp: row["catch_up"] as string | null,
  fromConfig: row["from_config"] === 1,
  version: row["version"] as number,
  cursor: row["cursor"] as number,
  nextAt: row["next_at"] as number | null,
  waitsUntil: row["waits_until"] as number | null,
  pausedAt: row["paused_at"] as number | null,
  zoneData: row["zone_data"] as string | null,
})

/** The statements of a store. */
export type ScheduleStatements = ReturnType<typeof compileSchedules>

/** Compiles them. */
export const compileSchedules = (tables: Tables) => {
  const { schedules, occurrences, triggers, runs } = tables
  const id = at("id", "text")
  const ids = at("ids", "text[]")
  const now = at("now", "bigint")
  const instant = at("at", "bigint")
  const before = at("before", "bigint")
  const scheduleId = at("scheduleId", "text")
  return {
    find: prepare(sql`select * from ${schedules} where id = any(${ids}) order by id for update`),
    insert:
      prepare(sql`insert into ${schedules} (id, job, trigger, trigger_id, input, overlap, catch_up, from_config, version,
        cursor, next_at, created_at, run_count, zone_data)
      values (${id}, ${at("job", "text")}, ${at("trigger", "text")}, ${at("triggerId", "bigint")}, ${at("input", "text")},
        ${at("overlap", "text")}, ${at("catchUp", "text")}, ${at("fromConfig", "smallint")}, 1, ${at("cursor", "bigint")},
        ${at("nextAt", "bigint")}, ${at("createdAt", "bigint")}, 0, ${at("zoneData", "text")})`),
    edit: prepare(sql`update ${schedules} set job = ${at("job", "text")}, trigger = ${at("trigger", "text")},
        trigger_id = ${at("triggerId", "bigint")}, input = ${at("input", "text")}, overlap = ${at("overlap", "text")},
        catch_up = ${at("catchUp", "text")}, from_config = ${at("fromConfig", "smallint")},
        cursor = ${at("cursor", "bigint")}, next_at = ${at("nextAt", "bigint")}, waits_until = ${at("waitsUntil", "bigint")},
        zone_data = ${at("zoneData", "text")}, version = version + 1
      where id = ${id}`),
    remove: prepare(sql`delete from ${schedules} where id = any(${ids})`),
    pause: prepare(sql`update ${schedules} set paused_at = ${at("pausedAt", "bigint")},
        paused_note = ${at("pausedNote", "text")}, resumed_at = coalesce(${at("resumedAt", "bigint")}, resumed_at),
        version = version + 1
      where id = ${id}`),
    take: prepare(sql`insert into ${triggers} (digest, text, used_at)
      values (encode(sha256(convert_to(${at("text", "text")}, 'UTF8')), 'hex'), ${at("text", "text")}, ${now})
      on conflict (digest) do update set used_at = greatest(${triggers}.used_at, excluded.used_at) returning id`),
    leave: prepare(sql`update ${triggers} as t set used_at = greatest(t.used_at, ${now})
      where t.id in (select trigger_id from ${schedules} where id = any(${ids}))`),
    move: prepare(sql`update ${schedules} as s set version = s.version + 1, cursor = given.cursor, next_at = given.next_at,
        waits_until = given.waits_until, run_count = s.run_count + given.run_count,
        last_run_id = coalesce(given.last_run_id, s.last_run_id), zone_data = given.zone_data
      from ${moves.given} where s.id = given.id and s.version = given.version
        and s.id = any(${at("move.id[]", "text[]")}) returning s.id`),
    decide:
      prepare(sql`insert into ${occurrences} (schedule_id, at, last_at, count, run_id, reason, decided_at, nominal_at,
        zone_data, trigger_id)
      select given.schedule_id, given.at, given.last_at, given.count, given.run_id, given.reason, given.decided_at,
        given.nominal_at, given.zone_data, s.trigger_id
      from ${decisions.given} cross join lateral (
        select * from ${schedules} as row where row.id = given.schedule_id limit 1) as s order by given.place
      on conflict do nothing returning seq`),
    decided:
      prepare(sql`select seq, count, last_at, run_id from ${occurrences} where schedule_id = ${scheduleId}
      and at = ${instant}`),
    fill: prepare(sql`update ${occurrences} set run_id = ${at("runId", "text")}, reason = null, last_at = at,
      decided_at = ${at("decidedAt", "bigint")} where seq = ${at("seq", "bigint")}`),
    // The row of several instants that holds this one is the last that begins at or before it.
    countOut: prepare(sql`update ${occurrences}
      set count = count - 1, at = case when at = ${instant} then at + 1 else at end
      where seq = (select seq from (select seq, last_at from ${occurrences}
          where schedule_id = ${scheduleId} and at <= ${instant} and count > 1 order by at desc limit 1) as last
        where last_at >= ${instant})`),
    // No instant is decided before it comes, so the index on instants leads to all that were decided long ago.
    forgetOccurrences:
      prepare(sql`delete from ${occurrences} where seq in (select seq from ${occurrences} as o
      where at < ${before} and decided_at < ${before} and (run_id is null
        or not exists (select 1 from ${runs} as r where r.id = o.run_id))
      order by at limit ${at("limit", "integer")} for update skip locked) returning seq`),
    // Rows that it named were decided before it was left, so those that are left of them have runs that are there.
    forgetTriggers: prepare(sql`delete from ${triggers} as t where used_at < ${before}
      and not exists (select 1 from ${schedules} as s where s.trigger_id = t.id)
      and t.id not in (select trigger_id from ${occurrences} where at < ${before} and trigger_id is not null)`),
  }
}
