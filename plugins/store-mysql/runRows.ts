// A run as it stands, of its three tables, and what is written of one that has ended.
import type { Row, Run } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { bit, insertRows } from "./Statement.ts"

/** What is read of a run, of the rows `r` (of `runs`), `l` (of `live`) and `e` (of `ended`). */
export const runColumns = `r.id, r.job, r.queue, coalesce(l.state, e.state) as state, r.priority,
  coalesce(l.due_at, e.due_at) as due_at, r.created_at, coalesce(l.attempt, e.attempt) as attempt, r.attempt_max,
  coalesce(l.losses, e.losses) as losses, coalesce(l.token, e.token) as token,
  coalesce(l.settled_token, e.settled_token) as settled_token, l.node,
  coalesce(l.waiting_for, e.waiting_for) as waiting_for, coalesce(l.started_at, e.started_at) as started_at,
  coalesce(l.start_acknowledged, e.start_acknowledged) as start_acknowledged, e.ended_at, r.\`key\`, r.expires_at,
  r.schedule_id, r.nominal_at, r.chain_id, r.needs, r.replay_of, e.reason, coalesce(l.error, e.error) as error, r.input,
  e.output, r.parent_id, r.step`

/** The rows of runs, to be joined behind a table that has the ids; `id` is its column. */
export const joinRuns = (id: string): string => `straight_join runs as r on r.id = ${id}
  left join live as l on l.id = r.id left join ended as e on e.id = r.id`

/** Where runs stand; those that are not there are left out. */
export const readRuns = (queryable: Queryable, ids: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> =>
  queryable.read(
    `select ${runColumns}, l.id is not null as lives from runs as r force index (primary)
      left join live as l on l.id = r.id left join ended as e on e.id = r.id where r.id in (?)`,
    [ids],
  )

/** What a settled run leaves behind, as a row of `ended`. */
export interface Ended extends Pick<
  Run,
  "id" | "state" | "dueAt" | "attempt" | "losses" | "token" | "startedAt" | "startAcknowledged" | "waitingFor"
> {
  readonly settledToken: number
  readonly endedAt: number | null
  readonly reason: string | null
  /** JSON text. */
  readonly error: string | null
  readonly output: string | null
}

/** Writes rows of runs that have ended, takes them out of `live` and frees the keys of those that are `keyed`. */
export const endRuns = async (
  queryable: Queryable,
  rows: ReadonlyArray<Ended>,
  keyed: ReadonlyArray<string>,
): Promise<void> => {
  if (rows.length === 0) return
  await queryable.change("delete l from live as l force index (primary) where l.id in (?)", [
    rows.map(({ id }) => id),
  ])
  if (keyed.length > 0)
    await queryable.change("delete k from `keys` as k force index (keys_run) where k.run_id in (?)", [keyed])
  await insertRows(
    queryable,
    `insert into ended (id, state, due_at, attempt, losses, token, settled_token, started_at, start_acknowledged,
      waiting_for, ended_at, reason, error, output) values ?`,
    rows.map((row): ReadonlyArray<Value> => [
      row.id,
      row.state,
      row.dueAt,
      row.attempt,
      row.losses,
      row.token,
      row.settledToken,
      row.startedAt,
      bit(row.startAcknowledged),
      row.waitingFor,
      row.endedAt,
      row.reason,
      row.error,
      row.output,
    ]),
  )
}
