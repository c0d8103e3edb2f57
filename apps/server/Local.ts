// Whether a request is one of this very machine: by the address of its peer, by the name that it was sent to, and by
// what a proxy says that brought it.
import { isLoopback } from "../../adapters/transport-websocket/ServeOptions.ts"

/** Whether the address of a peer is one of this machine. */
export const isLocalAddress = (address: string): boolean =>
  isLoopback(address.replace(/^::ffff:/i, "").split("%", 1)[0] ?? "")

/** Whether a proxy brought it: its peer is the proxy, and who asks is somewhere else. */
export const isForwarded = (headers: { readonly has: (name: string) => boolean }): boolean =>
  ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"].some((name) => headers.has(name))

/**
 * Whether a request was sent to this name: a web page can make its own name point to 127.0.0.1, and is then no stranger
 * to a browser, but it cannot choose the name `localhost`. Ports are passed over, as a tunnel has its own.
 */
export const isOwnHost = (hostname: string, hosts: ReadonlySet<string>): boolean =>
  isLoopback(hostname) || hosts.has(hostname.toLowerCase())
