// The most frequent settlement by far, at half the cost of the others: success of runs that stand for themselves, each
// closed by itself. What cannot be closed here (it is linked to others, or not held any more) is left as it is.
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { batch, clock, prepare, sql } from "./Statement.ts"

/** A success. */
export type Success = Extract<Settlement, { kind: "succeeded" }>

/** Makes it. */
export const makeSettleSucceeded = (tables: Tables) => {
  const { live, ended, keys, runCounts } = tables
  const given = batch({ id: "text", token: "bigint", output: "text" })
  // No lock before the delete: each row is judged alone, and again when somebody else changed it meanwhile. Its ids are
  // an array, so that they are found one by one in the index and in its order, whatever the table was like when the plan
  // was made; and their tokens are looked up ("is true"): joined, each row would be compared with each.
  const close = prepare(sql`with clock as materialized (select ${clock} as now),
    done as materialized (select id, token, output from ${given.given}),
    gone as (delete from ${live}
      where id = any(array(select id from done)) and state = 'running' and linked = 0
        and ((id, token) in (select id, token from done)) is true
      returning id, job, due_at, attempt, losses, token, started_at, start_acknowledged, waiting_for, keyed),
    closed as (insert into ${ended} (id, state, due_at, attempt, losses, token, settled_token, started_at,
        start_acknowledged, waiting_for, ended_at, output)
      select gone.id, 'succeeded', due_at, attempt, losses, gone.token, gone.token, started_at, start_acknowledged,
        waiting_for, (select now from clock), output
      from gone join done on done.id = gone.id),
    freed as (delete from ${keys} where run_id = any(array(select id from gone where keyed = 1))),
    counted as (insert into ${runCounts} (job, state, count)
      select job, state, sum(by) from (select job, 'running' as state, -1 as by from gone
        union all select job, 'succeeded', 1 from gone) as change group by job, state)
    select id from gone`)

  /** Closes those that it can; answers for these. Each may be there once. */
  return async (
    queryable: Queryable,
    successes: ReadonlyArray<Success>,
    now: number | null,
  ): Promise<ReadonlyMap<string, Settled>> => {
    const rows = await close(queryable, {
      ...given.values(successes.map(({ id, token, output }) => ({ id, token, output }))),
      now,
    })
    return new Map(
      rows.map(({ id }) => [
        id as string,
        { id: id as string, result: "settled", state: "succeeded", dueAt: null },
      ]),
    )
  }
}
