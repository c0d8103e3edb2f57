// Numbered steps that bring a file to the newest schema. `PRAGMA user_version` says how far a file is.
// A released step never changes; a change of schema is a further step.

/** Step n makes schema version n + 1. */
export const migrations: ReadonlyArray<string> = [
  `
create table runs (
  seq integer primary key,
  id text not null,
  job text not null,
  queue text not null,
  state text not null,
  priority integer not null,
  due_at integer not null,
  created_at integer not null,
  attempt integer not null,
  attempt_max integer not null,
  losses integer not null,
  token integer not null,
  settled_token integer not null,
  node text,
  waiting_for integer not null,
  started_at integer,
  start_acknowledged integer not null,
  ended_at integer,
  key text,
  expires_at integer,
  schedule_id text,
  nominal_at integer,
  chain_id text,
  needs text,
  replay_of text,
  reason text,
  error text,
  input text,
  output text
) strict;
create unique index runs_id on runs (id);
create unique index runs_key on runs (job, key) where key is not null
  and state in ('blocked', 'scheduled', 'ready', 'running', 'retrying');
create index runs_ready on runs (queue, priority desc, due_at, id, job) where state = 'ready';
create index runs_scheduled on runs (due_at) where state = 'scheduled';
create index runs_retrying on runs (due_at) where state = 'retrying';
create index runs_running on runs (node) where state = 'running';
create index runs_expiring on runs (expires_at) where expires_at is not null
  and state in ('scheduled', 'ready', 'retrying');
create index runs_chain on runs (chain_id) where chain_id is not null;
create index runs_job on runs (job, id);
create index runs_blocked on runs (id) where state = 'blocked';
create index runs_dead on runs (id) where state = 'dead';
create index runs_cancelled on runs (id) where state = 'cancelled';
create index runs_skipped on runs (id) where state = 'skipped';
create index runs_expired on runs (id) where state = 'expired';
create table dependents (
  need_id text not null,
  run_id text not null,
  primary key (need_id, run_id)
) strict, without rowid;
create table attempts (
  seq integer primary key,
  run_id text not null,
  attempt integer not null,
  token integer not null,
  node text,
  started_at integer,
  ended_at integer not null,
  error text not null
) strict;
create index attempts_run on attempts (run_id);
create table dead_letters (
  run_id text primary key not null,
  job text not null,
  died_at integer not null,
  attempt integer not null,
  error text not null,
  replayed_by text
) strict;
create table run_counts (
  job text not null,
  state text not null,
  count integer not null,
  primary key (job, state)
) strict, without rowid;
create table schedules (
  id text primary key not null,
  job text not null,
  trigger text not null,
  input text,
  overlap text not null,
  from_config integer not null,
  version integer not null,
  cursor integer not null,
  next_at integer,
  paused_at integer,
  created_at integer not null,
  last_run_id text
) strict;
create index schedules_next on schedules (next_at) where next_at is not null and paused_at is null;
create index schedules_waiting on schedules (last_run_id) where next_at is null and last_run_id is not null
  and paused_at is null;
create table occurrences (
  schedule_id text not null,
  at integer not null,
  last_at integer not null,
  count integer not null,
  run_id text,
  reason text,
  decided_at integer not null,
  primary key (schedule_id, at)
) strict, without rowid;
create table nodes (
  id text primary key not null,
  started_at integer not null,
  host text not null,
  pid integer not null,
  runtime text not null,
  expires_at integer not null
) strict;
`,
  // The ledger of all schedules by time, for its list and for pruning.
  `create index occurrences_at on occurrences (at);`,
  // What a schedule does with missed instants, what it waits for, how often it ran, its pause; and which text named
  // an instant. A fixed delay without a next instant waits for its run.
  `
alter table schedules add column catch_up text;
alter table schedules add column waits_until integer;
alter table schedules add column run_count integer not null default 0;
alter table schedules add column paused_note text;
alter table schedules add column resumed_at integer;
update schedules set waits_until = cursor
  where next_at is null and last_run_id is not null and json_extract(trigger, '$.kind') = 'after';
update schedules set run_count = (select count(*) from occurrences where schedule_id = schedules.id and run_id is not null);
drop index schedules_waiting;
create index schedules_waiting on schedules (last_run_id) where waits_until is not null and next_at is null
  and paused_at is null;
alter table occurrences add column trigger text;
`,
  // The ledger grows at its end and says once for many rows what named their instants; calendars; which zone data a next
  // instant was computed with; and due schedules in the order of their ids, so that a batch of them touches few pages.
  `
create table triggers (
  id integer primary key,
  text text not null,
  used_at integer not null
) strict;
create unique index triggers_text on triggers (text);
create index triggers_used on triggers (used_at);
insert into triggers (text, used_at)
  select text, max(at) from (select trigger as text, decided_at as at from occurrences where trigger is not null
    union all select trigger, cursor from schedules) group by text;
create table schedules_after (
  id text primary key not null,
  job text not null,
  trigger text not null,
  trigger_id integer not null,
  input text,
  overlap text not null,
  catch_up text,
  from_config integer not null,
  version integer not null,
  cursor integer not null,
  next_at integer,
  waits_until integer,
  paused_at integer,
  paused_note text,
  resumed_at integer,
  created_at integer not null,
  last_run_id text,
  run_count integer not null,
  zone_data text
) strict, without rowid;
insert into schedules_after
  select id, job, trigger, (select t.id from triggers as t where t.text = s.trigger), input, overlap, catch_up,
    from_config, version, cursor, next_at, waits_until, paused_at, paused_note, resumed_at, created_at, last_run_id,
    run_count, null
  from schedules as s;
drop table schedules;
alter table schedules_after rename to schedules;
create index schedules_next on schedules (next_at) where next_at is not null and paused_at is null;
create index schedules_waiting on schedules (last_run_id) where waits_until is not null and next_at is null
  and paused_at is null;
create index schedules_trigger on schedules (trigger_id);
alter table occurrences rename to occurrences_before;
drop index occurrences_at;
create table occurrences (
  seq integer primary key,
  schedule_id text not null,
  at integer not null,
  last_at integer not null,
  count integer not null,
  run_id text,
  reason text,
  decided_at integer not null,
  nominal_at integer,
  zone_data text,
  trigger_id integer
) strict;
insert into occurrences (schedule_id, at, last_at, count, run_id, reason, decided_at, trigger_id)
  select schedule_id, at, last_at, count, run_id, reason, decided_at,
    (select id from triggers where triggers.text = o.trigger)
  from occurrences_before as o order by decided_at, at;
drop table occurrences_before;
create unique index occurrences_schedule on occurrences (schedule_id, at);
create index occurrences_at on occurrences (at);
create table calendars (
  name text primary key not null,
  definition text not null,
  from_config integer not null
) strict;
`,
  // Flows: runs that expanded into steps, what these run by, and how far each step is. The two new columns of a run are
  // its last: nothing is read of a column that is null, however long the payloads before it.
  `
alter table runs add column parent_id text;
alter table runs add column step integer;
create table definitions (
  id integer primary key,
  name text not null,
  version text not null,
  definition text not null
) strict;
create unique index definitions_version on definitions (name, version);
create table expansions (
  id integer primary key,
  run_id text not null,
  definition_id integer,
  list text,
  size integer not null,
  round integer not null,
  faults integer not null,
  retry_in integer,
  deadline_at integer,
  has_input integer not null,
  input text
) strict;
create unique index expansions_run on expansions (run_id);
create index expansions_deadline on expansions (deadline_at) where deadline_at is not null;
create index expansions_definition on expansions (definition_id) where definition_id is not null;
create table steps (
  expansion_id integer not null,
  step integer not null,
  state text not null,
  succeeded integer not null,
  failed integer not null,
  skipped integer not null,
  run_id text,
  kept integer not null,
  reason text,
  output text,
  primary key (expansion_id, step)
) strict, without rowid;
create index steps_kept on steps (run_id) where kept = 1;
`,
  // What nodes say of their workers, and credentials.
  `
create table node_workers (
  node text primary key not null,
  workers text not null
) strict;
create table credentials (
  id text primary key not null,
  kind text not null,
  name text not null,
  hash text not null,
  scope text not null,
  expires_at integer,
  created_at integer not null
) strict;
create unique index credentials_name on credentials (kind, name);
`,
  // What went wrong by job: these may be many of all runs, and few of one job; runs that succeed never touch it. And
  // records, not clustered by their key: a body may be long, and a tree of long rows is slow to search.
  `
create index runs_otherwise on runs (job, state, id) where state in ('dead', 'cancelled', 'skipped', 'expired');
create table records (
  seq integer primary key,
  kind text not null,
  id text not null,
  version integer not null,
  updated_at integer not null,
  expires_at integer,
  body text not null
) strict;
create unique index records_id on records (kind, id);
create index records_expiring on records (expires_at) where expires_at is not null;
`,
]
