// The floor: the writes of a run's life by hand, as plain prepared statements of `node:sqlite`. Nothing of the
// engine runs here: no ids are made, no rows are decoded, no promise is waited for. What the engine does on top
// of it is the price of the engine.
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { migrations } from "../../adapters/store-sql/sqlite/migrations.ts"
import { wantedJobsTable } from "../../adapters/store-sql/sqlite/wantedJobs.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { defaultRetryPolicy } from "../../core/domain/RetryPolicy.ts"
import type { Step } from "./steps.ts"

const runColumns = `seq, id, job, queue, state, priority, due_at, created_at, attempt, attempt_max, losses, token,
  settled_token, node, waiting_for, started_at, start_acknowledged, ended_at, key, expires_at, schedule_id,
  nominal_at, chain_id, needs, replay_of, reason, error, input, output, parent_id, step`

/** The statements; `agreement.ts` compares them with those that the store prepares. */
export const floorSql = {
  insert: `insert into runs (${runColumns}) values (null${", ?".repeat(30)}) on conflict do nothing`,
  count: `insert into run_counts (job, state, count) values (?, ?, ?)
    on conflict (run_counts.job, run_counts.state) do update set count = run_counts.count + excluded.count`,
  claim: `update runs set state = ?, attempt = runs.attempt + 1, token = runs.token + 1, node = ?,
    started_at = ?, start_acknowledged = ? and not (select expands from wanted_jobs where job = runs.job) where runs.seq in (select seq from runs indexed by runs_ready
    where state = 'ready' and queue = ? and due_at <= ? and attempt < attempt_max
    and (expires_at is null or expires_at > ?) and job in (select job from wanted_jobs) order by priority desc, due_at, id limit ?)
    returning ${runColumns}`,
  settle: `update runs set state = ?, settled_token = runs.token, node = ?, ended_at = ?, error = ?, output = ?
    where (runs.id = ? and runs.state = 'running' and runs.token = ?) returning job, needs, parent_id, step`,
} as const

/** The name of the job and of the queue that both sides use. */
export const job = "noop"
export const queue = "bench"

interface Held {
  readonly id: string
  readonly token: number
}

type Values = ReadonlyArray<string | number | null>

/**
 * Rows of runs as the engine would store them, made before anything is measured. `dueAt(n)` is for runs that
 * wait; without it they are due now. They are numbered from `from` on.
 */
export const floorRows = (
  count: number,
  { from = 0, dueAt }: { readonly from?: number; readonly dueAt?: (n: number) => number } = {},
): ReadonlyArray<Values> => {
  const now = Date.now()
  const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)
  const attemptMax = defaultRetryPolicy.attemptMax
  return Array.from({ length: count }, (_, index): Values => {
    const n = from + index
    const due = dueAt?.(n) ?? now
    const given: Readonly<Record<string, string | number>> = {
      ...zeros,
      id: ids(),
      job,
      queue,
      state: due <= now ? "ready" : "scheduled",
      due_at: due,
      created_at: now,
      attempt_max: attemptMax,
      input: JSON.stringify({ n }),
    }
    return bound.map((column) => given[column] ?? null)
  })
}

// Everything but `seq`, which SQLite gives.
const bound = runColumns.split(/,\s*/).slice(1)
const zeros = {
  priority: 0,
  attempt: 0,
  losses: 0,
  token: 0,
  settled_token: 0,
  waiting_for: 0,
  start_acknowledged: 0,
}
const stateAt = bound.indexOf("state")

/** A file that is open for the floor. */
export interface Floor {
  /** Inserts rows in transactions of these sizes, which are gone through again when there are more rows. */
  readonly enqueue: (rows: ReadonlyArray<Values>, sizes: ReadonlyArray<number>) => void
  /** Claims and settles in transactions like these, again and again until no run is left; answers how many. */
  readonly drain: (steps: ReadonlyArray<Step>) => number
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
  sqlite.exec(wantedJobsTable)
  sqlite.prepare("insert into wanted_jobs (job, expands) values (?, 0)").run(job)
  const begin = sqlite.prepare("begin immediate")
  const commit = sqlite.prepare("commit")
  const statements = Object.fromEntries(
    Object.entries(floorSql).map(([name, text]) => [name, sqlite.prepare(text)]),
  ) as Record<keyof typeof floorSql, StatementSync>

  const move = (from: string, to: string, by: number): void => {
    if (from !== "") statements.count.run(job, from, -by)
    statements.count.run(job, to, by)
  }
  const insert = (rows: ReadonlyArray<Values>): void => {
    begin.run()
    const states = new Map<string, number>()
    for (const row of rows) {
      statements.insert.run(...row)
      const state = String(row[stateAt])
      states.set(state, (states.get(state) ?? 0) + 1)
    }
    for (const [state, by] of states) move("", state, by)
    commit.run()
  }
  const claim = (limit: number): ReadonlyArray<Held> => {
    // As the store does: a claim does not wait for the disk.
    sqlite.exec("pragma synchronous = normal")
    begin.run()
    const now = Date.now()
    const rows = statements.claim.all("running", "floor", now, 1, queue, now, now, limit)
    if (rows.length > 0) move("ready", "running", rows.length)
    commit.run()
    sqlite.exec("pragma synchronous = full")
    return rows as unknown as ReadonlyArray<Held>
  }
  const settle = (rows: ReadonlyArray<Held>): void => {
    begin.run()
    for (const { id, token } of rows) {
      const settled = statements.settle.get("succeeded", null, Date.now(), null, null, id, token)
      if (settled === undefined) throw new Error(`The floor could not settle run "${id}"`)
    }
    move("running", "succeeded", rows.length)
    commit.run()
  }

  return {
    enqueue: (rows, sizes) => {
      let from = 0
      for (let step = 0; from < rows.length; step++) {
        const size = sizes[step % sizes.length] ?? rows.length
        insert(rows.slice(from, from + size))
        from += size
      }
    },
    drain: (steps) => {
      let drained = 0
      let held: ReadonlyArray<Held> = []
      for (let at = 0; ; at++) {
        const { operation, rows } = steps[at % steps.length] ?? { operation: "settle", rows: 0 }
        if (operation === "settle") {
          if (held.length > 0) settle(held.slice(0, rows))
          held = held.slice(rows)
          continue
        }
        const claimed = claim(rows)
        drained += claimed.length
        held = [...held, ...claimed]
        if (claimed.length > 0) continue
        if (held.length > 0) settle(held)
        return drained
      }
    },
    close: () => sqlite.close(),
  }
}
