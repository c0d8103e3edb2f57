// What happens to runs beside their happy path: promote, reclaim, cancel, dead letters, prune.
import type { ErrorInfo } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Cancelled, Reclaimed, Replayed } from "../../core/ports/StoreDriver.ts"
import { refusal } from "../../core/ports/StoreLimits.ts"
import { done, type Sql, wait } from "./Sql.ts"
import { aheadMax, type Work } from "./Work.ts"

// Rows of the ledger that one prune removes.
const occurrencesMax = 10_000

/** Goes through runs that may end, in their order, and reads ahead for some of them at a time. */
export const each = <I, A>(
  work: Work,
  items: ReadonlyArray<I>,
  idOf: (item: I) => string,
  body: (item: I) => Sql<A>,
): Sql<Array<A>> => (items.length === 0 ? done([]) : goThrough(work, items, idOf, body))

function* goThrough<I, A>(
  work: Work,
  items: ReadonlyArray<I>,
  idOf: (item: I) => string,
  body: (item: I) => Sql<A>,
): Sql<Array<A>> {
  const answers: Array<A> = []
  yield* wait(work.tables.runs.lock(items.map(idOf)))
  for (let from = 0; from < items.length; from += aheadMax) {
    const some = items.slice(from, from + aheadMax)
    if (some.length > 1) yield* work.expect(some.map(idOf))
    for (const item of some) answers.push(yield* body(item))
  }
  return answers
}

const itself = (id: string): string => id

/**
 * Makes due runs ready, at most `limit`. What has come too late goes first: the steps of a flow run that is over its
 * deadline must not start; a run that is due and overdue must expire, and so must a flow run that has just been told
 * to try again.
 */
export function* promote(work: Work, limit: number): Sql<number> {
  let promoted = 0
  for (const change of [timeOut, expire, makeReady])
    if (promoted < limit) promoted += yield* change(work, limit - promoted)
  return promoted
}

/** The same before a claim, which must not give anything that has come too late, however much of it there is. */
export function* promoteAll(work: Work, limit: number): Sql<void> {
  while ((yield* timeOut(work, limit)) === limit);
  yield* expire(work, limit)
  yield* makeReady(work, limit)
}

/** Ends the rounds of flow runs that are over their deadline. */
function* timeOut(work: Work, limit: number): Sql<number> {
  const late = yield* wait(work.tables.flows.overtime(work.now(), limit))
  const ended = yield* each(work, late, itself, (id) => work.flows.timeOut(id))
  yield* work.flush()
  return ended.filter(Boolean).length
}

/** Ends what is overdue. */
function* expire(work: Work, limit: number): Sql<number> {
  const overdue = yield* wait(work.tables.runs.overdue(work.now(), limit))
  const expired = yield* each(work, overdue, itself, (id) => expireOne(work, id))
  yield* work.flush()
  return expired.filter(Boolean).length
}

/** Makes ready what is due. */
function* makeReady(work: Work, limit: number): Sql<number> {
  const ready = yield* wait(work.tables.runs.makeReady(work.now(), limit))
  for (const { job, state } of ready) work.count(job, state, "ready")
  return ready.length
}

function* expireOne(work: Work, id: string): Sql<boolean> {
  // The end of one may end another: each is looked at when its turn comes.
  const found = yield* work.find(id)
  const after = found === undefined ? null : Transition.expired(found.run, work.now())
  if (found === undefined || after === null) return false
  yield* work.save(found.run, after, found.settledToken, null)
  return true
}

/** Takes back what nodes without a lease carry, and forgets such nodes. */
export function* reclaim(work: Work, self: string, limit: number): Sql<ReadonlyArray<Reclaimed>> {
  const { runs } = work.tables
  const orphans = yield* wait(runs.orphans(self, work.now(), limit))
  const taken = yield* each(work, orphans, itself, (id) => reclaimOne(work, id))
  yield* work.flush()
  yield* wait(runs.forgetNodes(self, work.now()))
  return taken.filter((each) => each !== null)
}

