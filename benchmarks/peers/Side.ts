// A side of the comparison: one job queue as its own users set it up. Every side does the same things, and what is
// measured is measured outside of it, in `one.child.ts`, in the same words for all.

/** Where the sides are, and what they are given. */
export interface Place {
  /** A PostgreSQL server, as an address without a schema. */
  readonly postgres: string
  readonly redis: string
  /** Of the schema, or the prefix of the keys: this side's own, dropped by `close`. */
  readonly name: string
  /** A folder of its own for files. */
  readonly folder: string
  /** Runs at once in the one process. */
  readonly concurrency: number
}

/** A queue, empty and open. */
export interface Side {
  /** Stores one job with `n` as its input, acknowledged when it answers; `dueAt` in epoch milliseconds, or at once. */
  readonly send: (n: number, dueAt?: number) => Promise<unknown>
  /** Stores jobs 0 to `count - 1` in the fastest way that the side has. */
  readonly sendAll: (count: number, dueAt?: (n: number) => number) => Promise<unknown>
  /** Starts working, and calls `handler` with the input of each job as the first line of its own handler. */
  readonly work: (handler: (n: number) => void) => Promise<unknown>
  /** How many of `count` jobs have ended well, as the store has it. */
  readonly done: (count: number) => Promise<number>
  /** Stops working, and drops all that it made. */
  readonly close: () => Promise<void>
}

/** How a side is opened, and what is to be known about it. */
export interface SideInfo {
  /** Where its jobs are kept. */
  readonly store: "PostgreSQL" | "SQLite" | "Redis"
  /** What was set, and which page of its documentation says so. */
  readonly settings: ReadonlyArray<{ readonly set: string; readonly page: string }>
  /** What it keeps of a job that has ended well. */
  readonly keeps: string
  /** Whether delayed jobs are looked for now and then only. */
  readonly polls: boolean
}

/** A module in `sides/`. */
export interface SideModule {
  readonly info: SideInfo
  readonly open: (place: Place) => Promise<Side>
}
