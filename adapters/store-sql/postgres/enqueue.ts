// Enqueue: new runs that need nothing, a batch in one statement, idempotent by id and by key. Runs that need others go
// the general way.
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import type { Queryable, Row } from "./Connection.ts"
import { counting, newRunValues, storing } from "./newRuns.ts"
import type { Tables } from "./schema.ts"
import { at, batch, literal, prepare, sql } from "./Statement.ts"
import { runsOf } from "./runRows.ts"

// A key may be freed, and taken again, between two looks at it.
const tryMax = 5

/** Makes the hot part of enqueue. */
export const makeEnqueue = (tables: Tables) => {
  const { live, keys } = tables
  const store = prepare(
    sql`with ${storing(tables, sql`true`, true)}, ${counting(tables)} select id, state, due_at from placed`,
  )
  const byId = prepare(sql`select run.id, run.state, run.due_at from ${runsOf(tables, at("ids", "text[]"))}`)
  const wanted = batch({ job: "text", key: "text" })
  const byKey = prepare(
    sql`select given.place, k.run_id as id, l.state, l.due_at from ${wanted.given}
      cross join lateral (select * from ${keys} as k where k.job = given.job and k.key = given.key limit 1) as k
      left join lateral (select * from ${live} as l where l.id = k.run_id limit 1) as l on true`,
  )
  // Left behind when one id was enqueued twice at a time with different keys.
  const free = prepare(
    sql`delete from ${keys} as k where run_id = any(${at("ids", "text[]")})
      and not exists (select 1 from ${live} as l where l.id = k.run_id)`,
  )

  const enqueuedOf = (row: Row, result: Enqueued["result"]): Enqueued => ({
    id: row["id"] as string,
    result,
    state: row["state"] as Enqueued["state"],
    dueAt: row["due_at"] as number,
  })

  /** Stores runs that need nothing; what was there already is answered as it stands. */
  return async (
    queryable: Queryable,
    runs: ReadonlyArray<NewRun>,
    now: number | null,
  ): Promise<ReadonlyArray<Enqueued>> => {
    const answers = new Map<NewRun, Enqueued>()
    let open = runs
    for (let attempt = 1; open.length > 0; attempt++) {
      if (attempt > tryMax)
        throw new Error(`The key of run "${open[0]?.id}" was taken and freed ${tryMax} times`)
      const once = new Map(open.map((run) => [run.id, run]))
      // Of runs with one id the first counts.
      for (const run of open.toReversed()) once.set(run.id, run)
      const created = new Map(
        (await store(queryable, newRunValues([...once.values()], now))).map((row) => [row["id"], row]),
      )
      for (const [id, run] of once) {
        const row = created.get(id)
        if (row !== undefined) answers.set(run, enqueuedOf(row, "created"))
      }
      open = open.filter((run) => !answers.has(run))
      if (open.length === 0) break
      const same = new Map(
        (await byId(queryable, { ids: literal(open.map(({ id }) => id)) })).map((row) => [row["id"], row]),
      )
      const keyed = open.filter(({ id, key }) => !same.has(id) && key !== null)
      const holders =
        keyed.length === 0
          ? []
          : await byKey(queryable, wanted.values(keyed.map(({ job, key }) => ({ job, key }))))
      const stale = holders.filter((row) => row["state"] === null)
      if (stale.length > 0) await free(queryable, { ids: literal(stale.map((row) => row["id"] as string)) })
      const byRun = new Map(holders.map((row) => [keyed[(row["place"] as number) - 1], row]))
      for (const run of open) {
        const holder = byRun.get(run)
        const row = same.get(run.id) ?? (holder?.["state"] == null ? undefined : holder)
        if (row !== undefined) answers.set(run, enqueuedOf(row, "exists"))
      }
      open = open.filter((run) => !answers.has(run))
    }
    return runs.map((run) => answers.get(run) as Enqueued)
  }
}
