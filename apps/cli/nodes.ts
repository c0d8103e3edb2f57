// `uhrwerk node list | drain | resume`: the engines that share a store, whether their leases hold, and telling one to take
// nothing new, which it reads within two seconds.
import * as Result from "effect/Result"
import type { DrainOrder } from "../../core/engine/NodeOrders.ts"
import { parseSpan } from "../../core/domain/TimeSpan.ts"
import type { NodeRow } from "../../core/ports/StoreDriver.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { drainGraceMillis, drainOrders, orderDrain, orderResume } from "../sdk/orders.ts"
import { UsageError } from "./errors.ts"
import { dateOf, fromNow, printAnswer, printRows } from "./format.ts"
import { type Command, type Flags, none, notFound, only, storeCommand } from "./open.ts"

/** A node with what follows from the store's clock. */
interface Line extends NodeRow {
  readonly state: "live" | "draining" | "lost"
  readonly draining: Omit<DrainOrder, "kind" | "graceMillis"> | null
}

/** The commands by their words. */
export const nodeCommands: Readonly<Record<string, Command>> = {
  "node list": storeCommand(
    "node list",
    "engines, and whether their leases hold",
    async (store, args, flags) => {
      none(args)
      const [nodes, now, drains] = [await store.nodes(), await store.now(), await drainOrders(store)]
      const lines = nodes
        .map((node): Line => {
          const { reason, by, at } = drains.get(node.id) ?? {}
          const draining = reason === undefined ? null : { reason, by: by ?? null, at: at ?? 0 }
          const state = node.expiresAt <= now ? "lost" : draining === null ? "live" : "draining"
          return { ...node, state, draining }
        })
        .sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1))
      printRows(flags, lines, {
        id: (row: Line) => row.id,
        state: (row: Line) => row.state,
        lease: (row: Line) => `${row.state === "lost" ? "ended" : "ends"} ${fromNow(row.expiresAt, now)}`,
        started: (row: Line) => dateOf(row.startedAt),
        host: (row: Line) => row.host,
        process: (row: Line) => String(row.pid),
        runtime: (row: Line) => row.runtime,
      })
    },
  ),
  "node drain": storeCommand(
    "node drain ID [--grace SPAN] [--reason TEXT]",
    "take nothing new; its workers go, what it runs goes on",
    async (store, args, flags) => {
      const node = await findNode(store, only(args, "node's id"))
      const reason = reasonOf(flags, "drained from the command line")
      await orderDrain(store, node, { graceMillis: graceOf(flags), reason, by: null })
      console.error("It takes nothing new within two seconds. Let it go on: uhrwerk node resume ID")
      printAnswer(flags, { node, draining: true }, `${node} draining`)
    },
  ),
  "node resume": storeCommand("node resume ID", "let it take runs again", async (store, args, flags) => {
    const node = await findNode(store, only(args, "node's id"))
    const wasDraining = await orderResume(store, node)
    console.error(wasDraining ? "It goes on within two seconds." : "It was not told to drain.")
    printAnswer(flags, { node, draining: false }, `${node} live`)
  }),
}

/** The time to drain that a command was given, in milliseconds. */
export const graceOf = ({ grace }: Flags): number =>
  grace === undefined ? drainGraceMillis : Result.getOrThrow(parseSpan("--grace", grace as `${number}s`))

const reasonMax = 256

/** Why something is done to a node or a worker, which is told it too. */
export const reasonOf = ({ reason = "" }: Flags, usual: string): string => {
  if (reason.length > reasonMax)
    throw new UsageError(`--reason has ${reason.length} characters; give at most ${reasonMax}`)
  return reason === "" ? usual : reason
}

const findNode = async (store: StoreDriver, id: string): Promise<string> => {
  const [nodes, now] = [await store.nodes(), await store.now()]
  if (nodes.some((node) => node.id === id && node.expiresAt > now)) return id
  throw notFound("node", id)
}
