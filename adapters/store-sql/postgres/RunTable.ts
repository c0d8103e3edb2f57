// Runs of PostgreSQL and what hangs on them, as the shared logic asks for them within a transaction. What is read to be
// changed is locked: first the chains that it belongs to, then the rows themselves, in the order of their ids.
import type { RunState } from "../../../core/domain/Run.ts"
import { decodeRun } from "../rows.ts"
import type { CountChange, RunRow, RunTable } from "../Tables.ts"
import type { Queryable, Row } from "./Connection.ts"
import { newRunValues } from "./newRuns.ts"
import * as s from "./runStatements.ts"
import { literal } from "./Statement.ts"

/** The store's clock within one transaction, which a wait for a lock puts forward. */
export interface TransactionClock {
  /** What `now` of the options says; `null`: the server's clock. */
  readonly given: number | null
  now: number
}

/** The table within one transaction. */
export const runTable = (
  statements: s.RunStatements,
  queryable: Queryable,
  clock: TransactionClock,
): RunTable => {
  const find = async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<RunRow>> => {
    const found: Array<RunRow> = []
    // A run that ended while we waited for its row is in neither table of this statement's snapshot: once more.
    for (let open = ids; open.length > 0;) {
      const rows = await statements.find(queryable, { ids: literal(open) })
      const between = rows.filter((row) => row["state"] === null)
      for (const row of rows) if (row["state"] !== null) found.push(decodeRow(row))
      open = between.map((row) => row["id"] as string)
    }
    return found
  }
  return {
    lock: async (ids) => {
      const [row] = await statements.lock(queryable, { ids: literal(ids), now: clock.given })
      clock.now = row?.["now"] as number
    },
    find,
    read: async (ids) => (await statements.read(queryable, { ids: literal(ids) })).map(decodeRow),
    insert: async (run) => {
      const [row] = await statements.insert(queryable, s.insertValues(run))
      if (row !== undefined) return true
      if (run.key !== null) await statements.freeKey(queryable, { id: run.id })
      return false
    },
    insertNew: async (runs) => (await statements.insertNew(queryable, newRunValues(runs, clock.now))).length,
    update: async (rows) => void (await statements.update(queryable, s.updateValues(rows))),
    openOf: async (job, key) => {
      const [row] = await statements.openOf(queryable, { job, key })
      if (row === undefined) return undefined
      return {
        id: row["id"] as string,
        state: row["state"] as RunState,
        dueAt: row["due_at"] as number,
      }
    },
    addDependents: async (rows) =>
      void (await statements.addDependents(
        queryable,
        s.dependentRows.values(rows.map(({ needId, runId }) => ({ need_id: needId, run_id: runId }))),
      )),
    dependentsOf: async (needIds) =>
      (await statements.dependentsOf(queryable, { ids: literal(needIds) })).map((row) => ({
        needId: row["need_id"] as string,
        runId: row["run_id"] as string,
      })),
    dropDependents: async (rows) =>
      void (await statements.dropDependents(
        queryable,
        s.dependentRows.values(rows.map(({ needId, runId }) => ({ need_id: needId, run_id: runId }))),
      )),
    addAttempts: async (rows) =>
      void (await statements.addAttempts(
        queryable,
        s.attemptRows.values(
          rows.map((row) => ({
            run_id: row.runId,
            attempt: row.attempt,
            token: row.token,
            node: row.node,
            started_at: row.startedAt,
            ended_at: row.endedAt,
            error: JSON.stringify(row.error),
          })),
        ),
      )),
    addCounts: async (changes) => void (await statements.addCounts(queryable, countValues(changes))),
    addLetters: async (letters) =>
      void (await statements.addLetters(
        queryable,
        s.letterRows.values(
          letters.map((letter) => ({
            run_id: letter.runId,
            job: letter.job,
            died_at: letter.diedAt,
            attempt: letter.attempt,
            error: JSON.stringify(letter.error),
          })),
        ),
      )),
    replayedBy: async (id) =>
      (await statements.letter(queryable, { id }))[0]?.["replayed_by"] as string | null | undefined,
    markReplayed: async (id, newId) => void (await statements.markReplayed(queryable, { id, newId })),
    dropLetters: async (ids) => (await statements.dropLetters(queryable, { ids: literal(ids) })).length,
    overdue: async (now, limit) => idsOf(await statements.overdue(queryable, { now, limit })),
    makeReady: async (now, limit) =>
      (await statements.makeReady(queryable, { now, limit })).map((row) => ({
        job: row["job"] as string,
        state: row["before"] as RunState,
      })),
    orphans: async (self, now, limit) => {
      const look = async () => idsOf(await statements.orphans(queryable, { self, now, limit }))
      const seen = await look()
      if (seen.length === 0) return seen
      // Of a row that changed while the look went on, PostgreSQL asks once more for its own columns, but not whether its
      // node is there: a run that was just adopted, or taken back and claimed anew, would pass. All are locked by now.
      const still = new Set(await look())
      return seen.filter((id) => still.has(id))
    },
    forgetNodes: async (self, now) => void (await statements.forgetNodes(queryable, { self, now })),
    prunable: async (before, limit) =>
      (await statements.prunable(queryable, { before, limit })).map((row) => ({
        id: row["id"] as string,
        job: row["job"] as string,
        state: row["state"] as RunState,
        expansionId: row["expansion_id"] as number | null,
      })),
    forget: async (ids) => void (await statements.forget(queryable, { ids: literal(ids) })),
  }
}

const decodeRow = (row: Row): RunRow => ({
  run: decodeRun(row),
  settledToken: row["settled_token"] as number,
})
const idsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => rows.map((row) => row["id"] as string)
const countValues = (changes: ReadonlyArray<CountChange>) =>
  s.countRows.values(changes.map(({ job, state, by }) => ({ job, state, count: by })))
