// Nodes and their leases in the memory store. Several engines of one process may share it.
import type { NodeRow } from "../../core/ports/StoreDriver.ts"

/** The rows of nodes. */
export class NodeTable {
  readonly rows = new Map<string, NodeRow>()

  /** Whether the node is there and its lease holds. */
  isAlive(id: string, now: number): boolean {
    return (this.rows.get(id)?.expiresAt ?? now) > now
  }

  /** Removes the rows of nodes whose lease has ended and for which it holds. */
  forgetDead(now: number, holds: (id: string) => boolean): void {
    for (const { id, expiresAt } of this.rows.values()) {
      if (expiresAt <= now && holds(id)) this.rows.delete(id)
    }
  }
}

/** The operations of nodes. */
export const makeNodes = (table: NodeTable, clock: () => number) => ({
  join: (node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): NodeRow => {
    const { id, host, pid, runtime } = node
    const now = clock()
    const row = { id, startedAt: now, host, pid, runtime, expiresAt: now + leaseMillis }
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
    table.rows.delete(nodeId)
  },

  nodes: (): ReadonlyArray<NodeRow> => [...table.rows.values()],
})
