// Reading runs of the memory store: by id, in pages by key, their counts, attempts and dead letters.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Attempt, Run } from "../../core/domain/Run.ts"
import type { RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import type { RunTable } from "./RunTable.ts"

/** The operations that change nothing. */
export const makeListing = (table: RunTable) => ({
  get: (ids: ReadonlyArray<string>): ReadonlyArray<Run> => {
    checkBatch("ids", ids)
    return ids.flatMap((id) => table.entries.get(id)?.run ?? [])
  },

  list: ({ state, job, chainId, before, limit }: RunFilter): ReadonlyArray<Run> => {
    checkLimit(limit, pageMax)
    const page: Array<Run> = []
    for (const id of table.ids.newestFirst(before)) {
      if (page.length >= limit) break
      const run = table.entries.get(id)?.run
      if (run === undefined || (state !== undefined && run.state !== state)) continue
      if (job !== undefined && run.job !== job) continue
      if (chainId !== undefined && run.chainId !== chainId) continue
      page.push(run)
    }
    return page
  },

  counts: (): ReadonlyArray<RunCount> =>
    [...table.counts].flatMap(([job, states]) =>
      [...states].map(([state, count]) => ({ job, state, count })),
    ),

  attempts: (runId: string): ReadonlyArray<Attempt> => [...(table.entries.get(runId)?.attempts ?? [])],

  deadLetters: (filter: {
    readonly job?: string
    readonly before?: string
    readonly limit: number
  }): ReadonlyArray<DeadLetter> => {
    checkLimit(filter.limit, pageMax)
    const page: Array<DeadLetter> = []
    for (const id of table.openLetters.newestFirst(filter.before)) {
      if (page.length >= filter.limit) break
      const letter = table.letters.get(id)
      if (letter !== undefined && (filter.job === undefined || letter.job === filter.job)) page.push(letter)
    }
    return page
  },
})
