// The floor: the least SQL that does the same durable work, as plain statements of postgres-js. One narrow hot table,
// a claim that passes over what others hold, and one row of history for each run that has ended. No idempotency by id
// or key, no counts, no flows, no retries, no expiry: whatever an engine wants beside it comes on top.
import postgres from "postgres"
import { literal } from "../../adapters/store-sql/postgres/Statement.ts"
import { job, queue, type Held, type Side } from "./Side.ts"

const tables = (schema: string): string => `
create schema ${schema};
create table ${schema}.hot (
  id text collate "C" primary key,
  job text collate "C" not null,
  queue text collate "C" not null,
  priority integer not null,
  due_at bigint not null,
  attempt integer not null,
  token bigint not null,
  node text collate "C",
  started_at bigint,
  input text
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0);
create index hot_ready on ${schema}.hot (queue, priority desc, due_at, id) where node is null;
create table ${schema}.history (
  id text collate "C" primary key,
  job text collate "C" not null,
  state text not null,
  attempt integer not null,
  due_at bigint not null,
  started_at bigint,
  ended_at bigint not null,
  input text,
  output text
);`

const now = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint"

const statements = (schema: string) => ({
  insert: `insert into ${schema}.hot (id, job, queue, priority, due_at, attempt, token, input)
    select id, $1, $2, 0, ${now}, 0, 0, input from unnest($3::text[], $4::text[]) as given(id, input)`,
  claim: `update ${schema}.hot set node = $1, token = token + 1, attempt = attempt + 1, started_at = ${now}
    where id = any(array(select id from ${schema}.hot where node is null and queue = $2 and due_at <= ${now}
      order by priority desc, due_at, id limit $3 for update skip locked))
    returning id, job, token, attempt, input`,
  settle: `with gone as (delete from ${schema}.hot where id = any($1::text[]) and node = $2 returning *)
    insert into ${schema}.history (id, job, state, attempt, due_at, started_at, ended_at, input)
    select id, job, 'succeeded', attempt, due_at, started_at, ${now}, input from gone`,
})

// A plan that is kept must not be one for empty tables; the same for both sides.
const connection = { enable_seqscan: "off", enable_bitmapscan: "off", enable_mergejoin: "off", jit: "off" }

/** Makes its tables. */
export const openFloor = async (address: string, schema: string): Promise<Side> => {
  const sql = postgres(address, { max: 1, fetch_types: false, onnotice: () => {}, connection })
  await sql.unsafe(tables(schema))
  const { insert, claim, settle } = statements(schema)
  const run = (text: string, values: ReadonlyArray<string | number>) =>
    sql.unsafe(text, [...values], { prepare: true })
  const node = "floor"
  return {
    name: "floor",
    schema,
    enqueue: (runs) =>
      run(insert, [job, queue, literal(runs.map(({ id }) => id)), literal(runs.map(({ input }) => input))]),
    claim: async (limit) => {
      const rows = await run(claim, [node, queue, limit])
      return rows as unknown as ReadonlyArray<Held>
    },
    settle: (held) => run(settle, [literal(held.map(({ id }) => id)), node]),
    ended: async () => {
      const [row] = await sql.unsafe(`select count(*)::int as rows from ${schema}.history`)
      return Number(row?.["rows"])
    },
    close: () => sql.end(),
  }
}
