// What a WebSocket server is told, and the checks of it that are the same on every runtime. It listens on loopback
// unless it is told twice: by a host name, and by `remote`.
import { InvalidInput, TransportError } from "../../core/domain/Errors.ts"
import type { ListenOptions, TransportLimits } from "../../core/ports/Transport.ts"

/** Answers all requests but upgrades on `path`: Hono's `app.fetch` is one, with `peer` as `c.env`. */
export type FetchHandler = (request: Request, peer: Peer) => Response | Promise<Response>

/** Who asks. */
export interface Peer {
  /** Of the other end of the socket: behind a proxy, the proxy's. */
  readonly remoteAddress: string
}

/** How to serve. TLS is left to a proxy in front. */
export interface ServeOptions extends ListenOptions {
  /** Default "127.0.0.1". Anything but a loopback address needs `remote`. */
  readonly hostname?: string
  /** Says that others than this machine may connect, and that whoever answers checks their credentials. */
  readonly remote?: boolean
  /** Default 0: any free one. */
  readonly port?: number
  /** Where connections are taken, without a query; default "/". Upgrades elsewhere are answered with 404. */
  readonly path?: string
  /**
   * Origins of web pages that may connect, such as `https://jobs.example.org`. A request with another `Origin` is
   * answered with 403, unless it is a page of this very server under a loopback name. Programs send no `Origin`.
   */
  readonly origins?: ReadonlyArray<string>
  /** Default: 404 for everything. What it throws is a 500, and goes to `onFault`. */
  readonly fetch?: FetchHandler
}

/** Checked options. */
export interface ServeSetting {
  readonly hostname: string
  readonly port: number
  readonly path: string
  readonly origins: ReadonlySet<string>
  readonly fetch: FetchHandler
}

const refuse = (field: string, reason: string, next: string): InvalidInput =>
  new InvalidInput({ field, reason, next })

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

/** Whether the name means this machine only. */
export const isLoopback = (hostname: string): boolean => loopback.test(hostname)

/** Checks the options; throws `InvalidInput`. */
export const checkServe = (options: ServeOptions): ServeSetting => {
  const { hostname = "127.0.0.1", remote = false, port = 0, path = "/", origins = [], fetch } = options
  if (!isLoopback(hostname) && !remote)
    throw refuse(
      "hostname",
      `"${hostname}" can be reached from other machines`,
      "Listen on 127.0.0.1 behind a proxy, or say remote: true when connections need credentials",
    )
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw refuse("port", `${port} is no port`, "Use a whole number from 0 to 65535")
  if (!path.startsWith("/") || /[?#\s]/.test(path))
    throw refuse("path", `"${path}" is no path`, 'Use one such as "/v1/workers", without a query')
  checkLimits(options.limits ?? {})
  return {
    hostname,
    port,
    path,
    origins: new Set(origins),
    fetch: fetch ?? (() => new Response("Not found\n", { status: 404 })),
  }
}

/** Every limit is a positive number; throws `InvalidInput`. */
export const checkLimits = (limits: Partial<TransportLimits>): void => {
  for (const [name, value] of Object.entries(limits))
    if (!(value > 0)) throw refuse(`limits.${name}`, `${value} is no limit`, "Use a number above 0")
}

/** What is told when the address cannot be had. */
export const cannotListen = (
  transport: string,
  { hostname, port }: ServeSetting,
  cause: unknown,
): TransportError =>
  new TransportError({ transport, operation: "listen", address: `${hostname}:${port}`, cause })

/** Where clients connect to. */
export const urlOf = ({ hostname, path }: ServeSetting, port: number): string =>
  `ws://${hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname}:${port}${path}`
