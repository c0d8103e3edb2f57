// `uhrwerk node list`: the engines that share a store, and whether their leases hold.
import type { NodeRow } from "../../core/ports/StoreDriver.ts"
import { dateOf, fromNow, printRows } from "./format.ts"
import { type Command, none, storeCommand } from "./open.ts"

/** A node with what follows from the store's clock. */
interface Line extends NodeRow {
  readonly state: "live" | "lost"
}

/** The commands by their words. */
export const nodeCommands: Readonly<Record<string, Command>> = {
  "node list": storeCommand(
    "node list",
    "engines, and whether their leases hold",
    async (store, args, flags) => {
      none(args)
      const [nodes, now] = [await store.nodes(), await store.now()]
      const lines = nodes
        .map((node): Line => ({ ...node, state: node.expiresAt > now ? "live" : "lost" }))
        .sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1))
      printRows(flags, lines, {
        id: (row: Line) => row.id,
        state: (row: Line) => row.state,
        lease: (row: Line) => `${row.state === "live" ? "ends" : "ended"} ${fromNow(row.expiresAt, now)}`,
        started: (row: Line) => dateOf(row.startedAt),
        host: (row: Line) => row.host,
        process: (row: Line) => String(row.pid),
        runtime: (row: Line) => row.runtime,
      })
    },
  ),
}
