// Send within a transaction of the application: the run is there if the transaction commits, and only then.
import * as Result from "effect/Result"
import type { OwnTransaction } from "../../adapters/store-sql/postgres.ts"
import type { OwnConnection } from "../../adapters/store-sql/sqlite.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import type { NewRun } from "../../core/domain/Run.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { newRuns, type RunRequest } from "../../core/run/Enqueue.ts"
import type { Project } from "./config.ts"

export type { OwnTransaction } from "../../adapters/store-sql/postgres.ts"
export type { OwnConnection } from "../../adapters/store-sql/sqlite.ts"

/** A run that will be in the store when the transaction commits. */
export interface PendingRun {
  readonly id: string
  /** `false`: a run of this id or key was there already, and this is it. */
  readonly created: boolean
}

/** Makes the functions that store a request; `onStored` hears when it is due, before the transaction commits; 0: at once. */
export const makeSendIn = ({ book, storage }: Project, onStored: (dueAt: number) => void) => {
  const ids = makeIds(
    () => Date.now(),
    () => (Math.random() * 2 ** 32) | 0,
  )
  const rowsOf = (request: RunRequest): ReadonlyArray<NewRun> =>
    Result.getOrThrow(newRuns(book, ids, request))
  const { enqueueIn } = storage
  const refuse = (next: string): InvalidInput =>
    new InvalidInput({
      field: "storage",
      reason: `storage "${storage.name}" is not in a database that you could have ${
        enqueueIn === null ? "a transaction" : "such a transaction"
      } in`,
      next,
    })

  const sync = (connection: OwnConnection, request: RunRequest): PendingRun => {
    if (enqueueIn?.kind !== "sqlite")
      throw refuse(
        "Use `sendIn` with PostgreSQL, or send with `send` after the commit, with an `id` of yours.",
      )
    return pendingOf(enqueueIn.store(connection, rowsOf(request)))
  }
  const pendingOf = (answers: ReadonlyArray<Enqueued>): PendingRun => {
    // The run that was asked for is the last one, after those that it needs.
    const answer = answers[answers.length - 1]
    if (answer === undefined) throw new Error("The store did not answer")
    for (const { state, dueAt } of answers) onStored(state === "scheduled" ? dueAt : 0)
    return { id: answer.id, created: answer.result === "created" }
  }
  return {
    sync,
    async: async (transaction: OwnTransaction | OwnConnection, request: RunRequest): Promise<PendingRun> => {
      if (enqueueIn === null)
        throw refuse(
          "Use a PostgreSQL or SQLite storage, or send with `send` after the commit, with an `id` of yours.",
        )
      if (enqueueIn.kind === "sqlite") return sync(transaction as OwnConnection, request)
      return pendingOf(await enqueueIn.store(transaction as OwnTransaction, rowsOf(request)))
    },
  }
}
