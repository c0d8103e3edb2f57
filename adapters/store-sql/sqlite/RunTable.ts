// Runs in a file, and what hangs on them. One engine writes a file, so nothing here needs a lock.
import { and, eq, getTableColumns, sql } from "drizzle-orm"
import { finalStates, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import type { RunRow, RunTable } from "../Tables.ts"
import type { Database } from "./Database.ts"
import { decodeRun, encodeNew, encodeRun, newRunColumns } from "../rows.ts"
import { attempts, deadLetters, dependents, runCounts, runs } from "./schema.ts"
import { at, build, prepare, prepareRows } from "./Statement.ts"

const openStates = runStates.filter((state) => !(finalStates as ReadonlyArray<string>).includes(state))

/** Compiles the statements of an open file; `begin` is called at the start of each transaction. */
export const makeRunTable = (database: Database) => {
  const statements = compile(database)
  // Whether anything waits for a need, as far as this transaction has looked.
  let anyWaiting: boolean | undefined

  /** Whether something may wait for runs: mostly nobody does, which is one look at an empty table a transaction. */
  const isWaitedFor = (): boolean => (anyWaiting ??= statements.anyDependent.get() !== undefined)

  const read = (ids: ReadonlyArray<string>): ReadonlyArray<RunRow> => {
    const rows: Array<RunRow> = []
    for (const id of ids) {
      const row = statements.byId.get({ id })
      if (row !== undefined) rows.push({ run: decodeRun(row), settledToken: row["settled_token"] as number })
    }
    return rows
  }

  return {
    begin: (): void => {
      anyWaiting = undefined
    },
    isWaitedFor,
    lock: () => {},
    find: read,
    read,
    insert: (run) => statements.insert.run(encodeRun(run)) > 0,
    insertNew: (rows) => statements.insertNew(rows.map(encodeNew)),
    update: (rows) => {
      for (const { run, settledToken } of rows) statements.update.run({ ...encodeRun(run), settledToken })
    },
    openOf: (job, key) => {
      const row = statements.openOf.get({ job, key })
      if (row === undefined) return undefined
      return {
        id: row["id"] as string,
        state: row["state"] as RunState,
        dueAt: row["due_at"] as number,
      }
    },
    addDependents: (rows) => {
      for (const row of rows) statements.addDependent.run({ ...row })
      anyWaiting = true
    },
    dependentsOf: (needIds) =>
      isWaitedFor()
        ? needIds.flatMap((needId) =>
            statements.dependents
              .all({ id: needId })
              .map((row) => ({ needId, runId: row["run_id"] as string })),
          )
        : [],
    dropDependents: (rows) => {
      for (const row of rows) statements.dropDependent.run({ ...row })
    },
    addAttempts: (rows) => {
      for (const row of rows) statements.addAttempt.run({ ...row, error: JSON.stringify(row.error) })
    },
    addCounts: (changes) => {
      for (const { job, state, by } of changes) statements.count.run({ job, state, count: by })
    },
    addLetters: (letters) => {
      for (const letter of letters)
        statements.addLetter.run({ ...letter, error: JSON.stringify(letter.error) })
    },
    replayedBy: (id) => statements.letter.get({ id })?.["replayed_by"] as string | null | undefined,
    markReplayed: (id, newId) => void statements.markReplayed.run({ id, newId }),
    dropLetters: (ids) => ids.reduce((dropped, id) => dropped + statements.dropLetter.run({ id }), 0),
    overdue: (now, limit) => statements.overdue.all({ now, limit }).map(({ id }) => id as string),
    makeReady: (now, limit) => {
      const ready: Array<Pick<Run, "job" | "state">> = []
      for (const { state, statement } of statements.promotions) {
        if (ready.length === limit) break
        for (const { job } of statement.all({ now, limit: limit - ready.length }))
          ready.push({ job: job as string, state })
      }
      return ready
    },
    orphans: (self, now, limit) => statements.orphans.all({ self, now, limit }).map(({ id }) => id as string),
    forgetNodes: (self, now) => {
      if (statements.forgetNodes.run({ self, now }) > 0) statements.forgetReports.run()
    },
    prunable: (before, limit) => {
      // Rows are in the order of their making: behind the first younger one nothing is old enough, and the scan ends.
      const young = statements.young.get({ before })?.["seq"] ?? Number.MAX_SAFE_INTEGER
      return statements.prunable.all({ before, young, limit }).map((row) => ({
        id: row["id"] as string,
        job: row["job"] as string,
        state: row["state"] as RunState,
        expansionId: row["expansion_id"] as number | null,
      }))
    },
    forget: (ids) => {
      for (const id of ids) for (const statement of statements.forget) statement.run({ id })
    },
  } satisfies RunTable & { begin: () => void; isWaitedFor: () => boolean }
}

const compile = (database: Database) => {
  // What `encodeRun` fills; the other two are the store's own.
  const { seq: _seq, settledToken: _settledToken, ...filled } = getTableColumns(runs)
  const columns = Object.fromEntries(Object.keys(filled).map((name) => [name, at(name)]))
  const promoteFrom = (state: "scheduled" | "retrying", index: string) => ({
    state,
    statement: prepare(
      database,
      build
        .update(runs)
        .set({ state: "ready" })
        .where(
          sql`${runs.seq} in (select seq from runs indexed by ${sql.raw(index)}
            where state = ${sql.raw(`'${state}'`)} and due_at <= ${at("now")} order by due_at limit ${at("limit")})`,
        )
        .returning({ job: runs.job }),
    ),
  })
  const dropLetter = prepare(database, build.delete(deadLetters).where(eq(deadLetters.runId, at("id"))))
  return {
    insert: prepare(
      database,
      build
        .insert(runs)
        .values({ ...columns, settledToken: 0 } as unknown as typeof runs.$inferInsert)
        .onConflictDoNothing(),
    ),
    insertNew: prepareRows(
      database,
      (
        values,
      ) => sql`insert into runs (${sql.raw(newRunColumns.join(", "))}, attempt, losses, token, settled_token,
        waiting_for, start_acknowledged) values ${values} on conflict do nothing`,
      [...newRunColumns.map(() => "?"), "0", "0", "0", "0", "0", "0"],
    ),
    update: prepare(
      database,
      build
        .update(runs)
        .set({ ...columns, settledToken: at<number>("settledToken") })
        .where(eq(runs.id, at("id"))),
    ),
    byId: prepare(
      database,
      build
        .select()
        .from(runs)
        .where(eq(runs.id, at("id"))),
    ),
    // The states are written out and the index named: a partial index serves no parameter, and without it a key in use
    // would be looked for in all the history of its job.
    openOf: prepare(
      database,
      sql`select id, state, due_at from runs indexed by runs_key
        where job = ${at("job")} and key = ${at("key")} and key is not null
        and state in (${sql.raw(openStates.map((state) => `'${state}'`).join(", "))}) limit 1`,
    ),
    addDependent: prepare(
      database,
      build
        .insert(dependents)
        .values({ needId: at("needId"), runId: at("runId") } as unknown as typeof dependents.$inferInsert)
        .onConflictDoNothing(),
    ),
    dependents: prepare(
      database,
      build
        .select({ runId: dependents.runId })
        .from(dependents)
        .where(eq(dependents.needId, at("id"))),
    ),
    anyDependent: prepare(database, sql`select 1 from dependents limit 1`),
    dropDependent: prepare(
      database,
      build
        .delete(dependents)
        .where(and(eq(dependents.needId, at("needId")), eq(dependents.runId, at("runId")))),
    ),
    addAttempt: prepare(
      database,
      build.insert(attempts).values({
        runId: at("runId"),
        attempt: at("attempt"),
        token: at("token"),
        node: at("node"),
        startedAt: at("startedAt"),
        endedAt: at("endedAt"),
        error: at("error"),
      } as unknown as typeof attempts.$inferInsert),
    ),
    count: prepare(
      database,
      build
        .insert(runCounts)
        .values({
          job: at("job"),
          state: at("state"),
          count: at("count"),
        } as unknown as typeof runCounts.$inferInsert)
        .onConflictDoUpdate({
          target: [runCounts.job, runCounts.state],
          set: { count: sql`${runCounts.count} + excluded.count` },
        }),
    ),
    addLetter: prepare(
      database,
      build.insert(deadLetters).values({
        runId: at("runId"),
        job: at("job"),
        diedAt: at("diedAt"),
        attempt: at("attempt"),
        error: at("error"),
      } as unknown as typeof deadLetters.$inferInsert),
    ),
    letter: prepare(
      database,
      build
        .select({ replayedBy: deadLetters.replayedBy })
        .from(deadLetters)
        .where(eq(deadLetters.runId, at("id"))),
    ),
    markReplayed: prepare(
      database,
      build
        .update(deadLetters)
        .set({ replayedBy: at<string>("newId") })
        .where(eq(deadLetters.runId, at("id"))),
    ),
    dropLetter,
    overdue: prepare(
      database,
      sql`select id from runs indexed by runs_expiring where expires_at <= ${at("now")} and expires_at is not null
        and state in ('scheduled', 'ready', 'retrying') limit ${at("limit")}`,
    ),
    promotions: [promoteFrom("scheduled", "runs_scheduled"), promoteFrom("retrying", "runs_retrying")],
    orphans: prepare(
      database,
      sql`select id from runs indexed by runs_running where state = 'running' and node <> ${at("self")}
        and not exists (select 1 from nodes where nodes.id = runs.node and nodes.expires_at > ${at("now")})
        order by id limit ${at("limit")}`,
    ),
    forgetNodes: prepare(
      database,
      sql`delete from nodes where expires_at <= ${at("now")} and id <> ${at("self")}
        and not exists (select 1 from runs indexed by runs_running where state = 'running' and runs.node = nodes.id)`,
    ),
    forgetReports: prepare(database, sql`delete from node_workers where node not in (select id from nodes)`),
    young: prepare(
      database,
      sql`select seq from runs where created_at >= ${at("before")} order by seq limit 1`,
    ),
    prunable: prepare(
      database,
      sql`select seq, id, job, state, (select id from expansions where run_id = runs.id) as expansion_id from runs
        where seq < ${at("young")} and ended_at < ${at("before")}
        and not exists (select 1 from dead_letters where run_id = runs.id and replayed_by is null)
        and not exists (select 1 from schedules where schedules.id = runs.schedule_id and last_run_id = runs.id)
        and not exists (select 1 from dependents where dependents.need_id = runs.id)
        and (parent_id is null or not exists (select 1 from expansions where expansions.run_id = runs.parent_id)
          and not exists (select 1 from steps indexed by steps_kept where steps.run_id = runs.id and kept = 1))
        order by seq limit ${at("limit")}`,
    ),
    forget: [
      prepare(database, build.delete(runs).where(eq(runs.id, at("id")))),
      prepare(database, sql`delete from attempts where run_id = ${at("id")}`),
      dropLetter,
    ],
  }
}
