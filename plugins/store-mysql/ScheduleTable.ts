// Schedules of MySQL and their ledger, as the shared logic saves and moves them within a transaction. Decisions about a
// schedule's instants are only made with its row in hand.
import { createHash } from "node:crypto"
import type { Decision, Fire, Row, ScheduleKept, ScheduleTable } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { bit, insertRows, pieces, withRows } from "./Statement.ts"

/** The table within one transaction. */
export const scheduleTable = (queryable: Queryable): ScheduleTable => ({
  find: async (ids) =>
    (
      await queryable.read(
        "select * from schedules force index (primary) where id in (?) order by id for update",
        [ids],
      )
    ).map(decode),
  insert: async (row, createdAt) =>
    void (await queryable.change(
      `insert into schedules (id, job, \`trigger\`, trigger_id, input, overlap, catch_up, from_config, version, \`cursor\`,
        next_at, created_at, run_count, zone_data) values (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 0, ?)`,
      [
        row.id,
        row.job,
        row.trigger,
        row.triggerId,
        row.input,
        row.overlap,
        row.catchUp,
        bit(row.fromConfig),
        row.cursor,
        row.nextAt,
        createdAt,
        row.zoneData,
      ],
    )),
  edit: async (row) =>
    void (await queryable.change(
      `update schedules set job = ?, \`trigger\` = ?, trigger_id = ?, input = ?, overlap = ?, catch_up = ?,
        from_config = ?, \`cursor\` = ?, next_at = ?, waits_until = ?, zone_data = ?, version = version + 1
        where id = ?`,
      [
        row.job,
        row.trigger,
        row.triggerId,
        row.input,
        row.overlap,
        row.catchUp,
        bit(row.fromConfig),
        row.cursor,
        row.nextAt,
        row.waitsUntil,
        row.zoneData,
        row.id,
      ],
    )),
  remove: async (ids) => void (await queryable.change("delete from schedules where id in (?)", [ids])),
  pause: async (id, { pausedAt, pausedNote, resumedAt }) =>
    void (await queryable.change(
      `update schedules set paused_at = ?, paused_note = ?, resumed_at = coalesce(?, resumed_at),
        version = version + 1 where id = ?`,
      [pausedAt, pausedNote, resumedAt, id],
    )),
  takeTrigger: async (text, now) =>
    (
      await queryable.change(
        `insert into triggers (digest, text, used_at) values (?, ?, ?)
          on duplicate key update id = last_insert_id(triggers.id), used_at = greatest(used_at, values(used_at))`,
        [createHash("sha256").update(text).digest("hex"), text, now],
      )
    ).id,
  leaveTriggers: async (ids, now) => {
    const left = await queryable.read("select distinct trigger_id as id from schedules where id in (?)", [
      ids,
    ])
    if (left.length > 0)
      await queryable.change("update triggers set used_at = greatest(used_at, ?) where id in (?)", [
        now,
        left.map((row) => row["id"] as number),
      ])
  },
  move: (fires) => moveSchedules(queryable, fires),
  decide: async (rows) => {
    const triggers = new Map<unknown, number>()
    const ids = [...new Set(rows.map(({ scheduleId }) => scheduleId))]
    for (const row of await queryable.read("select id, trigger_id from schedules where id in (?)", [ids]))
      triggers.set(row["id"], row["trigger_id"] as number)
    const fresh: Array<Decision> = []
    for (const some of pieces(rows)) {
      const pairs = some.map(({ scheduleId, at }): ReadonlyArray<Value> => [scheduleId, at])
      const there = new Set(
        (
          await queryable.read("select schedule_id, at from occurrences where (schedule_id, at) in (?)", [
            pairs,
          ])
        ).map((row) => `${row["at"]} ${row["schedule_id"]}`),
      )
      fresh.push(...some.filter(({ scheduleId, at }) => !there.has(`${at} ${scheduleId}`)))
    }
    await insertDecisions(queryable, fresh, (id) => triggers.get(id) ?? null)
    return fresh.length
  },
  decided: async (scheduleId, at) => {
    const [row] = await queryable.read(
      "select seq, count, last_at, run_id from occurrences where schedule_id = ? and at = ?",
      [scheduleId, at],
    )
    if (row === undefined) return undefined
    return {
      seq: row["seq"] as number,
      count: row["count"] as number,
      lastAt: row["last_at"] as number,
      runId: row["run_id"] as string | null,
    }
  },
  fill: async (seq, runId, decidedAt) =>
    void (await queryable.change(
      "update occurrences set run_id = ?, reason = null, last_at = at, decided_at = ? where seq = ?",
      [runId, decidedAt, seq],
    )),
  countOut: async (scheduleId, at) => {
    // The row of several instants that holds this one is the last that begins at or before it.
    const [row] = await queryable.read(
      `select seq, last_at from occurrences force index (occurrences_schedule)
        where schedule_id = ? and at <= ? and count > 1 order by at desc limit 1`,
      [scheduleId, at],
    )
    if (row !== undefined && (row["last_at"] as number) >= at)
      await queryable.change(
        "update occurrences set count = count - 1, at = case when at = ? then at + 1 else at end where seq = ?",
        [at, row["seq"] as number],
      )
  },
  forgetOccurrences: async (before, limit) => {
    // No instant is decided before it comes, so the index on instants leads to all that were decided long ago.
    const rows = await queryable.read(
      `select o.seq from occurrences as o force index (occurrences_at) where o.at < ? and o.decided_at < ?
        and (o.run_id is null or not exists (select 1 from runs as r where r.id = o.run_id))
        order by o.at limit ?`,
      [before, before, limit],
    )
    let forgotten = 0
    for (const some of pieces(rows, 1000))
      forgotten += (
        await queryable.change("delete from occurrences where seq in (?) and decided_at < ?", [
          some.map((row) => row["seq"] as number),
          before,
        ])
      ).count
    return forgotten
  },
  forgetTriggers: async (before) => {
    const left = await queryable.read(
      `select t.id from triggers as t force index (triggers_used) where t.used_at < ?
        and not exists (select 1 from schedules as s where s.trigger_id = t.id) limit 1000`,
      [before],
    )
    if (left.length === 0) return
    const ids = left.map((row) => row["id"] as number)
    // Rows that it named were decided before it was left, so those that are left of them have runs that are there.
    const named = new Set(
      (
        await queryable.read(
          "select distinct trigger_id as id from occurrences force index (occurrences_at) where at < ? and trigger_id in (?)",
          [before, ids],
        )
      ).map((row) => row["id"]),
    )
    const free = ids.filter((id) => !named.has(id))
    if (free.length > 0)
      await queryable.change("delete from triggers where id in (?) and used_at < ?", [free, before])
  },
})

