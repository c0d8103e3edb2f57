// `uhrwerk worker list`: the workers that are connected to the engines of a store, as these tell of them every few seconds.
import type { WorkerView } from "../../core/worker/WorkerView.ts"
import { reportsOf } from "../sdk/workerReports.ts"
import { fromNow, isTable, printRows } from "./format.ts"
import { type Command, none, storeCommand } from "./open.ts"

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
}

const noneBecause = (nodes: number): string =>
  nodes === 0
    ? "No engine on this store serves workers. One that does: uhrwerk serve"
    : "No worker is connected. Start one: uhrwerk worker"
