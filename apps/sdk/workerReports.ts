// What the nodes of a store told last of the workers that are connected to them.
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { decodeReport, type WorkerReport } from "../../core/worker/WorkerReport.ts"

/** Of each node whose lease holds; a node that serves none is left out. */
export const reportsOf = async (
  store: Pick<StoreDriver, "nodes" | "workers" | "now">,
): Promise<ReadonlyArray<{ readonly node: string; readonly report: WorkerReport }>> => {
  const [nodes, told, now] = await Promise.all([store.nodes(), store.workers(), store.now()])
  const live = new Set(nodes.filter(({ expiresAt }) => expiresAt > now).map(({ id }) => id))
  return told
    .filter(({ node }) => live.has(node))
    .map(({ node, workers }) => ({ node, report: decodeReport(workers) }))
}
