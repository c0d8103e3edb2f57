// A connection between a worker and a node: the transport of a simulation. Frames keep their order, and arrive when the
// seed says, or never: single ones are lost or come twice, a black hole swallows one way or both, a stall holds them up. A
// cut is seen by both ends, by one, or by none.
import { subprotocol } from "../../core/protocol/Version.ts"
import type {
  Connection,
  Incoming,
  Listeners,
  SendResult,
  UpgradeRequest,
} from "../../core/ports/Transport.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { Weather } from "./Wire.ts"
import type { Lane, World } from "./World.ts"

/** Which end: `up` is what a worker sends, `down` what it gets. */
export type Direction = "up" | "down"

/** The way between a worker and whichever node it is connected to. */
export interface Way {
  /** Nothing comes through in this direction. */
  hole: Direction | "both" | null
  /** Until when, on the world's clock, what is sent has to wait. */
  stalledUntil: number
  /** Longest time that a frame takes, in milliseconds. */
  latencyMillis: number
}

/** What lines have in common. */
export interface LineOptions {
  readonly world: World
  readonly swarm: Swarm
  readonly weather: Weather
  readonly watch: Watch
  /** Sees each frame as it is sent, and answers what is carried. */
  readonly passes: (line: Line, direction: Direction, frame: string) => string
}

type Item =
  | { readonly kind: "open" }
  | { readonly kind: "frame"; readonly frame: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string }

// How long a farewell waits for its answer.
const closeMillisMax = 2000

/** One end of a line, in the lane of whoever holds it. */
export class End implements Connection {
  readonly subprotocol = subprotocol(1)
  readonly lane: Lane
  peer: End | undefined
  listeners: Listeners | undefined
  onOpen: () => void = () => {}
  phase: "open" | "closing" | "closed" = "open"
  /** When it said its end, and when the latest frame came, on the world's clock; -1: never. */
  closedAt = -1
  heardAt = -1
  readonly #line: Line
  readonly #direction: Direction
  /** What was sent to this end and has not come. */
  readonly #coming: Array<Item> = []
  #bytes = 0
  #lastAt = 0
  #wasSlow = false

  constructor(line: Line, lane: Lane, direction: Direction) {
    this.#line = line
    this.lane = lane
    this.#direction = direction
  }

  send(frame: string): SendResult {
    const { options, way } = this.#line
    if (this.phase !== "open") return "closed"
    const carried = options.passes(this.#line, this.#direction, frame)
    const { random } = options.world
    const isStormy = options.weather.isStormy
    if (
      way.hole === this.#direction ||
      way.hole === "both" ||
      (isStormy && random.chance(options.swarm.frameLost))
    ) {
      options.watch.counters.framesLost++
      return "sent"
    }
    const copies = isStormy && random.chance(options.swarm.frameRepeated) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) this.post({ kind: "frame", frame: carried })
    this.#wasSlow = (this.peer?.buffered() ?? 0) > options.swarm.bufferedBytesHigh
    return this.#wasSlow ? "slow" : "sent"
  }

  /** Bytes on their way to this end; a `Connection` tells of those from it. */
  buffered(): number {
    return this.#bytes
  }

  /** Sends on, behind what was sent before. */
  post(item: Item): void {
    const { options, way, isCut } = this.#line
    const { peer } = this
    if (isCut || peer === undefined) return
    const { world } = options
    const at = Math.max(
      this.#lastAt,
      way.stalledUntil,
      world.elapsed + world.random.int(1, way.latencyMillis),
    )
    this.#lastAt = at
    peer.#coming.push(item)
    if (item.kind === "frame") peer.#bytes += item.frame.length
    // Whichever of two at one instant is first takes the older one.
    peer.lane.after(at - world.elapsed, () => peer.#take())
  }

  close(code: number, reason: string): void {
    if (this.phase !== "open") return
    this.phase = "closing"
    const { hole } = this.#line.way
    if (hole !== this.#direction && hole !== "both") this.post({ kind: "close", code, reason })
    this.lane.after(closeMillisMax, () => this.finish(code, reason))
  }

  terminate(): void {
    this.#line.cut("both")
  }

  /** Says its end, once. */
  finish(code: number, reason: string): void {
    if (this.phase === "closed") return
    this.phase = "closed"
    this.closedAt = this.#line.options.world.elapsed
    this.listeners?.onClose(code, reason)
  }

  #take(): void {
    const item = this.#coming.shift()
    if (item === undefined) return
    const { options, isCut } = this.#line
    if (item.kind === "frame") this.#bytes -= item.frame.length
    this.peer?.drained()
    if (isCut || this.phase === "closed") return
    if (item.kind === "open") this.onOpen()
    else if (item.kind === "close") {
      if (this.phase === "open") this.post(item)
      this.finish(item.code, item.reason)
    } else if (this.phase === "open") {
      this.heardAt = options.world.elapsed
      this.listeners?.onFrame(item.frame)
    }
  }

  /** Something of what it sent has come. */
  drained(): void {
    if (!this.#wasSlow || (this.peer?.buffered() ?? 0) > this.#line.options.swarm.bufferedBytesHigh) return
    this.#wasSlow = false
    this.lane.add(() => this.listeners?.onDrain?.())
  }
}

/** One connection, from the first try to its end. */
export class Line {
  readonly options: LineOptions
  readonly way: Way
  /** The worker's name, and the node's. */
  readonly worker: string
  readonly node: string
  readonly server: End
  readonly client: End
  /** Nothing comes through any more, whoever has noticed. */
  isCut = false

  constructor(options: LineOptions, way: Way, worker: Lane, node: Lane) {
    this.options = options
    this.way = way
    this.worker = worker.name
    this.node = node.name
    this.server = new End(this, node, "down")
    this.client = new End(this, worker, "up")
    this.server.peer = this.client
    this.client.peer = this.server
  }

  /** The server's end, as its transport hands it on. */
  incoming(headers: UpgradeRequest["headers"]): Incoming {
    const { server, client } = this
    return {
      request: { remoteAddress: this.worker, path: "/v1/worker", headers, offered: [server.subprotocol] },
      subprotocol: server.subprotocol,
      send: (frame) => server.send(frame),
      buffered: () => client.buffered(),
      close: (code, reason) => server.close(code, reason),
      terminate: () => server.terminate(),
    }
  }

  /** Breaks it. Who does not see that hears nothing any more, and sends to nobody. */
  cut(seenBy: "both" | "server" | "worker" | "nobody"): void {
    if (this.isCut) return
    this.isCut = true
    const { random } = this.options.world
    const sees = (end: End): void => void end.lane.after(random.int(0, 20), () => end.finish(1006, ""))
    if (seenBy === "both" || seenBy === "server") sees(this.server)
    if (seenBy === "both" || seenBy === "worker") sees(this.client)
  }
}
