// One request: from a route and a call to an answer, tried again where that is safe. Nothing here knows types of routes.
import type { Endpoint } from "../api/Endpoint.ts"
import { isIdempotent } from "../api/Endpoint.ts"
import type { CallOptions } from "./calls.ts"
import { ApiProblem, NoAnswer, problemOf } from "./errors.ts"

/** A call, whatever its route. */
export interface AnyCall extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

/** As much of `fetch` as a client needs. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What a client sends with. */
export interface Sender {
  /** Without a slash at the end. */
  readonly base: string
  readonly key: string | undefined
  readonly fetch: Fetch
  readonly timeout: number
  readonly retries: number
}

/** The first wait before another try is up to that long, in milliseconds, each further one up to twice as long. */
export const waitFirstMillis = 250
const waitMillisMax = 5_000
/** A server that says `Retry-After` is believed, up to a minute: who wants to wait longer should decide so himself. */
const retryAfterMillisMax = 60_000

/**
 * Sends until there is an answer that is read with `read`. Tried again are: what the server says it did not take (429);
 * and what failed or got no answer, where doing it twice is doing it once: reading, `put` and `delete`, and all that
 * takes an `Idempotency-Key`, which stays the same.
 */
export const send = async <A>(
  sender: Sender,
  endpoint: Endpoint,
  call: AnyCall,
  read: (response: Response) => Promise<A>,
): Promise<A> => {
  const request = requestOf(sender, endpoint, call)
  const isRepeatable = ["get", "put", "delete"].includes(endpoint.method) || isIdempotent(endpoint)
  const { signal, retries = sender.retries } = call
  for (let tries = 0; ; tries++) {
    try {
      return await once(sender, request, call, read)
    } catch (error) {
      signal?.throwIfAborted()
      const wait = tries < retries ? waitBefore(error, tries, isRepeatable) : undefined
      if (wait === undefined) throw error
      await pause(wait, signal)
    }
  }
}

/** How long to wait for another try; `undefined`: there is to be none. */
const waitBefore = (error: unknown, tries: number, isRepeatable: boolean): number | undefined => {
  const wait = backOff(tries)
  if (error instanceof NoAnswer) return isRepeatable && error.why !== "redirect" ? wait : undefined
  if (!(error instanceof ApiProblem) || !error.retryable) return undefined
  if (error.status !== 429 && !isRepeatable) return undefined
  if (error.retryAfterMillis === null) return wait
  return error.retryAfterMillis > retryAfterMillisMax ? undefined : error.retryAfterMillis + wait
}

/** Full jitter: many clients that were refused at once must not come back at once. */
export const backOff = (tries: number): number =>
  Math.random() * Math.min(waitMillisMax, waitFirstMillis * 2 ** tries)

/** Waits; rejects with the signal's reason. */
export const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end)
      resolve()
    }, millis)
    if (signal?.aborted === true) return end()
    signal?.addEventListener("abort", end, { once: true })
  })

interface Request {
  readonly url: string
  readonly init: RequestInit
  /** For people: never with the query, which may be long. */
  readonly doing: string
}

const requestOf = (sender: Sender, endpoint: Endpoint, call: AnyCall): Request => {
  const { method, path, conditional = false } = endpoint
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, call.params?.[name]))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query ?? {}))
    for (const each of Array.isArray(value) ? (value as ReadonlyArray<Simple>) : [value as Simple])
      if (each !== undefined) query.append(name, String(each))
  const search = query.size === 0 ? "" : `?${query.toString()}`
  const headers: Record<string, string> = {
    ...call.headers,
    ...(sender.key === undefined ? {} : { authorization: `Bearer ${sender.key}` }),
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(isIdempotent(endpoint) ? { "idempotency-key": call.idempotencyKey ?? crypto.randomUUID() } : {}),
    ...(conditional && call.ifMatch !== undefined ? { "if-match": call.ifMatch } : {}),
  }
  return {
    url: `${sender.base}${address}${search}`,
    // `manual`: the key is for this server only, and a redirect may lead to any.
    init: {
      method: method.toUpperCase(),
      headers,
      redirect: "manual",
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    },
    doing: `${method.toUpperCase()} ${sender.base}${address}`,
  }
}

type Simple = string | number | boolean | undefined

const segment = (name: string, value: unknown): string => {
  const text = typeof value === "string" ? value : ""
  // An address forgets what is between its slashes when it is one of these, and would be another route's.
  if (text === "" || text === "." || text === "..")
    throw new TypeError(`params.${name} is no text for an address`)
  return encodeURIComponent(text)
}

const once = async <A>(
  sender: Sender,
  { url, init, doing }: Request,
  { signal, timeout = sender.timeout }: AnyCall,
  read: (response: Response) => Promise<A>,
): Promise<A> => {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const late = new NoAnswer("timeout", `${doing} got no answer within ${timeout} ms`)
  const timer = setTimeout(() => controller.abort(late), timeout)
  // The caller's signal holds for a body that is read later, too.
  const either = signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal])
  try {
    const response = await sender.fetch(url, { ...init, signal: either })
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel()
      throw new NoAnswer(
        "redirect",
        `${doing} points elsewhere, and is not followed: give the address of the server itself`,
      )
    }
    if (!response.ok) throw await problemOf(response, Date.now())
    return await read(response)
  } catch (error) {
    if (error instanceof ApiProblem || error instanceof NoAnswer) throw error
    if (either.aborted) throw either.reason
    throw new NoAnswer("connection", `${doing} was not answered: ${whyOf(error)}`)
  } finally {
    clearTimeout(timer)
  }
}

/** The innermost reason's code or kind; runtimes put headers and addresses into some of their texts. */
const whyOf = (error: unknown): string => {
  let inner = error
  for (let depth = 0; depth < 5; depth++) {
    const { code, cause } = (inner ?? {}) as { readonly code?: unknown; readonly cause?: unknown }
    if (typeof code === "string") return code
    if (cause === undefined) break
    inner = cause
  }
  return error instanceof SyntaxError ? "the answer is not what it is said to be" : "the connection failed"
}

/** The body of an answer: JSON, a text, or nothing. */
export const bodyOf = async (response: Response): Promise<unknown> => {
  if (response.status === 204) return undefined
  const text = await response.text()
  if (!/^application\/json\b/.test(response.headers.get("content-type") ?? "")) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new NoAnswer("unreadable", "The answer is not the JSON that it is said to be")
  }
}
