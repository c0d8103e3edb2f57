// A connection as the store uses it: texts with `?` for values, answers as rows or as what was changed, and transactions.
// Nothing but connect.ts knows the driver behind it.
import type { Row } from "uhrwerk/sql"

/** What a `?` stands for; a list becomes `a, b`, a list of lists `(a, b), (c, d)`. */
export type Value = string | number | null

/** The values of a statement, in the order of its `?`. */
export type Values = ReadonlyArray<Value | ReadonlyArray<Value> | ReadonlyArray<ReadonlyArray<Value>>>

/** What a statement that writes has done. */
export interface Changed {
  /** Rows that it met: of an update also those that had the new values before. */
  readonly count: number
  /** The id that the server gave to a new row, or that `last_insert_id` was told. */
  readonly id: number
}

/** Something that runs statements, one after the other in the order of the calls. */
export interface Queryable {
  /** Runs a statement that answers rows. */
  read(text: string, values?: Values): Promise<ReadonlyArray<Row>>
  /** Runs a statement that writes. */
  change(text: string, values?: Values): Promise<Changed>
}

/** A pool of connections. */
export interface Connection extends Queryable {
  /** All of `body`, or, when it throws, none of it; `body` runs again after a deadlock. */
  transaction<A>(body: (transaction: Queryable) => Promise<A>): Promise<A>
  close(): Promise<void>
}
