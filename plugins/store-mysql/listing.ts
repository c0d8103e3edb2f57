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
  depthOf,
  depthsByQueue,
  isFinal,
  jobsAskedFor,
  pageMax,
  type QueueDepth,
  refusal,
  type Row,
  type Run,
  type RunCount,
  type RunFilter,
  type RunState,
  type RunStoreDriver,
  runStates,
  windowMax,
} from "uhrwerk/sql"
import type { Connection, Values } from "./Connection.ts"
import { joinRuns, readRuns, runColumns } from "./runRows.ts"
import { pieces } from "./Statement.ts"

// Every id sorts below this one.
const last = "\u{10ffff}"

type Asked = RunFilter & { readonly before: string; readonly after: string }

/**
 * A page of ids, newest first, of these jobs or of all. The table that has the state leads, by its index; where all states
 * are asked for, or one that nearly all runs have, and within a chain, the runs themselves lead.
 */
const idsOf = (
  { state, queue, chainId, before, after, limit }: Asked,
  jobs: ReadonlyArray<string> | null,
): { readonly text: string; readonly values: Values } => {
  const ofState = state !== undefined && chainId === undefined && !(state === "succeeded" && jobs !== null)
  const ended = ofState && isFinal(state)
  const from = ended
    ? "ended as p force index (ended_state) straight_join runs as q on q.id = p.id"
    : ofState
      ? "live as p"
      : "runs as p left join live as a on a.id = p.id left join ended as b on b.id = p.id"
  const run = ended ? "q" : "p"
  const conditions: ReadonlyArray<readonly [text: string, value: Values[number] | undefined]> = [
    ["p.id < ?", before],
    ["p.id > ?", after],
    [`${ofState ? "p.state" : "coalesce(a.state, b.state)"} = ?`, state],
    [
      `${run}.job ${jobs?.length === 1 ? "= ?" : "in (?)"}`,
      jobs?.length === 1 ? jobs[0] : (jobs ?? undefined),
    ],
    [`${run}.queue = ?`, queue],
    ["p.chain_id = ?", chainId],
  ]
  const given = conditions.filter(([, value]) => value !== undefined)
  return {
    text: `select p.id from ${from} where ${given.map(([text]) => text).join(" and ")} order by p.id desc limit ?`,
    values: [...given.map(([, value]) => value as Values[number]), limit],
  }
}

// How many jobs are asked for in one statement, each along the index of jobs.
const jobsAtOnce = 50

/**
 * The first ids of several jobs: whatever its history, of each job only those are read that come before the last one of
 * what was found so far.
 */
const firstOfEach = async (
  connection: Connection,
  filter: Asked,
  jobs: ReadonlyArray<string>,
): Promise<ReadonlyArray<string>> => {
  let page: ReadonlyArray<string> = []
  for (const some of pieces(jobs, jobsAtOnce)) {
    const last = page.length < filter.limit ? filter.after : (page.at(-1) as string)
    const parts = some.map((job) => idsOf({ ...filter, after: last }, [job]))
    const rows = await connection.read(
      parts.map(({ text }) => `(${text})`).join(" union all "),
      parts.flatMap(({ values }) => values),
    )
    const found = rows.map((row) => row["id"] as string)
    page = [...page, ...found].sort((a, b) => (a < b ? 1 : -1)).slice(0, filter.limit)
  }
  return page
}

/** The rows of a page. */
const pageOf = async (connection: Connection, filter: RunFilter): Promise<ReadonlyArray<Row>> => {
  const { before = last, after = "" } = filter
  const asked = { ...filter, before, after }
  const jobs = jobsAskedFor(filter)
  if (jobs?.length === 0) return []
  const isHistory = filter.chainId === undefined && (filter.state ?? "succeeded") === "succeeded"
  if (jobs !== null && jobs.length > 1 && isHistory) {
    const ids = await firstOfEach(connection, asked, jobs)
    if (ids.length === 0) return []
    const rows = new Map((await readRuns(connection, ids)).map((row) => [row["id"], row]))
    return ids.map((id) => rows.get(id)).filter((row) => row !== undefined)
  }
  const { text, values } = idsOf(asked, jobs)
  return connection.read(
    `select ${runColumns} from (${text}) as page ${joinRuns("page.id")} order by page.id desc`,
    values,
  )
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
    return (await pageOf(connection, filter)).map(decodeRun)
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
  queueDepths: async (): Promise<ReadonlyArray<QueueDepth>> =>
    depthsByQueue(
      (
        await connection.read(
          `select queue, cast(sum(state = 'ready') as signed) as ready, cast(sum(state = 'running') as signed) as running,
              min(if(state = 'ready', due_at, null)) as oldest_due_at
            from live force index (live_ready) where state in ('ready', 'running') group by queue`,
        )
      ).map(depthOf),
    ),
  attempts: async (runId: string): Promise<ReadonlyArray<Attempt>> =>
    (await connection.read("select * from attempts where run_id = ? order by seq", [runId])).map(
      decodeAttempt,
    ),
  deadLetters: async (
    filter: Parameters<RunStoreDriver["deadLetters"]>[0],
  ): Promise<ReadonlyArray<DeadLetter>> => {
    checkLimit(filter.limit, pageMax)
    const { before = last, limit } = filter
    const jobs = jobsAskedFor(filter)
    if (jobs?.length === 0) return []
    const [which, values] =
      jobs === null ? ["", []] : jobs.length === 1 ? ["and job = ?", [...jobs]] : ["and job in (?)", [jobs]]
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
