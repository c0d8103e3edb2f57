// Numbered steps that bring a schema to the newest version; the table `migrations` says which were done. A released step
// never changes; a change of tables is a further step. "{schema}" stands for the quoted name.
// Texts that are compared or sorted are in the order of their bytes ("C"), as JavaScript sorts what has only ASCII, on
// every server alike and at half the cost of a language's order.

/** Step n makes version n + 1. */
export const migrations: ReadonlyArray<string> = [
  `
create table {schema}.runs (
  id text collate "C" primary key,
  job text collate "C" not null,
  queue text collate "C" not null,
  priority integer not null,
  due_at bigint not null,
  created_at bigint not null,
  attempt_max integer not null,
  key text collate "C",
  expires_at bigint,
  schedule_id text collate "C",
  nominal_at bigint,
  chain_id text collate "C",
  needs text,
  replay_of text collate "C",
  parent_id text collate "C",
  step integer,
  input text
);
create index runs_job on {schema}.runs (job, id);
create index runs_chain on {schema}.runs (chain_id, id) where chain_id is not null;
create table {schema}.live (
  id text collate "C" primary key,
  job text collate "C" not null,
  queue text collate "C" not null,
  state text collate "C" not null,
  priority integer not null,
  due_at bigint not null,
  expires_at bigint,
  attempt integer not null,
  attempt_max integer not null,
  losses integer not null,
  token bigint not null,
  settled_token bigint not null,
  node text collate "C",
  started_at bigint,
  start_acknowledged smallint not null,
  waiting_for integer not null,
  linked smallint not null,
  keyed smallint not null,
  error text
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.2);
create index live_ready on {schema}.live (queue, priority desc, due_at, id) where state = 'ready';
create index live_waiting on {schema}.live (due_at) where state in ('scheduled', 'retrying');
create index live_running on {schema}.live (id, node) where state = 'running';
create index live_expiring on {schema}.live (expires_at) where expires_at is not null
  and state in ('scheduled', 'ready', 'retrying');
create index live_retrying on {schema}.live (id) where state = 'retrying';
create index live_blocked on {schema}.live (id) where state = 'blocked';
create table {schema}.ended (
  id text collate "C" primary key,
  state text collate "C" not null,
  due_at bigint not null,
  attempt integer not null,
  losses integer not null,
  token bigint not null,
  settled_token bigint not null,
  started_at bigint,
  start_acknowledged smallint not null,
  waiting_for integer not null,
  ended_at bigint not null,
  reason text,
  error text,
  output text
);
create index ended_at on {schema}.ended (ended_at);
create index ended_otherwise on {schema}.ended (state, id) where state <> 'succeeded';
create table {schema}.keys (
  job text collate "C" not null,
  key text collate "C" not null,
  run_id text collate "C" not null,
  primary key (job, key)
);
create index keys_run on {schema}.keys (run_id);
create view {schema}.run_rows as
  select r.id, r.job, r.queue, coalesce(l.state, e.state) as state, r.priority, coalesce(l.due_at, e.due_at) as due_at,
    r.created_at, coalesce(l.attempt, e.attempt) as attempt, r.attempt_max, coalesce(l.losses, e.losses) as losses,
    coalesce(l.token, e.token) as token, coalesce(l.settled_token, e.settled_token) as settled_token, l.node,
    coalesce(l.waiting_for, e.waiting_for) as waiting_for, coalesce(l.started_at, e.started_at) as started_at,
    coalesce(l.start_acknowledged, e.start_acknowledged) as start_acknowledged, e.ended_at, r.key, r.expires_at,
    r.schedule_id, r.nominal_at, r.chain_id, r.needs, r.replay_of, e.reason, coalesce(l.error, e.error) as error,
    r.input, e.output, r.parent_id, r.step
  from {schema}.runs as r
    left join {schema}.live as l on l.id = r.id
    left join {schema}.ended as e on e.id = r.id;
create table {schema}.dependents (
  need_id text collate "C" not null,
  run_id text collate "C" not null,
  primary key (need_id, run_id)
);
create table {schema}.attempts (
  seq bigint generated always as identity primary key,
  run_id text collate "C" not null,
  attempt integer not null,
  token bigint not null,
  node text,
  started_at bigint,
  ended_at bigint not null,
  error text not null
);
create index attempts_run on {schema}.attempts (run_id, seq);
create table {schema}.dead_letters (
  run_id text collate "C" primary key,
  job text collate "C" not null,
  died_at bigint not null,
  attempt integer not null,
  error text not null,
  replayed_by text collate "C"
);
create index dead_letters_job on {schema}.dead_letters (job, run_id);
create table {schema}.run_counts (
  job text collate "C" not null,
  state text collate "C" not null,
  count bigint not null
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create table {schema}.schedules (
  id text collate "C" primary key,
  job text collate "C" not null,
  trigger text not null,
  trigger_id bigint not null,
  input text,
  overlap text not null,
  catch_up text,
  from_config smallint not null,
  version bigint not null,
  cursor bigint not null,
  next_at bigint,
  waits_until bigint,
  paused_at bigint,
  paused_note text,
  resumed_at bigint,
  created_at bigint not null,
  last_run_id text collate "C",
  run_count bigint not null,
  zone_data text
) with (fillfactor = 70);
create index schedules_next on {schema}.schedules (next_at, id) where next_at is not null and paused_at is null;
create index schedules_waiting on {schema}.schedules (last_run_id) where waits_until is not null and next_at is null
  and paused_at is null;
create index schedules_trigger on {schema}.schedules (trigger_id);
create table {schema}.occurrences (
  seq bigint generated always as identity primary key,
  schedule_id text collate "C" not null,
  at bigint not null,
  last_at bigint not null,
  count bigint not null,
  run_id text collate "C",
  reason text,
  decided_at bigint not null,
  nominal_at bigint,
  zone_data text,
  trigger_id bigint
);
create unique index occurrences_schedule on {schema}.occurrences (schedule_id, at);
create index occurrences_at on {schema}.occurrences (at);
create table {schema}.triggers (
  id bigint generated always as identity primary key,
  digest text collate "C" not null,
  text text not null,
  used_at bigint not null
);
create unique index triggers_digest on {schema}.triggers (digest);
create index triggers_used on {schema}.triggers (used_at);
create table {schema}.calendars (
  name text collate "C" primary key,
  definition text not null,
  from_config smallint not null
);
create table {schema}.definitions (
  id bigint generated always as identity primary key,
  name text collate "C" not null,
  version text collate "C" not null,
  definition text not null
);
create unique index definitions_version on {schema}.definitions (name, version);
create table {schema}.expansions (
  id bigint generated always as identity primary key,
  run_id text collate "C" not null,
  definition_id bigint,
  list text,
  size integer not null,
  round integer not null,
  faults integer not null,
  retry_in bigint,
  deadline_at bigint,
  has_input smallint not null,
  input text
);
create unique index expansions_run on {schema}.expansions (run_id);
create index expansions_deadline on {schema}.expansions (deadline_at) where deadline_at is not null;
create index expansions_definition on {schema}.expansions (definition_id) where definition_id is not null;
create table {schema}.steps (
  expansion_id bigint not null,
  step integer not null,
  state text not null,
  succeeded integer not null,
  failed integer not null,
  skipped integer not null,
  run_id text collate "C",
  kept smallint not null,
  reason text,
  output text,
  primary key (expansion_id, step)
) with (fillfactor = 80);
create index steps_kept on {schema}.steps (run_id) where kept = 1;
create table {schema}.nodes (
  id text collate "C" primary key,
  started_at bigint not null,
  host text not null,
  pid bigint not null,
  runtime text not null,
  expires_at bigint not null
);
`,
  // What nodes say of their workers, and credentials.
  `
alter table {schema}.nodes add column workers text;
create table {schema}.credentials (
  id text collate "C" primary key,
  kind text collate "C" not null,
  name text collate "C" not null,
  hash text not null,
  scope text not null,
  expires_at bigint,
  created_at bigint not null
);
create unique index credentials_name on {schema}.credentials (kind, name);
`,
  // Records.
  `
create table {schema}.records (
  kind text collate "C" not null,
  id text collate "C" not null,
  version bigint not null,
  updated_at bigint not null,
  expires_at bigint,
  body text not null,
  primary key (kind, id)
) with (fillfactor = 80);
create index records_expiring on {schema}.records (expires_at) where expires_at is not null;
`,
]
