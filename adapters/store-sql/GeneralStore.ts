// A whole store over tables and transactions: every operation of the port, the general way. It is right for any
// database and made for none; whoever has a statement for what is hot puts it in place of the operation.
import type { Awaitable, StoreCapabilities, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { Definitions } from "./Definitions.ts"
import { generalCredentials, generalNodes } from "./generalNodes.ts"
import { generalRuns } from "./generalRuns.ts"
import { generalSchedules } from "./generalSchedules.ts"
import { makeOperations, type Transaction } from "./operations.ts"
import { makeRecords } from "./records.ts"
import type { Sql } from "./Sql.ts"
import type { StoreTables } from "./StoreTables.ts"
import { Work } from "./Work.ts"

/** What a database gives of itself to be a store. */
export interface StoreParts {
  readonly capabilities: StoreCapabilities
  /** The store's clock, in epoch milliseconds. */
  readonly now: () => Awaitable<number>
  readonly close: () => Awaitable<void>
  /**
   * Drives `logic` in one transaction (`runSync` or `runAsync`), over the tables as this transaction sees them: all
   * that it wrote stays, or nothing of it when it throws, and nobody else sees a part of it. One that was taken back by
   * the database itself, after a deadlock say, may be driven again from its beginning. What it answers may be given out
   * only when the database has acknowledged the commit.
   */
  readonly transaction: TransactionOf<StoreTables>
}

/** Runs logic over the tables of one transaction. */
export type TransactionOf<T> = <A>(logic: (tables: T) => Sql<A>, options?: Transaction) => Awaitable<A>

/** Runs logic over the work of one transaction, and its tables. */
export type RunGeneral = <A>(
  body: (work: Work, tables: StoreTables) => Sql<A>,
  options?: Transaction,
) => Awaitable<A>

/** Makes `run` of a transaction: what is done with its work is written at its end. */
export const makeRun = (transaction: TransactionOf<StoreTables>): RunGeneral => {
  const definitions = new Definitions()
  function* worked<A>(tables: StoreTables, body: (work: Work, tables: StoreTables) => Sql<A>): Sql<A> {
    const work = new Work(tables, definitions)
    const answer = yield* body(work, tables)
    yield* work.finish()
    return answer
  }
  return (body, options) => transaction((tables) => worked(tables, body), options)
}

/** Makes a driver of them. */
export const makeStore = ({ capabilities, now, close, transaction }: StoreParts): StoreDriver => {
  const run = makeRun(transaction)
  return {
    capabilities,
    now,
    close,
    ...makeOperations(run),
    ...generalRuns(run),
    ...generalSchedules(run),
    ...generalNodes(run, capabilities),
    ...generalCredentials(run),
    ...makeRecords(transaction),
  }
}
