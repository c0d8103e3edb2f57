// What is asked of one node by whoever cannot reach its process: records that it reads every other second. That it is to
// drain stays as long as it lives, under its own id; what it is to do with a worker is done once, and its record goes.
import * as Result from "effect/Result"
import type { PutRecord, RecordFilter, RecordRow } from "../ports/StoreDriver.ts"

/** How a node drains: it takes nothing new until the order is gone. */
export interface DrainOrder {
  readonly kind: "drain"
  /** How long its workers may go on with what they have, in milliseconds. */
  readonly graceMillis: number
  /** For people, and for its workers. */
  readonly reason: string
  readonly by: string | null
  /** Epoch milliseconds. */
  readonly at: number
}

/** What becomes of a worker: it finishes and goes, or its session ends now. */
export type WorkerOrder =
  | {
      readonly kind: "drainWorker"
      readonly worker: string
      readonly graceMillis: number
      readonly reason: string
    }
  | { readonly kind: "disconnectWorker"; readonly worker: string; readonly reason: string }

/** The kind of their records. */
export const orderKind = "node-order"

/** How long a drain is kept after the node that keeps it has gone, and an order about a worker that nobody obeyed. */
export const drainKeptMillis = 86_400_000
const workerKeptMillis = 60_000

/** Orders in one read; what is beyond waits for the next. */
export const ordersMax = 100

/** What a node reads; without one, what all are asked. */
export const ordersOf = (node?: string): RecordFilter => ({
  kind: orderKind,
  ...(node === undefined ? {} : { prefix: node }),
  order: "ascending",
  limit: node === undefined ? 1000 : ordersMax,
})

/** The record that a node is to drain; `now` is the store's. */
export const drainRecord = (node: string, order: DrainOrder, now: number): PutRecord => ({
  kind: orderKind,
  id: node,
  body: JSON.stringify(order),
  expiresAt: now + drainKeptMillis,
  expected: null,
})

/** The record of what a node is to do with a worker; `orderId` is its own, such as that of a run. */
export const workerRecord = (node: string, orderId: string, order: WorkerOrder, now: number): PutRecord => ({
  kind: orderKind,
  id: `${node}/${orderId}`,
  body: JSON.stringify(order),
  expiresAt: now + workerKeptMillis,
  expected: null,
})

/** What a record says; `null`: nothing that is known here. */
export const orderIn = ({ body }: Pick<RecordRow, "body">): DrainOrder | WorkerOrder | null => {
  const value = Result.getOrNull(Result.try((): unknown => JSON.parse(body)))
  const { kind, worker, reason, by, at, graceMillis } = (value ?? {}) as Readonly<Record<string, unknown>>
  const grace = typeof graceMillis === "number" && graceMillis >= 0 ? graceMillis : 0
  const why = typeof reason === "string" ? reason : "an operator asked for it"
  if (kind === "drain")
    return {
      kind,
      graceMillis: grace,
      reason: why,
      by: typeof by === "string" ? by : null,
      at: typeof at === "number" ? at : 0,
    }
  if (typeof worker !== "string") return null
  if (kind === "drainWorker") return { kind, worker, graceMillis: grace, reason: why }
  return kind === "disconnectWorker" ? { kind, worker, reason: why } : null
}

/** The node of a drain's record; `null`: it is about a worker. */
export const drainingNode = ({ id }: Pick<RecordRow, "id">): string | null => (id.includes("/") ? null : id)
