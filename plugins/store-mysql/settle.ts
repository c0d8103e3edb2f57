// Settle: what became of attempts at runs that stand for themselves, a batch in one transaction that locks nothing but
// their rows. If one of them is linked to others (a step, or needed, or with needs) nothing is done, and the batch goes the
// general way.
import { type Row, type RunState, type Settled, type Settlement } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { addCounts, changesOf } from "./counts.ts"
import { endRuns } from "./runRows.ts"
import { clockAtRow, type Given, insertRows, withRows } from "./Statement.ts"

/** A settlement that moves only its own run. */
export type Plain = Exclude<Settlement, { kind: "expanded" }>

/** Whether its kind says all of it; a loss is rare, and what becomes of the run depends on how many there were. */
export const isPlain = (settlement: Settlement): settlement is Plain =>
  settlement.kind === "released" ? settlement.loss !== true : settlement.kind !== "expanded"

/** A run that is settled, and what it becomes. */
interface Done {
  readonly row: Row
  readonly settlement: Plain
  readonly after: RunState
  readonly now: number
  /** Of one that goes on. */
  readonly dueAt: number
  readonly error: string | null
}

const afterOf = (row: Row, settlement: Plain): RunState => {
  switch (settlement.kind) {
    case "succeeded":
      return "succeeded"
    case "declined":
      return "skipped"
    case "snoozed":
      return "scheduled"
    case "released":
      return "ready"
    case "failed":
      return settlement.retryInMillis === null || (row["attempt"] as number) >= (row["attempt_max"] as number)
        ? "dead"
        : "retrying"
  }
}

const dueOf = (row: Row, settlement: Plain, now: number): number => {
  if (settlement.kind === "snoozed") return now + settlement.delayMillis
  if (settlement.kind === "failed") return now + (settlement.retryInMillis ?? 0)
  return row["due_at"] as number
}

const hasEnded = ({ after }: Done): boolean =>
  after === "succeeded" || after === "skipped" || after === "dead"

/** Settles runs that stand for themselves, each at most once; `null`, and nothing is done, when one does not. */
export const settleAlone = async (
  queryable: Queryable,
  settlements: ReadonlyArray<Plain>,
  given: Given,
): Promise<ReadonlyArray<Settled> | null> => {
  const rows = await queryable.read(
    `select l.*, ${clockAtRow} as now from live as l force index (primary) where l.id in (?) order by l.id for update`,
    [settlements.map(({ id }) => id)],
  )
  const now = given ?? rows.reduce((latest, row) => Math.max(latest, row["now"] as number), 0)
  const byId = new Map(rows.map((row) => [row["id"], row]))
  const done: Array<Done> = []
  for (const settlement of settlements) {
    const row = byId.get(settlement.id)
    if (row === undefined || row["state"] !== "running" || row["token"] !== settlement.token) continue
    if (row["linked"] === 1) return null
    done.push({
      row,
      settlement,
      after: afterOf(row, settlement),
      now,
      dueAt: dueOf(row, settlement, now),
      error:
        settlement.kind === "failed" ? JSON.stringify(settlement.error) : (row["error"] as string | null),
    })
  }
  await write(queryable, done)
  const answers = new Map<string, Settled>()
  for (const each of done)
    answers.set(each.settlement.id, {
      id: each.settlement.id,
      result: "settled",
      state: each.after,
      dueAt: hasEnded(each) ? null : each.dueAt,
    })
  const others = settlements.filter(({ id }) => !answers.has(id))
  if (others.length > 0) for (const each of await lookUp(queryable, others)) answers.set(each.id, each)
  return settlements.map(({ id }) => answers.get(id) as Settled)
}

const write = async (queryable: Queryable, done: ReadonlyArray<Done>): Promise<void> => {
  if (done.length === 0) return
  const ended = done.filter(hasEnded)
  await endRuns(
    queryable,
    ended.map(({ row, settlement, after, now }) => ({
      id: settlement.id,
      state: after,
      dueAt: row["due_at"] as number,
      attempt: row["attempt"] as number,
      losses: row["losses"] as number,
      token: settlement.token,
      settledToken: settlement.token,
      startedAt: row["started_at"] as number | null,
      startAcknowledged: row["start_acknowledged"] === 1,
      waitingFor: row["waiting_for"] as number,
      endedAt: now,
      reason: settlement.kind === "declined" ? settlement.reason : null,
      error: settlement.kind === "failed" ? JSON.stringify(settlement.error) : null,
      output: settlement.kind === "succeeded" ? settlement.output : null,
    })),
    ended.flatMap(({ row }) => (row["keyed"] === 1 ? [row["id"] as string] : [])),
  )
  await withRows(
    queryable,
    ["id", "state", "due_at", "back", "error"],
    done
      .filter((each) => !hasEnded(each))
      .map(({ settlement, after, dueAt, error }): ReadonlyArray<Value> => [
        settlement.id,
        after,
        dueAt,
        settlement.kind === "failed" ? 0 : 1,
        error,
      ]),
    (given) => `update ${given} straight_join live as l on l.id = given.id set l.state = given.state,
      l.due_at = given.due_at, l.node = null, l.settled_token = l.token, l.attempt = l.attempt - given.back,
      l.error = given.error`,
  )
  const failed = done.filter(({ settlement }) => settlement.kind === "failed")
  await insertRows(
    queryable,
    "insert into attempts (run_id, attempt, token, node, started_at, ended_at, error) values ?",
    failed.map(({ row, settlement, now, error }) => [
      settlement.id,
      row["attempt"] as number,
      settlement.token,
      row["node"] as string | null,
      row["started_at"] as number | null,
      now,
      error,
    ]),
  )
  await insertRows(
    queryable,
    "insert into dead_letters (run_id, job, died_at, attempt, error) values ?",
    failed
      .filter(({ after }) => after === "dead")
      .map(({ row, settlement, now, error }) => [
        settlement.id,
        row["job"] as string,
        now,
        row["attempt"] as number,
        error,
      ]),
  )
  await addCounts(
    queryable,
    changesOf(
      done.map(({ row, after }) => ({ job: row["job"] as string, from: "running" as const, to: after })),
    ),
  )
}

/** What is answered of runs whose token does not hold. */
const lookUp = async (
  queryable: Queryable,
  settlements: ReadonlyArray<Plain>,
): Promise<ReadonlyArray<Settled>> => {
  const rows = await queryable.read(
    `select r.id, coalesce(l.state, e.state) as state, coalesce(l.due_at, e.due_at) as due_at,
        coalesce(l.token, e.token) as token, coalesce(l.settled_token, e.settled_token) as settled_token
      from runs as r force index (primary) left join live as l on l.id = r.id left join ended as e on e.id = r.id
      where r.id in (?)`,
    [settlements.map(({ id }) => id)],
  )
  const found = new Map(rows.map((row) => [row["id"], row]))
  return settlements.map(({ id, token }): Settled => {
    const row = found.get(id)
    const state = (row?.["state"] ?? null) as RunState | null
    const waits = state === "scheduled" || state === "ready" || state === "retrying"
    // The answer to the first writing may have been lost: the same token gets what became of it.
    const repeated =
      token > 0 && row?.["settled_token"] === token && row["token"] === token && state !== "running"
    return {
      id,
      result: repeated ? "settled" : "stale",
      state,
      dueAt: waits ? (row?.["due_at"] as number) : null,
    }
  })
}
