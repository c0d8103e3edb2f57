// Orders to nodes and pauses of queues, on a store beside its engines: for the API, which may be another node's, and for the
// command line.
import {
  drainingNode,
  type DrainOrder,
  drainRecord,
  orderIn,
  orderKind,
  ordersOf,
  type WorkerOrder,
  workerRecord,
} from "../../core/engine/NodeOrders.ts"
import type { RecordFilter, RecordRow, RecordStoreDriver, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { pausedFilter, pausedIn, type PausedQueue } from "../../core/run/PausedQueues.ts"

/** What they need of a store. */
export type Records = Pick<RecordStoreDriver, "putRecords" | "deleteRecords" | "records">

/** How long workers may go on without another word, when they are drained. */
export const drainGraceMillis = 30_000

// A store of an earlier version of the port has no records: nothing is paused there, and no node drains.
const rowsOf = async (
  store: Partial<Pick<Records, "records">>,
  filter: RecordFilter,
): Promise<ReadonlyArray<RecordRow>> => (await store.records?.(filter)) ?? []

/** The paused queues, by name. */
export const pausedQueues = async (
  store: Pick<Records, "records">,
): Promise<ReadonlyMap<string, PausedQueue>> =>
  new Map(pausedIn(await rowsOf(store, pausedFilter)).map((pause) => [pause.queue, pause]))

/** The nodes that were asked to drain; of those that have gone, some may be among them for a day. */
export const drainOrders = async (
  store: Pick<Records, "records">,
): Promise<ReadonlyMap<string, DrainOrder>> => {
  const found = new Map<string, DrainOrder>()
  for (const row of await rowsOf(store, ordersOf())) {
    const node = drainingNode(row)
    const order = orderIn(row)
    if (node !== null && order?.kind === "drain") found.set(node, order)
  }
  return found
}

/** Asks a node to drain. */
export const orderDrain = async (
  store: Records & Pick<StoreDriver, "now">,
  node: string,
  order: Omit<DrainOrder, "kind" | "at">,
): Promise<void> => {
  const now = await store.now()
  await store.putRecords([drainRecord(node, { kind: "drain", ...order, at: now }, now)])
}

/** Asks it to go on; answers whether it was to drain. */
export const orderResume = async (store: Records, node: string): Promise<boolean> =>
  (await store.deleteRecords(orderKind, [node])) > 0

/** Asks a node to do something with one of its workers. */
export const orderWorker = async (
  store: Records & Pick<StoreDriver, "now">,
  node: string,
  order: WorkerOrder,
): Promise<void> => {
  await store.putRecords([workerRecord(node, crypto.randomUUID(), order, await store.now())])
}
