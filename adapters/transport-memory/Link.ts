// One connection in memory: two lines, a way in each direction, and hands to do to it what happens to real ones.
import { closeCode } from "../../core/ports/Transport.ts"
import type { Line, Socket } from "../transport-common/Line.ts"
import { Way, type WayOptions } from "./Way.ts"

/** Where something goes. */
export type Direction = "toServer" | "toClient"

/** A connection, to do something to. */
export class Link {
  /** The server that it leads to. */
  readonly url: string
  readonly #ways: Readonly<Record<Direction, Way>>
  readonly #lines: Record<Direction, Line | null> = { toServer: null, toClient: null }
  readonly #cutEnds = new Set<Direction>()
  readonly #onEnd: () => void

  constructor(url: string, options: WayOptions, onEnd: () => void) {
    this.url = url
    this.#ways = { toServer: new Way(options), toClient: new Way(options) }
    this.#onEnd = onEnd
  }

  /** Ends it for both, without a word: both hear 1006. */
  cut(): void {
    this.#over()
    for (const line of Object.values(this.#lines)) line?.gone(closeCode.cut, "")
  }

  /** What is sent in the direction from now on arrives after `resume`, and counts as buffered until then. */
  pause(direction: Direction): void {
    this.#ways[direction].pause()
  }

  resume(direction: Direction): void {
    this.#ways[direction].resume()
  }

  /** What is sent in the direction from now on never arrives, pings and farewells included, until `heal`. */
  vanish(direction: Direction): void {
    this.#ways[direction].vanish(true)
  }

  heal(direction: Direction): void {
    this.#ways[direction].vanish(false)
  }

  /** Carries something that is no frame. */
  carry(direction: Direction, arrive: () => void): void {
    this.#ways[direction].control(0, arrive)
  }

  /** Names the line at the end of the direction. */
  attach(direction: Direction, line: Line): void {
    this.#lines[direction] = line
  }

  /** The socket of whoever sends in this direction. */
  socket(direction: Direction): Socket {
    const way = this.#ways[direction]
    const back: Direction = direction === "toServer" ? "toClient" : "toServer"
    const peer = (): Line | null => this.#lines[direction]
    const own = (): Line | null => this.#lines[back]
    return {
      send: (frame) => {
        way.frame(Buffer.byteLength(frame), () => peer()?.received(frame))
        return way.bytes
      },
      buffered: () => way.bytes,
      close: (code, reason) =>
        way.control(0, () => {
          // The answer is on its way before the peer's listener hears of it and may do as it likes.
          this.#ways[back].control(0, () => {
            own()?.gone(code, reason)
            this.#over()
          })
          peer()?.gone(code, reason)
        }),
      terminate: () => {
        // What vanishes on the way tells nobody; then the other end finds out by itself.
        this.#cutEnds.add(direction)
        if (this.#cutEnds.size === 2) return this.#over()
        way.control(0, () => {
          peer()?.gone(closeCode.cut, "")
          this.#over()
        })
      },
      ping: () => way.control(0, () => this.#ways[back].control(0, () => own()?.heard())),
    }
  }

  #over(): void {
    this.#ways.toServer.end()
    this.#ways.toClient.end()
    this.#onEnd()
  }
}
