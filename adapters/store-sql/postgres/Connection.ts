// A connection to PostgreSQL as the store uses it: texts with numbered parameters, and transactions. postgres-js over
// a pool and PGlite in tests both satisfy it, so nothing else here knows which of them it talks to.

/** What a parameter may be; lists are array literals (`Batch.ts`). */
export type Parameter = string | number | null

/** A row by column name: the store's columns are texts and whole numbers. */
export type Row = Readonly<Record<string, string | number | null>>

/** Something that runs statements, one after the other in the order of the calls. */
export interface Queryable {
  /** Runs one statement and answers its rows. */
  query(text: string, parameters: ReadonlyArray<Parameter>): Promise<ReadonlyArray<Row>>
  /** Runs a text of several statements, without parameters and answer. */
  script(text: string): Promise<void>
}

/** A pool of connections, or the one there is. */
export interface Connection extends Queryable {
  /** All of `body`, or, when it throws, none of it. */
  transaction<A>(body: (transaction: Queryable) => Promise<A>): Promise<A>
  close(): Promise<void>
}
