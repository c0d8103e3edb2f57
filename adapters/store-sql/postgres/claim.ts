// Claim, promote and start: one statement each. A claim makes due runs ready and takes what it wants in the same
// statement; what other nodes have in hand is passed over, so that claimers do not wait for one another.
import type { Run } from "../../../core/domain/Run.ts"
import type { Claim, Held } from "../../../core/ports/StoreDriver.ts"
import { decodeRun } from "../rows.ts"
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, batch, clock, literal, prepare, type SQL, sql } from "./Statement.ts"

// How many due runs one claim makes ready.
const promoteMax = 1000

/** What the hot statement did, unless something must be mended first that only the general way can: then nothing. */
export type Hot<A> = { readonly mend: true } | { readonly mend: false; readonly value: A }

/** Makes the hot part of claim, promote and started. */
export const makeClaim = (tables: Tables) => {
  const { live, runs, runCounts, expansions, nodes } = tables
  const now = sql`(select now from clock)`
  // Whether a run must expire, or a flow run is over its deadline: what hangs on it must move before anything starts.
  const mend = sql`mend as materialized (select exists (select 1 from ${live}
      where expires_at <= ${now} and expires_at is not null and state in ('scheduled', 'ready', 'retrying'))
    or exists (select 1 from ${expansions} where deadline_at <= ${now} and deadline_at is not null) as needed)`
  const isCalm = sql`not (select needed from mend)`
  const due = (limit: SQL) => sql`due as materialized (
    select id, job, queue, state, priority, due_at, attempt, attempt_max from ${live}
    where state in ('scheduled', 'retrying') and due_at <= ${now} and ${isCalm}
    order by due_at limit ${limit} for update skip locked)`

  // A node whose lease has ended takes nothing: its claim may have been on its way for long.
  const holdsLease = sql`(select holds from lease)`
  const take = prepare(sql`with clock as materialized (select ${clock} as now), ${mend},
    lease as materialized (select exists (select 1 from ${nodes}
      where id = ${at("node", "text")} and expires_at > ${now}) as holds),
    ${due(sql.raw(String(promoteMax)))},
    ready as materialized (
      select first.* from unnest(${at("queues", "text[]")}) as lane(name), lateral (
        select id, job, state, priority, due_at from ${live}
        where state = 'ready' and queue = lane.name and due_at <= ${now} and attempt < attempt_max
          and job = any(${at("jobs", "text[]")}) and ${isCalm} and ${holdsLease}
        order by priority desc, due_at, id limit ${at("limit", "integer")} for update skip locked) as first),
    chosen as materialized (
      select id, job, state from (select * from ready
        union all select id, job, state, priority, due_at from due where queue = any(${at("queues", "text[]")})
          and job = any(${at("jobs", "text[]")}) and attempt < attempt_max and ${holdsLease}) as candidate
      order by priority desc, due_at, id limit ${at("limit", "integer")}),
    others as materialized (select id, job, state from due where id not in (select id from chosen)),
    moved as (update ${live} set state = 'ready' where id = any(array(select id from others))),
    taken as (update ${live} as l set state = 'running', node = ${at("node", "text")}, token = l.token + 1,
        attempt = l.attempt + 1, started_at = ${now},
        start_acknowledged = case when l.job = any(${at("expanding", "text[]")}) then 0
          else ${at("acknowledged", "smallint")} end
      where l.id = any(array(select id from chosen)) returning l.*),
    counted as (insert into ${runCounts} (job, state, count)
      select job, state, sum(by) from (select job, state, -1 as by from others
        union all select job, 'ready', 1 from others
        union all select job, state, -1 from chosen
        union all select job, 'running', 1 from chosen) as change group by job, state)
    select mend.needed::int as mend, run.* from mend left join (
      select t.id, t.job, t.queue, t.state, t.priority, t.due_at, r.created_at, t.attempt, t.attempt_max, t.losses, t.token,
        t.node, t.waiting_for, t.started_at, t.start_acknowledged, null::bigint as ended_at, r.key, r.expires_at,
        r.schedule_id, r.nominal_at, r.chain_id, r.needs, r.replay_of, null::text as reason, t.error, r.input,
        null::text as output, r.parent_id, r.step
      from taken as t cross join lateral (select * from ${runs} as asked where asked.id = t.id limit 1) as r
    ) as run on true order by run.priority desc, run.due_at, run.id`)

  const promote =
    prepare(sql`with clock as materialized (select ${clock} as now), ${mend}, ${due(at("limit", "integer"))},
    moved as (update ${live} set state = 'ready' where id = any(array(select id from due))),
    counted as (insert into ${runCounts} (job, state, count)
      select job, state, sum(by) from (select job, state, -1 as by from due
        union all select job, 'ready', 1 from due) as change group by job, state)
    select needed::int as mend, (select count(*) from due) as count from mend`)

  const held = batch({ id: "text", token: "bigint" })
  const start = prepare(sql`with held as materialized (
      select given.id, given.token, l.start_acknowledged
      from (select * from ${held.given} order by id) as given cross join lateral (
        select * from ${live} as l where l.id = given.id limit 1 for update) as l
      where l.state = 'running' and l.token = given.token),
    written as (update ${live} set start_acknowledged = 1
      where id = any(array(select id from held where start_acknowledged = 0)))
    select id, token from held`)

  return {
    claim: async (queryable: Queryable, wish: Claim, at: number | null): Promise<Hot<ReadonlyArray<Run>>> => {
      const rows = await take(queryable, {
        now: at,
        queues: literal([...new Set(wish.queues)]),
        jobs: literal(wish.jobs),
        expanding: literal(wish.expanding ?? []),
        limit: wish.limit,
        node: wish.node,
        acknowledged: wish.acknowledged ? 1 : 0,
      })
      if (rows[0]?.["mend"] === 1) return { mend: true }
      return { mend: false, value: rows.flatMap((row) => (row["id"] === null ? [] : [decodeRun(row)])) }
    },
    promote: async (queryable: Queryable, limit: number, at: number | null): Promise<Hot<number>> => {
      const [row] = await promote(queryable, { now: at, limit })
      return row?.["mend"] === 1 ? { mend: true } : { mend: false, value: Number(row?.["count"]) }
    },
    started: async (queryable: Queryable, runs: ReadonlyArray<Held>): Promise<ReadonlyArray<boolean>> => {
      const rows = await start(queryable, held.values(runs.map(({ id, token }) => ({ id, token }))))
      const holding = new Map(rows.map((row) => [row["id"], row["token"]]))
      return runs.map(({ id, token }) => holding.get(id) === token)
    },
  }
}
