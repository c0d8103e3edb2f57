// History that was never run: finished runs as the store would have left them, made by the server from a series. Each
// has its row in `runs` and in `ended`, its id says when it was sent, and the counts know of it. (A run that succeeds
// at once has no row in `attempts`.) Vacuumed and analyzed, as a history of days would be.
import type { Sql } from "postgres"
import { job, queue } from "./Side.ts"

// Days that it spreads over, before now, and runs in one transaction.
const spanMillis = 7 * 24 * 60 * 60_000
const chunk = 250_000

// A UUIDv7 of run g: the milliseconds in which it was sent, and bits that only g decides, so that both tables agree.
const series = `select g, at, substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7' || substr(r, 1, 3) || '-a' ||
    substr(r, 4, 3) || '-' || substr(r, 7, 12) as id
  from (select g, at, lpad(to_hex(at), 12, '0') as h, md5(g::text) as r from (
    select g, $1::bigint + g * $2::bigint / $3::bigint as at from generate_series($4::bigint, $5::bigint) as g) as sent
  ) as made`

/** Fills the tables of a schema that the store has made. */
export const fillHistory = async (sql: Sql, schema: string, count: number): Promise<void> => {
  if (count === 0) return
  const from = Date.now() - spanMillis
  for (let first = 0; first < count; first += chunk) {
    const values = [from, spanMillis - 60_000, count, first, Math.min(first + chunk, count) - 1]
    // Both at a time, on two connections if there are as many.
    await Promise.all([
      sql.unsafe(
        `insert into ${schema}.runs (id, job, queue, priority, due_at, created_at, attempt_max, input)
        select id, '${job}', '${queue}', 0, at, at, 3, '{"n":' || g || '}' from (${series}) as each`,
        values,
      ),
      sql.unsafe(
        `insert into ${schema}.ended (id, state, due_at, attempt, losses, token, settled_token, started_at,
          start_acknowledged, waiting_for, ended_at)
        select id, 'succeeded', at, 1, 0, 1, 1, at + 3, 1, 0, at + 5 from (${series}) as each`,
        values,
      ),
    ])
  }
  await sql.unsafe(
    `insert into ${schema}.run_counts (job, state, count) values ('${job}', 'succeeded', ${count})`,
  )
  await sql.unsafe(`vacuum (analyze) ${schema}.runs`)
  await sql.unsafe(`vacuum (analyze) ${schema}.ended`)
}

/** Sizes of the table that is updated, and rows in it that are dead and not yet cleared away. */
export interface Bloat {
  readonly table: string
  readonly rows: number
  readonly deadRows: number
  readonly tableMib: number
  readonly indexesMib: number
}

/** What the server says of a table; its figures are a second old, or more. */
export const bloatOf = async (sql: Sql, schema: string, table: string): Promise<Bloat> => {
  const [row] = await sql.unsafe(
    `select n_live_tup::int as rows, n_dead_tup::int as dead, pg_table_size(relid) as bytes,
      pg_indexes_size(relid) as indexes
    from pg_stat_user_tables where schemaname = $1 and relname = $2`,
    [schema, table],
  )
  const mib = (bytes: unknown): number => Math.round((Number(bytes) / 2 ** 20) * 100) / 100
  return {
    table,
    rows: Number(row?.["rows"]),
    deadRows: Number(row?.["dead"]),
    tableMib: mib(row?.["bytes"]),
    indexesMib: mib(row?.["indexes"]),
  }
}
