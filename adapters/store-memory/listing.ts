// Reading runs of the memory store: by id, in pages by key, their counts, attempts and dead letters.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Attempt, Run } from "../../core/domain/Run.ts"
import type { QueueDepth, RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import type { RunTable } from "./RunTable.ts"

/** The operations that change nothing. */
export const makeListing = (table: RunTable) => ({
  get: (ids: ReadonlyArray<string>): ReadonlyArray<Run> => {
    checkBatch("ids", ids)
    return ids.flatMap((id) => table.entries.get(id)?.run ?? [])
  },

  list: ({ state, job, jobs, queue, chainId, before, after, limit }: RunFilter): ReadonlyArray<Run> => {
    checkLimit(limit, pageMax)
    const wanted = wantedOf(jobs)
    const page: Array<Run> = []
    for (const id of table.ids.newestFirst(before)) {
      if (page.length >= limit) break
      if (after !== undefined && id <= after) break
      const run = table.entries.get(id)?.run
      if (run === undefined || (state !== undefined && run.state !== state)) continue
      if (job !== undefined && run.job !== job) continue
      if (wanted !== undefined && !wanted.has(run.job)) continue
      if (queue !== undefined && run.queue !== queue) continue
      if (chainId !== undefined && run.chainId !== chainId) continue
      page.push(run)
    }
    return page
  },

  counts: (): ReadonlyArray<RunCount> =>
    [...table.counts].flatMap(([job, states]) =>
      [...states].map(([state, count]) => ({ job, state, count })),
    ),

  queueDepths: (): ReadonlyArray<QueueDepth> => {
    const depths = new Map<string, { ready: number; oldestDueAt: number | null; running: number }>()
    for (const { run } of table.entries.values()) {
      if (run.state !== "ready" && run.state !== "running") continue
      let depth = depths.get(run.queue)
      if (depth === undefined) depths.set(run.queue, (depth = { ready: 0, oldestDueAt: null, running: 0 }))
      if (run.state === "running") depth.running++
      else {
        depth.ready++
        depth.oldestDueAt = Math.min(depth.oldestDueAt ?? run.dueAt, run.dueAt)
      }
    }
    return [...depths]
      .map(([queue, depth]) => ({ queue, ...depth }))
      .sort((a, b) => (a.queue < b.queue ? -1 : 1))
  },

  attempts: (runId: string): ReadonlyArray<Attempt> => [...(table.entries.get(runId)?.attempts ?? [])],

  deadLetters: (filter: {
    readonly job?: string
    readonly jobs?: ReadonlyArray<string>
    readonly before?: string
    readonly limit: number
  }): ReadonlyArray<DeadLetter> => {
    checkLimit(filter.limit, pageMax)
    const wanted = wantedOf(filter.jobs)
    const page: Array<DeadLetter> = []
    for (const id of table.openLetters.newestFirst(filter.before)) {
      if (page.length >= filter.limit) break
      const letter = table.letters.get(id)
      if (letter === undefined || (filter.job !== undefined && letter.job !== filter.job)) continue
      if (wanted === undefined || wanted.has(letter.job)) page.push(letter)
    }
    return page
  },
})

const wantedOf = (jobs: ReadonlyArray<string> | undefined): ReadonlySet<string> | undefined => {
  if (jobs === undefined) return undefined
  checkBatch("jobs", jobs)
  return new Set(jobs)
}
