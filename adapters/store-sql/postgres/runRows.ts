// A run as it stands, of its three tables: the view `run_rows` has the columns that `rows.ts` decodes.
import { getTableConfig } from "drizzle-orm/pg-core"
import type { Tables } from "./schema.ts"
import { type SQL, sql } from "./Statement.ts"

/** The view, by its quoted name. */
export const runRows = (tables: Tables): SQL =>
  sql`${sql.identifier(getTableConfig(tables.runs).schema ?? "")}.run_rows`

/** The view's rows of some runs, with other rows than `live` for those that have not ended. */
export const runRowsOver = ({ runs, ended }: Tables, live: SQL): SQL =>
  sql`select r.id, r.job, r.queue, coalesce(l.state, e.state) as state, r.priority, coalesce(l.due_at, e.due_at) as due_at,
      r.created_at, coalesce(l.attempt, e.attempt) as attempt, r.attempt_max, coalesce(l.losses, e.losses) as losses,
      coalesce(l.token, e.token) as token, coalesce(l.settled_token, e.settled_token) as settled_token, l.node,
      coalesce(l.waiting_for, e.waiting_for) as waiting_for, coalesce(l.started_at, e.started_at) as started_at,
      coalesce(l.start_acknowledged, e.start_acknowledged) as start_acknowledged, e.ended_at, r.key, r.expires_at,
      r.schedule_id, r.nominal_at, r.chain_id, r.needs, r.replay_of, e.reason, coalesce(l.error, e.error) as error,
      r.input, e.output, r.parent_id, r.step
    from ${runs} as r left join ${live} as l on l.id = r.id left join ${ended} as e on e.id = r.id`
