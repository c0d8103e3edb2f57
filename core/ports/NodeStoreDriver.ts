// The part of the storage port that is about nodes: their leases, and what each says of the workers that are connected to
// it, so that every node can tell of all.
import type { Awaitable } from "./StoreDriver.ts"

/** A node: one engine process, and until when its lease holds. */
export interface NodeRow {
  readonly id: string
  /** Told apart from an earlier node of the same name. */
  readonly startedAt: number
  readonly host: string
  readonly pid: number
  readonly runtime: string
  readonly expiresAt: number
}

/** What a node said last of the workers that are connected to it. */
export interface NodeWorkers {
  readonly node: string
  /** JSON text, as the node gave it. */
  readonly workers: string
}

/** Nodes and their leases. */
export interface NodeStoreDriver {
  /**
   * Enters a node, in place of an earlier one of its id, whose report of workers goes. A store that serves one engine at a
   * time ends the leases of all others here.
   */
  join(node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): Awaitable<NodeRow>
  /**
   * Extends the lease, from now; `false` when the node is not there: its runs were, or may be, taken. A lease that has
   * ended is extended as long as nobody has taken them.
   */
  renew(nodeId: string, leaseMillis: number): Awaitable<boolean>
  /** Removes the node; what it carries can be reclaimed at once. Harmless when it is not there. */
  leave(nodeId: string): Awaitable<void>
  nodes(): Awaitable<ReadonlyArray<NodeRow>>
  /**
   * Keeps what a node says of its workers, in place of what it said before, as long as the node's row is there. `workers`
   * is JSON text of at most 1 MiB in UTF-8. `false`, and nothing is kept, when the node is not there.
   */
  reportWorkers(nodeId: string, workers: string): Awaitable<boolean>
  /** What the nodes have said that are there, by id; without those that have said nothing. */
  workers(): Awaitable<ReadonlyArray<NodeWorkers>>
}
