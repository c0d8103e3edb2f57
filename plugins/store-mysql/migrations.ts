// Numbered steps that bring a database to the newest version; the table `uhrwerk_migrations` says which were done. A
// released step never changes; a change of tables is a further step. MySQL commits each statement that makes a table by
// itself, so that a step may be cut short: each statement must do no harm when it runs again. "{collation}" stands for
// the one that compares texts by their bytes. No server of both kinds has indexes over a part of the rows; so what is
// looked for has its state first in the index.

/** Step n makes version n + 1. */
export const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    // What was asked for: one row a run, written once. Where it stands is in `live` or in `ended`, never in both.
    `create table if not exists runs (
  id varchar(64) not null primary key,
  job varchar(190) not null,
  queue varchar(190) not null,
  priority int not null,
  due_at bigint not null,
  created_at bigint not null,
  attempt_max int not null,
  \`key\` varchar(512),
  expires_at bigint,
  schedule_id varchar(255),
  nominal_at bigint,
  chain_id varchar(64),
  needs longtext,
  replay_of varchar(64),
  parent_id varchar(64),
  step int,
  input longtext,
  key runs_job (job, id),
  key runs_chain (chain_id, id)
)`,
    // Where a run stands that has not ended: all that is claimed, moved on and waited for. Narrow, and soon gone. `turn`
    // is the priority, negated: not every server reads an index of several columns in two directions.
    `create table if not exists live (
  id varchar(64) not null primary key,
  job varchar(190) not null,
  queue varchar(190) not null,
  state varchar(12) not null,
  turn bigint not null,
  due_at bigint not null,
  expires_at bigint,
  attempt int not null,
  attempt_max int not null,
  losses int not null,
  token bigint not null,
  settled_token bigint not null,
  node varchar(255),
  started_at bigint,
  start_acknowledged tinyint not null,
  waiting_for int not null,
  linked tinyint not null,
  keyed tinyint not null,
  error longtext,
  key live_ready (state, queue, turn, due_at, id),
  key live_waiting (state, due_at),
  key live_expiring (state, expires_at),
  key live_running (state, node, id)
)`,
    // What became of a run: one row, written when it ends.
    `create table if not exists ended (
  id varchar(64) not null primary key,
  state varchar(12) not null,
  due_at bigint not null,
  attempt int not null,
  losses int not null,
  token bigint not null,
  settled_token bigint not null,
  started_at bigint,
  start_acknowledged tinyint not null,
  waiting_for int not null,
  ended_at bigint not null,
  reason longtext,
  error longtext,
  output longtext,
  key ended_at (ended_at),
  key ended_state (state, id)
)`,
    // Keys in use: while a run of a job and key has not ended, there is no second one.
    `create table if not exists \`keys\` (
  job varchar(190) not null,
  \`key\` varchar(512) not null,
  run_id varchar(64) not null,
  primary key (job, \`key\`),
  key keys_run (run_id)
)`,
    // What a transaction takes before it changes chains of runs: few enough rows, and chains seldom meet.
    `create table if not exists chains (id smallint not null primary key)`,
    `insert ignore into chains (id) values ${Array.from({ length: 256 }, (_, id) => `(${id})`).join(", ")}`,
    // Who waits for whom, read when a needed run ends.
    `create table if not exists dependents (
  need_id varchar(64) not null,
  run_id varchar(64) not null,
  primary key (need_id, run_id)
)`,
    `create table if not exists attempts (
  seq bigint not null auto_increment primary key,
  run_id varchar(64) not null,
  attempt int not null,
  token bigint not null,
  node varchar(255),
  started_at bigint,
  ended_at bigint not null,
  error longtext not null,
  key attempts_run (run_id, seq)
)`,
    `create table if not exists dead_letters (
  run_id varchar(64) not null primary key,
  job varchar(190) not null,
  died_at bigint not null,
  attempt int not null,
  error longtext not null,
  replayed_by varchar(64),
  key dead_letters_job (job, run_id)
)`,
    // How many runs of a job are in a state: the sum of its rows. Changes are only added, so that nodes do not wait for
    // one another; now and then many rows are replaced by few.
    `create table if not exists run_counts (
  seq bigint not null auto_increment primary key,
  job varchar(190) not null,
  state varchar(12) not null,
  count bigint not null
)`,
    `create table if not exists schedules (
  id varchar(255) not null primary key,
  job varchar(190) not null,
  \`trigger\` longtext not null,
  trigger_id bigint not null,
  input longtext,
  overlap varchar(64) not null,
  catch_up longtext,
  from_config tinyint not null,
  version bigint not null,
  \`cursor\` bigint not null,
  next_at bigint,
  waits_until bigint,
  paused_at bigint,
  paused_note longtext,
  resumed_at bigint,
  created_at bigint not null,
  last_run_id varchar(64),
  run_count bigint not null,
  zone_data longtext,
  key schedules_next (paused_at, next_at, id),
  key schedules_waiting (paused_at, next_at, waits_until),
  key schedules_trigger (trigger_id)
)`,
    // The ledger: what became of each instant of a schedule.
    `create table if not exists occurrences (
  seq bigint not null auto_increment primary key,
  schedule_id varchar(255) not null,
  at bigint not null,
  last_at bigint not null,
  count bigint not null,
  run_id varchar(64),
  reason varchar(64),
  decided_at bigint not null,
  nominal_at bigint,
  zone_data longtext,
  trigger_id bigint,
  unique key occurrences_schedule (schedule_id, at),
  key occurrences_at (at)
)`,
    // The texts of triggers, once for all occurrences that one of them named.
    `create table if not exists triggers (
  id bigint not null auto_increment primary key,
  digest char(64) not null,
  text longtext not null,
  used_at bigint not null,
  unique key triggers_digest (digest),
  key triggers_used (used_at)
)`,
    `create table if not exists calendars (
  name varchar(255) not null primary key,
  definition longtext not null,
  from_config tinyint not null
)`,
    `create table if not exists definitions (
  id bigint not null auto_increment primary key,
  name varchar(255) not null,
  version varchar(255) not null,
  definition longtext not null,
  unique key definitions_version (name, version)
)`,
    // Runs that expanded into steps. How many of these are open is in the `waiting_for` of the run.
    `create table if not exists expansions (
  id bigint not null auto_increment primary key,
  run_id varchar(64) not null,
  definition_id bigint,
  list longtext,
  size int not null,
  round int not null,
  faults int not null,
  retry_in bigint,
  deadline_at bigint,
  has_input tinyint not null,
  input longtext,
  unique key expansions_run (run_id),
  key expansions_deadline (deadline_at),
  key expansions_definition (definition_id)
)`,
    // How far the steps are; one without a row is blocked, and none of its needs has ended.
    `create table if not exists steps (
  expansion_id bigint not null,
  step int not null,
  state varchar(20) not null,
  succeeded int not null,
  failed int not null,
  skipped int not null,
  run_id varchar(64),
  kept tinyint not null,
  reason longtext,
  output longtext,
  primary key (expansion_id, step),
  key steps_run (run_id)
)`,
    `create table if not exists nodes (
  id varchar(255) not null primary key,
  started_at bigint not null,
  host varchar(255) not null,
  pid bigint not null,
  runtime varchar(255) not null,
  expires_at bigint not null
)`,
  ],
  [
    // What a node said last of its workers, apart from its lease, which is renewed often; it goes with the node.
    `create table if not exists node_workers (
  node varchar(255) not null primary key,
  workers longtext not null,
  constraint node_workers_node foreign key (node) references nodes (id) on delete cascade
)`,
    // Who may connect as a worker or call the API.
    `create table if not exists credentials (
  id varchar(64) not null primary key,
  kind varchar(12) not null,
  name varchar(255) not null,
  hash char(64) not null,
  scope longtext not null,
  expires_at bigint,
  created_at bigint not null,
  unique key credentials_name (kind, name)
)`,
  ],
  [
    // Small things of whoever stands on the engine.
    `create table if not exists records (
  kind varchar(32) not null,
  id varchar(255) not null,
  version bigint not null,
  updated_at bigint not null,
  expires_at bigint,
  body longtext not null,
  primary key (kind, id),
  key records_expiring (expires_at)
)`,
  ],
]

/** What stands behind each statement that makes a table. */
export const tableOptions =
  "engine = InnoDB row_format = dynamic default character set utf8mb4 collate {collation}"
