// The way between one node and the database: a TCP proxy on a port of its own that can be cut, slowed, and made to lose
// what goes one way. What it knows are bytes; it changes none and keeps their order.
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
  readonly lost: Way | null
}

const calm: Weather = { isCut: false, delayMillis: 0, lost: null }

/** One connection through the proxy: the node's end and the server's. */
interface Link {
  readonly node: Socket
  readonly server: Socket
  /** Pieces that are held back, in order, a list each way. */
  readonly held: Readonly<Record<Way, Array<Buffer>>>
}

/** A proxy that listens on 127.0.0.1. */
export class Proxy {
  readonly port: number
  private readonly server: Server
  private readonly links = new Set<Link>()
  private weather = calm

  private constructor(server: Server, serverPort: number) {
    this.server = server
    this.port = (server.address() as AddressInfo).port
    server.on("connection", (node) => this.link(node, serverPort))
  }

  /** Opens one before the server on this port. */
  static open(serverPort: number): Promise<Proxy> {
    const server = createServer({ noDelay: true })
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(0, "127.0.0.1", () => resolve(new Proxy(server, serverPort)))
    })
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
  lose(way: Way): void {
    this.weather = { ...calm, lost: way }
  }

  /**
   * Ends all that. What was lost comes late, as TCP sends it again; or its connections are reset (`reset`), as they are
   * when the other end has given them up.
   */
  heal(reset = false): void {
    this.weather = calm
    if (reset) return this.drop()
    for (const { node, server, held } of this.links) {
      for (const piece of held.toServer.splice(0)) server.write(piece)
      for (const piece of held.toNode.splice(0)) node.write(piece)
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

  private link(node: Socket, serverPort: number): void {
    if (this.weather.isCut) return void node.destroy()
    const server = connect({ port: serverPort, host: "127.0.0.1", noDelay: true })
    const link: Link = { node, server, held: { toServer: [], toNode: [] } }
    this.links.add(link)
    const end = (): void => {
      this.links.delete(link)
      node.destroy()
      server.destroy()
    }
    for (const socket of [node, server]) socket.on("error", end).on("close", end)
    node.on("data", (piece) => this.pass(link, "toServer", piece))
    server.on("data", (piece) => this.pass(link, "toNode", piece))
  }

  private pass(link: Link, way: Way, piece: Buffer): void {
    const { lost, delayMillis } = this.weather
    const target = way === "toServer" ? link.server : link.node
    const held = link.held[way]
    if (lost === way) held.push(piece)
    else if (delayMillis === 0 && held.length === 0) target.write(piece)
    else {
      // Those before it are on their way still: in their order, also when it has become faster meanwhile.
      held.push(piece)
      setTimeout(() => {
        if (this.weather.lost === way) return
        const first = held.shift()
        if (first !== undefined) target.write(first)
      }, delayMillis)
    }
  }
}
