// The client: a method for each route, made of the routes themselves, so that there is none that the server does not know.
import { api, type ApiName } from "../api/mod.ts"
import type { Answered, ArgumentsOf, BodyOf, Page, PagedName, StreamName } from "./calls.ts"
import { type StreamedEvent, streamOf } from "./events.ts"
import { type AnyCall, bodyOf, type Fetch, send, type Sender } from "./request.ts"

type Api = typeof api

/** How to reach a server. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:8080`; a path before `/v1` is kept. */
  readonly url: string
  /** An API key. Without it only a server on this machine answers, as long as it has none. */
  readonly key?: string
  /** Default: the runtime's own. */
  readonly fetch?: Fetch
  /** How long one try may take, in milliseconds; default 30,000. */
  readonly timeout?: number
  /** How often a call is tried again at most, where that is safe; default 3. */
  readonly retries?: number
}

/**
 * A client. Each method answers the body of a success, and rejects with `ApiProblem` or `NoAnswer`, or with the reason of
 * its `signal`.
 */
export type Client = {
  readonly [K in ApiName]: (...args: ArgumentsOf<Api[K]>) => Promise<BodyOf<Api[K]>>
} & {
  /** The same with the status and the headers, such as the `etag`. */
  readonly full: {
    readonly [K in ApiName]: (...args: ArgumentsOf<Api[K]>) => Promise<Answered<BodyOf<Api[K]>>>
  }
  /** The same with a body that is not read yet, for those that are large; the time-out ends with the headers. */
  readonly open: { readonly [K in ApiName]: (...args: ArgumentsOf<Api[K]>) => Promise<Response> }
  /** All pages of a list, one after the other. */
  readonly pages: {
    readonly [K in PagedName]: (...args: ArgumentsOf<Api[K]>) => AsyncGenerator<BodyOf<Api[K]>, void>
  }
  /** Events as they happen, without an end; `lastEventId`: from after that one on. */
  readonly stream: {
    readonly [K in StreamName]: (
      ...args: ArgumentsOf<Api[K]> extends [(infer C)?]
        ? [call?: C & LastEvent]
        : [call: ArgumentsOf<Api[K]>[0] & LastEvent]
    ) => AsyncGenerator<StreamedEvent, void>
  }
}

interface LastEvent {
  readonly lastEventId?: string
}

const timeoutUsual = 30_000
const retriesUsual = 3

/** Makes a client. Throws `TypeError` for a wrong option; it does not connect. */
export const makeClient = (options: ClientOptions): Client => {
  const sender = senderOf(options)
  const each = <A>(make: (name: ApiName) => A): Readonly<Record<ApiName, A>> =>
    Object.fromEntries(
      (Object.keys(api) as ReadonlyArray<ApiName>).map((name) => [name, make(name)]),
    ) as Record<ApiName, A>
  const full = each(
    (name) =>
      (call: AnyCall = {}) =>
        send(sender, api[name], call, async (response) => ({
          status: response.status,
          headers: response.headers,
          body: await bodyOf(response),
        })),
  )
  return {
    ...each((name) => async (call?: AnyCall) => (await full[name](call)).body),
    full,
    open: each(
      (name) =>
        (call: AnyCall = {}) =>
          send(sender, api[name], call, async (response) => response),
    ),
    pages: each(
      (name) =>
        (call: AnyCall = {}) =>
          pagesOf(call, async (given) => (await full[name](given)).body as Page),
    ),
    stream: each(
      (name) =>
        (call: AnyCall = {}) =>
          streamOf(sender, api[name], call),
    ),
  } as unknown as Client
}

async function* pagesOf(call: AnyCall, read: (call: AnyCall) => Promise<Page>): AsyncGenerator<Page, void> {
  let page = await read(call)
  yield page
  while (page.cursor !== null) {
    const { cursor } = page
    page = await read({ ...call, query: { ...call.query, cursor } })
    // A server that goes in a circle must not take its client with it.
    if (page.cursor === cursor) throw new TypeError("The server answered the same cursor twice")
    yield page
  }
}

const senderOf = ({
  url,
  key,
  fetch: given,
  timeout = timeoutUsual,
  retries = retriesUsual,
}: ClientOptions): Sender => {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new TypeError("url is no address of a server, such as http://127.0.0.1:8080")
  if (parsed.username !== "" || parsed.password !== "")
    throw new TypeError("url holds a password: give a key instead")
  // Said here and without the key: runtimes quote a header that they do not take.
  if (key !== undefined && !/^[\x21-\x7e]{1,1024}$/.test(key))
    throw new TypeError("key holds characters that no key has; is there a line break at its end?")
  if (!Number.isFinite(timeout) || timeout <= 0)
    throw new TypeError("timeout is no number of milliseconds above 0")
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError("retries is no whole number from 0 on")
  return {
    base: `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`,
    key,
    // Called without an object: browsers refuse it as a method of another.
    fetch: given ?? ((url, init) => fetch(url, init)),
    timeout,
    retries,
  }
}
