// Claim, promote and start. A look without a transaction says first whether there is anything to do, so that an idle node
// costs one read a poll. A claim makes due runs ready and takes what it wants in one transaction; what other nodes have
// in hand is passed over, so that claimers do not wait for one another. The last that it does is to take, and only while
// its node's lease holds.
import { type Claim, decodeRun, type Held, type Row, type Run, type RunState, Transition } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { addCounts, changesOf } from "./counts.ts"
import { dueRuns, idsOf, setReady } from "./RunTable.ts"
import { runColumns } from "./runRows.ts"
import { bit, clock, type Given, withRows } from "./Statement.ts"

// How many due runs one claim makes ready.
const promoteMax = 1000

/** What there is to do, by the store's clock. */
export interface Look {
  readonly now: number
  /** A run must expire, or a flow run is over its deadline: what hangs on it must move before anything starts. */
  readonly mend: boolean
  readonly due: boolean
  readonly ready: boolean
  /** Whether the node's lease holds. */
  readonly holds: boolean
}

/** Looks, and locks nothing; of queues and node only a claim asks. */
export const look = async (
  queryable: Queryable,
  given: Given,
  { queues, node }: Pick<Claim, "queues" | "node">,
): Promise<Look> => {
  // Written out where it is needed, and not read from a derived table: a bound that is known leads into the index.
  const now = given === null ? clock : "?"
  const has = (from: string) => `exists (select 1 from ${from} <= ${now})`
  const mends = [
    ...["scheduled", "ready", "retrying"].map((state) =>
      has(`live force index (live_expiring) where state = '${state}' and expires_at`),
    ),
    has("expansions force index (expansions_deadline) where deadline_at"),
  ]
  const dues = ["scheduled", "retrying"].map((state) =>
    has(`live force index (live_waiting) where state = '${state}' and due_at`),
  )
  const ready =
    queues.length === 0
      ? "0"
      : "exists (select 1 from live force index (live_ready) where state = 'ready' and queue in (?))"
  const [row] = await queryable.read(
    `select ${now} as now, (${mends.join(" or ")}) as mend, (${dues.join(" or ")}) as due, ${ready} as ready,
      ${leaseHolds(given)} as holds`,
    [
      ...(given === null ? [] : Array<number>(1 + mends.length + dues.length).fill(given)),
      ...(queues.length === 0 ? [] : [queues]),
      ...leaseValues(given, node),
    ],
  )
  const is = (name: string): boolean => row?.[name] === 1
  return {
    now: row?.["now"] as number,
    mend: is("mend"),
    due: is("due"),
    ready: is("ready"),
    holds: is("holds"),
  }
}

/** Whether the lease of a node holds, with `leaseValues`: a call may be on its way for longer. */
export const leaseHolds = (given: Given): string =>
  `exists (select 1 from nodes where nodes.id = ? and nodes.expires_at > ${given === null ? clock : "?"})`
/** Its values. */
export const leaseValues = (given: Given, node: string): ReadonlyArray<Value> =>
  given === null ? [node] : [node, given]

const firstToStart = (a: Row, b: Row): number =>
  (a["turn"] as number) - (b["turn"] as number) ||
  (a["due_at"] as number) - (b["due_at"] as number) ||
  ((a["id"] as string) < (b["id"] as string) ? -1 : 1)

/**
 * Takes runs, in a transaction; what must be mended was mended before `seen`. `null`: the lease has ended meanwhile, and
 * the transaction must be taken back.
 */
