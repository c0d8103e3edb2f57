// `/v1/nodes`: the engines that share a store. For callers without a namespace.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { instant, listOf, page, text } from "./fields.ts"

const textOrNull = Schema.NullOr(Schema.String)

/** That a node drains. */
export const DrainView = Schema.Struct({ reason: Schema.String, by: textOrNull, at: instant })

/** A node. */
export const NodeView = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  pid: Schema.Int,
  runtime: Schema.String,
  startedAt: instant,
  leaseUntil: instant,
  isLive: Schema.Boolean.annotate({ description: "Whether its lease holds, by the store's clock." }),
  isThis: Schema.Boolean.annotate({ description: "Whether it is that of the server that answers." }),
  draining: Schema.NullOr(DrainView).annotate({
    description: "It was told to take nothing new; `null`: it was not.",
  }),
  workers: Schema.NullOr(Schema.Int).annotate({
    description: "How many are connected to it, as it said last; `null`: it serves none.",
  }),
})

/** How to drain. */
export const drainFields = {
  grace: Schema.optionalKey(
    Schema.Union([text(64, "A span."), Schema.Finite]).annotate({
      description:
        "How long workers may go on with what they have: milliseconds, or a span such as `30s`, the default. At most a day.",
    }),
  ),
  reason: Schema.optionalKey(text(256, "Why; workers are told, too.")),
}

const params = Schema.Struct({ node: text(64, "The id of a node.") })
const done = Schema.Struct({ node: Schema.String, draining: Schema.Boolean })
const problems = ["notFound", "invalidInput"] as const

/** The routes. */
export const nodesApi = {
  listNodes: endpoint({
    name: "listNodes",
    method: "get",
    path: "/v1/nodes",
    tag: "nodes",
    role: "viewer",
    summary: "List nodes",
    query: Schema.Struct(page),
    success: [
      { status: 200, description: "A page of nodes, by id: the oldest first.", schema: listOf(NodeView) },
    ],
    problems: ["badCursor"],
  }),
  drainNode: endpoint({
    name: "drainNode",
    method: "post",
    path: "/v1/nodes/{node}/drain",
    tag: "nodes",
    role: "admin",
    summary: "Drain a node",
    description:
      "It claims nothing new, and its workers finish and go to other nodes; what its own process runs goes on to its end. It stays a node: schedules are planned, and the API answers. In effect at once on the server that is asked, within two seconds elsewhere, until it is resumed or its process ends.",
    params,
    body: Schema.Struct(drainFields),
    bodyOptional: true,
    success: [{ status: 200, description: "It was told.", schema: done }],
    problems,
  }),
  resumeNode: endpoint({
    name: "resumeNode",
    method: "post",
    path: "/v1/nodes/{node}/resume",
    tag: "nodes",
    role: "admin",
    summary: "Let a node go on",
    params,
    success: [{ status: 200, description: "It was told.", schema: done }],
    problems: ["notFound"],
  }),
}