/** Moves schedules that have the version of their step; answers how many had. */
export const moveSchedules = (queryable: Queryable, fires: ReadonlyArray<Fire>): Promise<number> =>
  withRows(
    queryable,
    ["id", "version", "place", "next_at", "waits_until", "runs", "last_run_id", "zone_data"],
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
    (given) => `update ${given} straight_join schedules as s on s.id = given.id and s.version = given.version
      set s.version = s.version + 1, s.\`cursor\` = given.place, s.next_at = given.next_at,
        s.waits_until = given.waits_until, s.run_count = s.run_count + given.runs,
        s.last_run_id = coalesce(given.last_run_id, s.last_run_id), s.zone_data = given.zone_data`,
  )

/** Writes rows of the ledger; fails with a duplicate key when an instant was decided. */
export const insertDecisions = (
  queryable: Queryable,
  rows: ReadonlyArray<Decision>,
  triggerOf: (scheduleId: string) => number | null,
): Promise<void> =>
  insertRows(
    queryable,
    `insert into occurrences (schedule_id, at, last_at, count, run_id, reason, decided_at, nominal_at, zone_data,
      trigger_id) values ?`,
    rows.map((row) => [
      row.scheduleId,
      row.at,
      row.lastAt,
      row.count,
      row.runId,
      row.reason,
      row.decidedAt,
      row.nominalAt,
      row.zoneData,
      triggerOf(row.scheduleId),
    ]),
  )

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