function* reclaimOne(work: Work, id: string): Sql<Reclaimed | null> {
  // The end of one may have cancelled another.
  const found = yield* work.find(id)
  if (found === undefined) return null
  const { run, settledToken } = found
  const error: ErrorInfo = {
    name: "LeaseLost",
    message: `Node "${run.node}" was lost while it carried the run`,
    kind: "lost",
  }
  const after = Transition.lost(run, error, work.now())
  if (after === null) return null
  // An attempt that was given back leaves no row, or the next one would carry the same number.
  yield* work.save(run, after, settledToken, after.state === "ready" ? null : error)
  return { id: run.id, job: run.job, state: after.state, node: run.node ?? "", attempt: run.attempt }
}

/** Cancels runs that have not ended. */
export const cancel = (
  work: Work,
  ids: ReadonlyArray<string>,
  reason: string,
): Sql<ReadonlyArray<Cancelled>> =>
  each(work, ids, itself, function* (id): Sql<Cancelled> {
    const found = yield* work.find(id)
    if (found === undefined) return { id, result: "unknown" }
    const after = Transition.cancelled(found.run, reason, work.now())
    if (after === null) return { id, result: "final" }
    yield* work.save(found.run, after, found.settledToken, null)
    return { id, result: "cancelled" }
  })

/** Makes new runs of dead ones, each once. */
export function* replay(
  work: Work,
  runIds: ReadonlyArray<string>,
  newIds: ReadonlyArray<string>,
): Sql<ReadonlyArray<Replayed>> {
  const answers: Array<Replayed> = []
  if (runIds.length > 0) yield* wait(work.tables.runs.lock(runIds))
  for (const [index, id] of runIds.entries())
    answers.push(yield* replayOne(work, id, newIds[index] as string))
  return answers
}

function* replayOne(work: Work, runId: string, newId: string): Sql<Replayed> {
  const { runs } = work.tables
  const replayedBy = yield* wait(runs.replayedBy(runId))
  if (replayedBy === undefined) return { runId, newRunId: null, result: "unknown" }
  if (replayedBy !== null) return { runId, newRunId: replayedBy, result: "exists" }
  const dead = (yield* work.find(runId))?.run
  if (dead === undefined) return { runId, newRunId: null, result: "unknown" }
  const run = Transition.replay(dead, newId, work.now())
  if (!(yield* work.insert(run))) throw refusal(`newIds: run "${newId}" is there already`)
  yield* wait(runs.markReplayed(runId, newId))
  return { runId, newRunId: newId, result: "created" }
}

/** Removes letters; answers how many there were. */
export function* drop(work: Work, runIds: ReadonlyArray<string>): Sql<number> {
  return runIds.length === 0 ? 0 : yield* wait(work.tables.runs.dropLetters(runIds))
}

/** Removes runs that ended before `before` and that nothing holds, and what the ledger need not say any more. */
export function* prune(work: Work, before: number, limit: number): Sql<number> {
  const { runs, flows, schedules } = work.tables
  let count = 0
  let flowCount: number
  do {
    flowCount = 0
    const rows = yield* wait(runs.prunable(before, limit - count))
    if (rows.length > 0) yield* wait(runs.forget(rows.map(({ id }) => id)))
    for (const { job, state, expansionId } of rows) {
      work.count(job, state, null)
      count++
      if (expansionId === null) continue
      const definitionId = yield* wait(flows.forget(expansionId))
      if (definitionId !== null) yield* wait(flows.forgetDefinition(definitionId))
      flowCount++
    }
    // The runs of steps can go when their flow run has gone.
  } while (flowCount > 0 && count < limit)
  const forgotten = yield* wait(schedules.forgetOccurrences(before, occurrencesMax))
  if (forgotten < occurrencesMax) yield* wait(schedules.forgetTriggers(before))
  return count
}
