// One direction of a connection in memory: what is sent arrives later and in order, or never.
import type { LineTime } from "../transport-common/Line.ts"

interface Item {
  readonly at: number
  readonly bytes: number
  readonly arrive: () => void
}

/** How a network treats what is sent. */
export interface WayOptions {
  readonly time: LineTime
  /** Asked for each item, in milliseconds. */
  readonly latency: () => number
  /** Asked for each frame: whether it is lost. */
  readonly loses: () => boolean
}

/** Carries one direction. */
export class Way {
  /** Of all that has not arrived. */
  bytes = 0
  #queue: Array<Item> = []
  #paused = false
  #vanishing = false
  #ended = false
  #lastAt = 0
  readonly #options: WayOptions

  constructor(options: WayOptions) {
    this.#options = options
  }

  /** Sends a frame, which the network may lose. */
  frame(bytes: number, arrive: () => void): void {
    if (!this.#options.loses()) this.control(bytes, arrive)
  }

  /** Sends what only a direction that lets everything vanish loses. */
  control(bytes: number, arrive: () => void): void {
    if (this.#vanishing || this.#ended) return
    const { time, latency } = this.#options
    const delay = Math.max(0, this.#lastAt - time.now(), latency())
    this.#lastAt = time.now() + delay
    this.#queue.push({ at: this.#lastAt, bytes, arrive })
    this.bytes += bytes
    time.after(delay, () => this.#deliver())
  }

  /** Nothing arrives until `resume`: a reader that does not read. */
  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#deliver()
  }

  /** What is sent from now on never arrives, and nobody is told; `false`: it does again. */
  vanish(vanishing: boolean): void {
    this.#vanishing = vanishing
  }

  /** Nothing arrives any more. */
  end(): void {
    this.#ended = true
    this.#queue = []
    this.bytes = 0
  }

  // Timers of one instant may come in any order: what arrives is the head of the queue, whoever called.
  #deliver(): void {
    while (!this.#paused) {
      const [item] = this.#queue
      if (item === undefined || item.at > this.#options.time.now()) return
      this.#queue.shift()
      this.bytes -= item.bytes
      item.arrive()
    }
  }
}
