// One HTTP/1.1 exchange on a connection of its own: to an address that was checked before, with a limit on everything
// that the other end may do. No redirect is followed, nothing is decompressed, and a name is asked for once: what is
// connected to is what was checked.
import { lookup } from "node:dns/promises"
import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http"
import { Agent as SecureAgent, request as requestSecure } from "node:https"
import { isIP } from "node:net"
import { isAllowedAddress, type Network } from "./Addresses.ts"

/** An address of a host. */
export interface Resolved {
  readonly address: string
  readonly family: number
}

/** Answers all addresses of a name, or fails. */
export type Resolve = (host: string) => Promise<ReadonlyArray<Resolved>>

/** The host's own look-up: files, then DNS. */
export const resolveByHost: Resolve = (host) => lookup(host, { all: true })

/** What is asked. */
export interface Question {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** `null`: none. */
  readonly body: string | null
  /** The most of the answer's body that is read. */
  readonly answerMax: number
  /** Without it the body is read, to be polite, and forgotten. */
  readonly isBodyWanted: boolean
  readonly networks: ReadonlyArray<Network>
  readonly ca: ReadonlyArray<string> | undefined
  readonly resolve: Resolve
  readonly signal: AbortSignal
}

/** What came of it. */
export type Answer =
  | {
      readonly kind: "answer"
      readonly status: number
      readonly retryAfter: string | null
      readonly encoding: string | null
      /** `null`: it was more than `answerMax`. Empty when it is not wanted. */
      readonly body: Uint8Array | null
    }
  /** The name has no address that may be connected to. */
  | { readonly kind: "forbidden" }
  | { readonly kind: "error"; readonly code: string }

/** Asks. Never rejects; ends within a moment of the signal. */
export const exchange = async (question: Question): Promise<Answer> => {
  const { url, networks, signal } = question
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  try {
    const addresses =
      isIP(host) === 0
        ? await abortable(question.resolve(host), signal)
        : [{ address: host, family: isIP(host) }]
    if (addresses.length === 0) return { kind: "error", code: "ENOTFOUND" }
    // All of them: a name with a public and a private address is no mistake of an honest owner.
    if (!addresses.every(({ address }) => isAllowedAddress(address, networks))) return { kind: "forbidden" }
    return await ask(question, host, addresses)
  } catch (error) {
    return { kind: "error", code: codeOf(error) }
  }
}

/** The most that the head of an answer may take, in bytes. */
const headMax = 16_384

// A connection of its own, and no proxy of the environment: that one would look up the name again.
const alone = { keepAlive: false, proxyEnv: {} }

const ask = (question: Question, host: string, addresses: ReadonlyArray<Resolved>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { url, method, headers, body, signal, ca } = question
    const isSecure = url.protocol === "https:"
    const make = isSecure ? requestSecure : requestPlain
    const bytes = body === null ? null : Buffer.from(body)
    // `early` ends the wait for a body that is not wanted.
    const made: { request?: ClientRequest; early?: () => void } = {}
    const settle = (act: () => void): void => {
      signal.removeEventListener("abort", stop)
      // Nothing of it is wanted any more, and nothing is kept for another request.
      made.request?.destroy()
      act()
    }
    const fail = (error: unknown): void => settle(() => reject(error))
    const stop = (): void => (made.early === undefined ? fail(signal.reason) : made.early())
    const sent = make({
      host,
      port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        ...headers,
        "accept-encoding": "identity",
        connection: "close",
        ...(bytes === null ? {} : { "content-length": String(bytes.length) }),
      },
      agent: isSecure ? new SecureAgent(alone) : new Agent(alone),
      maxHeaderSize: headMax,
      lookup: pinned(addresses),
      ...(ca === undefined ? {} : { ca: [...ca] }),
    })
    made.request = sent
    signal.addEventListener("abort", stop)
    // Errors that come after the end are of no interest, and must not be without a listener.
    sent.on("error", fail)
    // It is asked for nowhere.
    sent.on("upgrade", (response) => settle(() => resolve(answerOf(response, nothing))))
    sent.on("response", (response) => {
      const done = (given: Uint8Array | null): void => settle(() => resolve(answerOf(response, given)))
      response.on("error", () => {})
      const status = response.statusCode ?? 0
      // What follows a failure says nothing that may be told.
      if (status < 200 || status >= 300) return done(nothing)
      if (question.isBodyWanted) return read(response, question.answerMax, done, fail)
      // The work is done, and however its body ends changes nothing.
      made.early = () => done(nothing)
      drain(response, question.answerMax, made.early)
    })
    sent.end(bytes ?? undefined)
    if (signal.aborted) stop()
  })

const read = (
  response: IncomingMessage,
  answerMax: number,
  done: (body: Uint8Array | null) => void,
  fail: (error: unknown) => void,
): void => {
  const parts: Array<Uint8Array> = []
  let bytes = 0
  if (Number(response.headers["content-length"]) > answerMax) return done(null)
  response.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > answerMax) done(null)
    else parts.push(chunk)
  })
  response.on("end", () => done(Buffer.concat(parts)))
  // A body that is cut is an error on all three runtimes.
  response.on("error", fail)
}

/** Reads a body that nobody wants, as a server may be troubled by an end in its middle; a long one is not worth it. */
const drain = (response: IncomingMessage, answerMax: number, done: () => void): void => {
  let bytes = 0
  response.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > answerMax) done()
  })
  response.on("end", done)
  response.on("error", done)
}

const nothing = new Uint8Array(0)

const answerOf = ({ statusCode = 0, headers }: IncomingMessage, body: Uint8Array | null): Answer => ({
  kind: "answer",
  status: statusCode,
  retryAfter: headers["retry-after"] ?? null,
  encoding: headers["content-encoding"] ?? null,
  body,
})

type LookupCallback = (
  error: Error | null,
  address: string | Array<{ address: string; family: number }>,
  family?: number,
) => void

/** A look-up that knows the answer. */
const pinned =
  (addresses: ReadonlyArray<Resolved>) =>
  (_host: string, options: { readonly all?: boolean | undefined }, callback: LookupCallback): void => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? "", first?.family ?? 4)
  }

const abortable = <A>(work: Promise<A>, signal: AbortSignal): Promise<A> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener("abort", stop, { once: true })
    if (signal.aborted) stop()
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })

// The code and not the message, which may say more of an address than an error should.
const codeOf = (error: unknown): string => {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  const text = typeof code === "string" ? code : typeof name === "string" ? name : "unknown"
  return text.slice(0, 64)
}
