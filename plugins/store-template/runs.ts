// Runs and what hangs on them: dependents, attempts, counts and dead letters.
import {
  isFinal,
  jobsAskedFor,
  type QueueDepth,
  type Run,
  type RunReads,
  type RunRow,
  type RunTable,
  type Wanted,
} from "uhrwerk/sql"
import type { Database } from "./Database.ts"
import { pair, type Rows } from "./rows.ts"

const waitsForItsTime = ({ run }: RunRow): boolean => run.state === "scheduled" || run.state === "retrying"

const nothing = { ready: 0, oldestDueAt: null, running: 0 }

const byDueTime = (a: Run, b: Run): number => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
const byPriority = (a: Run, b: Run): number => b.priority - a.priority || byDueTime(a, b)
const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)

/** Makes the table of an open database. */
export const makeRuns = (database: Database, rows: Rows): RunTable & RunReads => ({
  // A database with several clients locks the rows here, in the order of their ids (`select ... for update`).
  lock: () => {},
  find: (ids) => rows.runs.some(ids),
  read: (ids) => rows.runs.some(ids),

  // Unique: the id, and among runs that have not ended, job and key.
  insert: (run) => {
    if (rows.runs.get(run.id) !== undefined || openRun(rows, run.job, run.key) !== undefined) return false
    rows.runs.put({ run, settledToken: 0 })
    return true
  },
  insertNew: (runs) => {
    const added = runs.filter(({ id }) => rows.runs.get(id) === undefined)
    for (const run of added) rows.runs.put({ run, settledToken: 0 })
    return added.length
  },
  update: (changed) => changed.forEach((row) => rows.runs.put(row)),
  openOf: (job, key) => openRun(rows, job, key),

  addDependents: (added) => added.forEach((each) => rows.dependents.put(each)),
  dependentsOf: (needIds) => rows.dependents.where(({ needId }) => needIds.includes(needId)),
  dropDependents: (dropped) =>
    dropped.forEach(({ needId, runId }) => rows.dependents.remove(pair(needId, runId))),

  addAttempts: (added) => added.forEach((each) => rows.attempts.put({ ...each, seq: database.nextId() })),
  addCounts: (changes) => {
    for (const { job, state, by } of changes) {
      const before = rows.counts.get(pair(job, state))?.by ?? 0
      rows.counts.put({ job, state, by: before + by })
    }
  },

  addLetters: (letters) => letters.forEach((letter) => rows.letters.put(letter)),
  replayedBy: (runId) => rows.letters.get(runId)?.replayedBy,
  markReplayed: (runId, replayedBy) =>
    rows.letters.some([runId]).forEach((letter) => rows.letters.put({ ...letter, replayedBy })),
  dropLetters: (runIds) => {
    const there = rows.letters.some(runIds)
    there.forEach(({ runId }) => rows.letters.remove(runId))
    return there.length
  },

  // Index: `expiresAt` of those that have one and are scheduled, ready or retrying.
  overdue: (now, limit) =>
    rows.runs
      .where((row) => waitsForItsTime(row) || row.run.state === "ready")
      .filter(({ run }) => run.expiresAt !== null && run.expiresAt <= now)
      .slice(0, limit)
      .map(({ run }) => run.id),
  // Index: `dueAt` of those that are scheduled or retrying; `dueTimes` reads along it too.
  makeReady: (now, limit) => {
    const due = rows.runs.where((row) => waitsForItsTime(row) && row.run.dueAt <= now)
    const some = due.sort((a, b) => byDueTime(a.run, b.run)).slice(0, limit)
    for (const { run, settledToken } of some) rows.runs.put({ run: { ...run, state: "ready" }, settledToken })
    return some.map(({ run: { job, state } }) => ({ job, state }))
  },
  // Index: `node`, id of those that run; `running` reads along it too.
  orphans: (self, now, limit) =>
    rows.runs
      .where(({ run }) => run.state === "running" && run.node !== self && !isAlive(rows, run.node, now))
      .map(({ run }) => run.id)
      .sort()
      .slice(0, limit),
  forgetNodes: (self, now) =>
    rows.nodes
      .where(({ id, expiresAt }) => id !== self && expiresAt <= now && !carries(rows, id))
      .forEach(({ id }) => [rows.nodes, rows.nodeWorkers].forEach((table) => table.remove(id))),
  prunable: (before, limit) =>
    rows.runs
      .where(({ run }) => run.endedAt !== null && run.endedAt < before && !isHeld(rows, run))
      .sort((a, b) => a.run.createdAt - b.run.createdAt || byId(a.run, b.run))
      .slice(0, limit)
      .map(({ run: { id, job, state } }) => ({ id, job, state, expansionId: expansionOf(rows, id) })),
  forget: (ids) => {
    const gone = new Set(ids)
    for (const { seq } of rows.attempts.where(({ runId }) => gone.has(runId)))
      rows.attempts.remove(String(seq))
    for (const id of gone) for (const table of [rows.letters, rows.runs]) table.remove(id)
  },

  // Index: queue, priority, `dueAt`, id of those that are ready.
  ready: (wanted) =>
    rows.runs
      .where(({ run }) => run.state === "ready" && isWanted(run, wanted))
      .sort((a, b) => byPriority(a.run, b.run))
      .slice(0, wanted.limit),
  running: (node, after, limit) =>
    rows.runs
      .where(({ run }) => run.state === "running" && run.node === node && run.id > after)
      .map(({ run }) => run)
      .sort(byId)
      .slice(0, limit),
  dueTimes: (from, until, limit) => {
    const due = rows.runs.where(
      (row) => waitsForItsTime(row) && row.run.dueAt > from && row.run.dueAt <= until,
    )
    return [...new Set(due.map(({ run }) => run.dueAt))].sort((a, b) => a - b).slice(0, limit)
  },
  list: ({ state, queue, chainId, before, after, limit, ...filter }) => {
    const jobs = jobsAskedFor(filter)
    const isOf = (wanted: unknown, is: unknown): boolean => wanted === undefined || wanted === is
    return rows.runs
      .where(({ run }) => run.id < before && run.id > after && isOf(state, run.state))
      .map(({ run }) => run)
      .filter((run) => jobs?.includes(run.job) ?? true)
      .filter((run) => isOf(queue, run.queue) && isOf(chainId, run.chainId))
      .sort((a, b) => byId(b, a))
      .slice(0, limit)
  },
  // Of ready runs along the index of a claim, of running ones along that of nodes; never of all that there are.
  depths: () => {
    const depths = new Map<string, QueueDepth>()
    for (const { run } of rows.runs.where(({ run }) => run.state === "ready" || run.state === "running")) {
      const { ready, oldestDueAt, running } = depths.get(run.queue) ?? nothing
      depths.set(
        run.queue,
        run.state === "running"
          ? { queue: run.queue, ready, oldestDueAt, running: running + 1 }
          : {
              queue: run.queue,
              ready: ready + 1,
              oldestDueAt: Math.min(oldestDueAt ?? run.dueAt, run.dueAt),
              running,
            },
      )
    }
    return [...depths.values()]
  },
  counts: () =>
    rows.counts.where(({ by }) => by !== 0).map(({ job, state, by }) => ({ job, state, count: by })),
  attempts: (runId) =>
    rows.attempts
      .where((attempt) => attempt.runId === runId)
      .sort((a, b) => a.seq - b.seq)
      .map(({ seq: _seq, ...attempt }) => attempt),
  letters: ({ jobs, before, limit }) =>
    rows.letters
      .where(({ replayedBy, runId }) => replayedBy === null && runId < before)
      .filter(({ job }) => jobs?.includes(job) ?? true)
      .sort((a, b) => (a.runId < b.runId ? 1 : -1))
      .slice(0, limit),
})

