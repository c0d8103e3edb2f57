// The way of a run through the memory store: enqueue, claim, settle. Each operation is one synchronous section.
import type { Settled, Settlement } from "../../core/domain/Outcome.ts"
import type { ErrorInfo, NewRun, Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { timeoutError } from "../../core/flow/Advance.ts"
import type { Claim, Enqueued, Held } from "../../core/ports/StoreDriver.ts"
import { enqueueAll } from "./enqueue.ts"
import type { Plan } from "./FlowRun.ts"
import { expand } from "./flows.ts"
import type { Heap } from "./Heap.ts"
import { batchMax, checkBatch, checkLimit, windowMax } from "../../core/ports/StoreLimits.ts"
import type { NodeTable } from "./nodes.ts"
import type { Entry, RunTable } from "./RunTable.ts"

/** The operations that carry a run forward. */
export const makeRuns = (table: RunTable, nodes: NodeTable, clock: () => number) => ({
  enqueue: (runs: ReadonlyArray<NewRun>): ReadonlyArray<Enqueued> => {
    checkBatch("runs", runs)
    return enqueueAll(table, runs, clock())
  },

  claim: (wish: Claim): ReadonlyArray<Run> => {
    checkLimit(wish.limit, batchMax)
    const now = clock()
    promoteDue(table, now, Number.POSITIVE_INFINITY)
    return nodes.isAlive(wish.node, now) ? take(table, wish, now) : []
  },

  started: (runs: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
    checkBatch("runs", runs)
    const now = clock()
    return runs.map(({ id, token }) => {
      const entry = table.entries.get(id)
      const next = entry === undefined ? null : Transition.startAcknowledged(entry.run, token)
      if (entry === undefined || next === null) return false
      table.apply(entry, next, now)
      return true
    })
  },

  settle: (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Settled> => {
    checkBatch("settlements", settlements)
    const now = clock()
    // All of them before the first is applied: a batch that is refused leaves nothing.
    const plans = settlements.map((each) => planOf(table, each))
    return settlements.map((settlement, index) => settleOne(table, settlement, plans[index] ?? null, now))
  },

  promote: (limit: number): number => {
    checkLimit(limit, batchMax)
    return promoteDue(table, clock(), limit)
  },

  dueWithin: (from: number, until: number, limit: number): ReadonlyArray<number> => {
    checkLimit(limit, windowMax)
    const times = new Set<number>()
    for (const { run } of table.waiting.leading((entry) => entry.run.dueAt <= until)) {
      if (run.dueAt > from) times.add(run.dueAt)
    }
    for (const { flow } of table.deadlines.leading(({ flow }) => (flow?.deadlineAt ?? 0) <= until)) {
      const deadlineAt = flow?.deadlineAt ?? from
      if (deadlineAt > from) times.add(deadlineAt)
    }
    return [...times].sort((a, b) => a - b).slice(0, limit)
  },

  carried: (node: string, limit: number, after = ""): ReadonlyArray<Run> => {
    checkLimit(limit, batchMax)
    return Array.from(table.running.get(node) ?? [], (entry) => entry.run)
      .filter(({ id }) => id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  },

  adopt: (node: string, runs: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
    checkBatch("runs", runs)
    const now = clock()
    const holdsLease = nodes.isAlive(node, now)
    return runs.map(({ id, token }) => {
      const entry = holdsLease ? table.entries.get(id) : undefined
      const next = entry === undefined ? null : Transition.adopted(entry.run, token, node)
      if (entry === undefined || next === null) return false
      table.apply(entry, next, now)
      return true
    })
  },
})

const promoteDue = (table: RunTable, now: number, limit: number): number => {
  for (let changed = 0; changed < limit; changed++) {
    const change = nextChange(table, now)
    if (change === null) return changed
    table.apply(change.entry, change.next, now, change.error)
  }
  return limit
}

interface Change {
  readonly entry: Entry
  readonly next: Run
  readonly error: ErrorInfo | null
}

/**
 * The next change that time alone brings. What is overdue goes first: due and overdue, a run must expire, and the
 * steps of a flow run that is over its deadline must not start.
 */
const nextChange = (table: RunTable, now: number): Change | null => {
  const overdue = table.expiring.top
  if (overdue !== undefined && Transition.isOverdue(overdue.run, now)) {
    const next = Transition.expired(overdue.run, now)
    if (next !== null) return { entry: overdue, next, error: null }
  }
  const late = table.deadlines.top
  if (late !== undefined && late.flow !== null && (late.flow.deadlineAt ?? now) <= now) {
    const { totals, retryInMillis, plan } = late.flow
    const error = timeoutError(totals.open, plan.expansion)
    const next = Transition.stepsFailed(late.run, error, retryInMillis, now)
    if (next !== null) return { entry: late, next, error }
  }
  const due = table.waiting.top
  const next = due === undefined ? null : Transition.promoted(due.run, now)
  return due === undefined || next === null ? null : { entry: due, next, error: null }
}

const take = (table: RunTable, wish: Claim, now: number): ReadonlyArray<Run> => {
  const heaps = heapsOf(table, wish)
  const expanding = new Set(wish.expanding)
  const taken: Array<Run> = []
  const early: Array<Entry> = []
  while (taken.length < wish.limit) {
    let first: Entry | undefined
    for (const heap of heaps) {
      const { top } = heap
      if (top !== undefined && (first === undefined || comesBefore(top.run, first.run))) first = top
    }
    if (first === undefined) break
    const acknowledged = wish.acknowledged && !expanding.has(first.run.job)
    const next = Transition.claimed(first.run, wish.node, acknowledged, now)
    if (next === null) {
      // The clock has stepped back since it became ready: out of the way, until the search is over.
      table.leaveReady(first)
      early.push(first)
      continue
    }
    table.apply(first, next, now)
    taken.push(next)
  }
  for (const entry of early) table.readyHeap(entry.run).push(entry)
  return taken
}

const heapsOf = (table: RunTable, wish: Claim): ReadonlyArray<Heap<Entry>> => {
  const jobs = setOf(wish.jobs)
  const heaps: Array<Heap<Entry>> = []
  for (const queue of new Set(wish.queues)) {
    for (const [job, heap] of table.ready.get(queue) ?? []) {
      if (jobs.has(job) && heap.top !== undefined) heaps.push(heap)
    }
  }
  return heaps
}

// A node asks with the same list each time, and it may have thousands of jobs.
const sets = new WeakMap<ReadonlyArray<string>, ReadonlySet<string>>()
const setOf = (jobs: ReadonlyArray<string>): ReadonlySet<string> => {
  const known = sets.get(jobs)
  if (known?.size === jobs.length) return known
  const made = new Set(jobs)
  sets.set(jobs, made)
  return made
}

const comesBefore = (a: Run, b: Run): boolean => {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.dueAt !== b.dueAt ? a.dueAt < b.dueAt : a.id < b.id
}

/** What a run is to expand by, checked; `null` for one that has its steps already, and for a token that is stale. */
const planOf = (table: RunTable, settlement: Settlement): Plan | null => {
  if (settlement.kind !== "expanded") return null
  const entry = table.entries.get(settlement.id)
  if (entry === undefined || Transition.expanded(entry.run, settlement.token, 0) === null) return null
  return entry.flow?.plan ?? table.plans.check(settlement.expansion)
}

const settleOne = (table: RunTable, settlement: Settlement, plan: Plan | null, now: number): Settled => {
  const { id, token } = settlement
  const entry = table.entries.get(id)
  if (entry === undefined) return { id, result: "stale", state: null, dueAt: null }
  if (applyOne(table, entry, settlement, plan, now)) {
    entry.settledToken = token
    return answer(entry.run, "settled")
  }
  // A cancel or a reclaim leaves the token as well; only a settlement is remembered, and only until the next
  // claim makes another token.
  const applied = entry.settledToken === token && entry.run.token === token && entry.run.state !== "running"
  return answer(entry.run, applied ? "settled" : "stale")
}

const applyOne = (
  table: RunTable,
  entry: Entry,
  settlement: Settlement,
  plan: Plan | null,
  now: number,
): boolean => {
  if (settlement.kind === "expanded") {
    return plan !== null && expand(table, entry, settlement.token, plan, settlement.retryInMillis, now)
  }
  const change = Transition.settled(entry.run, settlement, now)
  if (change !== null) table.apply(entry, change.next, now, change.error)
  return change !== null
}

const answer = ({ id, state, dueAt }: Run, result: Settled["result"]): Settled => {
  const waits = state === "scheduled" || state === "ready" || state === "retrying"
  return { id, result, state, dueAt: waits ? dueAt : null }
}
