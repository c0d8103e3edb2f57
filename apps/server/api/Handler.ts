// What stands behind a route: given the decoded request and who asks, it answers. Whether the caller may do that at all,
// limits, repeated requests and the audit are dealt with before and after it, in `mount.ts`.
import type { AnswerOf, Endpoint, PartOf, Role } from "../../api/mod.ts"
import type { ApiParts } from "./ApiParts.ts"

/** Who asks. */
export interface Caller {
  /** `local`: there is no key in the store, and it is on this machine. */
  readonly kind: "key" | "local"
  /** The id of its key, which is no secret. */
  readonly id: string | null
  /** For people, and for the audit. */
  readonly name: string
  readonly role: Exclude<Role, "public">
  /** Sees jobs of this name, and of names that begin with it and a dot, and nothing else; `null`: all. */
  readonly namespace: string | null
}

/** A request, decoded. */
export interface Call<E extends Endpoint> {
  readonly params: PartOf<E, "params">
  readonly query: PartOf<E, "query">
  readonly body: PartOf<E, "body">
  readonly caller: Caller
  /** For the log, the audit and the answer. */
  readonly requestId: string
  readonly headers: Headers
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  readonly parts: ApiParts
}

/** What is answered: one of the endpoint's successes; a refusal is thrown, see `refuse` in problems.ts. */
export interface Reply<E extends Endpoint> {
  readonly status: E["success"][number]["status"]
  readonly body?: AnswerOf<E> extends infer A ? Exclude<A, undefined> : never
  readonly headers?: Readonly<Record<string, string>>
  /** In place of `body`: an answer of another type than JSON, or one that comes bit by bit. */
  readonly stream?: ReadableStream<Uint8Array> | string
  /**
   * In place of `body` in the answer to a request that is repeated with its `Idempotency-Key`: what is kept for that for
   * a day must not have a secret in it that is told once.
   */
  readonly kept?: unknown
  /** What the audit keeps of it, beside the route, its parameters and the status. Never a secret, never a payload. */
  readonly audit?: Readonly<Record<string, unknown>>
}

/** Behind one route. */
export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<Reply<E>>

/** Behind a group of routes. */
export type Handlers<T extends Readonly<Record<string, Endpoint>>> = {
  readonly [K in keyof T]: Handler<T[K]>
}

/** Whether the caller may know of a job, flow or schedule of this name. */
export const maySee = ({ namespace }: Caller, name: string): boolean =>
  namespace === null || name === namespace || name.startsWith(`${namespace}.`)
