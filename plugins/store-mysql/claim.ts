// Claim, promote and start. A look without a transaction says first whether there is anything to do, so that an idle node
// costs one read a poll. A claim makes due runs ready and takes what it wants in one transaction; what other nodes have
// in hand is passed over, so that claimers do not wait for one another.
import { type Claim, decodeRun, type Held, type Row, type Run, type RunState } from "uhrwerk/sql"
import type { Queryable } from "./Connection.ts"
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
}

/** Looks, and locks nothing. */
export const look = async (
  queryable: Queryable,
  given: Given,
  queues: ReadonlyArray<string>,
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
    `select ${now} as now, (${mends.join(" or ")}) as mend, (${dues.join(" or ")}) as due, ${ready} as ready`,
    [
      ...(given === null ? [] : Array<number>(1 + mends.length + dues.length).fill(given)),
      ...(queues.length === 0 ? [] : [queues]),
    ],
  )
  const is = (name: string): boolean => row?.[name] === 1
  return { now: row?.["now"] as number, mend: is("mend"), due: is("due"), ready: is("ready") }
}

const firstToStart = (a: Row, b: Row): number =>
  (a["turn"] as number) - (b["turn"] as number) ||
  (a["due_at"] as number) - (b["due_at"] as number) ||
  ((a["id"] as string) < (b["id"] as string) ? -1 : 1)

/** Takes runs, in a transaction; what must be mended was mended before `seen`. */
export const take = async (queryable: Queryable, wish: Claim, seen: Look): Promise<ReadonlyArray<Run>> => {
  const { now } = seen
  const queues = new Set(wish.queues)
  const jobs = new Set(wish.jobs)
  const isWanted = (row: Row): boolean =>
    queues.has(row["queue"] as string) &&
    jobs.has(row["job"] as string) &&
    (row["attempt"] as number) < (row["attempt_max"] as number)
  const due = seen.due ? (await dueRuns(queryable, now, promoteMax)).filter((row) => !isLate(row, now)) : []
  const ready: Array<Row> = []
  if (seen.ready && jobs.size > 0)
    for (const queue of queues)
      ready.push(
        ...(await queryable.read(
          `select id, job, state, turn, due_at from live force index (live_ready)
            where state = 'ready' and queue = ? and due_at <= ? and attempt < attempt_max and job in (?)
              and (expires_at is null or expires_at > ?)
            order by turn, due_at, id limit ? for update skip locked`,
          [queue, now, [...jobs], now, wish.limit],
        )),
      )
  const chosen = [...ready, ...due.filter(isWanted)].sort(firstToStart).slice(0, wish.limit)
  const ids = idsOf(chosen)
  const isChosen = new Set(ids)
  const others = due.filter((row) => !isChosen.has(row["id"] as string))
  await setReady(queryable, idsOf(others))
  const move = (row: Row, to: RunState) => ({
    job: row["job"] as string,
    from: row["state"] as RunState,
    to,
  })
  await addCounts(
    queryable,
    changesOf([...others.map((row) => move(row, "ready")), ...chosen.map((row) => move(row, "running"))]),
  )
  if (ids.length === 0) return []
  const expanding = wish.expanding ?? []
  const acknowledged = bit(wish.acknowledged)
  await queryable.change(
    `update live force index (primary) set state = 'running', node = ?, token = token + 1, attempt = attempt + 1,
      started_at = ?, start_acknowledged = ${expanding.length === 0 ? "?" : "case when job in (?) then 0 else ? end"}
      where id in (?)`,
    [wish.node, now, ...(expanding.length === 0 ? [] : [expanding]), acknowledged, ids],
  )
  const taken = new Map((await heldRuns(queryable, ids)).map((row) => [row["id"], decodeRun(row)]))
  return ids.map((id) => taken.get(id) as Run)
}

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
  await addCounts(
    queryable,
    changesOf(
      due.map((row) => ({ job: row["job"] as string, from: row["state"] as RunState, to: "ready" as const })),
    ),
  )
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
