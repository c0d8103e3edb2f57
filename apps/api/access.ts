// Who may use the API, and what was done with it: `/v1/keys`, `/v1/tokens` of workers, `/v1/audit`, and `/v1/me`.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { instant, instantOrNull, listOf, page, text } from "./fields.ts"

/** The roles of keys; each may do what the one before may. */
export const keyRoles = ["viewer", "operator", "admin"] as const

/** What a key may do. */
export type KeyRole = (typeof keyRoles)[number]

const role = Schema.Literals(keyRoles).annotate({
  description: "`viewer` reads, `operator` acts on runs and schedules, `admin` may do all.",
})
const namespace = Schema.NullOr(Schema.String).annotate({
  description: "It sees jobs of this name, and of names that begin with it and a dot; `null`: all.",
})
const credentialId = text(64, "The id in a key or token; no secret.")
const credentialName = text(128, "For people; no other one has it.")
const expires = Schema.optionalKey(
  Schema.Union([text(64, "A span such as `90d`."), Schema.Finite]).annotate({
    description:
      "How long it is good for, at least a second: a span such as `90d`, or milliseconds. Default: until it is revoked.",
  }),
)
const state = Schema.Literals(["valid", "expired", "broken"]).annotate({
  description: "`broken`: what it allows cannot be read, so it allows nothing.",
})
const params = Schema.Struct({ id: credentialId })

const keyFields = {
  id: credentialId,
  name: Schema.String,
  role: Schema.NullOr(role).annotate({ description: "`null`: it cannot be read." }),
  namespace,
  createdAt: instant,
  expiresAt: instantOrNull,
  state,
  lastUsedAt: instantOrNull.annotate({ description: "To the minute; `null`: not in the last year." }),
}

/** A key, without its secret. */
export const KeyRow = Schema.Struct(keyFields)

const tokenFields = {
  id: credentialId,
  name: Schema.String,
  queues: Schema.NullOr(Schema.Array(Schema.String)).annotate({ description: "`null`: all." }),
  createdAt: instant,
  expiresAt: instantOrNull,
  state,
}

/** A worker's token, without its secret. */
export const TokenRow = Schema.Struct(tokenFields)

const told = (about: string) =>
  Schema.NullOr(Schema.String).annotate({
    description: `${about} It is told this once; \`null\` in an answer that is repeated for its Idempotency-Key.`,
  })

/** Who did something. */
export const Actor = Schema.Struct({
  kind: Schema.Literals(["key", "local", "anyone"]).annotate({
    description: "`local`: whoever was on the server's machine, before there was a key.",
  }),
  id: Schema.NullOr(Schema.String),
  name: Schema.String,
})

/** A row of the audit. */
export const AuditRow = Schema.Struct({
  id: Schema.String,
  at: instant,
  actor: Actor,
  address: Schema.String,
  route: Schema.String.annotate({ description: "The name of the route." }),
  params: Schema.Record(Schema.String, Schema.String),
  status: Schema.Int.annotate({ description: "Of the answer." }),
  code: Schema.NullOr(Schema.String).annotate({ description: "Of the problem, where it was one." }),
  replayed: Schema.Boolean.annotate({
    description: "Whether it was answered from what was kept for its Idempotency-Key: it did nothing.",
  }),
  detail: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "What the route keeps of it.",
  }),
  requestId: Schema.String,
})

const whole = "For keys without a namespace."

