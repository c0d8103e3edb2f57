// The part of the storage port that keeps small things for whoever stands on the engine: what an operator did, a queue that
// is paused, a webhook, the answer to a request that may be repeated, lines of a run's log. One table for all of them, so
// that the next one needs no change of any store. What is in a record is JSON text, and nothing to the store.
import type { Awaitable } from "./StoreDriver.ts"

/** A record to store. */
export interface PutRecord {
  /** Which kind of thing: 1 to 32 characters of a-z and "-". */
  readonly kind: string
  /** 1 to 255 printable characters of ASCII; one of its kind. */
  readonly id: string
  /** JSON text: at most 256 KiB in UTF-8. */
  readonly body: string
  /** Epoch milliseconds from which on it counts as not there; `null`: it stays until it is deleted. */
  readonly expiresAt: number | null
  /**
   * The version that is there, or it is not stored: 0, none is; `null`, whatever is there. So two who change the same
   * thing find out about each other.
   */
  readonly expected: number | null
}

/** A stored record. */
export interface RecordRow extends Omit<PutRecord, "expected"> {
  /** 1 when it is new, and one more with each put. One that had expired is new. */
  readonly version: number
  /** By the store's clock. */
  readonly updatedAt: number
}

/** Which records of a kind to read; expired ones are never among them. */
export interface RecordFilter {
  readonly kind: string
  /** Only ids that begin with this. */
  readonly prefix?: string
  /** Only ids above this one. */
  readonly after?: string
  /** Only ids below this one. */
  readonly before?: string
  /** By id, in the order of its ASCII codes. */
  readonly order: "ascending" | "descending"
  /** 1 to 1,000. */
  readonly limit: number
}

/**
 * The ids of a page as one range, whose ends a store finds by its key: at least `from`, and below `below`. It is made of
 * the ids that there may be, of " " to "~".
 */
export const recordRange = ({
  prefix = "",
  after,
  before,
}: Pick<RecordFilter, "prefix" | "after" | "before">): { readonly from: string; readonly below: string } => {
  // Next above an id is what goes on where it ends, with " " or more.
  const first = after === undefined ? "" : `${after}\x1f`
  const end = `${prefix}\x7f`
  return {
    from: first > prefix ? first : prefix,
    below: before !== undefined && before < end ? before : end,
  }
}

/** Records. */
export interface RecordStoreDriver {
  /**
   * Stores records, each by itself, in order; answers the version of each, and 0 for one whose `expected` is not what is
   * there, which changes nothing. At most 1,000. Refused, and nothing is stored: one that is not as `PutRecord` says.
   * Whoever repeats a put with `expected` after an unknown outcome reads what is there: 0 may be his own first try.
   */
  putRecords(records: ReadonlyArray<PutRecord>): Awaitable<ReadonlyArray<number>>
  /** A page of records. */
  records(filter: RecordFilter): Awaitable<ReadonlyArray<RecordRow>>
  /** Removes records of a kind, at most 1,000; answers how many there were, without those that had expired. */
  deleteRecords(kind: string, ids: ReadonlyArray<string>): Awaitable<number>
  /** Removes records that have expired, at most `limit` (1 to 1,000); answers how many. */
  pruneRecords(limit: number): Awaitable<number>
}
