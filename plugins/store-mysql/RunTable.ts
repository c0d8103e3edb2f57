// Runs of MySQL and what hangs on them, as the shared logic asks for them within a transaction. What is read to be changed
// is locked: first the chains that it belongs to, then the rows themselves, in the order of their ids.
import { decodeRun, type Row, type Run, type RunRow, type RunState, type RunTable } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { addCounts } from "./counts.ts"
import { isDuplicate } from "./failures.ts"
import { storeRuns, takeKeys } from "./newRuns.ts"
import { forget, prunable } from "./prune.ts"
import { endRuns, readRuns } from "./runRows.ts"
import type { TransactionClock } from "./Session.ts"
import { bit, clockAtRow, insertRows, withRows } from "./Statement.ts"

/** The table within one transaction. */
export const runTable = (queryable: Queryable, clock: TransactionClock): RunTable => ({
  lock: async (ids) => {
    const chains = await queryable.read(
      "select distinct crc32(coalesce(chain_id, id)) & 255 as id from runs force index (primary) where id in (?)",
      [ids],
    )
    if (chains.length === 0) return
    const held = await queryable.read(
      `select ${clockAtRow} as now from chains force index (primary) where id in (?) order by id for update`,
      [idsOf(chains)],
    )
    clock.now = clock.given ?? held.reduce((latest, row) => Math.max(latest, Number(row["now"])), clock.now)
  },
  find: (ids) => findRuns(queryable, ids),
  read: async (ids) => (await readRuns(queryable, ids)).map(decodeRow),
  insert: (run) => insertRun(queryable, run),
  insertNew: async (runs) => {
    const there = new Set(
      idsOf(await queryable.read("select id from runs where id in (?)", [runs.map(({ id }) => id)])),
    )
    const fresh = runs.filter(({ id }) => !there.has(id))
    await storeRuns(queryable, fresh)
    return fresh.length
  },
  update: async (rows) => {
    const ended = rows.filter(({ run }) => run.endedAt !== null)
    const open = rows.filter(({ run }) => run.endedAt === null)
    await endRuns(
      queryable,
      ended.map(({ run, settledToken }) => ({ ...run, settledToken, error: textOf(run.error) })),
      ended.flatMap(({ run }) => (run.key === null ? [] : [run.id])),
    )
    await moveRuns(queryable, open)
  },
  openOf: async (job, key) => {
    const [row] = await queryable.read(
      `select l.id, l.state, l.due_at from \`keys\` as k straight_join live as l on l.id = k.run_id
        where k.job = ? and k.\`key\` = ?`,
      [job, key],
    )
    if (row === undefined) return undefined
    return { id: row["id"] as string, state: row["state"] as RunState, dueAt: row["due_at"] as number }
  },
  addDependents: async (rows) => {
    const pairs = rows.map(({ needId, runId }): ReadonlyArray<Value> => [needId, runId])
    await queryable.change("update live force index (primary) set linked = 1 where id in (?)", [
      [...new Set(pairs.flat())],
    ])
    await insertRows(
      queryable,
      "insert into dependents (need_id, run_id) values ? on duplicate key update run_id = dependents.run_id",
      pairs,
    )
  },
  dependentsOf: async (needIds) =>
    (
      await queryable.read(
        "select need_id, run_id from dependents where need_id in (?) order by run_id, need_id",
        [needIds],
      )
    ).map((row) => ({ needId: row["need_id"] as string, runId: row["run_id"] as string })),
  dropDependents: async (rows) => {
    await withRows(
      queryable,
      ["need_id", "run_id"],
      rows.map(({ needId, runId }) => [needId, runId]),
      (given) =>
        `delete d from ${given} straight_join dependents as d on d.need_id = given.need_id and d.run_id = given.run_id`,
    )
  },
  addAttempts: (rows) =>
    insertRows(
      queryable,
      "insert into attempts (run_id, attempt, token, node, started_at, ended_at, error) values ?",
      rows.map((row) => [
        row.runId,
        row.attempt,
        row.token,
        row.node,
        row.startedAt,
        row.endedAt,
        JSON.stringify(row.error),
      ]),
    ),
  addCounts: (changes) => addCounts(queryable, changes),
  addLetters: (letters) =>
    insertRows(
      queryable,
      "insert into dead_letters (run_id, job, died_at, attempt, error) values ?",
      letters.map((row) => [row.runId, row.job, row.diedAt, row.attempt, JSON.stringify(row.error)]),
    ),
  replayedBy: async (id) => {
    const [row] = await queryable.read("select replayed_by from dead_letters where run_id = ? for update", [
      id,
    ])
    return row?.["replayed_by"] as string | null | undefined
  },
  markReplayed: async (id, newId) =>
    void (await queryable.change("update dead_letters set replayed_by = ? where run_id = ?", [newId, id])),
  dropLetters: async (ids) =>
    (await queryable.change("delete from dead_letters where run_id in (?)", [ids])).count,
  overdue: async (now, limit) =>
    idsOf(
      await queryable.read(
        `select id from live force index (live_expiring) where state in ('scheduled', 'ready', 'retrying')
          and expires_at <= ? order by id limit ?`,
        [now, limit],
      ),
    ),
  makeReady: async (now, limit) => {
    const due = await dueRuns(queryable, now, limit)
    await setReady(queryable, idsOf(due))
    return due.map((row) => ({ job: row["job"] as string, state: row["state"] as RunState }))
  },
  orphans: (self, now, limit) => orphans(queryable, self, now, limit),
  forgetNodes: async (self, now) =>
    void (await queryable.change(
      `delete n from nodes as n where n.expires_at <= ? and n.id <> ? and not exists (
        select 1 from live as l force index (live_running) where l.state = 'running' and l.node = n.id)`,
      [now, self],
    )),
  prunable: (before, limit) => prunable(queryable, before, limit),
  forget: (ids) => forget(queryable, ids),
})

