// Counts of runs are only ever added to, so that nodes do not wait for one another; this makes few rows of many.
import type { CountChange, RunState } from "uhrwerk/sql"
import type { Connection, Queryable } from "./Connection.ts"
import { insertRows } from "./Statement.ts"

// After how many writes of one store its rows are folded, and how many at a time.
const writesBetween = 256
const rowsMax = 5000

/** Adds changes. */
export const addCounts = (queryable: Queryable, changes: ReadonlyArray<CountChange>): Promise<void> =>
  insertRows(
    queryable,
    "insert into run_counts (job, state, count) values ?",
    changes.map(({ job, state, by }) => [job, state, by]),
  )

/** The changes of runs that went from one state to another; `null`: they are new. */
export const changesOf = (
  moves: Iterable<{ readonly job: string; readonly from: RunState | null; readonly to: RunState }>,
): ReadonlyArray<CountChange> => {
  const sums = new Map<string, { job: string; state: RunState; by: number }>()
  const add = (job: string, state: RunState, by: number): void => {
    const name = `${state} ${job}`
    const sum = sums.get(name)
    if (sum === undefined) sums.set(name, { job, state, by })
    else sum.by += by
  }
  for (const { job, from, to } of moves) {
    if (from === to) continue
    if (from !== null) add(job, from, -1)
    add(job, to, 1)
  }
  return [...sums.values()].filter(({ by }) => by !== 0)
}

/** Makes what is to be called after each write that counts; it never fails and nobody waits for it. */
export const makeFolding = (connection: Connection): (() => void) => {
  let writes = 0
  return () => {
    if (++writes % writesBetween === 0) void fold(connection).catch(() => {})
  }
}

/** Replaces the oldest rows by their sums; rows that somebody else folds, or is about to commit, are passed over. */
export const fold = (connection: Connection): Promise<void> =>
  connection.transaction(async (queryable) => {
    const rows = await queryable.read(
      "select seq, job, state, count from run_counts order by seq limit ? for update skip locked",
      [rowsMax],
    )
    if (rows.length < 2) return
    const sums = new Map<string, CountChange & { by: number }>()
    for (const row of rows) {
      const [job, state, by] = [row["job"] as string, row["state"] as RunState, row["count"] as number]
      const name = `${state} ${job}`
      const sum = sums.get(name)
      if (sum === undefined) sums.set(name, { job, state, by })
      else sum.by += by
    }
    await queryable.change("delete from run_counts where seq in (?)", [
      rows.map((row) => row["seq"] as number),
    ])
    await addCounts(
      queryable,
      [...sums.values()].filter(({ by }) => by !== 0),
    )
  })
