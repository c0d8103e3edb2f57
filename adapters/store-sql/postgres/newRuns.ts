// New runs of a batch, as one statement stores them: the part that enqueue, schedules and steps have in common.
import type { NewRun, Run } from "../../../core/domain/Run.ts"
import type { Parameter } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { batch, clock, type SQL, sql, type Values } from "./Statement.ts"

const columns = {
  id: "text",
  job: "text",
  queue: "text",
  priority: "integer",
  due_at: "bigint",
  delay: "bigint",
  attempt_max: "integer",
  key: "text",
  expires_at: "bigint",
  start_within: "bigint",
  schedule_id: "text",
  nominal_at: "bigint",
  chain_id: "text",
  replay_of: "text",
  parent_id: "text",
  step: "integer",
  input: "text",
  owner: "text",
} as const

const given = batch(columns, "run.")

/** A run that is asked for, or one that is made of that already: its time to start ends in a while, or at an instant. */
type AnyRun = Omit<NewRun, "startWithinMillis"> &
  Partial<Pick<NewRun, "startWithinMillis"> & Pick<Run, "expiresAt">>

/**
 * The values of new runs, for a statement with `storing`; `now` is `null` for the server's clock. `ownerOf` is what the
 * statement's condition may read as `owner`.
 */
export const newRunValues = <R extends AnyRun>(
  runs: ReadonlyArray<R>,
  now: number | null,
  ownerOf: (run: R) => string | null = () => null,
): Values => ({
  ...given.values(
    runs.map((run): Record<keyof typeof columns, Parameter> => ({
      id: run.id,
      job: run.job,
      queue: run.queue,
      priority: run.priority,
      due_at: run.dueAt,
      delay: run.delayMillis,
      attempt_max: run.attemptMax,
      key: run.key,
      expires_at: run.expiresAt ?? null,
      start_within: run.startWithinMillis ?? null,
      schedule_id: run.scheduleId,
      nominal_at: run.nominalAt,
      chain_id: run.chainId,
      replay_of: run.replayOf,
      parent_id: run.parentId,
      step: run.step,
      input: run.input,
      owner: ownerOf(run),
    })),
  ),
  now,
})

/**
 * The parts of a `with` that store runs which need nothing, each id once: `placed` (id, job, state, due_at) are those that
 * were stored. `which` is a condition on `fresh`; without `onConflict` an id that is there fails.
 */
export const storing = (tables: Tables, which: SQL = sql`true`, onConflict = false): SQL => {
  const { runs, live, keys } = tables
  return sql`clock as materialized (select ${clock} as now),
    fresh as materialized (select given.*, start.at as starts_at,
        coalesce(given.expires_at, start.at + given.start_within) as expiring_at, clock.now
      from ${given.given} cross join clock
        cross join lateral (select coalesce(given.due_at, clock.now + given.delay) as at) as start),
    taken as (insert into ${keys} (job, key, run_id)
      select job, key, id from fresh where key is not null and ${which}
        and (select r.id from ${runs} as r where r.id = fresh.id limit 1) is null order by place
      on conflict do nothing returning run_id),
    stored as (insert into ${runs} (id, job, queue, priority, due_at, created_at, attempt_max, key, expires_at, schedule_id,
        nominal_at, chain_id, replay_of, parent_id, step, input)
      select id, job, queue, priority, starts_at, now, attempt_max, key, expiring_at, schedule_id, nominal_at, chain_id,
        replay_of, parent_id, step, input
      from fresh where ${which} and (key is null or id in (select run_id from taken)) order by place
      ${sql.raw(onConflict ? "on conflict (id) do nothing" : "")}
      returning *),
    placed as (insert into ${live} (id, job, queue, state, priority, due_at, expires_at, attempt, attempt_max, losses, token,
        settled_token, start_acknowledged, waiting_for, linked, keyed)
      select id, job, queue, case when due_at <= created_at then 'ready' else 'scheduled' end, priority, due_at,
        expires_at, 0, attempt_max, 0, 0, 0, 0, 0, case when parent_id is null then 0 else 1 end,
        case when key is null then 0 else 1 end
      from stored returning id, job, state, due_at)`
}

/** The part after `storing` that counts what was stored. */
export const counting = ({ runCounts }: Tables): SQL =>
  sql`counted as (insert into ${runCounts} (job, state, count) select job, state, count(*) from placed group by job, state)`