// A statement that fails over a duplicate is taken back alone; the transaction goes on.
const insertRun = async (queryable: Queryable, run: Run): Promise<boolean> => {
  if ((await queryable.read("select 1 from runs where id = ?", [run.id])).length > 0) return false
  if (!(await unlessThere(takeKeys(queryable, [run])))) return false
  if (await unlessThere(storeRuns(queryable, [run]))) return true
  // Whoever stored the same id meanwhile did not need the key that was taken for it here.
  if (run.key !== null)
    await queryable.change("delete from `keys` where job = ? and `key` = ?", [run.job, run.key])
  return false
}

const unlessThere = async (storing: Promise<void>): Promise<boolean> => {
  try {
    await storing
    return true
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return false
  }
}

const findRuns = async (queryable: Queryable, ids: ReadonlyArray<string>): Promise<ReadonlyArray<RunRow>> => {
  const found: Array<RunRow> = []
  // A run that was stored between the two looks is there unlocked: once more.
  for (let open = ids; open.length > 0;) {
    const held = new Set(
      idsOf(
        await queryable.read(
          "select id from live force index (primary) where id in (?) order by id for update",
          [open],
        ),
      ),
    )
    const rows = await readRuns(queryable, open)
    const isSure = (row: Row): boolean => row["lives"] === 0 || held.has(row["id"] as string)
    for (const row of rows) if (isSure(row)) found.push(decodeRow(row))
    open = idsOf(rows.filter((row) => !isSure(row)))
  }
  return found
}

/** Writes what has changed of runs that have not ended. */
const moveRuns = (queryable: Queryable, rows: ReadonlyArray<RunRow>): Promise<number> =>
  withRows(
    queryable,
    [
      "id",
      "state",
      "due_at",
      "attempt",
      "losses",
      "token",
      "settled_token",
      "node",
      "started_at",
      "acknowledged",
      "waiting_for",
      "error",
    ],
    rows.map(({ run, settledToken }) => [
      run.id,
      run.state,
      run.dueAt,
      run.attempt,
      run.losses,
      run.token,
      settledToken,
      run.node,
      run.startedAt,
      bit(run.startAcknowledged),
      run.waitingFor,
      textOf(run.error),
    ]),
    (given) => `update ${given} straight_join live as l on l.id = given.id set l.state = given.state,
      l.due_at = given.due_at, l.attempt = given.attempt, l.losses = given.losses, l.token = given.token,
      l.settled_token = given.settled_token, l.node = given.node, l.started_at = given.started_at,
      l.start_acknowledged = given.acknowledged, l.waiting_for = given.waiting_for, l.error = given.error`,
  )

/** Runs whose time has come, locked, the earliest first; what others have in hand is passed over. */
export const dueRuns = async (
  queryable: Queryable,
  now: number,
  limit: number,
): Promise<ReadonlyArray<Row>> => {
  const due: Array<Row> = []
  // One state at a time, along the index: nothing is sorted by the server, or more would be locked than is read.
  for (const state of ["scheduled", "retrying"])
    due.push(
      ...(await queryable.read(
        `select id, job, queue, state, turn, due_at, expires_at, attempt, attempt_max
          from live force index (live_waiting) where state = ? and due_at <= ? order by due_at limit ?
          for update skip locked`,
        [state, now, limit],
      )),
    )
  return due.sort((a, b) => (a["due_at"] as number) - (b["due_at"] as number)).slice(0, limit)
}

/** Makes runs ready that are locked. */
export const setReady = async (queryable: Queryable, ids: ReadonlyArray<string>): Promise<void> => {
  if (ids.length > 0)
    await queryable.change("update live force index (primary) set state = 'ready' where id in (?)", [ids])
}

/**
 * Locked here: between this look and the next one a run may be taken back by another node, and claimed anew. Its node is
 * looked up after its lock is held, or one that has just joined would not be known.
 */
const orphans = async (
  queryable: Queryable,
  self: string,
  now: number,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const seen = await queryable.read(
    `select l.id from live as l force index (live_running) where l.state = 'running' and l.node <> ? and not exists (
      select 1 from nodes as n where n.id = l.node and n.expires_at > ?) order by l.id limit ?`,
    [self, now, limit],
  )
  if (seen.length === 0) return []
  const held = await queryable.read(
    `select id, node from live force index (primary) where id in (?) and state = 'running' and node <> ? order by id
      for update skip locked`,
    [idsOf(seen), self],
  )
  const alive = new Set(idsOf(await queryable.read("select id from nodes where expires_at > ?", [now])))
  return held.filter((row) => !alive.has(row["node"] as string)).map((row) => row["id"] as string)
}

const decodeRow = (row: Row): RunRow => ({
  run: decodeRun(row),
  settledToken: row["settled_token"] as number,
})
const textOf = (error: unknown): string | null => (error === null ? null : JSON.stringify(error))

/** The ids of rows. */
export const idsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> =>
  rows.map((row) => row["id"] as string)
