// The statements of `RunTable.ts`, compiled once for a store.
import type { Run } from "../../../core/domain/Run.ts"
import type { RunRow } from "../Tables.ts"
import type { Parameter } from "./Connection.ts"
import { storing } from "./newRuns.ts"
import { runColumns, runsOf } from "./runRows.ts"
import type { Tables } from "./schema.ts"
import { at, batch, clock, prepare, sql, type Values } from "./Statement.ts"

export const dependentRows = batch({ need_id: "text", run_id: "text" })
export const attemptRows = batch({
  run_id: "text",
  attempt: "integer",
  token: "bigint",
  node: "text",
  started_at: "bigint",
  ended_at: "bigint",
  error: "text",
})
export const letterRows = batch({
  run_id: "text",
  job: "text",
  died_at: "bigint",
  attempt: "integer",
  error: "text",
})
export const countRows = batch({ job: "text", state: "text", count: "bigint" })

// What changes of a run.
const changing = {
  id: "text",
  state: "text",
  due_at: "bigint",
  attempt: "integer",
  losses: "integer",
  token: "bigint",
  settled_token: "bigint",
  node: "text",
  started_at: "bigint",
  start_acknowledged: "smallint",
  waiting_for: "integer",
  ended_at: "bigint",
  reason: "text",
  error: "text",
  output: "text",
} as const

const changedRows = batch(changing)

const changedRow = ({ run, settledToken }: RunRow): Record<keyof typeof changing, Parameter> => ({
  id: run.id,
  state: run.state,
  due_at: run.dueAt,
  attempt: run.attempt,
  losses: run.losses,
  token: run.token,
  settled_token: settledToken,
  node: run.node,
  started_at: run.startedAt,
  start_acknowledged: run.startAcknowledged ? 1 : 0,
  waiting_for: run.waitingFor,
  ended_at: run.endedAt,
  reason: run.reason,
  error: run.error === null ? null : JSON.stringify(run.error),
  output: run.output,
})

/** The values of `update`. */
export const updateValues = (rows: ReadonlyArray<RunRow>): Values => changedRows.values(rows.map(changedRow))

/** The values of `insert`: a run that has not ended. */
export const insertValues = (run: Run): Values => ({
  id: run.id,
  job: run.job,
  queue: run.queue,
  priority: run.priority,
  dueAt: run.dueAt,
  createdAt: run.createdAt,
  attemptMax: run.attemptMax,
  key: run.key,
  expiresAt: run.expiresAt,
  scheduleId: run.scheduleId,
  nominalAt: run.nominalAt,
  chainId: run.chainId,
  needs: run.needs.length === 0 ? null : JSON.stringify(run.needs),
  replayOf: run.replayOf,
  parentId: run.parentId,
  step: run.step,
  input: run.input,
  state: run.state,
  attempt: run.attempt,
  startedAt: run.startedAt,
  waitingFor: run.waitingFor,
  linked: run.needs.length > 0 || run.parentId !== null ? 1 : 0,
})

/** The statements of a store. */
export type RunStatements = ReturnType<typeof compileRuns>

