// Counts of runs are only ever added to, so that nodes do not wait for one another; this makes few rows of many.
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { prepare, sql } from "./Statement.ts"

// After how many writes of one store its rows are looked at, and how many rows of one job and state are let be.
const writesBetween = 256
const rowsMax = 8

/** Makes what is to be called after each write that counts; it never fails and nobody waits for it. */
export const makeFolding = (queryable: Queryable, { runCounts }: Tables): (() => void) => {
  // One at a time: whoever else folds has seen the same rows.
  const fold = prepare(sql`with mine as materialized (select pg_try_advisory_xact_lock(72433921, 0) as held),
    crowded as materialized (select ctid from (select ctid, count(*) over (partition by job, state) as rows from ${runCounts}
      where (select held from mine)) as counted where rows > ${sql.raw(String(rowsMax))}),
    gone as (delete from ${runCounts} where ctid = any(array(select ctid from crowded)) returning job, state, count)
    insert into ${runCounts} (job, state, count) select job, state, sum(count) from gone group by job, state`)
  let writes = 0
  return () => {
    if (++writes % writesBetween === 0) fold(queryable).catch(() => {})
  }
}
