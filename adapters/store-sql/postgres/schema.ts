// The tables in PostgreSQL, as Drizzle knows them, in a schema of any name: every statement of this folder names them
// by way of this file. The SQL that makes them is in migrations.ts; a test compares the two. Times are epoch
// milliseconds; what is a boolean elsewhere is 0 or 1, as in SQLite, so that one file decodes the rows of both.
import { bigint, integer, pgSchema, primaryKey, smallint, text } from "drizzle-orm/pg-core"

/** The tables of one schema. */
export type Tables = ReturnType<typeof tablesOf>

const int8 = (name: string) => bigint(name, { mode: "number" })
const identity = () => int8("seq").primaryKey().generatedAlwaysAsIdentity()

/** The tables in the schema of this name. */
export const tablesOf = (name: string) => {
  const schema = pgSchema(name)
  return {
    /** What was asked for: one row a run, written once. Where it stands is in `live` or in `ended`, never in both. */
    runs: schema.table("runs", {
      id: text("id").primaryKey(),
      job: text("job").notNull(),
      queue: text("queue").notNull(),
      priority: integer("priority").notNull(),
      dueAt: int8("due_at").notNull(),
      createdAt: int8("created_at").notNull(),
      attemptMax: integer("attempt_max").notNull(),
      key: text("key"),
      expiresAt: int8("expires_at"),
      scheduleId: text("schedule_id"),
      nominalAt: int8("nominal_at"),
      chainId: text("chain_id"),
      needs: text("needs"),
      replayOf: text("replay_of"),
      parentId: text("parent_id"),
      step: integer("step"),
      input: text("input"),
    }),
    /** Where a run stands that has not ended: all that is claimed, moved on and waited for. Narrow, and soon gone. */
    live: schema.table("live", {
      id: text("id").primaryKey(),
      job: text("job").notNull(),
      queue: text("queue").notNull(),
      state: text("state").notNull(),
      priority: integer("priority").notNull(),
      dueAt: int8("due_at").notNull(),
      expiresAt: int8("expires_at"),
      attempt: integer("attempt").notNull(),
      attemptMax: integer("attempt_max").notNull(),
      losses: integer("losses").notNull(),
      token: int8("token").notNull(),
      /** The latest token under which an outcome was applied: what makes a repeated settlement harmless. */
      settledToken: int8("settled_token").notNull(),
      node: text("node"),
      startedAt: int8("started_at"),
      startAcknowledged: smallint("start_acknowledged").notNull(),
      waitingFor: integer("waiting_for").notNull(),
      /** 1: it is a step, it needs a run, or a run needs it, so that its end is not only its own matter. */
      linked: smallint("linked").notNull(),
      /** 1: it has a key, which is free again when it ends. */
      keyed: smallint("keyed").notNull(),
      error: text("error"),
    }),
    /** What became of a run: one row, written when it ends. */
    ended: schema.table("ended", {
      id: text("id").primaryKey(),
      state: text("state").notNull(),
      dueAt: int8("due_at").notNull(),
      attempt: integer("attempt").notNull(),
      losses: integer("losses").notNull(),
      token: int8("token").notNull(),
      settledToken: int8("settled_token").notNull(),
      startedAt: int8("started_at"),
      startAcknowledged: smallint("start_acknowledged").notNull(),
      waitingFor: integer("waiting_for").notNull(),
      endedAt: int8("ended_at").notNull(),
      reason: text("reason"),
      error: text("error"),
      output: text("output"),
    }),
    /** Keys in use: while a run of a job and key has not ended, there is no second one. */
    keys: schema.table("keys", {
      job: text("job").notNull(),
      key: text("key").notNull(),
      runId: text("run_id").notNull(),
    }),
    /** Who waits for whom, read when a needed run ends. */
    dependents: schema.table("dependents", {
      needId: text("need_id").notNull(),
      runId: text("run_id").notNull(),
    }),
    /** Failed, lost and timed-out attempts. */
    attempts: schema.table("attempts", {
      seq: identity(),
      runId: text("run_id").notNull(),
      attempt: integer("attempt").notNull(),
      token: int8("token").notNull(),
      node: text("node"),
      startedAt: int8("started_at"),
      endedAt: int8("ended_at").notNull(),
      error: text("error").notNull(),
    }),
    /** One row a dead run, until it is dropped. */
    deadLetters: schema.table("dead_letters", {
      runId: text("run_id").primaryKey(),
      job: text("job").notNull(),
      diedAt: int8("died_at").notNull(),
      attempt: integer("attempt").notNull(),
      error: text("error").notNull(),
      replayedBy: text("replayed_by"),
    }),
    /**
     * How many runs of a job are in a state: the sum of its rows. Changes are only added, so that nodes do not wait for
     * one another; now and then many rows are replaced by one.
     */
    runCounts: schema.table("run_counts", {
      job: text("job").notNull(),
      state: text("state").notNull(),
      count: int8("count").notNull(),
    }),
    /** Schedules and where they stand. */
    schedules: schema.table("schedules", {
      id: text("id").primaryKey(),
      job: text("job").notNull(),
      trigger: text("trigger").notNull(),
      triggerId: int8("trigger_id").notNull(),
      input: text("input"),
      overlap: text("overlap").notNull(),
      catchUp: text("catch_up"),
      fromConfig: smallint("from_config").notNull(),
      version: int8("version").notNull(),
      cursor: int8("cursor").notNull(),
      nextAt: int8("next_at"),
      waitsUntil: int8("waits_until"),
      pausedAt: int8("paused_at"),
      pausedNote: text("paused_note"),
      resumedAt: int8("resumed_at"),
      createdAt: int8("created_at").notNull(),
      lastRunId: text("last_run_id"),
      runCount: int8("run_count").notNull(),
      zoneData: text("zone_data"),
    }),
    /** The ledger: what became of each instant of a schedule. */
    occurrences: schema.table("occurrences", {
      seq: identity(),
      scheduleId: text("schedule_id").notNull(),
      at: int8("at").notNull(),
      lastAt: int8("last_at").notNull(),
      count: int8("count").notNull(),
      runId: text("run_id"),
      reason: text("reason"),
      decidedAt: int8("decided_at").notNull(),
      nominalAt: int8("nominal_at"),
      zoneData: text("zone_data"),
      triggerId: int8("trigger_id"),
    }),
    /** The texts of triggers, once for all occurrences that one of them named. */
    triggers: schema.table("triggers", {
      id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
      /** Of the text, which may be too long for an index. */
      digest: text("digest").notNull(),
      text: text("text").notNull(),
      /** When a schedule last took it, or left it: what no schedule has and no occurrence can have is pruned. */
      usedAt: int8("used_at").notNull(),
    }),
    /** Named sets of instants. */
    calendars: schema.table("calendars", {
      name: text("name").primaryKey(),
      definition: text("definition").notNull(),
      fromConfig: smallint("from_config").notNull(),
    }),
    /** Flows as their runs keep them, once for all runs of a name and version. */
    definitions: schema.table("definitions", {
      id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
      name: text("name").notNull(),
      version: text("version").notNull(),
      definition: text("definition").notNull(),
    }),
    /** Runs that expanded into steps. How many of these are open is in the `waiting_for` of the run. */
    expansions: schema.table("expansions", {
      id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
      runId: text("run_id").notNull(),
      /** What the steps run by: a definition, or a list, of which the items are the inputs of the steps' runs. */
      definitionId: int8("definition_id"),
      list: text("list"),
      size: integer("size").notNull(),
      round: integer("round").notNull(),
      faults: integer("faults").notNull(),
      retryIn: int8("retry_in"),
      /** Only while the run waits for its steps. */
      deadlineAt: int8("deadline_at"),
      /** 1: its steps read `input`, which may be null, and not the input of the run. */
      hasInput: smallint("has_input").notNull(),
      input: text("input"),
    }),
    /** How far the steps are; one without a row is blocked, and none of its needs has ended. */
    steps: schema.table("steps", {
      expansionId: int8("expansion_id").notNull(),
      step: integer("step").notNull(),
      state: text("state").notNull(),
      succeeded: integer("succeeded").notNull(),
      failed: integer("failed").notNull(),
      skipped: integer("skipped").notNull(),
      /** The latest run of it. */
      runId: text("run_id"),
      /** 1: that run belongs to the flow run of which this one is a re-run, and must stay when that is gone. */
      kept: smallint("kept").notNull(),
      /** Of a step that somebody ended by hand; others have theirs on the run. */
      reason: text("reason"),
      output: text("output"),
    }),
    /** Engine processes and their leases. */
    nodes: schema.table("nodes", {
      id: text("id").primaryKey(),
      startedAt: int8("started_at").notNull(),
      host: text("host").notNull(),
      pid: int8("pid").notNull(),
      runtime: text("runtime").notNull(),
      expiresAt: int8("expires_at").notNull(),
      /** What it said last of its workers; `null`: nothing. */
      workers: text("workers"),
    }),
    /** Who may connect as a worker or call the API. */
    credentials: schema.table("credentials", {
      id: text("id").primaryKey(),
      kind: text("kind").notNull(),
      name: text("name").notNull(),
      hash: text("hash").notNull(),
      scope: text("scope").notNull(),
      expiresAt: int8("expires_at"),
      createdAt: int8("created_at").notNull(),
    }),
    /** Small things of whoever stands on the engine. */
    records: schema.table(
      "records",
      {
        kind: text("kind").notNull(),
        id: text("id").notNull(),
        version: int8("version").notNull(),
        updatedAt: int8("updated_at").notNull(),
        expiresAt: int8("expires_at"),
        body: text("body").notNull(),
      },
      (table) => [primaryKey({ columns: [table.kind, table.id] })],
    ),
  }
}
