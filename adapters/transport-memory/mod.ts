// A network in memory, for tests and the simulation: servers and clients of one process, in whatever time they are given.
// With the same time and the same chance the same happens. Its connections are those of the other transports, down to
// the limits; only sockets and bytes are missing.
import { TransportError } from "../../core/domain/Errors.ts"
import type { Connect, Listen, ListenOptions, UpgradeRequest } from "../../core/ports/Transport.ts"
import { clientCode } from "../transport-common/clientCode.ts"
import { Line, type LineTime, type Socket } from "../transport-common/Line.ts"
import { Lines, limitsOf, printFault } from "../transport-common/Lines.ts"
import { Link } from "./Link.ts"

export type { Direction } from "./Link.ts"
export { Link } from "./Link.ts"

/** What happens on the way. */
export interface NetworkOptions {
  readonly time: LineTime
  /** How long the next item takes, in milliseconds; order is kept all the same. Default: always 0. */
  readonly latency?: () => number
  /** Whether the next frame is lost. TCP loses none; this is for what must not depend on it. Default: never. */
  readonly loses?: () => boolean
  /** Whether a server can be reached just now; if not, connecting fails when its time is over. Default: always. */
  readonly reaches?: (url: string) => boolean
}

/** How to serve in memory. */
export interface MemoryListenOptions extends ListenOptions {
  /** Part of the address: "a" is `memory://a/`. Default: a number. */
  readonly name?: string
}

/** Servers and the connections between them and their clients. */
export interface Network {
  readonly listen: Listen<MemoryListenOptions>
  readonly connect: Connect
  /** Connections that have not ended, oldest first. */
  readonly links: () => ReadonlyArray<Link>
  /** A server that dies: all its connections are cut, and nobody is there any more. */
  readonly kill: (url: string) => void
}

/** Makes a network without anybody in it. */
export const memoryNetwork = ({
  time,
  latency = () => 0,
  loses = () => false,
  reaches = () => true,
}: NetworkOptions): Network => {
  const servers = new Map<string, Lines>()
  const links = new Set<Link>()
  let count = 0

  const listen: Network["listen"] = async (options) => {
    const url = `memory://${options.name ?? count++}/`
    if (servers.has(url)) {
      const cause = new Error("somebody listens there already")
      throw new TransportError({ transport: "memory", operation: "listen", address: url, cause })
    }
    const lines = new Lines(options, time)
    servers.set(url, lines)
    return {
      url,
      connections: () => lines.size,
      stop: async (stop) => {
        if (servers.get(url) === lines) servers.delete(url)
        await lines.stop(stop)
      },
    }
  }

  const connect: Connect = (url, options, opening) => {
    let state: "opening" | "open" | "over" = "opening"
    const fail = (reason: string): void => {
      if (state !== "opening") return
      state = "over"
      undo()
      const cause = new Error(reason)
      opening.onFail(new TransportError({ transport: "memory", operation: "connect", address: url, cause }))
    }
    const undo = time.after(options.openMillisMax ?? 10_000, () => fail("no answer in time"))
    const arrive = (): void => {
      const lines = servers.get(url)
      if (state !== "opening" || !reaches(url)) return
      if (lines === undefined || !lines.takes) return fail("nobody is there")
      const request: UpgradeRequest = {
        remoteAddress: "memory",
        path: new URL(url).pathname || "/",
        headers: new Map(
          Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
        ),
        offered: options.protocols ?? [],
      }
      const subprotocol = lines.subprotocolOf(request.offered)
      const link: Link = new Link(url, { time, latency, loses }, () => links.delete(link))
      links.add(link)
      const client = new Line(clientSocket(link.socket("toServer")), subprotocol, {
        limits: limitsOf(options.limits),
        time,
        onFault: options.onFault ?? printFault,
      })
      // Before anything that the server's handler sends.
      link.carry("toClient", () => {
        if (state !== "opening") return client.terminate()
        state = "open"
        undo()
        client.opened(() => opening.onOpen(client))
      })
      link.attach("toClient", client)
      lines.open(link.socket("toClient"), request, subprotocol, (server) => link.attach("toServer", server))
    }
    time.after(latency(), arrive)
    return () => {
      if (state !== "opening") return
      state = "over"
      undo()
    }
  }

  return {
    listen,
    connect,
    links: () => [...links],
    kill: (url) => {
      servers.delete(url)
      for (const link of links) if (link.url === url) link.cut()
    },
  }
}

const clientSocket = (socket: Socket): Socket => ({
  ...socket,
  close: (code, reason) => socket.close(clientCode(code), reason),
})
