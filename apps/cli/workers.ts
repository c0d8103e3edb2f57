// `uhrwerk worker list | drain | disconnect`: the workers that are connected to the engines of a store, as these tell of them every few seconds.
import type { WorkerView } from "../../core/worker/WorkerView.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import type { WorkerOrder } from "../../core/engine/NodeOrders.ts"
import { orderWorker } from "../sdk/orders.ts"
import { reportsOf } from "../sdk/workerReports.ts"
import { fromNow, isTable, plain, printAnswer, printRows } from "./format.ts"
import { graceOf, reasonOf } from "./nodes.ts"
import { type Command, type Flags, none, notFound, only, storeCommand } from "./open.ts"

/** The commands by their words. */
export const workerCommands: Readonly<Record<string, Command>> = {
  "worker list": storeCommand(
    "worker list",
    "workers that are connected, and what they can be given",
    async (store, args, flags) => {
      none(args)
      const [reports, now] = [await reportsOf(store), await store.now()]
      const workers = reports
        .flatMap(({ report }) => report.workers)
        .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.connectedAt - b.connectedAt))
      printRows(flags, workers, {
        name: (row: WorkerView) => row.name,
        node: (row: WorkerView) => row.node,
        status: (row: WorkerView) => row.status,
        runtime: (row: WorkerView) => row.runtime,
        version: (row: WorkerView) => row.version,
        jobs: (row: WorkerView) => String(row.jobs.length - row.unable.length),
        queues: (row: WorkerView) => row.queues?.join(", ") ?? "all",
        slots: (row: WorkerView) => `${row.slots}${row.prefetch > 0 ? ` + ${row.prefetch}` : ""}`,
        "in hand": (row: WorkerView) => String(row.inHand),
        labels: (row: WorkerView) =>
          Object.entries(row.labels)
            .map(([name, value]) => `${name}=${String(value)}`)
            .join(" ") || "-",
        heard: (row: WorkerView) => fromNow(Math.min(row.heardAt, now - 1), now),
      })
      const leftOut = reports.reduce((sum, { report }) => sum + report.leftOut, 0)
      if (leftOut > 0) console.error(`${leftOut} more are connected, and nothing is told of them here.`)
      if (workers.length === 0 && leftOut === 0 && isTable(flags)) console.error(noneBecause(reports.length))
    },
  ),
  "worker drain": storeCommand(
    "worker drain NAME [--grace SPAN] [--reason TEXT] [--node ID]",
    "it takes nothing more, finishes and goes",
    async (store, args, flags) => {
      const worker = only(args, "worker's name")
      const reason = reasonOf(flags, "drained from the command line")
      const order = { kind: "drainWorker", worker, graceMillis: graceOf(flags), reason } as const
      await tell(store, flags, order)
    },
  ),
  "worker disconnect": storeCommand(
    "worker disconnect NAME [--reason TEXT] [--node ID]",
    "end its session now; what it has begun is lost with an attempt",
    async (store, args, flags) => {
      const worker = only(args, "worker's name")
      const reason = reasonOf(flags, "disconnected from the command line")
      await tell(store, flags, { kind: "disconnectWorker", worker, reason })
    },
  ),
}

const tell = async (store: StoreDriver, flags: Flags, order: WorkerOrder): Promise<void> => {
  const { worker } = order
  const [found] = (await reportsOf(store))
    .flatMap(({ report }) => report.workers)
    .filter(({ name, node }) => name === worker && (flags.node === undefined || node === flags.node))
    .toSorted((a, b) => b.connectedAt - a.connectedAt)
  if (found === undefined) throw notFound("worker", worker)
  await orderWorker(store, found.node, order)
  console.error(`Node ${found.node}, where it is connected, tells it within two seconds.`)
  printAnswer(flags, { worker, node: found.node, order: order.kind }, `${plain(worker)} told`)
}

const noneBecause = (nodes: number): string =>
  nodes === 0
    ? "No engine on this store serves workers. One that does: uhrwerk serve"
    : "No worker is connected. Start one: uhrwerk worker"
