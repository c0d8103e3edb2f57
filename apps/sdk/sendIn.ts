// Send within a transaction of the application: the run is there if the transaction commits, and only then.
import * as Result from "effect/Result"
import type { OwnTransaction } from "../../adapters/store-sql/postgres.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { newRuns, type RunRequest } from "../../core/run/Enqueue.ts"
import type { Project } from "./config.ts"

export type { OwnTransaction } from "../../adapters/store-sql/postgres.ts"

/** A run that will be in the store when the transaction commits. */
export interface PendingRun {
  readonly id: string
  /** `false`: a run of this id or key was there already, and this is it. */
  readonly created: boolean
}

/** Makes the function that stores a request. */
export const makeSendIn = ({ book, storage }: Project) => {
  const ids = makeIds(
    () => Date.now(),
    () => (Math.random() * 2 ** 32) | 0,
  )
  return async (transaction: OwnTransaction, request: RunRequest): Promise<PendingRun> => {
    if (storage.enqueueIn === null) {
      throw new InvalidInput({
        field: "storage",
        reason: `storage "${storage.name}" is not in a database that you could have a transaction in`,
        next: "Use a PostgreSQL storage, or send with `send` after the commit, with an `id` of yours.",
      })
    }
    if ((book.jobs.get(request.job)?.needs.length ?? 0) > 0) {
      throw new InvalidInput({
        field: "job",
        reason: `job "${request.job}" needs other jobs, and a chain is not stored in a transaction of yours`,
        next: "Send it with `send` after the commit, or make it a flow.",
      })
    }
    const [answer] = await storage.enqueueIn(transaction, Result.getOrThrow(newRuns(book, ids, request)))
    if (answer === undefined) throw new Error(`The store did not answer for job "${request.job}"`)
    return { id: answer.id, created: answer.result === "created" }
  }
}
