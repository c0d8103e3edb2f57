// `/v1/workers`: those of this server as they are now, and those of the other nodes on its store as each said last.
import { decodeReport } from "../../../core/worker/WorkerReport.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import type { WorkerOrder } from "../../../core/engine/NodeOrders.ts"
import type { workersApi } from "../../api/workers.ts"
import { orderWorker } from "../../sdk/orders.ts"
import { refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Handlers } from "./Handler.ts"
import { graceOf } from "./nodes.ts"
import { pageByName } from "./pageByName.ts"
import { needsWholeStore } from "./wholeStore.ts"

/** Behind the routes. */
export const workerHandlers: Handlers<typeof workersApi> = {
  listWorkers: async ({ query, caller, parts }) => {
    needsWholeStore(caller)
    const { workers, leftOut } = await workersOf(parts)
    // While a worker goes from one node to another, both may tell of it.
    const page = pageByName("workers", workers, ({ name, node }) => `${name}\u0000${node}`, query)
    return { status: 200, body: { ...page, leftOut } }
  },

  getWorker: async ({ params, query, caller, parts }) => {
    needsWholeStore(caller)
    const worker = await workerOf(parts, params.worker, query.node)
    const desk = worker.node === parts.engine().node() ? parts.engine().workers : null
    return { status: 200, body: { ...worker, attempts: desk?.inHandOf(worker.name) ?? null } }
  },

  drainWorker: async ({ params, body, caller, parts }) => {
    needsWholeStore(caller)
    const reason = body.reason ?? "an operator drains it"
    const order = {
      kind: "drainWorker",
      worker: params.worker,
      graceMillis: graceOf(body.grace),
      reason,
    } as const
    return tell(parts, await workerOf(parts, params.worker, body.node), order)
  },

  disconnectWorker: async ({ params, body, caller, parts }) => {
    needsWholeStore(caller)
    const reason = body.reason ?? "an operator disconnects it"
    const order = { kind: "disconnectWorker", worker: params.worker, reason } as const
    return tell(parts, await workerOf(parts, params.worker, body.node), order)
  },
}

/** The workers of all nodes, and how many more there are that nodes could not tell of. */
export const workersOf = async ({
  engine,
  reports,
}: Pick<ApiParts, "engine" | "reports">): Promise<{
  readonly workers: ReadonlyArray<WorkerView>
  readonly leftOut: number
}> => {
  const running = engine()
  const others = (await reports())
    .filter(({ node }) => node !== running.node())
    .map(({ workers }) => decodeReport(workers))
  return {
    workers: [...(running.workers?.list() ?? []), ...others.flatMap(({ workers }) => workers)],
    leftOut: others.reduce((sum, { leftOut }) => sum + leftOut, 0),
  }
}

const workerOf = async (parts: ApiParts, name: string, node: string | undefined): Promise<WorkerView> => {
  const { workers } = await workersOf(parts)
  const [found] = workers
    .filter((each) => each.name === name && (node === undefined || each.node === node))
    .toSorted((a, b) => b.connectedAt - a.connectedAt)
  if (found !== undefined) return found
  throw refuse(
    "notFound",
    `No worker of this name is connected${node === undefined ? "" : " to this node"}. Those that are: GET /v1/workers.`,
  )
}

const tell = async (parts: ApiParts, { name: worker, node }: WorkerView, order: WorkerOrder) => {
  const running = parts.engine()
  const done = { body: { worker, node }, audit: { worker, node, reason: order.reason } }
  if (node !== running.node()) {
    await orderWorker(parts.store, node, order)
    return { status: 202, ...done } as const
  }
  if (order.kind === "drainWorker") running.workers?.drain(worker, order.graceMillis, order.reason)
  else running.workers?.disconnect(worker, order.reason)
  return { status: 200, ...done } as const
}
