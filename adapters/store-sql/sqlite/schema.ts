// The tables, as Drizzle knows them: the source of every column name in this folder's statements.
// The SQL that makes them is in migrations.ts; a test compares the two. Times are epoch milliseconds.
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core"

/** One row a run. Narrow columns first, so that a scan never follows the overflow pages of a payload. */
export const runs = sqliteTable("runs", {
  seq: integer("seq").primaryKey(),
  id: text("id").notNull(),
  job: text("job").notNull(),
  queue: text("queue").notNull(),
  state: text("state").notNull(),
  priority: integer("priority").notNull(),
  dueAt: integer("due_at").notNull(),
  createdAt: integer("created_at").notNull(),
  attempt: integer("attempt").notNull(),
  attemptMax: integer("attempt_max").notNull(),
  losses: integer("losses").notNull(),
  token: integer("token").notNull(),
  /** The latest token under which an outcome was applied: what makes a repeated settlement harmless. */
  settledToken: integer("settled_token").notNull(),
  node: text("node"),
  waitingFor: integer("waiting_for").notNull(),
  startedAt: integer("started_at"),
  startAcknowledged: integer("start_acknowledged").notNull(),
  endedAt: integer("ended_at"),
  key: text("key"),
  expiresAt: integer("expires_at"),
  scheduleId: text("schedule_id"),
  nominalAt: integer("nominal_at"),
  chainId: text("chain_id"),
  needs: text("needs"),
  replayOf: text("replay_of"),
  reason: text("reason"),
  error: text("error"),
  input: text("input"),
  output: text("output"),
  parentId: text("parent_id"),
  step: integer("step"),
})

/** Who waits for whom, read when a needed run ends. */
export const dependents = sqliteTable(
  "dependents",
  { needId: text("need_id").notNull(), runId: text("run_id").notNull() },
  (table) => [primaryKey({ columns: [table.needId, table.runId] })],
)

/** Failed, lost and timed-out attempts. */
export const attempts = sqliteTable("attempts", {
  seq: integer("seq").primaryKey(),
  runId: text("run_id").notNull(),
  attempt: integer("attempt").notNull(),
  token: integer("token").notNull(),
  node: text("node"),
  startedAt: integer("started_at"),
  endedAt: integer("ended_at").notNull(),
  error: text("error").notNull(),
})

/** One row a dead run, until it is dropped. */
export const deadLetters = sqliteTable("dead_letters", {
  runId: text("run_id").primaryKey(),
  job: text("job").notNull(),
  diedAt: integer("died_at").notNull(),
  attempt: integer("attempt").notNull(),
  error: text("error").notNull(),
  replayedBy: text("replayed_by"),
})

/** How many runs of a job are in a state, kept with every change. */
export const runCounts = sqliteTable(
  "run_counts",
  { job: text("job").notNull(), state: text("state").notNull(), count: integer("count").notNull() },
  (table) => [primaryKey({ columns: [table.job, table.state] })],
)

/** Schedules and where they stand. By id, as most are looked up by it, and a batch of them lies together. */
export const schedules = sqliteTable("schedules", {
  id: text("id").primaryKey(),
  job: text("job").notNull(),
  trigger: text("trigger").notNull(),
  triggerId: integer("trigger_id").notNull(),
  input: text("input"),
  overlap: text("overlap").notNull(),
  catchUp: text("catch_up"),
  fromConfig: integer("from_config").notNull(),
  version: integer("version").notNull(),
  cursor: integer("cursor").notNull(),
  nextAt: integer("next_at"),
  waitsUntil: integer("waits_until"),
  pausedAt: integer("paused_at"),
  pausedNote: text("paused_note"),
  resumedAt: integer("resumed_at"),
  createdAt: integer("created_at").notNull(),
  lastRunId: text("last_run_id"),
  runCount: integer("run_count").notNull(),
  zoneData: text("zone_data"),
})