/** The routes. */
export const accessApi = {
  createKey: endpoint({
    name: "createKey",
    method: "post",
    path: "/v1/keys",
    tag: "access",
    role: "admin",
    summary: "Make a key",
    description: `Its text is answered once; stored is a hash of its secret. From the first key on every request needs one. ${whole}`,
    body: Schema.Struct({
      name: credentialName,
      role: Schema.optionalKey(role),
      namespace: Schema.optionalKey(text(128, "Default: all.")),
      expires,
    }),
    success: [
      {
        status: 201,
        description: "The key.",
        schema: Schema.Struct({ ...keyFields, key: told("The text of the key.") }),
        headers: { location: "Where to read it, without its text." },
      },
    ],
    problems: ["invalidInput"],
  }),
  listKeys: endpoint({
    name: "listKeys",
    method: "get",
    path: "/v1/keys",
    tag: "access",
    role: "admin",
    summary: "List keys",
    description: `In the order in which they were made. ${whole}`,
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of keys.", schema: listOf(KeyRow) }],
    problems: ["badCursor"],
  }),
  getKey: endpoint({
    name: "getKey",
    method: "get",
    path: "/v1/keys/{id}",
    tag: "access",
    role: "admin",
    summary: "Read a key",
    description: whole,
    params,
    success: [{ status: 200, description: "The key.", schema: KeyRow }],
    problems: ["notFound"],
  }),
  revokeKey: endpoint({
    name: "revokeKey",
    method: "delete",
    path: "/v1/keys/{id}",
    tag: "access",
    role: "admin",
    summary: "Revoke a key",
    description: `All servers on the store refuse it within five seconds. ${whole}`,
    params,
    success: [{ status: 204, description: "It is revoked." }],
    problems: ["notFound"],
  }),
  createToken: endpoint({
    name: "createToken",
    method: "post",
    path: "/v1/tokens",
    tag: "access",
    role: "admin",
    summary: "Make a token for workers",
    description: `Its text is answered once; stored is a hash of its secret. ${whole}`,
    body: Schema.Struct({
      name: credentialName,
      queues: Schema.optionalKey(
        Schema.Array(text(128, "The name of a queue."))
          .check(Schema.isMinLength(1), Schema.isMaxLength(100))
          .annotate({ description: "Queues whose runs its workers may be given. Default: all." }),
      ),
      expires,
    }),
    success: [
      {
        status: 201,
        description: "The token.",
        schema: Schema.Struct({ ...tokenFields, token: told("The text of the token.") }),
      },
    ],
    problems: ["invalidInput"],
  }),
  listTokens: endpoint({
    name: "listTokens",
    method: "get",
    path: "/v1/tokens",
    tag: "access",
    role: "admin",
    summary: "List tokens of workers",
    description: `In the order in which they were made. ${whole}`,
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of tokens.", schema: listOf(TokenRow) }],
    problems: ["badCursor"],
  }),
  revokeToken: endpoint({
    name: "revokeToken",
    method: "delete",
    path: "/v1/tokens/{id}",
    tag: "access",
    role: "admin",
    summary: "Revoke a token of workers",
    description: `All servers on the store end its connections within five seconds. ${whole}`,
    params,
    success: [{ status: 204, description: "It is revoked." }],
    problems: ["notFound"],
  }),
  listAudit: endpoint({
    name: "listAudit",
    method: "get",
    path: "/v1/audit",
    tag: "access",
    role: "admin",
    summary: "List what was done",
    description: `Every request that may change something, with who made it and what became of it, the latest first; kept for 90 days. A page may have fewer rows than \`limit\`, or none, and a \`cursor\`: go on with it. ${whole}`,
    query: Schema.Struct({
      actor: Schema.optionalKey(text(128, "The id or name of a key, or `local`.")),
      route: Schema.optionalKey(text(64, "The name of a route, such as `sendRun`.")),
      from: Schema.optionalKey(text(64, "From this instant on: ISO 8601, or epoch milliseconds.")),
      to: Schema.optionalKey(text(64, "Before this instant.")),
      ...page,
    }),
    success: [{ status: 200, description: "A page of the audit.", schema: listOf(AuditRow) }],
    problems: ["badCursor", "invalidInput"],
  }),
  whoAmI: endpoint({
    name: "whoAmI",
    method: "get",
    path: "/v1/me",
    tag: "access",
    role: "viewer",
    summary: "Who asks, and what it may do",
    success: [
      {
        status: 200,
        description: "Whoever asks.",
        schema: Schema.Struct({ ...Actor.fields, role, namespace }),
      },
    ],
    problems: [],
  }),
}
