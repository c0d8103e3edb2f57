// Schedules of a file and their ledger, as they are saved and moved. What reads them for people and planners is in
// listing.ts, ledger.ts and due.ts.
import { and, eq, sql } from "drizzle-orm"
import type { ScheduleKept, ScheduleTable } from "../Tables.ts"
import type { Database } from "./Database.ts"
import { occurrences, schedules } from "./schema.ts"
import type { Row } from "../rows.ts"
import { at, build, prepare, prepareRows } from "./Statement.ts"

/** Compiles the statements of an open file. */
export const makeScheduleTable = (database: Database) => {
  const statements = compile(database)
  return {
    find: (ids) =>
      ids.flatMap((id) => {
        const row = statements.byId.get({ id })
        return row === undefined ? [] : [decode(row)]
      }),
    insert: (schedule, createdAt) =>
      void statements.insert.run({ ...schedule, fromConfig: schedule.fromConfig ? 1 : 0, createdAt }),
    edit: (schedule) => void statements.edit.run({ ...schedule, fromConfig: schedule.fromConfig ? 1 : 0 }),
    remove: (ids) => {
      for (const id of ids) statements.remove.run({ id })
    },
    pause: (id, change) => void statements.pause.run({ id, ...change }),
    takeTrigger: (text, now) => statements.take.get({ text, now })?.["id"] as number,
    leaveTriggers: (ids, now) => {
      for (const id of ids) statements.leave.run({ id, now })
    },
    move: (fires) =>
      statements.move(
        fires.map((fire) => [
          fire.scheduleId,
          fire.version,
          fire.cursor,
          fire.nextAt,
          fire.waitsUntil,
          fire.occurrences.filter(({ runId }) => runId !== null).length,
          fire.lastRunId,
          fire.zoneData,
        ]),
      ),
    decide: (decisions) =>
      statements.decide(
        decisions.map((row) => [
          row.scheduleId,
          row.at,
          row.lastAt,
          row.count,
          row.runId,
          row.reason,
          row.decidedAt,
          row.nominalAt,
          row.zoneData,
        ]),
      ),
    decided: (scheduleId, instant) => {
      const row = statements.decided.get({ scheduleId, at: instant })
      if (row === undefined) return undefined
      return {
        seq: row["seq"] as number,
        count: row["count"] as number,
        lastAt: row["last_at"] as number,
        runId: row["run_id"] as string | null,
      }
    },
    fill: (seq, runId, decidedAt) => void statements.fill.run({ seq, runId, decidedAt }),
    countOut: (scheduleId, instant) => void statements.countOut.run({ scheduleId, at: instant }),
    forgetOccurrences: (before, limit) => statements.forgetOccurrences.run({ before, limit }),
    forgetTriggers: (before) => void statements.forgetTriggers.run({ before }),
  } satisfies ScheduleTable
}

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

// What a schedule says, in the columns that `insert` and `edit` share.
const said = [
  "job",
  "trigger",
  "triggerId",
  "input",
  "overlap",
  "catchUp",
  "fromConfig",
  "cursor",
  "nextAt",
  "zoneData",
]

const compile = (database: Database) => {
  const columns = (names: ReadonlyArray<string>): object =>
    Object.fromEntries(names.map((name) => [name, at(name)]))
  return {
    byId: prepare(
      database,
      build
        .select()
        .from(schedules)
        .where(eq(schedules.id, at("id"))),
    ),
    insert: prepare(
      database,
      build.insert(schedules).values({
        ...columns(["id", ...said, "createdAt"]),
        version: 1,
        runCount: 0,
      } as unknown as typeof schedules.$inferInsert),
    ),
    edit: prepare(
      database,
      build
        .update(schedules)
        .set({ ...columns([...said, "waitsUntil"]), version: sql`${schedules.version} + 1` })
        .where(eq(schedules.id, at("id"))),
    ),
    remove: prepare(database, build.delete(schedules).where(eq(schedules.id, at("id")))),
    pause: prepare(
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
    ),
    take: prepare(
      database,
      sql`insert into triggers (text, used_at) values (${at("text")}, ${at("now")})
        on conflict (text) do update set used_at = excluded.used_at returning id`,
    ),
    leave: prepare(
      database,
      sql`update triggers set used_at = ${at("now")}
        where id = (select trigger_id from schedules where id = ${at("id")})`,
    ),
    move: prepareRows(
      database,
      (values) => sql`update schedules set version = version + 1, cursor = v.column3, next_at = v.column4,
        waits_until = v.column5, run_count = run_count + v.column6, last_run_id = coalesce(v.column7, last_run_id),
        zone_data = v.column8
        from (values ${values}) as v where schedules.id = v.column1 and schedules.version = v.column2`,
      Array.from({ length: 8 }, () => "?"),
    ),
    decide: prepareRows(
      database,
      (
        values,
      ) => sql`insert into occurrences (schedule_id, at, last_at, count, run_id, reason, decided_at, nominal_at,
        zone_data, trigger_id)
        select v.*, s.trigger_id from (values ${values}) as v cross join schedules as s on s.id = v.column1
        where true on conflict do nothing`,
      Array.from({ length: 9 }, () => "?"),
    ),
    decided: prepare(
      database,
      build
        .select()
        .from(occurrences)
        .where(and(eq(occurrences.scheduleId, at("scheduleId")), eq(occurrences.at, at("at")))),
    ),
    fill: prepare(
      database,
      build
        .update(occurrences)
        .set({
          runId: at<string>("runId"),
          reason: null,
          decidedAt: at<number>("decidedAt"),
          lastAt: sql`${occurrences.at}`,
        })
        .where(eq(occurrences.seq, at("seq"))),
    ),
    // Rows of several instants lie apart, so only the last that begins at or before this one can hold it. Instants of
    // it that were counted out before have rows of their own, which may lie between.
    countOut: prepare(
      database,
      sql`update occurrences set count = count - 1, at = iif(at = ${at("at")}, at + 1, at) where seq = (
        select seq from (select seq, last_at from occurrences
          where schedule_id = ${at("scheduleId")} and at <= ${at("at")} and count > 1 order by at desc limit 1)
        where last_at >= ${at("at")})`,
    ),
    // No instant is decided before it comes, so the index on instants leads to all that were decided long ago.
    forgetOccurrences: prepare(
      database,
      sql`delete from occurrences where seq in (
        select seq from occurrences indexed by occurrences_at
        where at < ${at("before")} and decided_at < ${at("before")} and (run_id is null
        or not exists (select 1 from runs where runs.id = occurrences.run_id)) limit ${at("limit")})`,
    ),
    // Rows that it named were decided before it was left, so those that are left of them have runs that are there.
    forgetTriggers: prepare(
      database,
      sql`delete from triggers where used_at < ${at("before")}
        and not exists (select 1 from schedules where schedules.trigger_id = triggers.id)
        and id not in (select trigger_id from occurrences indexed by occurrences_at
          where at < ${at("before")} and trigger_id is not null)`,
    ),
  }
}
