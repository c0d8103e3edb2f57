// The general way of the operations on runs that each database of this folder has statements of its own for.
import { type Run, runStates } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Claim, RunStoreDriver } from "../../core/ports/StoreDriver.ts"
import {
  batchMax,
  checkBatch,
  checkLimit,
  pageMax,
  refusal,
  windowMax,
} from "../../core/ports/StoreLimits.ts"
import { storeRuns } from "./enqueue.ts"
import type { RunGeneral } from "./GeneralStore.ts"
import { settleOne } from "./settle.ts"
import { depthsByQueue, jobsAskedFor } from "./listing.ts"
import { mapped, type Sql, wait } from "./Sql.ts"
import { adoptRuns, startRuns } from "./start.ts"
import type { StoreTables } from "./StoreTables.ts"
import { each, promoteAll } from "./upkeep.ts"
import type { Work } from "./Work.ts"

/** The operations that `makeOperations` leaves to the database. */
type General = Pick<
  RunStoreDriver,
  | "enqueue"
  | "claim"
  | "started"
  | "settle"
  | "carried"
  | "adopt"
  | "dueWithin"
  | "get"
  | "list"
  | "counts"
  | "queueDepths"
  | "attempts"
  | "deadLetters"
>

/** Every id sorts below this one. */
const aboveAll = "\u{10ffff}"

// Nothing that an answer says is lost with a transaction that only read, or that may be taken back by a power failure.
const repeatable = { repeatable: true }

/** Makes them. */
export const generalRuns = (run: RunGeneral): General => ({
  enqueue: (newRuns) => {
    checkBatch("runs", newRuns)
    return run((work) => storeRuns(work, newRuns))
  },
  claim: (wish) => {
    checkLimit(wish.limit, batchMax)
    // A worker lives on when the power fails here: the token that it was sent must not be given again.
    return run((work, tables) => claim(work, tables, wish), { repeatable: wish.acknowledged })
  },
  started: (held) => {
    checkBatch("runs", held)
    return run((work) => startRuns(work, held), repeatable)
  },
  settle: (settlements) => {
    checkBatch("settlements", settlements)
    const idOf = ({ id }: { readonly id: string }): string => id
    return run((work) => each(work, settlements, idOf, (settlement) => settleOne(work, settlement)))
  },
  carried: (node, limit, after = "") => {
    checkLimit(limit, batchMax)
    return run((_, { runs }) => wait(runs.running(node, after, limit)), repeatable)
  },
  adopt: (node, held) => {
    checkBatch("runs", held)
    return run(function* (work, tables) {
      return (yield* holdsLease(work, tables, node))
        ? yield* adoptRuns(work, node, held)
        : held.map(() => false)
    })
  },
  dueWithin: (from, until, limit) => {
    checkLimit(limit, windowMax)
    return run((_, tables) => dueWithin(tables, from, until, limit), repeatable)
  },
  get: (ids) => {
    checkBatch("ids", ids)
    return run((_, tables) => get(tables, ids), repeatable)
  },
  list: (filter) => {
    checkLimit(filter.limit, pageMax)
    if (filter.state !== undefined && !runStates.includes(filter.state))
      throw refusal(`state: "${filter.state as string}" is none of ${runStates.join(", ")}`)
    if (filter.jobs !== undefined) checkBatch("jobs", filter.jobs)
    const { before = aboveAll, after = "" } = filter
    return run((_, { runs }) => wait(runs.list({ ...filter, before, after })), repeatable)
  },
  counts: () => run((_, { runs }) => wait(runs.counts()), repeatable),
  queueDepths: () => run((_, { runs }) => mapped(runs.depths(), depthsByQueue), repeatable),
  attempts: (runId) => run((_, { runs }) => wait(runs.attempts(runId)), repeatable),
  deadLetters: ({ before = aboveAll, limit, ...filter }) => {
    checkLimit(limit, pageMax)
    const jobs = jobsAskedFor(filter)
    return run((_, { runs }) => wait(runs.letters({ jobs, before, limit })), repeatable)
  },
})

// A call may be on its way for longer than the lease of its node.
function* holdsLease(work: Work, { nodes }: StoreTables, node: string): Sql<boolean> {
  const lease = yield* wait(nodes.find(node))
  return lease !== undefined && lease.expiresAt > work.now()
}

function* claim(work: Work, tables: StoreTables, wish: Claim): Sql<ReadonlyArray<Run>> {
  yield* promoteAll(work, batchMax)
  const { node, queues, jobs, limit, acknowledged, expanding = [] } = wish
  const now = work.now()
  if (!(yield* holdsLease(work, tables, node))) return []
  const neverTheStart = new Set(expanding)
  const claimed: Array<Run> = []
  for (const { run, settledToken } of yield* wait(tables.runs.ready({ queues, jobs, now, limit }))) {
    const after = Transition.claimed(run, node, acknowledged && !neverTheStart.has(run.job), now)
    if (after === null) throw new Error(`Run "${run.id}" is ${run.state} and was offered as one to claim`)
    yield* work.save(run, after, settledToken, null)
    claimed.push(after)
  }
  return claimed
}

function* dueWithin(
  { runs, flows }: StoreTables,
  from: number,
  until: number,
  limit: number,
): Sql<ReadonlyArray<number>> {
  const ofRuns = yield* wait(runs.dueTimes(from, until, limit))
  const ofFlows = yield* wait(flows.deadlines(from, until, limit))
  return [...new Set([...ofRuns, ...ofFlows])].sort((a, b) => a - b).slice(0, limit)
}

function* get({ runs }: StoreTables, ids: ReadonlyArray<string>): Sql<ReadonlyArray<Run>> {
  if (ids.length === 0) return []
  const found = new Map((yield* wait(runs.read(ids))).map(({ run }) => [run.id, run]))
  return ids.flatMap((id) => found.get(id) ?? [])
}
