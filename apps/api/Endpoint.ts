// What a route of the HTTP API is, said once: its address, who may use it, what it takes, what it answers and how it may
// refuse. The server decodes requests by it, the client and the command line are made of it, and so is the OpenAPI
// document; so none of them can say another thing than the others.
import type * as Schema from "effect/Schema"
import type { ProblemCode } from "./problemCodes.ts"

/** Who may use a route: each role may do what the one before may. `public`: whoever can reach the server. */
export type Role = "public" | "viewer" | "operator" | "admin"

/** A schema whose decoded and encoded form are any. */
export type AnySchema = Schema.Codec<any, any>

/** One way in which a request may succeed. */
export interface Success {
  readonly status: 200 | 201 | 202 | 204
  readonly description: string
  /** What the body is; absent: there is none. */
  readonly schema?: AnySchema
  /** Another media type than JSON, such as `text/event-stream`; then `schema` is that of the text. */
  readonly type?: string
  /** Headers of the answer, with what each says. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A route. */
export interface Endpoint {
  /** Unique in the API, in camelCase: the name of the operation in OpenAPI, and of the client's method. */
  readonly name: string
  readonly method: "get" | "post" | "put" | "patch" | "delete"
  /** With parameters in braces: `/v1/runs/{id}`. */
  readonly path: string
  /** The group that it is shown in. */
  readonly tag: string
  readonly role: Role
  /** One line. */
  readonly summary: string
  /** What else whoever uses it has to know, in CommonMark. */
  readonly description?: string
  /** Of a struct of strings: the parameters of the path. */
  readonly params?: AnySchema
  /** Of a struct whose encoded fields are strings, or lists of strings where a parameter may be repeated. */
  readonly query?: AnySchema
  /** Of JSON. */
  readonly body?: AnySchema
  /** Whether a request without a body is one with `{}`. */
  readonly bodyOptional?: boolean
  readonly success: ReadonlyArray<Success>
  /** How it may refuse, beside what every route may (`commonProblems`). */
  readonly problems: ReadonlyArray<ProblemCode>
  /** Takes `Idempotency-Key`; default: every `post`. */
  readonly idempotent?: boolean
  /** Takes `If-Match`, and answers an `ETag`. */
  readonly conditional?: boolean
  /** Who does it is kept in the audit; default: everything but `get`. */
  readonly audited?: boolean
}

/** The decoded form of a part of a request; `{}` where the route has none. */
export type PartOf<E extends Endpoint, K extends "params" | "query" | "body"> =
  E[K] extends Schema.Codec<infer A, any> ? A : Readonly<Record<string, never>>

/** What a client gives for a part of a request. */
export type GivenOf<E extends Endpoint, K extends "params" | "query" | "body"> =
  E[K] extends Schema.Codec<any, infer I> ? I : undefined

/** The decoded bodies of an endpoint's answers. */
export type AnswerOf<E extends Endpoint> = E["success"][number] extends infer S
  ? S extends { readonly schema: Schema.Codec<infer A, any> }
    ? A
    : undefined
  : never

/** Names the type of an endpoint without losing what is in it. */
export const endpoint = <const E extends Endpoint>(given: E): E => given

/** Whether it changes something. */
export const isUnsafe = ({ method }: Endpoint): boolean => method !== "get"

/** Whether it takes an `Idempotency-Key`. */
export const isIdempotent = ({ method, idempotent = method === "post" }: Endpoint): boolean => idempotent

/** Whether who does it is kept. */
export const isAudited = (given: Endpoint): boolean => given.audited ?? isUnsafe(given)
