// What a call takes and answers, by its route.
import type * as Schema from "effect/Schema"
import type { api, Endpoint, GivenOf } from "../api/mod.ts"

type Api = typeof api

/** What every call may be given. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** How long one try may take, in milliseconds; default: the client's. */
  readonly timeout?: number
  /** How often it is tried again at most; default: the client's. */
  readonly retries?: number
  /** More headers, such as `prefer`. */
  readonly headers?: Readonly<Record<string, string>>
  /** In place of one that is made for each call of a route that takes `Idempotency-Key`: to send it again after a crash. */
  readonly idempotencyKey?: string
  /** The `ETag` that was read: if it was changed since, it is refused as `changed`. */
  readonly ifMatch?: string
}

// In a query numbers and flags are texts; a program says them as they are.
type Loose<I> = {
  readonly [K in keyof I]:
    | I[K]
    | (string extends I[K] ? number : never)
    | ("true" extends I[K] ? boolean : never)
}

type Part<K extends string, Given> = [Given] extends [undefined]
  ? { readonly [_ in K]?: undefined }
  : Partial<Given> extends Given
    ? { readonly [_ in K]?: Given }
    : { readonly [_ in K]: Given }

type BodyPart<E extends Endpoint> = E extends { readonly bodyOptional: true }
  ? { readonly body?: GivenOf<E, "body"> }
  : [GivenOf<E, "body">] extends [undefined]
    ? { readonly body?: undefined }
    : { readonly body: GivenOf<E, "body"> }

/** What a call of a route is given. */
export type CallOf<E extends Endpoint> = Part<"params", GivenOf<E, "params">> &
  Part<"query", Loose<GivenOf<E, "query">>> &
  BodyPart<E> &
  CallOptions

/** The arguments: none are needed where nothing is required. */
export type ArgumentsOf<E extends Endpoint> =
  Partial<CallOf<E>> extends CallOf<E> ? [call?: CallOf<E>] : [call: CallOf<E>]

/** The body of a route's successes: JSON as its schema says; a text where it is of another type; else `undefined`. */
export type BodyOf<E extends Endpoint> = E["success"][number] extends infer S
  ? S extends { readonly type: string }
    ? string
    : S extends { readonly schema: Schema.Codec<any, infer I> }
      ? I
      : undefined
  : never

/** A whole answer. */
export interface Answered<Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

/** A page of a list. */
export interface Page {
  readonly items: ReadonlyArray<unknown>
  /** For the next one; `null`: there is none. */
  readonly cursor: string | null
}

/** The names of lists that are read page by page. */
export type PagedName = {
  [K in keyof Api]: BodyOf<Api[K]> extends Page ? K : never
}[keyof Api]

/** The names of routes that tell events as they happen. */
export type StreamName = {
  [K in keyof Api]: "text/event-stream" extends TypeOf<Api[K]["success"][number]> ? K : never
}[keyof Api]

type TypeOf<S> = S extends { readonly type: infer T } ? T : never
