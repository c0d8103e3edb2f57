// What all operations of one open store share: its database and clock, its counts, and the rows of its runs.
// Every change of a run passes `save`, so that counts, attempts, letters and dependents follow in the same step.
import { and, eq, getTableColumns, sql } from "drizzle-orm"
import type { Attempt, ErrorInfo, Run, RunState } from "../../core/domain/Run.ts"
import { isFinal } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Database } from "./Database.ts"
import { decodeRun, encodeNew, encodeRun, newRunColumns } from "./rows.ts"
import { attempts, deadLetters, dependents, runCounts, runs } from "./schema.ts"
import { at, build, prepare, prepareRows } from "./Statement.ts"

/** An open store, as its operations use it. */
export type Session = ReturnType<typeof openSession>

/** A run that has reached a final state, as far as others wait for it. */
export type EndedRun = Pick<Run, "id" | "job" | "state" | "needs" | "parentId" | "step">

/** What flows do within the transactions of a session; `makeAdvance` gives it. */
export interface FlowHooks {
  /** The run of a step has ended. */
  ended(run: EndedRun): void
  /** A run that waited for its steps does not wait any more. */
  left(runId: string): void
  /** Writes what is kept back until the end of the transaction. */
  flush(): void
  /** Forgets all of it: the transaction is over. */
  reset(): void
}

/** Compiles what all operations share. `now` is the store's clock. */
export const openSession = (database: Database, now: () => number) => {
  // What `encodeRun` fills; the other two are the store's own.
  const { seq: _seq, settledToken: _settledToken, ...filled } = getTableColumns(runs)
  const columns = Object.fromEntries(Object.keys(filled).map((name) => [name, at(name)]))
  const statements = {
    insert: prepare(
      database,
      build
        .insert(runs)
        .values({ ...columns, settledToken: 0 } as unknown as typeof runs.$inferInsert)
        .onConflictDoNothing(),
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
  }

  const insertRows = prepareRows(
    database,
    (
      values,
    ) => sql`insert into runs (${sql.raw(newRunColumns.join(", "))}, attempt, losses, token, settled_token,
      waiting_for, start_acknowledged) values ${values} on conflict do nothing`,
    [...newRunColumns.map(() => "?"), "0", "0", "0", "0", "0", "0"],
  )

  // Changes of the counts in this transaction, so that a batch costs one row per job and state.
  const moved = new Map<string, { job: string; state: RunState; by: number }>()
  const add = (job: string, state: RunState, by: number): void => {
    const name = `${state} ${job}`
    const entry = moved.get(name)
    if (entry === undefined) moved.set(name, { job, state, by })
    else entry.by += by
  }

  const count = (job: string, from: RunState | null, to: RunState | null): void => {
    if (from === to) return
    if (from !== null) add(job, from, -1)
    if (to !== null) add(job, to, 1)
  }

  let flows: FlowHooks | undefined
  const hook = (hooks: FlowHooks): void => void (flows = hooks)
  const flush = (): void => flows?.flush()

  const find = (id: string): { run: Run; settledToken: number } | undefined => {
    flush()
    const row = statements.byId.get({ id })
    return row === undefined
      ? undefined
      : { run: decodeRun(row), settledToken: row["settled_token"] as number }
  }

  // Whether anything waits for a need, as far as this transaction has looked.
  let anyWaiting: boolean | undefined
  const addDependent = (needId: string, runId: string): void => {
    statements.addDependent.run({ needId, runId })
    anyWaiting = true
  }

  /** Stores a new run and counts it; `false` when its id, or its key while it is in use, is there. */
  const insert = (run: Run): boolean => {
    if (statements.insert.run(encodeRun(run)) === 0) return false
    count(run.job, null, run.state)
    return true
  }

  /** Stores new runs that need nothing and have no key; `false` when one of them is there, after which only a rollback helps. */
  const insertAll = (rows: ReadonlyArray<Run>): boolean => {
    if (insertRows(rows.map(encodeNew)) < rows.length) return false
    for (const { job, state } of rows) count(job, null, state)
    return true
  }

  /** Writes a changed run with all that follows from its new state. */
  const save = (before: Run, after: Run, settledToken: number, failed: ErrorInfo | null): void => {
    statements.update.run({ ...encodeRun(after), settledToken })
    count(after.job, before.state, after.state)
    if (failed !== null) addAttempt(before, failed)
    if (after.state === "dead" && after.parentId === null) addLetter(after)
    // One that waits for its needs was never claimed.
    if (before.state === "blocked" && before.attempt > 0) flows?.left(after.id)
    if (isFinal(after.state)) ended(after)
  }

  /** What follows from the end of a run; whatever ends one passes here. */
  const ended = (run: EndedRun): void => {
    dropNeeds(run)
    endNeeds(run)
    if (run.parentId !== null) flows?.ended(run)
  }

  const addAttempt = (run: Run, error: ErrorInfo): void => {
    const attempt: Attempt = {
      runId: run.id,
      attempt: run.attempt,
      token: run.token,
      node: run.node,
      startedAt: run.startedAt,
      endedAt: now(),
      error,
    }
    statements.addAttempt.run({ ...attempt, error: JSON.stringify(error) })
  }

  const addLetter = (run: Run): void => {
    statements.addLetter.run({
      runId: run.id,
      job: run.job,
      diedAt: run.endedAt ?? now(),
      attempt: run.attempt,
      error: JSON.stringify(run.error),
    })
  }

  /** An ended run waits for nothing: what it needed may be pruned. */
  const dropNeeds = ({ id, needs }: EndedRun): void => {
    for (const needId of needs) statements.dropDependent.run({ needId, runId: id })
  }

  /** Releases, or skips, what waits for an ended run, and what waits for that. A list, as chains can be long. */
  const endNeeds = ({ id, job, state }: EndedRun): void => {
    // Mostly nobody waits for anybody: one look at an empty table a transaction instead of one a run.
    anyWaiting ??= statements.anyDependent.get() !== undefined
    if (!anyWaiting) return
    const open: Array<Pick<Run, "id" | "job" | "state">> = [{ id, job, state }]
    for (let need = open.pop(); need !== undefined; need = open.pop()) {
      for (const { run_id } of statements.dependents.all({ id: need.id })) {
        const found = find(run_id as string)
        if (found === undefined) continue
        const after =
          need.state === "succeeded"
            ? Transition.needMet(found.run, now())
            : Transition.needFailed(found.run, `"${need.job}" (run ${need.id}) ended ${need.state}`, now())
        if (after === null) continue
        statements.update.run({ ...encodeRun(after), settledToken: found.settledToken })
        count(after.job, found.run.state, after.state)
        if (!isFinal(after.state)) continue
        dropNeeds(after)
        open.push(after)
      }
    }
  }

  const transaction = <A>(body: () => A, repeatable = false): A => {
    moved.clear()
    anyWaiting = undefined
    try {
      return database.transaction(() => {
        const value = body()
        flush()
        for (const { job, state, by } of moved.values())
          if (by !== 0) statements.count.run({ job, state, count: by })
        return value
      }, repeatable)
    } finally {
      flows?.reset()
    }
  }

  return {
    database,
    now,
    statements,
    count,
    find,
    insert,
    insertAll,
    save,
    addDependent,
    ended,
    hook,
    flush,
    transaction,
  }
}
