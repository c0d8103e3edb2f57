// The way between one node and the database, or between a worker and its server: a TCP proxy on a port of its own that
// can be cut, slowed, and made to lose what goes one way or both. What it knows are bytes; it changes none and keeps their
// order.
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

/** Which way bytes go. */
export type Way = "toServer" | "toNode"

/** What a way does at present. */
export interface Weather {
  /** No connection lives and none is taken. */
  readonly isCut: boolean
  /** How long each piece is on its way, in milliseconds. */
  readonly delayMillis: number
  /** What goes this way does not arrive, and nobody is told. */
  readonly lost: Way | "both" | null
}

/** How a proxy is made. */
export interface ProxyOptions {
  /**
   * Whether the end of a connection is lost like everything else that goes a lost way: the other side hears of it when it
   * has healed. Default: an end always arrives.
   */
  readonly losesEnds?: boolean
}

const calm: Weather = { isCut: false, delayMillis: 0, lost: null }

/** One connection through the proxy: the node's end, which may be a worker's, and the server's. */
interface Link {
  readonly node: Socket
  readonly server: Socket
  /** Ends of which the other side does not know. */
  readonly ended: Set<Way>
  /** Pieces that are held back, in order, a list each way. */
  readonly held: Readonly<Record<Way, Array<Buffer>>>
}

/** A proxy that listens on 127.0.0.1. */
export class Proxy {
  readonly port: number
  private readonly server: Server
  private readonly losesEnds: boolean
  private readonly links = new Set<Link>()
  private weather = calm
  private serverPort: number

  private constructor(server: Server, serverPort: number, { losesEnds = false }: ProxyOptions) {
    this.server = server
    this.serverPort = serverPort
    this.losesEnds = losesEnds
    this.port = (server.address() as AddressInfo).port
    server.on("connection", (node) => this.link(node))
  }

  /** Opens one before the server on this port. */
  static open(serverPort: number, options: ProxyOptions = {}): Promise<Proxy> {
    const server = createServer({ noDelay: true })
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(0, "127.0.0.1", () => resolve(new Proxy(server, serverPort, options)))
    })
  }

  /** Where new connections go. */
  get leadsTo(): number {
    return this.serverPort
  }

  /** New connections go to this port from now on: the server was started again. */
  leadTo(serverPort: number): void {
    this.serverPort = serverPort
  }

  /** Closes all connections, and takes none until it heals. */
  cut(): void {
    this.weather = { ...calm, isCut: true }
    this.drop()
  }

  /** Holds each piece for so long, both ways. */
  slow(delayMillis: number): void {
    this.weather = { ...calm, delayMillis }
  }

  /** Loses what goes this way. The connections stay open, as they do when a cable is pulled. */
  lose(way: Way | "both"): void {
    this.weather = { ...calm, lost: way }
  }

  /** Ends all connections at one side only. The other believes in them, and hears nothing more. */
  halfClose(side: "node" | "server"): void {
    for (const link of this.links) {
      link.ended.add(side === "node" ? "toServer" : "toNode")
      link[side].destroy()
    }
  }

  /**
   * Ends all that. What was lost comes late, as TCP sends it again; or its connections are reset (`reset`), as they are
   * when the other end has given them up.
   */
  heal(reset = false): void {
    this.weather = calm
    if (reset) return this.drop()
    for (const link of this.links) {
      const { node, server, held, ended } = link
      for (const piece of held.toServer.splice(0)) server.write(piece)
      for (const piece of held.toNode.splice(0)) node.write(piece)
      if (ended.has("toServer")) server.end()
      if (ended.has("toNode")) node.end()
      if (ended.size > 0) this.links.delete(link)
    }
  }

  /** Closes all, for good. */
  close(): Promise<void> {
    this.drop()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private drop(): void {
    for (const { node, server } of this.links) {
      node.destroy()
      server.destroy()
    }
    this.links.clear()
  }

  private link(node: Socket): void {
    if (this.weather.isCut) return void node.destroy()
    const server = connect({ port: this.serverPort, host: "127.0.0.1", noDelay: true })
    const link: Link = { node, server, held: { toServer: [], toNode: [] }, ended: new Set() }
    this.links.add(link)
    // An error is followed by the close.
    for (const socket of [node, server]) socket.on("error", () => {})
    node.on("close", () => this.ended(link, "toServer"))
    server.on("close", () => this.ended(link, "toNode"))
    node.on("data", (piece) => this.pass(link, "toServer", piece))
    server.on("data", (piece) => this.pass(link, "toNode", piece))
  }

  /** One side has ended: so does the other, unless it does not come to know. */
  private ended(link: Link, way: Way): void {
    if (link.ended.has(way) || (this.losesEnds && this.isLost(way))) return void link.ended.add(way)
    this.links.delete(link)
    link.node.destroy()
    link.server.destroy()
  }

  private isLost(way: Way): boolean {
    const { lost } = this.weather
    return lost === way || lost === "both"
  }

  private pass(link: Link, way: Way, piece: Buffer): void {
    const { delayMillis } = this.weather
    const target = way === "toServer" ? link.server : link.node
    const held = link.held[way]
    if (this.isLost(way)) held.push(piece)
    else if (delayMillis === 0 && held.length === 0) target.write(piece)
    else {
      // Those before it are on their way still: in their order, also when it has become faster meanwhile.
      held.push(piece)
      setTimeout(() => {
        if (this.isLost(way)) return
        const first = held.shift()
        if (first !== undefined) target.write(first)
      }, delayMillis)
    }
  }
}
