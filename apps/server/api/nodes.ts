// `/v1/nodes`: the engines that share a store, and telling one to take nothing new.
import * as Result from "effect/Result"
import { parseSpan } from "../../../core/domain/TimeSpan.ts"
import { decodeReport } from "../../../core/worker/WorkerReport.ts"
import type { nodesApi } from "../../api/nodes.ts"
import { drainGraceMillis, drainOrders, orderDrain, orderResume } from "../../sdk/orders.ts"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Handlers } from "./Handler.ts"
import { pageByName } from "./pageByName.ts"
import { needsWholeStore } from "./wholeStore.ts"

/** Behind the routes. */
export const nodeHandlers: Handlers<typeof nodesApi> = {
  listNodes: async ({ query, caller, parts }) => {
    needsWholeStore(caller)
    const { store } = parts
    const [nodes, drains, reports, now] = await Promise.all([
      store.nodes(),
      drainOrders(store),
      parts.reports(),
      store.now(),
    ])
    const running = parts.engine()
    const { items, cursor } = pageByName("nodes", nodes, ({ id }) => id, query)
    return {
      status: 200,
      body: {
        items: items.map(({ id, host, pid, runtime, startedAt, expiresAt }) => {
          const report = reports.find(({ node }) => node === id)
          const isThis = id === running.node()
          const { reason, by, at } = drains.get(id) ?? {}
          return {
            id,
            host,
            pid,
            runtime,
            startedAt,
            leaseUntil: expiresAt,
            isLive: expiresAt > now,
            isThis,
            draining: reason === undefined ? null : { reason, by: by ?? null, at: at ?? 0 },
            workers: isThis
              ? (running.workers?.list().length ?? null)
              : report === undefined
                ? null
                : toldOf(report),
          }
        }),
        cursor,
      },
    }
  },

  drainNode: async ({ params, body, caller, parts }) => {
    needsWholeStore(caller)
    await expectNode(parts, params.node)
    const graceMillis = graceOf(body.grace)
    const reason = body.reason ?? "the node drains"
    await orderDrain(parts.store, params.node, { graceMillis, reason, by: caller.name })
    await obeyHere(parts, params.node)
    const { node } = params
    return { status: 200, body: { node, draining: true }, audit: { node, reason } }
  },

  resumeNode: async ({ params, caller, parts }) => {
    needsWholeStore(caller)
    await expectNode(parts, params.node)
    const { node } = params
    const wasDraining = await orderResume(parts.store, node)
    await obeyHere(parts, node)
    return { status: 200, body: { node, draining: false }, audit: { node, wasDraining } }
  },
}

const toldOf = ({ workers: text }: { readonly workers: string }): number => {
  const { workers, leftOut } = decodeReport(text)
  return workers.length + leftOut
}

const expectNode = async ({ store }: ApiParts, node: string): Promise<void> => {
  const [nodes, now] = await Promise.all([store.nodes(), store.now()])
  if (nodes.some(({ id, expiresAt }) => id === node && expiresAt > now)) return
  throw refuse("notFound", "No node of this id has a lease. Those that have: GET /v1/nodes.")
}

// Another node reads it by itself within two seconds.
const obeyHere = async ({ engine }: ApiParts, node: string): Promise<void> => {
  const running = engine()
  if (running.node() === node) await inTime(running.readOrders(), answerMillisMax, noAnswer)
}

const graceMillisMax = 86_400_000

/** A time to drain, in milliseconds; throws `InvalidInput`. */
export const graceOf = (grace: string | number | undefined): number => {
  if (grace === undefined) return drainGraceMillis
  // Checked as the engine checks its own; its type is stricter than what comes from outside.
  const millis = Result.getOrThrow(parseSpan("grace", grace as `${number}s`))
  if (millis <= graceMillisMax) return millis
  throw new InvalidInput({ field: "grace", reason: "it is more than a day", next: "Give at most a day." })
}
