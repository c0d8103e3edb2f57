// Nodes and their leases in the memory store. Several engines of one process may share it.
import type { NodeRow, NodeWorkers } from "../../core/ports/StoreDriver.ts"
import { checkWorkers } from "../../core/ports/StoreLimits.ts"

/** The rows of nodes. */
export class NodeTable {
  readonly rows = new Map<string, NodeRow>()
  /** What nodes said of their workers; only of nodes that are there. */
  readonly workers = new Map<string, string>()

  /** Whether the node is there and its lease holds. */
  isAlive(id: string, now: number): boolean {
    return (this.rows.get(id)?.expiresAt ?? now) > now
  }

  /** Removes the rows of nodes whose lease has ended and for which it holds. */
  forgetDead(now: number, holds: (id: string) => boolean): void {
    for (const { id, expiresAt } of this.rows.values()) {
      if (expiresAt <= now && holds(id)) this.remove(id)
    }
  }

  remove(id: string): void {
    this.rows.delete(id)
    this.workers.delete(id)
  }
}

/** The operations of nodes. */
export const makeNodes = (table: NodeTable, clock: () => number) => ({
  join: (node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): NodeRow => {
    const { id, host, pid, runtime } = node
    const now = clock()
    const row = { id, startedAt: now, host, pid, runtime, expiresAt: now + leaseMillis }
    table.remove(id)
    table.rows.set(id, row)
    return row
  },

  renew: (nodeId: string, leaseMillis: number): boolean => {
    const row = table.rows.get(nodeId)
    if (row === undefined) return false
    table.rows.set(nodeId, { ...row, expiresAt: clock() + leaseMillis })
    return true
  },

  leave: (nodeId: string): void => {
    table.remove(nodeId)
  },

  nodes: (): ReadonlyArray<NodeRow> => [...table.rows.values()],

  reportWorkers: (nodeId: string, workers: string): boolean => {
    checkWorkers(workers)
    if (!table.rows.has(nodeId)) return false
    table.workers.set(nodeId, workers)
    return true
  },

  workers: (): ReadonlyArray<NodeWorkers> =>
    Array.from(table.workers, ([node, workers]) => ({ node, workers })).sort((a, b) =>
      a.node < b.node ? -1 : 1,
    ),
})
