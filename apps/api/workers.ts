// `/v1/workers`: the workers of all nodes. For callers without a namespace.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { instant, page, text } from "./fields.ts"
import { drainFields } from "./nodes.ts"

const textOrNull = Schema.NullOr(Schema.String)
const names = Schema.Array(Schema.String)

/** A connected worker, as its node sees it. */
export const WorkerItem = Schema.Struct({
  name: Schema.String,
  node: Schema.String.annotate({ description: "The node that it is connected to." }),
  status: Schema.Literals(["alive", "suspect", "draining", "cut"]).annotate({
    description:
      "`suspect`: silent for a while; `draining`: takes nothing more; `cut`: without a connection, it may come back.",
  }),
  runtime: Schema.String,
  version: Schema.String,
  jobs: names,
  unable: names.annotate({ description: "Jobs that it announced, and refused for want of a handler." }),
  queues: Schema.NullOr(names).annotate({ description: "Those that it takes runs from; `null`: all." }),
  labels: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  slots: Schema.Int,
  prefetch: Schema.Int,
  inHand: Schema.Int.annotate({
    description: "Attempts that it was given and whose outcome is not in the store.",
  }),
  load: Schema.NullOr(Schema.Finite).annotate({
    description: "How busy its machine is, 1 for one full core; `null`: it did not say.",
  }),
  credential: textOrNull.annotate({ description: "The id of the token that it came with." }),
  address: Schema.String,
  connectedAt: instant,
  heardAt: instant,
})

/** An attempt in a worker's hand. */
export const InHandItem = Schema.Struct({
  run: Schema.String,
  attempt: Schema.Int,
  token: Schema.Int,
  job: Schema.String,
  state: Schema.Literals(["sent", "waiting", "started", "settling"]),
})

const node = Schema.optionalKey(text(64, "Its node; default: the one that it connected to last."))
const params = Schema.Struct({ worker: text(128, "The name of a worker.") })
const told = Schema.Struct({ worker: Schema.String, node: Schema.String })
const success = [
  { status: 200, description: "It was told.", schema: told },
  { status: 202, description: "It is another node's, which tells it within two seconds.", schema: told },
] as const

/** The routes. */
export const workersApi = {
  listWorkers: endpoint({
    name: "listWorkers",
    method: "get",
    path: "/v1/workers",
    tag: "workers",
    role: "viewer",
    summary: "List workers",
    description:
      "Those of this server as they are now, and those of the other nodes on its store as each said last, at most some seconds ago; by name.",
    query: Schema.Struct(page),
    success: [
      {
        status: 200,
        description: "A page of workers.",
        schema: Schema.Struct({
          items: Schema.Array(WorkerItem),
          cursor: textOrNull.annotate({ description: "For the next page; `null`: there is none." }),
          leftOut: Schema.Int.annotate({ description: "How many more there are than nodes could tell of." }),
        }),
      },
    ],
    problems: ["badCursor"],
  }),
  getWorker: endpoint({
    name: "getWorker",
    method: "get",
    path: "/v1/workers/{worker}",
    tag: "workers",
    role: "viewer",
    summary: "Read a worker",
    params,
    query: Schema.Struct({ node }),
    success: [
      {
        status: 200,
        description: "The worker.",
        schema: Schema.Struct({
          ...WorkerItem.fields,
          attempts: Schema.NullOr(Schema.Array(InHandItem)).annotate({
            description: "What it has in hand; `null`: it is another node's, which knows.",
          }),
        }),
      },
    ],
    problems: ["notFound"],
  }),
  drainWorker: endpoint({
    name: "drainWorker",
    method: "post",
    path: "/v1/workers/{worker}/drain",
    tag: "workers",
    role: "admin",
    summary: "Drain a worker",
    description:
      "It takes nothing more, hands back what it has not begun, finishes the rest within `grace` and goes. A worker that looks for a server again, as ours do, comes back with its next connection.",
    params,
    body: Schema.Struct({ ...drainFields, node }),
    bodyOptional: true,
    success,
    problems: ["notFound", "invalidInput"],
  }),
  disconnectWorker: endpoint({
    name: "disconnectWorker",
    method: "post",
    path: "/v1/workers/{worker}/disconnect",
    tag: "workers",
    role: "admin",
    summary: "End a worker's session",
    description:
      "Now: what it has begun is lost with an attempt, as if it had vanished, and goes on by its retry policy; the rest goes back.",
    params,
    body: Schema.Struct({ reason: drainFields.reason, node }),
    bodyOptional: true,
    success,
    problems: ["notFound"],
  }),
}
