// Reading runs: by id, in pages by key, their counts, attempts and letters. Nothing here scans the history.
import {
  type Attempt,
  batchMax,
  checkBatch,
  checkLimit,
  type DeadLetter,
  decodeAttempt,
  decodeDeadLetter,
  decodeRun,
  isFinal,
  pageMax,
  refusal,
  type Run,
  type RunCount,
  type RunFilter,
  type RunState,
  runStates,
  windowMax,
} from "uhrwerk/sql"
import type { Connection, Value } from "./Connection.ts"
import { joinRuns, readRuns, runColumns } from "./runRows.ts"

// Every id sorts below this one.
const last = "\u{10ffff}"

/**
 * A page of ids, newest first. The table that has the state leads, by its index; where all states are asked for, or one
 * that nearly all runs have, and within a chain, the runs themselves lead.
 */
const pageOf = ({ state, job, chainId, before = last, limit }: RunFilter) => {
  const ofState =
    state !== undefined && chainId === undefined && !(state === "succeeded" && job !== undefined)
  const values: Array<Value> = [before]
  const conditions: Array<string> = []
  const where = (condition: string, value: Value | undefined): void => {
    if (value === undefined) return
    conditions.push(`and ${condition} = ?`)
    values.push(value)
  }
  let from: string
  if (ofState && isFinal(state)) {
    from = "ended as p force index (ended_state) straight_join runs as q on q.id = p.id"
    where("p.state", state)
    where("q.job", job)
  } else if (ofState) {
    from = "live as p"
    where("p.state", state)
    where("p.job", job)
  } else {
    from = `runs as p left join live as a on a.id = p.id left join ended as b on b.id = p.id`
    where("p.job", job)
    where("p.chain_id", chainId)
    where("coalesce(a.state, b.state)", state)
  }
  return {
    text: `select ${runColumns} from (select p.id from ${from} where p.id < ? ${conditions.join(" ")}
      order by p.id desc limit ?) as page ${joinRuns("page.id")} order by page.id desc`,
    values: [...values, limit],
  }
}

/** The part of a store that answers questions about runs. */
export const makeListing = (connection: Connection) => ({
  get: async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<Run>> => {
    checkBatch("ids", ids)
    if (ids.length === 0) return []
    const found = new Map((await readRuns(connection, ids)).map((row) => [row["id"], decodeRun(row)]))
    return ids.flatMap((id) => found.get(id) ?? [])
  },
  list: async (filter: RunFilter): Promise<ReadonlyArray<Run>> => {
    checkLimit(filter.limit, pageMax)
    if (filter.state !== undefined && !runStates.includes(filter.state))
      throw refusal(`state: "${filter.state as string}" is none of ${runStates.join(", ")}`)
    const { text, values } = pageOf(filter)
    return (await connection.read(text, values)).map(decodeRun)
  },
  counts: async (): Promise<ReadonlyArray<RunCount>> =>
    (
      await connection.read(
        `select job, state, cast(sum(count) as signed) as count from run_counts group by job, state
          having sum(count) <> 0`,
      )
    ).map((row) => ({
      job: row["job"] as string,
      state: row["state"] as RunState,
      count: row["count"] as number,
    })),
  attempts: async (runId: string): Promise<ReadonlyArray<Attempt>> =>
    (await connection.read("select * from attempts where run_id = ? order by seq", [runId])).map(
      decodeAttempt,
    ),
  deadLetters: async (filter: {
    readonly job?: string
    readonly before?: string
    readonly limit: number
  }): Promise<ReadonlyArray<DeadLetter>> => {
    checkLimit(filter.limit, pageMax)
    const { job, before = last, limit } = filter
    const [which, values] = job === undefined ? ["", []] : ["and job = ?", [job]]
    return (
      await connection.read(
        `select * from dead_letters where replayed_by is null and run_id < ? ${which} order by run_id desc limit ?`,
        [before, ...values, limit],
      )
    ).map(decodeDeadLetter)
  },
  carried: async (node: string, limit: number, after = ""): Promise<ReadonlyArray<Run>> => {
    checkLimit(limit, batchMax)
    return (
      await connection.read(
        `select ${runColumns} from (select p.id from live as p force index (live_running)
            where p.state = 'running' and p.node = ? and p.id > ? order by p.id limit ?) as page
          ${joinRuns("page.id")} order by page.id`,
        [node, after, limit],
      )
    ).map(decodeRun)
  },
  dueWithin: async (from: number, until: number, limit: number): Promise<ReadonlyArray<number>> => {
    checkLimit(limit, windowMax)
    const waiting = (state: string) => `(select distinct due_at from live force index (live_waiting)
      where state = '${state}' and due_at > ? and due_at <= ? order by due_at limit ?)`
    const window = [from, until, limit]
    return (
      await connection.read(
        `${waiting("scheduled")} union ${waiting("retrying")} union (
          select distinct deadline_at from expansions force index (expansions_deadline)
            where deadline_at > ? and deadline_at <= ? order by deadline_at limit ?)
        order by due_at limit ?`,
        [...window, ...window, ...window, limit],
      )
    ).map((row) => row["due_at"] as number)
  },
})
