// Settle: what became of attempts at runs that stand for themselves, a batch in one statement. The statement looks first,
// with the rows in hand, whether one of them is linked to others; then it does nothing, and the batch goes the
// general way, in one transaction. A batch of successes tries what is cheaper first (`settleSucceeded.ts`).
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import type { RunState } from "../../../core/domain/Run.ts"
import type { Parameter, Queryable } from "./Connection.ts"
import { runsOf } from "./runRows.ts"
import type { Tables } from "./schema.ts"
import { makeSettleSucceeded, type Success } from "./settleSucceeded.ts"
import { at, batch, clock, literal, prepare, sql } from "./Statement.ts"

/** A settlement that moves only its own run. */
export type Plain = Exclude<Settlement, { kind: "expanded" }>

/** Whether its kind says all of it; a loss is rare, and what becomes of the run depends on how many there were. */
export const isPlain = (settlement: Settlement): settlement is Plain =>
  settlement.kind === "released" ? settlement.loss !== true : settlement.kind !== "expanded"

const columns = {
  id: "text",
  token: "bigint",
  kind: "text",
  output: "text",
  failure: "text",
  reason: "text",
  delay: "bigint",
} as const

const rowOf = (settlement: Plain): Record<keyof typeof columns, Parameter> => {
  const { id, token, kind } = settlement
  const none = { id, token, kind, output: null, failure: null, reason: null, delay: null }
  switch (settlement.kind) {
    case "succeeded":
      return { ...none, output: settlement.output }
    case "failed":
      return { ...none, failure: JSON.stringify(settlement.error), delay: settlement.retryInMillis }
    case "declined":
      return { ...none, reason: settlement.reason }
    case "snoozed":
      return { ...none, delay: settlement.delayMillis }
    case "released":
      return none
  }
}

/** Makes the hot part of settle. */
export const makeSettle = (tables: Tables) => {
  const { live, ended, keys, attempts, deadLetters, runCounts } = tables
  const given = batch(columns)
  const settle = prepare(sql`with clock as materialized (select ${clock} as now),
    held as materialized (
      select l.*, given.kind, given.output, given.failure, given.reason, given.delay, clock.now
      from clock, (select * from ${given.given} order by id) as given cross join lateral (
        select * from ${live} as l where l.id = given.id limit 1 for update) as l
      where l.state = 'running' and l.token = given.token),
    alone as materialized (select not exists (select 1 from held where linked = 1) as all_of_them),
    done as materialized (
      select *, case kind when 'succeeded' then 'succeeded' when 'declined' then 'skipped' when 'snoozed' then 'scheduled'
          when 'released' then 'ready' when 'failed' then
            case when delay is null or attempt >= attempt_max then 'dead' else 'retrying' end end as after
      from held where (select all_of_them from alone)),
    left_over as (delete from ${live}
      where id = any(array(select id from done where after in ('succeeded', 'skipped', 'dead')))),
    closed as (insert into ${ended} (id, state, due_at, attempt, losses, token, settled_token, started_at,
        start_acknowledged, waiting_for, ended_at, reason, error, output)
      select id, after, due_at, attempt, losses, token, token, started_at, start_acknowledged, waiting_for, now, reason,
        failure, output
      from done where after in ('succeeded', 'skipped', 'dead')),
    moved as (update ${live} as l set state = done.after, node = null, settled_token = done.token,
        attempt = case when done.kind = 'failed' then l.attempt else l.attempt - 1 end,
        due_at = case when done.kind = 'released' then l.due_at else done.now + done.delay end,
        error = coalesce(done.failure, l.error)
      from done where l.id = done.id
        and l.id = any(array(select id from done where after in ('scheduled', 'ready', 'retrying')))),
    freed as (delete from ${keys} where run_id = any(array(
      select id from done where keyed = 1 and after in ('succeeded', 'skipped', 'dead')))),
    tried as (insert into ${attempts} (run_id, attempt, token, node, started_at, ended_at, error)
      select id, attempt, token, node, started_at, now, failure from done where kind = 'failed'),
    mourned as (insert into ${deadLetters} (run_id, job, died_at, attempt, error)
      select id, job, now, attempt, failure from done where after = 'dead'),
    counted as (insert into ${runCounts} (job, state, count)
      select job, state, sum(by) from (select job, 'running' as state, -1 as by from done
        union all select job, after, 1 from done) as change group by job, state)
    select alone.all_of_them::int as alone, done.id, done.after,
      case when done.after in ('succeeded', 'skipped', 'dead') then null
        when done.kind = 'released' then done.due_at else done.now + done.delay end as due_at
    from alone left join done on true`)
  const lookUp = prepare(
    sql`select run.id, run.state, run.due_at, run.token, run.settled_token from ${runsOf(tables, at("ids", "text[]"))}`,
  )

  const succeed = makeSettleSucceeded(tables)
  // Where runs are linked to others it would be a statement for nothing, so what the last batch was like decides.
  let triesSuccess = true

  /**
   * Settles runs that stand for themselves, each at most once; `null` when one does not, and then only successes may have
   * been settled, which may be settled again.
   */
  return async (
    queryable: Queryable,
    settlements: ReadonlyArray<Plain>,
    now: number | null,
  ): Promise<ReadonlyArray<Settled> | null> => {
    const done = new Map<string, Settled>()
    if (settlements.every(isSuccess)) {
      if (triesSuccess)
        for (const [id, settled] of await succeed(queryable, settlements, now)) done.set(id, settled)
      triesSuccess = true
    }
    const open = settlements.filter(({ id }) => !done.has(id))
    if (open.length > 0) {
      const rows = await settle(queryable, { ...given.values(open.map(rowOf)), now })
      if (rows[0]?.["alone"] === 0) {
        triesSuccess = false
        return null
      }
      for (const row of rows) {
        if (row["id"] === null) continue
        const id = row["id"] as string
        const [state, dueAt] = [row["after"] as RunState, row["due_at"] as number | null]
        done.set(id, { id, result: "settled", state, dueAt })
      }
    }
    const others = settlements.filter(({ id }) => !done.has(id))
    if (others.length > 0) {
      const found = new Map(
        (await lookUp(queryable, { ids: literal(others.map(({ id }) => id)) })).map((row) => [
          row["id"],
          row,
        ]),
      )
      for (const { id, token } of others) {
        const row = found.get(id)
        const state = (row?.["state"] ?? null) as RunState | null
        const waits = state === "scheduled" || state === "ready" || state === "retrying"
        // The answer to the first writing may have been lost: the same token gets what became of it.
        const repeated =
          token > 0 && row?.["settled_token"] === token && row["token"] === token && state !== "running"
        done.set(id, {
          id,
          result: repeated ? "settled" : "stale",
          state,
          dueAt: waits ? (row?.["due_at"] as number) : null,
        })
      }
    }
    return settlements.map(({ id }) => done.get(id) as Settled)
  }
}

const isSuccess = (settlement: Plain): settlement is Success => settlement.kind === "succeeded"
