// What can go: runs that have ended long ago and that nothing holds.
import type { Prunable, RunState } from "uhrwerk/sql"
import type { Queryable } from "./Connection.ts"

/** Runs that can be removed, locked; the oldest first. */
export const prunable = async (
  queryable: Queryable,
  before: number,
  limit: number,
): Promise<ReadonlyArray<Prunable>> => {
  const rows = await queryable.read(
    `select e.id, r.job, e.state, (select x.id from expansions as x where x.run_id = e.id) as expansion_id
      from ended as e force index (ended_at) straight_join runs as r on r.id = e.id
      where e.ended_at < ?
        and not exists (select 1 from dead_letters as d where d.run_id = e.id and d.replayed_by is null)
        and not exists (select 1 from schedules as s where s.id = r.schedule_id and s.last_run_id = e.id)
        and not exists (select 1 from dependents as d where d.need_id = e.id)
        and (r.parent_id is null or not exists (select 1 from expansions as x where x.run_id = r.parent_id)
          and not exists (select 1 from steps as s where s.run_id = e.id and s.kept = 1))
      order by e.ended_at limit ?`,
    [before, limit],
  )
  if (rows.length === 0) return []
  // Two who prune at a time share the work.
  const held = new Set(
    (
      await queryable.read(
        "select id from ended force index (primary) where id in (?) order by id for update skip locked",
        [rows.map((row) => row["id"] as string)],
      )
    ).map((row) => row["id"]),
  )
  return rows
    .filter((row) => held.has(row["id"] as string))
    .map((row) => ({
      id: row["id"] as string,
      job: row["job"] as string,
      state: row["state"] as RunState,
      expansionId: row["expansion_id"] as number | null,
    }))
}

/** Removes runs with their attempts and letters. */
export const forget = async (queryable: Queryable, ids: ReadonlyArray<string>): Promise<void> => {
  await queryable.change("delete r from runs as r force index (primary) where r.id in (?)", [ids])
  await queryable.change("delete a from attempts as a force index (attempts_run) where a.run_id in (?)", [
    ids,
  ])
  await queryable.change("delete d from dead_letters as d force index (primary) where d.run_id in (?)", [ids])
  await queryable.change("delete e from ended as e force index (primary) where e.id in (?)", [ids])
}
