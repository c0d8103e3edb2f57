// An operation: bulk work that is kept as a record, with how far it is, so that it outlives requests and servers. Beside it,
// as long as it has not ended, stands a record of another kind that only says that it is there: whoever looks for work
// then does not read what ended in a month.
import type { AskedStore } from "./api/ApiParts.ts"
import type { Bulk } from "../bulk/Bulk.ts"
import type { Place } from "../bulk/Look.ts"

/** How far an operation is. `failed`: it ended, and some of it could not be done, or it could not go on. */
export type OperationState = "queued" | "running" | "succeeded" | "failed" | "cancelled"

/** An operation as it is kept. */
export interface Operation extends Bulk {
  readonly state: OperationState
  /** Whether it is to end as soon as the page under way is done. */
  readonly cancelAsked: boolean
  readonly total: { readonly value: number; readonly exact: boolean }
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly error: string | null
  /** `null`: as fast as the store is. */
  readonly perSecond: number | null
  readonly startedBy: { readonly id: string | null; readonly name: string }
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** The server that does it, and until when nobody else may, by the store's clock. */
  readonly owner: string | null
  readonly leaseUntil: number
  /** When the next page may begin. */
  readonly nextAt: number
  /** Where to look for the next page; `null`: there is none. */
  readonly place: Place | null
  /** What was found and is being done: after a crash nobody knows how much of it was. */
  readonly page: ReadonlyArray<string>
}

/** An operation with the version of its record. */
export interface StoredOperation {
  readonly operation: Operation
  readonly version: number
}

/** The kinds of the two records. */
export const operationKind = "operation"
export const openKind = "operation-open"

/** How long one is kept after its last change. */
export const keptMillis = 30 * 86_400_000

/** Operations that have not ended, at most. */
export const openMax = 100

/** Whether it has ended. */
export const isOver = ({ state }: Operation): boolean => state !== "queued" && state !== "running"

/** The record of an id. */
export const readOperation = async (store: AskedStore, id: string): Promise<StoredOperation | undefined> => {
  // The id may begin no other, as all are of one length.
  const [row] = await store.records({ kind: operationKind, prefix: id, order: "ascending", limit: 1 })
  return row === undefined
    ? undefined
    : { operation: JSON.parse(row.body) as Operation, version: row.version }
}

/** Stores a change of the version that was read; answers the new version, 0: somebody else changed it. */
export const putOperation = async (
  store: AskedStore,
  operation: Operation,
  expected: number,
  now: number,
): Promise<number> => {
  const [version = 0] = await store.putRecords([recordOf(operation, expected, now)])
  return version
}

/** Stores a new one; it begins when a server of this store looks for work, which each does every second. */
export const addOperation = async (store: AskedStore, operation: Operation): Promise<void> => {
  const { id, createdAt } = operation
  // In this order: one that nobody finds would never begin. The sign stays until the end, however slow the rate.
  await store.putRecords([
    { kind: openKind, id, body: "{}", expiresAt: null, expected: null },
    recordOf(operation, 0, createdAt),
  ])
}

const recordOf = (operation: Operation, expected: number, now: number) => ({
  kind: operationKind,
  id: operation.id,
  body: JSON.stringify(operation),
  expiresAt: now + keptMillis,
  expected,
})