// Index: job and key, unique, of those that have a key and have not ended.
const openRun = (rows: Rows, job: string, key: string | null): Run | undefined =>
  key === null
    ? undefined
    : rows.runs.where(({ run }) => run.job === job && run.key === key && !isFinal(run.state))[0]?.run

const isWanted = (run: Run, { queues, jobs, now }: Wanted): boolean =>
  queues.includes(run.queue) &&
  jobs.includes(run.job) &&
  run.dueAt <= now &&
  run.attempt < run.attemptMax &&
  (run.expiresAt === null || run.expiresAt > now)

const isAlive = (rows: Rows, node: string | null, now: number): boolean =>
  rows.nodes.where(({ id, expiresAt }) => id === node && expiresAt > now).length > 0

const carries = (rows: Rows, node: string): boolean =>
  rows.runs.where(({ run }) => run.state === "running" && run.node === node).length > 0

const expansionOf = (rows: Rows, runId: string): number | null =>
  rows.expansions.where((expansion) => expansion.runId === runId)[0]?.id ?? null

/** Whether a run that has ended must stay: for its letter, its schedule, what waits for it, or its flow run. */
const isHeld = (rows: Rows, { id, parentId }: Run): boolean =>
  rows.letters.get(id)?.replayedBy === null ||
  rows.schedules.where(({ lastRunId }) => lastRunId === id).length > 0 ||
  rows.dependents.where(({ needId }) => needId === id).length > 0 ||
  (parentId !== null && expansionOf(rows, parentId) !== null) ||
  rows.steps.where(({ runId, isKept }) => runId === id && isKept).length > 0
