// Enqueue: new runs into the file, idempotent by id and by key.
import type { NewRun } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import { checkBatch } from "../../../core/ports/StoreLimits.ts"
import { existing, storeRun } from "../enqueue.ts"
import { runSync } from "../Sql.ts"
import type { Work } from "../Work.ts"
import type { Session } from "./Session.ts"

/** The part of a store that takes new runs. */
export const makeEnqueue = ({ now, tables, transaction }: Session) => {
  const store = (work: Work, run: NewRun): Enqueued => {
    if (run.needs.length > 0) return runSync(storeRun(work, run))
    // What an earlier one of the batch has ended leaves its key to others.
    runSync(work.flush())
    const row = Transition.enqueued(run, 0, now())
    if (!tables.runs.insert(row)) return runSync(existing(work, run))
    work.count(row.job, null, row.state)
    return { id: row.id, result: "created", state: row.state, dueAt: row.dueAt }
  }

  return {
    enqueue: (newRuns: ReadonlyArray<NewRun>): ReadonlyArray<Enqueued> => {
      checkBatch("runs", newRuns)
      return transaction((work) => newRuns.map((run) => store(work, run)))
    },
  }
}
