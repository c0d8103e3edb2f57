// `/v1/webhooks`: who is told of events by a signed request, and what became of each.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { typeName } from "./events.ts"
import { instant, instantOrNull, json, listOf, page, text } from "./fields.ts"

const url = text(2_048, "Where events are posted to: https, or http to an origin that the config allows.")
const label = text(128, "For people.")
const types = Schema.Array(typeName)
  .check(Schema.isMaxLength(20))
  .annotate({ description: "Only these types; `uhrwerk.run.*`: all that begin so. Default, or empty: all." })
const jobs = Schema.Array(text(128, "A name, or the beginning of some, as `mail.*`."))
  .check(Schema.isMaxLength(50))
  .annotate({ description: "Only what is about these jobs, flows and schedules. Default, or empty: all." })

/** What is said of a new webhook. */
export const WebhookBody = Schema.Struct({
  name: label,
  url,
  types: Schema.optionalKey(types),
  jobs: Schema.optionalKey(jobs),
})

/** What may be changed of one. */
export const WebhookEdit = Schema.Struct({
  name: Schema.optionalKey(label),
  url: Schema.optionalKey(url),
  types: Schema.optionalKey(types),
  jobs: Schema.optionalKey(jobs),
  enabled: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "One that is enabled again begins with what happens next." }),
  ),
})

const fields = {
  id: Schema.String,
  name: Schema.String,
  url: Schema.String,
  types: Schema.Array(Schema.String),
  jobs: Schema.Array(Schema.String),
  enabled: Schema.Boolean,
  note: Schema.NullOr(Schema.String).annotate({ description: "Why it was disabled, if nobody did it." }),
  createdAt: instant,
  failingSince: instantOrNull.annotate({ description: "Since when no delivery has succeeded." }),
}

/** A webhook; its secret is told once, when it is made. */
export const WebhookView = Schema.Struct(fields)

/** A webhook with its new secret. */
export const WebhookWithSecret = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({ description: "Told this once: `whsec_` and 32 random bytes in base64." }),
})

const AttemptView = Schema.Struct({
  at: instant,
  millis: Schema.Int,
  status: Schema.NullOr(Schema.Int).annotate({ description: "Of the answer; `null`: there was none." }),
  error: Schema.NullOr(Schema.String),
})

/** What became of an event for a webhook. */
export const DeliveryView = Schema.Struct({
  event: json.annotate({ description: "The CloudEvent; its `id` is that of the delivery." }),
  state: Schema.Literals(["pending", "delivered", "failed"]),
  attempts: Schema.Array(AttemptView),
  nextAt: instantOrNull.annotate({ description: "When it is tried again." }),
})

const id = Schema.Struct({ id: text(36, "The id of a webhook.") })
const etag = { etag: "Its version, for `If-Match`." }

/** The routes. */
export const webhooksApi = {
  createWebhook: endpoint({
    name: "createWebhook",
    method: "post",
    path: "/v1/webhooks",
    tag: "webhooks",
    role: "admin",
    summary: "Make a webhook",
    description:
      "It begins with what happens next. The secret is answered here and never again; the server keeps it, as it must sign with it.",
    body: WebhookBody,
    success: [{ status: 201, description: "It is stored.", schema: WebhookWithSecret, headers: etag }],
    problems: ["invalidInput", "conflict"],
  }),
  listWebhooks: endpoint({
    name: "listWebhooks",
    method: "get",
    path: "/v1/webhooks",
    tag: "webhooks",
    role: "admin",
    summary: "List webhooks",
    query: Schema.Struct(page),
    success: [{ status: 200, description: "By id.", schema: listOf(WebhookView) }],
    problems: ["badCursor"],
  }),
  getWebhook: endpoint({
    name: "getWebhook",
    method: "get",
    path: "/v1/webhooks/{id}",
    tag: "webhooks",
    role: "admin",
    summary: "Read a webhook",
    params: id,
    success: [{ status: 200, description: "The webhook.", schema: WebhookView, headers: etag }],
    problems: ["notFound"],
  }),
  editWebhook: endpoint({
    name: "editWebhook",
    method: "patch",
    path: "/v1/webhooks/{id}",
    tag: "webhooks",
    role: "admin",
    summary: "Change a webhook",
    params: id,
    body: WebhookEdit,
    conditional: true,
    success: [{ status: 200, description: "As it is now.", schema: WebhookView, headers: etag }],
    problems: ["notFound", "invalidInput", "changed", "badHeader"],
  }),
  deleteWebhook: endpoint({
    name: "deleteWebhook",
    method: "delete",
    path: "/v1/webhooks/{id}",
    tag: "webhooks",
    role: "admin",
    summary: "Delete a webhook",
    description:
      "Nothing more is sent to it, but for what is on its way. Its deliveries are not listed any more.",
    params: id,
    conditional: true,
    success: [{ status: 204, description: "It is gone." }],
    problems: ["notFound", "changed", "badHeader"],
  }),
  rotateWebhookSecret: endpoint({
    name: "rotateWebhookSecret",
    method: "post",
    path: "/v1/webhooks/{id}/secret",
    tag: "webhooks",
    role: "admin",
    summary: "Give a webhook a new secret",
    description: "For a day requests are signed with both, so that the receiver can change over.",
    params: id,
    success: [{ status: 200, description: "With the new secret.", schema: WebhookWithSecret }],
    problems: ["notFound", "changed"],
  }),
  listDeliveries: endpoint({
    name: "listDeliveries",
    method: "get",
    path: "/v1/webhooks/{id}/deliveries",
    tag: "webhooks",
    role: "admin",
    summary: "List deliveries",
    params: id,
    query: Schema.Struct(page),
    success: [
      { status: 200, description: "The newest event first; kept for a week.", schema: listOf(DeliveryView) },
    ],
    problems: ["notFound", "badCursor"],
  }),
  resendDelivery: endpoint({
    name: "resendDelivery",
    method: "post",
    path: "/v1/webhooks/{id}/deliveries/{event}/resend",
    tag: "webhooks",
    role: "admin",
    summary: "Send an event again",
    description: "Within some seconds, by the server that delivers. It has the id that it had before.",
    params: Schema.Struct({ ...id.fields, event: text(64, "The id of the event.") }),
    success: [{ status: 202, description: "It will be sent.", schema: DeliveryView }],
    problems: ["notFound", "conflict"],
  }),
  testWebhook: endpoint({
    name: "testWebhook",
    method: "post",
    path: "/v1/webhooks/{id}/test",
    tag: "webhooks",
    role: "admin",
    summary: "Send a test event",
    description:
      "An event `uhrwerk.webhook.test`, now and once, also while it is disabled; it is not listed.",
    params: id,
    idempotent: false,
    success: [{ status: 200, description: "What came of it.", schema: AttemptView }],
    problems: ["notFound"],
  }),
}
