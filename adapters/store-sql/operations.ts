// The operations of a store that are the same for all databases, each in one transaction of `run`.
import type { Awaitable, Filled, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkFills, checkLimit, refusal } from "../../core/ports/StoreLimits.ts"
import { fillOne } from "./fire.ts"
import { flowOf, markStep, rerunFlow, stepInputs } from "./flows.ts"
import { deleteSchedules, pauseSchedule, putSchedules } from "./schedules.ts"
import type { Sql } from "./Sql.ts"
import { cancel, drop, promote, prune, reclaim, replay } from "./upkeep.ts"
import type { Work } from "./Work.ts"

/** How durable a transaction is; a `repeatable` one may be taken back by a power failure, as if it had not begun. */
export interface Transaction {
  readonly repeatable?: boolean
}

/** Runs logic in a transaction of a database and writes what it has changed. */
export type RunWork = <A>(body: (work: Work) => Sql<A>, options?: Transaction) => Awaitable<A>

/** Makes them. */
export const makeOperations = (run: RunWork) =>
  ({
    promote: (limit) => {
      checkLimit(limit, batchMax)
      return run((work) => promote(work, limit), { repeatable: true })
    },
    reclaim: (self, limit) => {
      checkLimit(limit, batchMax)
      return run((work) => reclaim(work, self, limit))
    },
    cancel: (ids, reason) => {
      checkBatch("ids", ids)
      return run((work) => cancel(work, ids, reason))
    },
    replay: (runIds, newIds) => {
      checkBatch("runIds", runIds)
      if (newIds.length !== runIds.length)
        throw refusal(`newIds: ${newIds.length} ids for ${runIds.length} runs`)
      return run((work) => replay(work, runIds, newIds))
    },
    drop: (runIds) => {
      checkBatch("runIds", runIds)
      return run((work) => drop(work, runIds))
    },
    prune: (before, limit) => {
      checkLimit(limit, batchMax)
      return run((work) => prune(work, before, limit))
    },
    stepInputs: (runIds) => {
      checkBatch("runIds", runIds)
      return run((work) => stepInputs(work, runIds), { repeatable: true })
    },
    flowOf: (runId) => run((work) => flowOf(work, runId), { repeatable: true }),
    rerunFlow: (runId, newId, from) => run((work) => rerunFlow(work, runId, newId, from)),
    markStep: (mark) => run((work) => markStep(work, mark)),
    putSchedules: (schedules) => {
      checkBatch("schedules", schedules)
      return run((work) => putSchedules(work, schedules))
    },
    deleteSchedules: (ids) => {
      checkBatch("ids", ids)
      return run((work) => deleteSchedules(work, ids))
    },
    pauseSchedule: (id, paused, note = null) => run((work) => pauseSchedule(work, id, paused, note)),
    backfill: (fills) => {
      checkFills(fills)
      return run(function* (work) {
        const filled: Array<Filled> = []
        for (const fill of fills) filled.push(yield* fillOne(work, fill))
        return filled
      })
    },
  }) satisfies Partial<StoreDriver>