export const take = async (
  queryable: Queryable,
  wish: Claim,
  seen: Look,
  given: Given,
): Promise<ReadonlyArray<Run> | null> => {
  const { now, holds } = seen
  const queues = new Set(wish.queues)
  const jobs = new Set(wish.jobs)
  const isWanted = (row: Row): boolean =>
    holds &&
    queues.has(row["queue"] as string) &&
    jobs.has(row["job"] as string) &&
    (row["attempt"] as number) < (row["attempt_max"] as number)
  const due = seen.due ? (await dueRuns(queryable, now, promoteMax)).filter((row) => !isLate(row, now)) : []
  const ready = seen.ready && holds && jobs.size > 0 ? await readyRuns(queryable, wish, now) : []
  const chosen = [...ready, ...due.filter(isWanted)].sort(firstToStart).slice(0, wish.limit)
  const ids = idsOf(chosen)
  const isChosen = new Set(ids)
  const others = due.filter((row) => !isChosen.has(row["id"] as string))
  await setReady(queryable, idsOf(others))
  await addCounts(
    queryable,
    changesOf([...others.map((row) => move(row, "ready")), ...chosen.map((row) => move(row, "running"))]),
  )
  if (ids.length === 0) return []
  const found = new Map((await heldRuns(queryable, ids)).map((row) => [row["id"], decodeRun(row)]))
  const expanding = new Set(wish.expanding)
  const taken = ids.map((id) => {
    const run = { ...(found.get(id) as Run), state: "ready" as const }
    const claimed = Transition.claimed(run, wish.node, wish.acknowledged && !expanding.has(run.job), now)
    if (claimed === null) throw new Error(`Run "${id}" was found to be ready, and cannot be claimed`)
    return claimed
  })
  const { count } = await queryable.change(
    `update live force index (primary) set state = 'running', node = ?, token = token + 1, attempt = attempt + 1,
      started_at = ?, start_acknowledged = ? where id in (?) and ${leaseHolds(given)}`,
    [wish.node, now, bit(wish.acknowledged), ids, ...leaseValues(given, wish.node)],
  )
  if (count < ids.length) return null
  const unacknowledged = taken.filter(({ job }) => expanding.has(job)).map(({ id }) => id)
  if (wish.acknowledged && unacknowledged.length > 0)
    await queryable.change("update live force index (primary) set start_acknowledged = 0 where id in (?)", [
      unacknowledged,
    ])
  return taken
}

/** What a node may have, locked, from each queue as many as it wants. */
const readyRuns = async (queryable: Queryable, wish: Claim, now: number): Promise<ReadonlyArray<Row>> => {
  const ready: Array<Row> = []
  for (const queue of new Set(wish.queues))
    ready.push(
      ...(await queryable.read(
        `select id, job, state, turn, due_at from live force index (live_ready)
          where state = 'ready' and queue = ? and due_at <= ? and attempt < attempt_max and job in (?)
            and (expires_at is null or expires_at > ?)
          order by turn, due_at, id limit ? for update skip locked`,
        [queue, now, [...new Set(wish.jobs)], now, wish.limit],
      )),
    )
  return ready
}

const move = (row: Row, to: RunState) => ({ job: row["job"] as string, from: row["state"] as RunState, to })

const isLate = (row: Row, now: number): boolean =>
  row["expires_at"] !== null && (row["expires_at"] as number) <= now

// Of runs that have not ended.
const heldRuns = (queryable: Queryable, ids: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> =>
  queryable.read(
    `select ${runColumns} from live as l force index (primary) straight_join runs as r on r.id = l.id
      left join ended as e on e.id = l.id where l.id in (?)`,
    [ids],
  )

/** Makes due runs ready, in a transaction; answers how many. */
export const makeReady = async (queryable: Queryable, now: number, limit: number): Promise<number> => {
  const due = await dueRuns(queryable, now, limit)
  await setReady(queryable, idsOf(due))
  await addCounts(queryable, changesOf(due.map((row) => move(row, "ready"))))
  return due.length
}

/** Acknowledges starts; answers which tokens hold. */
export const start = async (
  queryable: Queryable,
  runs: ReadonlyArray<Held>,
): Promise<ReadonlyArray<boolean>> => {
  if (runs.length === 0) return []
  const look = async () =>
    new Map(
      (
        await queryable.read(
          `select id, token, start_acknowledged from live force index (primary) where id in (?)
            and state = 'running'`,
          [runs.map(({ id }) => id)],
        )
      ).map((row) => [row["id"], row]),
    )
  let held = await look()
  const holds = ({ id, token }: Held): boolean => held.get(id)?.["token"] === token
  const open = runs.filter((run) => holds(run) && held.get(run.id)?.["start_acknowledged"] === 0)
  if (open.length > 0) {
    await withRows(
      queryable,
      ["id", "token"],
      open.map(({ id, token }) => [id, token]),
      (given) => `update ${given} straight_join live as l on l.id = given.id and l.token = given.token
        set l.start_acknowledged = 1 where l.state = 'running'`,
    )
    // Whoever lost one in between must hear of it.
    held = await look()
  }
  return runs.map(holds)
}

/** Whether a reclaim would find anything: a node whose lease has ended, or a run whose node has none; not `self`. */
export const isLeftBehind = async (queryable: Queryable, self: string, given: Given): Promise<boolean> => {
  const now = given === null ? clock : "?"
  const at = given === null ? [] : [given]
  const [row] = await queryable.read(
    `select exists (select 1 from nodes as n where n.expires_at <= ${now} and n.id <> ?)
      or exists (select 1 from live as l force index (live_running) where l.state = 'running' and l.node <> ?
        and not exists (select 1 from nodes as n where n.id = l.node and n.expires_at > ${now})) as found`,
    [...at, self, self, ...at],
  )
  return row?.["found"] === 1
}
