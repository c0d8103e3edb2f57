// The floor: the writes of a run's life by hand, as plain prepared statements of `node:sqlite`. Nothing of the
// engine runs here: no ids are made, no rows are decoded, no promise is waited for. What the engine does on top
// of it is the price of the engine.
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { migrations } from "../../adapters/store-sql/migrations.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { defaultRetryPolicy } from "../../core/domain/RetryPolicy.ts"

const runColumns = `seq, id, job, queue, state, priority, due_at, created_at, attempt, attempt_max, losses, token,
  settled_token, node, waiting_for, started_at, start_acknowledged, ended_at, key, expires_at, schedule_id,
  nominal_at, chain_id, needs, replay_of, reason, error, input, output`

/** The statements; `statements.ts` compares them with those that the store prepares. */
export const floorSql = {
  insert: `insert into runs (${runColumns}) values (null${", ?".repeat(28)}) on conflict do nothing`,
  count: `insert into run_counts (job, state, count) values (?, ?, ?)
    on conflict (run_counts.job, run_counts.state) do update set count = run_counts.count + excluded.count`,
  claim: `update runs set state = ?, attempt = runs.attempt + 1, token = runs.token + 1, node = ?,
    started_at = ?, start_acknowledged = ? where runs.seq in (select seq from runs indexed by runs_ready
    where state = 'ready' and queue = ? and due_at <= ? and attempt < attempt_max
    and job in (select value from json_each(?)) order by priority desc, due_at, id limit ?)
    returning ${runColumns}`,
  settle: `update runs set state = ?, settled_token = runs.token, node = ?, ended_at = ?, error = ?, output = ?
    where (runs.id = ? and runs.state = 'running' and runs.token = ?) returning job, needs`,
} as const

/** The name of the job and of the queue that both sides use. */
export const job = "noop"
export const queue = "bench"

type Values = ReadonlyArray<string | number | null>

/**
 * Rows of runs as the engine would store them, made before anything is measured. `dueAt(n)` is for runs that
 * wait; without it they are due now.
 */
export const floorRows = (count: number, dueAt?: (n: number) => number): ReadonlyArray<Values> => {
  const now = Date.now()
  const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)
  const [none, zero, attemptMax] = [null, 0, defaultRetryPolicy.attemptMax]
  return Array.from({ length: count }, (_, n): Values => {
    const due = dueAt?.(n) ?? now
    const state = due <= now ? "ready" : "scheduled"
    const input = JSON.stringify({ n })
    return [
      ...[
        ids(),
        job,
        queue,
        state,
        zero,
        due,
        now,
        zero,
        attemptMax,
        zero,
        zero,
        zero,
        none,
        zero,
        none,
        zero,
      ],
      ...[none, none, none, none, none, none, none, none, none, none, input, none],
    ]
  })
}

/** A file that is open for the floor. */
export interface Floor {
  /** Inserts rows, `batch` in a transaction. */
  readonly enqueue: (rows: ReadonlyArray<Values>, batch: number) => void
  /** Claims and settles until nothing is ready; answers how many runs. */
  readonly drain: (claimBatch: number, settleBatch: number) => number
  readonly close: () => void
}

/** Opens a file as the engine does: same pragmas, same tables and indexes. */
export const openFloor = (file: string): Floor => {
  const sqlite = new DatabaseSync(file, { timeout: 2000 })
  sqlite.exec("pragma journal_mode = wal")
  sqlite.exec("pragma synchronous = full")
  sqlite.exec("pragma foreign_keys = off")
  sqlite.exec("pragma temp_store = memory")
  sqlite.exec("pragma cache_size = -65536")
  const version = Number(Object.values(sqlite.prepare("pragma user_version").get() ?? {})[0])
  for (const step of migrations.slice(version)) sqlite.exec(step)
  sqlite.exec(`pragma user_version = ${migrations.length}`)
  const begin = sqlite.prepare("begin immediate")
  const commit = sqlite.prepare("commit")
  const statements = Object.fromEntries(
    Object.entries(floorSql).map(([name, text]) => [name, sqlite.prepare(text)]),
  ) as Record<keyof typeof floorSql, StatementSync>

  const move = (from: string, to: string, by: number): void => {
    if (from !== "") statements.count.run(job, from, -by)
    statements.count.run(job, to, by)
  }
  const claim = (limit: number) => {
    begin.run()
    const now = Date.now()
    const rows = statements.claim.all("running", "floor", now, 1, queue, now, `["${job}"]`, limit)
    if (rows.length > 0) move("ready", "running", rows.length)
    commit.run()
    return rows as unknown as ReadonlyArray<{ readonly id: string; readonly token: number }>
  }
  const settle = (rows: ReadonlyArray<{ readonly id: string; readonly token: number }>): void => {
    begin.run()
    for (const { id, token } of rows) {
      const settled = statements.settle.get("succeeded", null, Date.now(), null, null, id, token)
      if (settled === undefined) throw new Error(`The floor could not settle run "${id}"`)
    }
    move("running", "succeeded", rows.length)
    commit.run()
  }

  return {
    enqueue: (rows, batch) => {
      for (let from = 0; from < rows.length; from += batch) {
        begin.run()
        const part = rows.slice(from, from + batch)
        const states = new Map<string, number>()
        for (const row of part) {
          statements.insert.run(...row)
          states.set(String(row[3]), (states.get(String(row[3])) ?? 0) + 1)
        }
        for (const [state, by] of states) move("", state, by)
        commit.run()
      }
    },
    drain: (claimBatch, settleBatch) => {
      let drained = 0
      for (let rows = claim(claimBatch); rows.length > 0; rows = claim(claimBatch)) {
        for (let from = 0; from < rows.length; from += settleBatch)
          settle(rows.slice(from, from + settleBatch))
        drained += rows.length
      }
      return drained
    },
    close: () => sqlite.close(),
  }
}