/** Compiles them. */
export const compileRuns = (tables: Tables) => {
  const { runs, live, ended, keys, dependents, attempts, deadLetters, runCounts } = tables
  const { expansions, schedules, steps, nodes } = tables
  const ids = at("ids", "text[]")
  const id = at("id", "text")
  const now = at("now", "bigint")
  const limit = at("limit", "integer")
  return {
    // Few enough keys that all of them together fit into the server's table of locks, many enough that chains seldom meet.
    lock: prepare(sql`select count(held.lock) as chains, ${clock} as now from (
      select pg_advisory_xact_lock(72433920, key) as lock from (
        select distinct hashtext(coalesce(r.chain_id, r.id)) & 255 as key from ${runs} as r where r.id = any(${ids})
        order by key offset 0) as chain offset 0) as held`),
    find: prepare(sql`select ${runColumns} from (select wanted.id from unnest(${ids}) as wanted(id) order by id) as wanted
      cross join lateral (select * from ${runs} as asked where asked.id = wanted.id limit 1) as r
      left join lateral (select * from ${live} as row where row.id = wanted.id limit 1 for update) as l on true
      left join lateral (select * from ${ended} as row where row.id = wanted.id limit 1) as e on true`),
    read: prepare(sql`select run.* from ${runsOf(tables, ids)}`),
    insert: prepare(sql`with taken as (insert into ${keys} (job, key, run_id)
        select ${at("job", "text")}, ${at("key", "text")}, ${id} where ${at("key", "text")} is not null
          and (select r.id from ${runs} as r where r.id = ${id} limit 1) is null
        on conflict do nothing returning run_id),
      stored as (insert into ${runs} (id, job, queue, priority, due_at, created_at, attempt_max, key, expires_at,
          schedule_id, nominal_at, chain_id, needs, replay_of, parent_id, step, input)
        select ${id}, ${at("job", "text")}, ${at("queue", "text")}, ${at("priority", "integer")}, ${at("dueAt", "bigint")},
          ${at("createdAt", "bigint")}, ${at("attemptMax", "integer")}, ${at("key", "text")}, ${at("expiresAt", "bigint")},
          ${at("scheduleId", "text")}, ${at("nominalAt", "bigint")}, ${at("chainId", "text")}, ${at("needs", "text")},
          ${at("replayOf", "text")}, ${at("parentId", "text")}, ${at("step", "integer")}, ${at("input", "text")}
        where ${at("key", "text")} is null or exists (select 1 from taken)
        on conflict (id) do nothing returning *)
      insert into ${live} (id, job, queue, state, priority, due_at, expires_at, attempt, attempt_max, losses, token,
          settled_token, started_at, start_acknowledged, waiting_for, linked, keyed)
        select id, job, queue, ${at("state", "text")}, priority, due_at, expires_at, ${at("attempt", "integer")},
          attempt_max, 0, 0, 0, ${at("startedAt", "bigint")}, 0, ${at("waitingFor", "integer")},
          ${at("linked", "smallint")}, case when key is null then 0 else 1 end
        from stored returning id`),
    // Of a run whose id was there: its key, if it was taken for nothing.
    freeKey: prepare(sql`delete from ${keys} where run_id = ${id}
      and not exists (select 1 from ${live} as l where l.id = ${id})`),
    insertNew: prepare(sql`with ${storing(tables, sql`true`, true)} select id from placed`),
    update: prepare(sql`with given as materialized (select given.* from ${changedRows.given}),
      moved as (update ${live} as l set state = given.state, due_at = given.due_at, attempt = given.attempt,
          losses = given.losses, token = given.token, settled_token = given.settled_token, node = given.node,
          started_at = given.started_at, start_acknowledged = given.start_acknowledged,
          waiting_for = given.waiting_for, error = given.error
        from given where l.id = given.id
          and l.id = any(array(select id from given where ended_at is null))),
      gone as (delete from ${live} where id = any(array(select id from given where ended_at is not null))
        returning id, keyed),
      freed as (delete from ${keys} where run_id = any(array(select id from gone where keyed = 1)))
      insert into ${ended} (id, state, due_at, attempt, losses, token, settled_token, started_at, start_acknowledged,
          waiting_for, ended_at, reason, error, output)
        select id, state, due_at, attempt, losses, token, settled_token, started_at, start_acknowledged, waiting_for,
          ended_at, reason, error, output
        from given where ended_at is not null`),
    openOf: prepare(sql`select l.id, l.state, l.due_at from ${keys} as k cross join lateral (
        select * from ${live} as row where row.id = k.run_id limit 1) as l
      where k.job = ${at("job", "text")} and k.key = ${at("key", "text")}`),
    addDependents: prepare(sql`with given as materialized (select given.* from ${dependentRows.given}),
      marked as (update ${live} as l set linked = 1
        where l.linked = 0
          and l.id = any(array(select need_id from given union all select run_id from given)))
      insert into ${dependents} (need_id, run_id) select need_id, run_id from given on conflict do nothing`),
    dependentsOf: prepare(
      sql`select need_id, run_id from ${dependents} where need_id = any(${ids}) order by run_id`,
    ),
    dropDependents: prepare(sql`with given as materialized (select given.* from ${dependentRows.given})
      delete from ${dependents} as d using given where d.need_id = given.need_id and d.run_id = given.run_id
        and d.need_id = any(array(select need_id from given))`),
    addAttempts:
      prepare(sql`insert into ${attempts} (run_id, attempt, token, node, started_at, ended_at, error)
      select run_id, attempt, token, node, started_at, ended_at, error from ${attemptRows.given} order by place`),
    addCounts: prepare(sql`insert into ${runCounts} (job, state, count) select job, state, count
      from ${countRows.given}`),
    addLetters: prepare(sql`insert into ${deadLetters} (run_id, job, died_at, attempt, error)
      select run_id, job, died_at, attempt, error from ${letterRows.given}`),
    letter: prepare(sql`select replayed_by from ${deadLetters} where run_id = ${id} for update`),
    markReplayed: prepare(
      sql`update ${deadLetters} set replayed_by = ${at("newId", "text")} where run_id = ${id}`,
    ),
    dropLetters: prepare(sql`delete from ${deadLetters} where run_id = any(${ids}) returning run_id`),
    overdue: prepare(sql`select id from ${live} where expires_at <= ${now} and expires_at is not null
      and state in ('scheduled', 'ready', 'retrying') order by id limit ${limit}`),
    makeReady: prepare(sql`with due as materialized (select id, job, state from ${live}
        where state in ('scheduled', 'retrying') and due_at <= ${now} order by due_at limit ${limit}
        for update skip locked),
      moved as (update ${live} set state = 'ready' where id = any(array(select id from due)))
      select job, state as before from due`),
    // Locked here: between this look and the next one a run may be taken back by another node, and claimed anew.
    orphans: prepare(sql`select id from ${live} as l where state = 'running' and node <> ${at("self", "text")}
      and not exists (select 1 from ${nodes} as n where n.id = l.node and n.expires_at > ${now})
      order by id limit ${limit} for update skip locked`),
    forgetNodes:
      prepare(sql`delete from ${nodes} as n where expires_at <= ${now} and id <> ${at("self", "text")}
      and not exists (select 1 from ${live} as l where l.state = 'running' and l.node = n.id)`),
    prunable:
      prepare(sql`select e.id, r.job, e.state, (select x.id from ${expansions} as x where x.run_id = e.id)
        as expansion_id
      from ${ended} as e cross join lateral (select * from ${runs} as asked where asked.id = e.id limit 1) as r
      where e.ended_at < ${at("before", "bigint")}
        and not exists (select 1 from ${deadLetters} as d where d.run_id = e.id and d.replayed_by is null)
        and not exists (select 1 from ${schedules} as s where s.id = r.schedule_id and s.last_run_id = e.id)
        and not exists (select 1 from ${dependents} as d where d.need_id = e.id)
        and (r.parent_id is null or not exists (select 1 from ${expansions} as x where x.run_id = r.parent_id)
          and not exists (select 1 from ${steps} as s where s.run_id = e.id and s.kept = 1))
      order by e.ended_at limit ${limit} for update of e skip locked`),
    forget: prepare(sql`with asked as (delete from ${runs} where id = any(${ids})),
      tried as (delete from ${attempts} where run_id = any(${ids})),
      mourned as (delete from ${deadLetters} where run_id = any(${ids}))
      delete from ${ended} where id = any(${ids})`),
  }
}
