// A `fetch` handler as a listener of node:http, for Node, and for the other two when `ws` serves there: the request's body
// is streamed in, the response's body is streamed out no faster than the peer reads, and a peer that goes away is an
// aborted signal for the handler.
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import type { FetchHandler } from "./ServeOptions.ts"

/** Answers requests by `fetch`. What goes wrong is told to `onFault` and a 500 for the client. */
export const fetchBridge =
  (fetch: FetchHandler, onFault: (error: unknown) => void) =>
  (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const gone = new AbortController()
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.abort(new Error("The client has gone"))
    })
    answer(fetch, incoming, outgoing, gone.signal).catch((error: unknown) => {
      if (!gone.signal.aborted) onFault(error)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(500, { "content-type": "text/plain" }).end("Internal error\n")
    })
  }

const answer = async (
  fetch: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> => {
  const request = requestOf(incoming, signal)
  if (request === null) {
    outgoing.writeHead(400, { "content-type": "text/plain", connection: "close" }).end("Bad request\n")
    return
  }
  const response = await fetch(request, { remoteAddress: incoming.socket.remoteAddress ?? "" })
  for (const [name, value] of response.headers) if (name !== "set-cookie") outgoing.setHeader(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies)
  outgoing.writeHead(response.status)
  if (response.body === null || incoming.method === "HEAD") {
    await response.body?.cancel()
    outgoing.end()
    return
  }
  await pipe(response.body as ReadableStream<Uint8Array>, outgoing, signal)
}

// A host with a slash in it would make another path of the one that was asked for.
const hostPattern = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/

// By the fetch standard; Bun takes them.
const forbidden = new Set(["CONNECT", "TRACE", "TRACK"])

/** `null`: what came is no request that `fetch` knows, such as a host that is none or the method TRACE. */
const requestOf = (incoming: IncomingMessage, signal: AbortSignal): Request | null => {
  const { method = "GET", url = "/", rawHeaders } = incoming
  const headers = new Headers()
  try {
    for (let at = 0; at < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "")
    const { host = "localhost" } = incoming.headers
    if (!hostPattern.test(host) || forbidden.has(method)) return null
    // The target of a request may be a whole address; whose host is asked for is said by the header alone.
    const { pathname, search } = new URL(url.startsWith("/") ? `http://localhost${url}` : url)
    const init = { method, headers, signal }
    const address = `http://${host}${pathname}${search}`
    if (method === "GET" || method === "HEAD") return new Request(address, init)
    const body = Readable.toWeb(incoming) as unknown as NonNullable<RequestInit["body"]>
    // In a variable, as the types of Deno do not know `duplex`.
    const streamed = { ...init, body, duplex: "half" as const }
    return new Request(address, streamed)
  } catch {
    return null
  }
}

const pipe = async (
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> => {
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      signal.throwIfAborted()
      // Nobody may ever read on: waiting ends with the connection, too.
      if (!outgoing.write(next.value)) await once(outgoing, "drain", { signal })
    }
    outgoing.end()
  } catch (error) {
    await reader.cancel(error)
    throw error
  }
}