/** The ledger: what became of each instant of a schedule. In the order of the decisions, so that it grows at its end. */
export const occurrences = sqliteTable("occurrences", {
  seq: integer("seq").primaryKey(),
  scheduleId: text("schedule_id").notNull(),
  at: integer("at").notNull(),
  lastAt: integer("last_at").notNull(),
  count: integer("count").notNull(),
  runId: text("run_id"),
  reason: text("reason"),
  decidedAt: integer("decided_at").notNull(),
  nominalAt: integer("nominal_at"),
  zoneData: text("zone_data"),
  triggerId: integer("trigger_id"),
})

/** The texts of triggers, once for all occurrences that one of them named. */
export const triggers = sqliteTable("triggers", {
  id: integer("id").primaryKey(),
  text: text("text").notNull(),
  /** When a schedule last took it, or left it: what no schedule has and no occurrence can have is pruned. */
  usedAt: integer("used_at").notNull(),
})

/** Named sets of instants. */
export const calendars = sqliteTable("calendars", {
  name: text("name").primaryKey(),
  definition: text("definition").notNull(),
  fromConfig: integer("from_config").notNull(),
})

/** Flows as their runs keep them, once for all runs of a name and version. */
export const definitions = sqliteTable("definitions", {
  id: integer("id").primaryKey(),
  name: text("name").notNull(),
  version: text("version").notNull(),
  definition: text("definition").notNull(),
})

/** Runs that expanded into steps. How many of these are open is the run's own `waiting_for`. */
export const expansions = sqliteTable("expansions", {
  id: integer("id").primaryKey(),
  runId: text("run_id").notNull(),
  /** What the steps run by: a definition, or a list, of which the items are the inputs of the steps' runs. */
  definitionId: integer("definition_id"),
  list: text("list"),
  size: integer("size").notNull(),
  round: integer("round").notNull(),
  faults: integer("faults").notNull(),
  retryIn: integer("retry_in"),
  /** Only while the run waits for its steps. */
  deadlineAt: integer("deadline_at"),
  /** 1: its steps read `input`, which may be null, and not the input of the run. */
  hasInput: integer("has_input").notNull(),
  input: text("input"),
})

/** How far the steps are; one without a row is blocked, and none of its needs has ended. */
export const steps = sqliteTable(
  "steps",
  {
    expansionId: integer("expansion_id").notNull(),
    step: integer("step").notNull(),
    state: text("state").notNull(),
    succeeded: integer("succeeded").notNull(),
    failed: integer("failed").notNull(),
    skipped: integer("skipped").notNull(),
    /** The latest run of it. */
    runId: text("run_id"),
    /** 1: that run belongs to the flow run of which this one is a re-run, and must stay when that is gone. */
    kept: integer("kept").notNull(),
    /** Of a step that somebody ended by hand; others have theirs on the run. */
    reason: text("reason"),
    output: text("output"),
  },
  (table) => [primaryKey({ columns: [table.expansionId, table.step] })],
)

/** Engine processes and their leases. */
export const nodes = sqliteTable("nodes", {
  id: text("id").primaryKey(),
  startedAt: integer("started_at").notNull(),
  host: text("host").notNull(),
  pid: integer("pid").notNull(),
  runtime: text("runtime").notNull(),
  expiresAt: integer("expires_at").notNull(),
})

/** What each node said last of its workers, apart from what each renewal of its lease writes anew. */
export const nodeWorkers = sqliteTable("node_workers", {
  node: text("node").primaryKey(),
  workers: text("workers").notNull(),
})

/** Who may connect as a worker or call the API. */
export const credentials = sqliteTable("credentials", {
  id: text("id").primaryKey(),
  kind: text("kind").notNull(),
  name: text("name").notNull(),
  hash: text("hash").notNull(),
  scope: text("scope").notNull(),
  expiresAt: integer("expires_at"),
  createdAt: integer("created_at").notNull(),
})

/** Small things of whoever stands on the engine. */
export const records = sqliteTable("records", {
  seq: integer("seq").primaryKey(),
  kind: text("kind").notNull(),
  id: text("id").notNull(),
  version: integer("version").notNull(),
  updatedAt: integer("updated_at").notNull(),
  expiresAt: integer("expires_at"),
  body: text("body").notNull(),
})
