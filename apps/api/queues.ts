// `/v1/queues`: what waits in them, and letting one rest. For callers without a namespace: they count everybody's runs.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { instant, instantOrNull, listOf, page, text } from "./fields.ts"

const queueName = text(128, "The name of a queue.")

/** Why a queue rests. */
export const PauseView = Schema.Struct({
  note: Schema.NullOr(Schema.String),
  by: Schema.NullOr(Schema.String),
  at: instant,
})

/** A queue. */
export const QueueView = Schema.Struct({
  queue: Schema.String,
  ready: Schema.Int.annotate({ description: "Runs that could start now." }),
  oldestDueAt: instantOrNull,
  oldestAgeMillis: Schema.NullOr(Schema.Finite).annotate({
    description: "How long the one waits that waits longest, by the store's clock.",
  }),
  running: Schema.Int,
  paused: Schema.NullOr(PauseView).annotate({ description: "`null`: it is not paused." }),
  workers: Schema.Int.annotate({ description: "Connected workers of all nodes that take from it." }),
  slots: Schema.Int.annotate({
    description:
      "Those of these workers, which may take from other queues too; and those of this server's own process, where a job of its config has this queue.",
  }),
})

const params = Schema.Struct({ queue: queueName })

/** The routes. */
export const queuesApi = {
  listQueues: endpoint({
    name: "listQueues",
    method: "get",
    path: "/v1/queues",
    tag: "queues",
    role: "viewer",
    summary: "List queues",
    description:
      "Queues of this server's config, in which something waits or runs, or that are paused; by name. It counts rows: ask every few seconds at most.",
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of queues.", schema: listOf(QueueView) }],
    problems: ["badCursor"],
  }),
  getQueue: endpoint({
    name: "getQueue",
    method: "get",
    path: "/v1/queues/{queue}",
    tag: "queues",
    role: "viewer",
    summary: "Read a queue",
    params,
    success: [{ status: 200, description: "The queue.", schema: QueueView }],
    problems: ["notFound"],
  }),
  pauseQueue: endpoint({
    name: "pauseQueue",
    method: "post",
    path: "/v1/queues/{queue}/pause",
    tag: "queues",
    role: "operator",
    summary: "Pause a queue",
    description:
      "Nothing of it starts any more: on this server at once, on other nodes within two seconds. What runs goes on; what waits stays ready, and its `startWithin` goes on to count. It may be one of another config.",
    params,
    body: Schema.Struct({ note: Schema.optionalKey(text(512, "Why.")) }),
    bodyOptional: true,
    success: [
      {
        status: 200,
        description: "It is paused.",
        schema: Schema.Struct({ queue: Schema.String, paused: Schema.NullOr(PauseView) }),
      },
    ],
    problems: ["invalidInput"],
  }),
  resumeQueue: endpoint({
    name: "resumeQueue",
    method: "post",
    path: "/v1/queues/{queue}/resume",
    tag: "queues",
    role: "operator",
    summary: "Let a queue go on",
    description:
      "On this server at once, on other nodes within two seconds. One that is not paused is left as it is.",
    params,
    success: [
      {
        status: 200,
        description: "It goes on.",
        schema: Schema.Struct({ queue: Schema.String, paused: Schema.NullOr(PauseView) }),
      },
    ],
    problems: ["invalidInput"],
  }),
}
