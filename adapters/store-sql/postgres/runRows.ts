// A run as it stands, of its three tables: the view `run_rows` has the columns that `rows.ts` decodes.
import { getTableConfig } from "drizzle-orm/pg-core"
import type { Tables } from "./schema.ts"
import { type SQL, sql } from "./Statement.ts"

/** The view, by its quoted name. */
export const runRows = (tables: Tables): SQL =>
  sql`${sql.identifier(getTableConfig(tables.runs).schema ?? "")}.run_rows`

/**
 * Joins the view's row of an id, as `run`. One by one: as a usual join, a plan that was made for few rows would read all
 * runs there are when these have become many.
 */
export const runOf = (tables: Tables, id: SQL): SQL =>
  sql`cross join lateral (select * from ${runRows(tables)} as asked where asked.id = ${id} limit 1) as run`

/** The view's rows of an array of ids, as `run`. */
export const runsOf = (tables: Tables, ids: SQL): SQL =>
  sql`unnest(${ids}) as wanted(id) ${runOf(tables, sql`wanted.id`)}`

/** What the view says of a run, of the tables' rows `r`, `l` (of `live`) and `e` (of `ended`). */
export const runColumns: SQL = sql.raw(`r.id, r.job, r.queue, coalesce(l.state, e.state) as state, r.priority,
  coalesce(l.due_at, e.due_at) as due_at, r.created_at, coalesce(l.attempt, e.attempt) as attempt, r.attempt_max,
  coalesce(l.losses, e.losses) as losses, coalesce(l.token, e.token) as token,
  coalesce(l.settled_token, e.settled_token) as settled_token, l.node,
  coalesce(l.waiting_for, e.waiting_for) as waiting_for, coalesce(l.started_at, e.started_at) as started_at,
  coalesce(l.start_acknowledged, e.start_acknowledged) as start_acknowledged, e.ended_at, r.key, r.expires_at,
  r.schedule_id, r.nominal_at, r.chain_id, r.needs, r.replay_of, e.reason, coalesce(l.error, e.error) as error, r.input,
  e.output, r.parent_id, r.step`)
