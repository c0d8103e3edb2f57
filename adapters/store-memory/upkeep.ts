// What else happens to runs in the memory store: reclaim, cancel, replay, drop, prune.
import { isFinal, type ErrorInfo, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Cancelled, Reclaimed, Replayed } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, refusal } from "../../core/ports/StoreLimits.ts"
import type { NodeTable } from "./nodes.ts"
import type { Entry, RunTable } from "./RunTable.ts"
import type { ScheduleTable } from "./ScheduleTable.ts"

/** The operations that mend, end and remove runs. */
export const makeUpkeep = (
  table: RunTable,
  schedules: ScheduleTable,
  nodes: NodeTable,
  clock: () => number,
) => ({
  reclaim: (self: string, limit: number): ReadonlyArray<Reclaimed> => {
    checkLimit(limit, batchMax)
    const now = clock()
    const lost = [...table.running]
      .filter(([node]) => node !== self && !nodes.isAlive(node, now))
      .flatMap(([, carried]) => [...carried])
      .sort((a, b) => (a.run.id < b.run.id ? -1 : 1))
    // The end of one may end another.
    const taken = lost.slice(0, limit).flatMap((entry) => reclaimOne(table, entry, now) ?? [])
    nodes.forgetDead(now, (node) => node !== self && !table.running.has(node))
    return taken
  },

  cancel: (ids: ReadonlyArray<string>, reason: string): ReadonlyArray<Cancelled> => {
    checkBatch("ids", ids)
    const now = clock()
    return ids.map((id) => {
      const entry = table.entries.get(id)
      if (entry === undefined) return { id, result: "unknown" }
      const next = Transition.cancelled(entry.run, reason, now)
      if (next === null) return { id, result: "final" }
      table.apply(entry, next, now)
      return { id, result: "cancelled" }
    })
  },

  replay: (runIds: ReadonlyArray<string>, newIds: ReadonlyArray<string>): ReadonlyArray<Replayed> => {
    checkBatch("runIds", runIds)
    if (newIds.length !== runIds.length)
      throw refusal(`newIds: ${newIds.length} ids for ${runIds.length} runs`)
    const { answers, created } = planReplay(table, runIds, newIds, clock())
    for (const run of created) {
      const letter = table.letters.get(run.replayOf ?? "")
      if (letter !== undefined) table.markReplayed(letter, run.id)
      table.insert(run)
    }
    return answers
  },

  drop: (runIds: ReadonlyArray<string>): number => {
    checkBatch("runIds", runIds)
    return runIds.filter((id) => table.dropLetter(id)).length
  },

  prune: (before: number, limit: number): number => {
    checkLimit(limit, batchMax)
    const lastRuns = schedules.lastRunIds()
    const held: Array<Entry> = []
    let count = 0
    // What a flow run held is free once that is gone, and goes in the next round.
    for (let gone = 1; gone > 0; count += gone) {
      const entries = takeEnded(table, lastRuns, before, limit - count, held)
      table.forget(entries)
      gone = entries.length
    }
    for (const entry of held) table.ended.push(entry)
    schedules.forgetOccurrences(before, (runId) => table.entries.has(runId))
    return count
  },
})

/** Takes out of `ended` what may go, at most `limit`, and into `held` what something else holds. */
const takeEnded = (
  table: RunTable,
  lastRuns: ReadonlySet<string>,
  before: number,
  limit: number,
  held: Array<Entry>,
): ReadonlyArray<Entry> => {
  const gone: Array<Entry> = []
  while (gone.length < limit) {
    const entry = table.ended.top
    if (entry === undefined || (entry.run.endedAt ?? before) >= before) break
    table.ended.remove(entry)
    const isHeld = lastRuns.has(entry.run.id) || isNeeded(entry)
    ;(isHeld ? held : gone).push(entry)
  }
  return gone
}

const reclaimOne = (table: RunTable, entry: Entry, now: number): Reclaimed | null => {
  const { run } = entry
  const node = run.node ?? ""
  const message = `Node "${node}" was lost while it carried the run`
  const error: ErrorInfo = { name: "LeaseLost", message, kind: "lost" }
  const next = Transition.lost(run, error, now)
  if (next === null) return null
  // An attempt that was given back leaves no row, or the next one would carry the same number.
  table.apply(entry, next, now, next.state === "ready" ? null : error)
  return { id: run.id, job: run.job, state: next.state, node, attempt: run.attempt }
}

const planReplay = (
  table: RunTable,
  runIds: ReadonlyArray<string>,
  newIds: ReadonlyArray<string>,
  now: number,
): { readonly answers: ReadonlyArray<Replayed>; readonly created: Iterable<Run> } => {
  const created = new Map<string, Run>()
  const planned = new Set<string>()
  const answers = runIds.map((runId, index): Replayed => {
    const letter = table.letters.get(runId)
    const dead = table.entries.get(runId)?.run
    if (letter === undefined || dead === undefined) return { runId, newRunId: null, result: "unknown" }
    const replayedBy = letter.replayedBy ?? created.get(runId)?.id
    if (replayedBy !== undefined) return { runId, newRunId: replayedBy, result: "exists" }
    const newRunId = newIds[index] as string
    if (table.entries.has(newRunId) || planned.has(newRunId)) {
      throw refusal(`newIds: run "${newRunId}" is there already`)
    }
    planned.add(newRunId)
    created.set(runId, Transition.replay(dead, newRunId, now))
    return { runId, newRunId, result: "created" }
  })
  return { answers, created: created.values() }
}

const isNeeded = (entry: Entry): boolean => {
  for (const dependent of entry.dependents) if (!isFinal(dependent.run.state)) return true
  return false
}
