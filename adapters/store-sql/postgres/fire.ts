// Steps of schedules that are alike: the decisions about their instants, their runs and their cursors, all of a minute in
// one statement. A step whose schedule has moved on meanwhile is left out, with all that is its.
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import type { Queryable } from "./Connection.ts"
import { counting, newRunValues, storing } from "./newRuns.ts"
import type { Tables } from "./schema.ts"
import { batch, prepare, sql } from "./Statement.ts"

/** The columns of a step, and those of a decision. */
export const moves = batch(
  {
    id: "text",
    version: "bigint",
    cursor: "bigint",
    next_at: "bigint",
    waits_until: "bigint",
    run_count: "bigint",
    last_run_id: "text",
    zone_data: "text",
  },
  "move.",
)
export const decisions = batch(
  {
    schedule_id: "text",
    at: "bigint",
    last_at: "bigint",
    count: "bigint",
    run_id: "text",
    reason: "text",
    nominal_at: "bigint",
    zone_data: "text",
    decided_at: "bigint",
  },
  "decision.",
)

/** The row of a step. */
export const moveRow = (fire: Fire) => ({
  id: fire.scheduleId,
  version: fire.version,
  cursor: fire.cursor,
  next_at: fire.nextAt,
  waits_until: fire.waitsUntil,
  run_count: fire.occurrences.filter(({ runId }) => runId !== null).length,
  last_run_id: fire.lastRunId,
  zone_data: fire.zoneData,
})

/** The row of a decision; `decidedAt` is `null` where the statement says it. */
export const decisionRow = (
  row: Fire["occurrences"][number],
  scheduleId: string,
  zoneData: string | null,
  decidedAt: number | null,
) => ({
  schedule_id: scheduleId,
  at: row.at,
  last_at: row.lastAt,
  count: row.count,
  run_id: row.runId,
  reason: row.reason,
  nominal_at: row.nominalAt,
  zone_data: zoneData,
  decided_at: decidedAt,
})

/** Whether a step needs no look at anything but its schedule's version. */
export const isPlain = ({ cancelRunId, runs, occurrences }: Fire): boolean =>
  cancelRunId === null &&
  runs.every(({ needs, key }) => needs.length === 0 && key === null) &&
  new Set(occurrences.map(({ at }) => at)).size === occurrences.length

/** Makes the hot part of fire. It fails as a whole, with a duplicate key, when an instant or a run is there already. */
export const makeFire = (tables: Tables) => {
  const { schedules, occurrences } = tables
  const fire = prepare(sql`with step as materialized (select given.* from ${moves.given}),
    held as materialized (select s.id from (select * from step order by id) as step cross join lateral (
        select * from ${schedules} as row where row.id = step.id limit 1 for update) as s
      where s.version = step.version),
    advanced as (update ${schedules} as s set version = s.version + 1, cursor = step.cursor, next_at = step.next_at,
        waits_until = step.waits_until, run_count = s.run_count + step.run_count,
        last_run_id = coalesce(step.last_run_id, s.last_run_id), zone_data = step.zone_data
      from step where s.id = step.id and s.id = any(array(select id from held)) returning s.id, s.trigger_id),
    ${storing(tables, sql`owner in (select id from held)`)}, ${counting(tables)},
    decided as (insert into ${occurrences} (schedule_id, at, last_at, count, run_id, reason, decided_at, nominal_at,
        zone_data, trigger_id)
      select given.schedule_id, given.at, given.last_at, given.count, given.run_id, given.reason, (select now from clock),
        given.nominal_at, given.zone_data, advanced.trigger_id
      from ${decisions.given} join advanced on advanced.id = given.schedule_id order by given.place)
    select id from advanced`)

  /** Takes steps of different schedules, all of them plain. */
  return async (
    queryable: Queryable,
    fires: ReadonlyArray<Fire>,
    now: number | null,
  ): Promise<ReadonlyArray<"fired" | "conflict">> => {
    const owners = new Map(fires.flatMap(({ scheduleId, runs }) => runs.map((run) => [run, scheduleId])))
    const rows = await fire(queryable, {
      ...moves.values(fires.map(moveRow)),
      ...newRunValues([...owners.keys()], now, (run) => owners.get(run) ?? null),
      ...decisions.values(
        fires.flatMap(({ scheduleId, zoneData, occurrences }) =>
          occurrences.map((each) => decisionRow(each, scheduleId, zoneData, null)),
        ),
      ),
    })
    const fired = new Set(rows.map((row) => row["id"]))
    return fires.map(({ scheduleId }) => (fired.has(scheduleId) ? "fired" : "conflict"))
  }
}
