// What is answered to a request for an upgrade, before there is a socket. What only the handler can decide (tokens,
// versions) it refuses later with a close code, as clients on Node see no status; what is refused here is what no worker
// sends: foreign web pages, wrong addresses, too many at once.
import type { UpgradeRequest } from "../../core/ports/Transport.ts"
import { isLoopback, type ServeSetting } from "./ServeOptions.ts"

/** Status and text of a refusal. */
export interface Refused {
  readonly status: 400 | 403 | 404 | 503
  readonly text: string
}

/** `null`: the upgrade may go on. `takes`: the server is neither full nor stopping. */
export const refusalOf = (
  { path: asked, headers }: UpgradeRequest,
  setting: ServeSetting,
  takes: boolean,
): Refused | null => {
  if (asked.split("?", 1)[0] !== setting.path)
    return { status: 404, text: `Connections are taken at ${setting.path}` }
  // Deno takes an upgrade without a key.
  if (headers.get("sec-websocket-version") !== "13" || headers.get("sec-websocket-key")?.length !== keyLength)
    return { status: 400, text: "This is no WebSocket request of version 13" }
  const origin = headers.get("origin")
  if (origin !== undefined && !setting.origins.has(origin) && !isOwnPage(origin, headers.get("host")))
    return { status: 403, text: "This origin may not connect" }
  if (!takes) return { status: 503, text: "No more connections are taken" }
  return null
}

// 16 bytes in base64.
const keyLength = 24

// A foreign name that was made to point to this machine is same-origin too, so the name has to be a loopback one.
const isOwnPage = (origin: string, host: string | undefined): boolean => {
  const url = URL.parse(origin)
  return url !== null && url.host === host && isLoopback(url.hostname)
}

/** The names in a `Sec-WebSocket-Protocol`, with or without spaces between them. */
export const offeredIn = (header: string | null | undefined): ReadonlyArray<string> =>
  (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** A request of the `fetch` kind that asks for a WebSocket. */
export const isUpgrade = (request: Request): boolean =>
  request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket"

/** All that a handler may want to know, copied: Deno forgets a request's headers when it is upgraded. */
export const askedBy = (request: Request, remoteAddress: string): UpgradeRequest => {
  const url = new URL(request.url)
  return {
    remoteAddress,
    path: url.pathname + url.search,
    headers: new Map(request.headers),
    offered: offeredIn(request.headers.get("sec-websocket-protocol")),
  }
}
