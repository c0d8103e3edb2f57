// New runs of a batch, as enqueue, schedules and steps store them.
import type { Run } from "uhrwerk/sql"
import type { Queryable } from "./Connection.ts"
import { bit, insertRows } from "./Statement.ts"

/** Stores runs that have not ended; fails with a duplicate key when an id is there. Keys are the caller's. */
export const storeRuns = async (queryable: Queryable, runs: ReadonlyArray<Run>): Promise<void> => {
  await insertRows(
    queryable,
    `insert into runs (id, job, queue, priority, due_at, created_at, attempt_max, \`key\`, expires_at, schedule_id,
      nominal_at, chain_id, needs, replay_of, parent_id, step, input) values ?`,
    runs.map((run) => [
      run.id,
      run.job,
      run.queue,
      run.priority,
      run.dueAt,
      run.createdAt,
      run.attemptMax,
      run.key,
      run.expiresAt,
      run.scheduleId,
      run.nominalAt,
      run.chainId,
      run.needs.length === 0 ? null : JSON.stringify(run.needs),
      run.replayOf,
      run.parentId,
      run.step,
      run.input,
    ]),
  )
  await insertRows(
    queryable,
    `insert into live (id, job, queue, state, turn, due_at, expires_at, attempt, attempt_max, losses, token,
      settled_token, node, started_at, start_acknowledged, waiting_for, linked, keyed, error) values ?`,
    runs.map((run) => [
      run.id,
      run.job,
      run.queue,
      run.state,
      -run.priority,
      run.dueAt,
      run.expiresAt,
      run.attempt,
      run.attemptMax,
      run.losses,
      run.token,
      0,
      run.node,
      run.startedAt,
      bit(run.startAcknowledged),
      run.waitingFor,
      bit(run.needs.length > 0 || run.parentId !== null),
      bit(run.key !== null),
      run.error === null ? null : JSON.stringify(run.error),
    ]),
  )
}

/** Takes keys for runs; fails with a duplicate key when one is in use. */
export const takeKeys = (queryable: Queryable, runs: ReadonlyArray<Run>): Promise<void> =>
  insertRows(
    queryable,
    "insert into `keys` (job, `key`, run_id) values ?",
    runs.flatMap(({ id, job, key }) => (key === null ? [] : [[job, key, id]])),
  )
