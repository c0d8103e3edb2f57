// One end of a connection over whatever socket a runtime has: the states open, closing and closed, every limit, and
// the promise that listeners harm nobody else. All transports share it, so that they differ in their sockets only.
import {
  closeCode,
  type Connection,
  type Listeners,
  type SendResult,
  type TransportLimits,
} from "../../core/ports/Transport.ts"
import type { Timers } from "../../core/ports/Timers.ts"

/** A runtime's socket, as far as a line needs it. Any of these may throw; a line takes that for a cut. */
export interface Socket {
  /** Answers how many bytes wait after it; Infinity when it dropped the frame. */
  readonly send: (frame: string) => number
  readonly buffered: () => number
  readonly close: (code: number, reason: string) => void
  readonly terminate: () => void
  /** `null`: the runtime pings by itself, and tells when nothing answers. */
  readonly ping: (() => void) | null
}

/** The time that a line lives in, in milliseconds that only grow. */
export interface LineTime extends Timers {
  readonly now: () => number
}

/** What a line is made of. */
export interface LineSetting {
  readonly limits: TransportLimits
  readonly time: LineTime
  readonly onFault: (error: unknown) => void
}

// The host looks this often whether a slow peer has read; none of the runtimes but Bun tells.
const drainMillis = 10

/** A connection over a socket. The owner of the socket calls `opened`, `received`, `heard` and `gone`. */
export class Line implements Connection {
  readonly subprotocol: string
  // When it was opened, and when the peer was last seen alive; moved on by `lookAfter`.
  #openedAt: number
  #heardAt: number
  #heard = false
  #pinged = false
  #spoke = false
  #state: "open" | "closing" | "closed" = "open"
  #end: { readonly code: number; readonly reason: string } | null = null
  #listeners: Listeners | null = null
  #frames = 0
  #framesSince: number
  #undoDrain: (() => void) | null = null
  #undoDeadline: (() => void) | null = null
  readonly #socket: Socket
  readonly #setting: LineSetting
  readonly #onGone: (() => void) | null

  constructor(socket: Socket, subprotocol: string, setting: LineSetting, onGone: (() => void) | null = null) {
    this.subprotocol = subprotocol
    this.#openedAt = setting.time.now()
    this.#heardAt = this.#openedAt
    this.#framesSince = this.#openedAt
    this.#socket = socket
    this.#setting = setting
    this.#onGone = onGone
  }

  /** Gives it its listeners; a handler that throws is a fault of this connection. */
  opened(listen: () => Listeners): void {
    try {
      this.#listeners = listen()
    } catch (error) {
      this.#failed(error)
    }
  }

  send(frame: string): SendResult {
    if (this.#state !== "open") return "closed"
    const { limits } = this.#setting
    if (isOver(frame, limits.frameBytesMax)) return "tooLarge"
    let buffered: number
    try {
      buffered = this.#socket.send(frame)
    } catch {
      this.terminate()
      return "closed"
    }
    if (buffered <= limits.bufferedBytesHigh) return "sent"
    if (buffered > limits.bufferedBytesMax) {
      this.#tooSlow()
      return "closed"
    }
    this.#undoDrain ??= this.#setting.time.after(drainMillis, this.#lookForDrain)
    return "slow"
  }

  buffered(): number {
    return this.#state === "closed" ? 0 : this.#socket.buffered()
  }

  close(code: number, reason: string): void {
    if (this.#state !== "open") return
    const short = cutReason(reason)
    this.closing(code, short)
    try {
      this.#socket.close(code, short)
    } catch {
      this.#socket.terminate()
      this.gone(code, short)
    }
  }

  terminate(): void {
    if (this.#state === "closed") return
    try {
      this.#socket.terminate()
    } catch {
      // The socket is gone already, which is what was wanted.
    }
    this.gone(closeCode.cut, "")
  }

  /** The socket is being closed with this code, by us or by the runtime; a second cause changes nothing. */
  closing(code: number, reason: string): void {
    if (this.#state !== "open") return
    this.#state = "closing"
    this.#end = { code, reason }
    this.#undoDeadline = this.#setting.time.after(this.#setting.limits.closeMillisMax, () => this.terminate())
  }

  /** A text frame came. */
  received(frame: string): void {
    if (this.#state !== "open") return
    this.#heard = true
    this.#spoke = true
    const { limits } = this.#setting
    // Not every runtime has a limit of its own.
    if (isOver(frame, limits.frameBytesMax))
      return this.close(closeCode.tooLarge, `a frame has at most ${limits.frameBytesMax} bytes`)
    // The clock is asked once for many frames, not once for each.
    if (++this.#frames > limits.framesPerSecondMax && this.#flooded()) return
    try {
      const answer: unknown = this.#listeners?.onFrame(frame)
      // An `async` listener passes for one that answers nothing. Its rejection would end the process.
      if (answer !== undefined)
        Promise.resolve(answer).catch((error: unknown) => {
          this.#failed(error)
        })
    } catch (error) {
      this.#failed(error)
    }
  }

  /** A ping came, which the runtime answers: it counts like a frame, and its answer has to be read. */
  pinged(): void {
    if (this.#state !== "open") return
    this.#heard = true
    const { limits } = this.#setting
    if (++this.#frames > limits.framesPerSecondMax && this.#flooded()) return
    if (this.#socket.buffered() > limits.bufferedBytesMax) this.#tooSlow()
  }

  /** A binary frame came. */
  receivedBinary(): void {
    this.close(closeCode.binary, "frames are text")
  }

  /** The peer gave a sign of life that is no frame. */
  heard(): void {
    this.#heard = true
  }

  /**
   * Called now and then: gives up a peer that is silent. For `lostMillis` since the last call this process stood still: what
   * the peer said in that time may not have been read yet, so it counts as no silence.
   */
  lookAfter(now: number, lostMillis: number): void {
    if (this.#state !== "open") return
    this.#openedAt += lostMillis
    this.#heardAt += lostMillis
    const { firstFrameMillisMax, silenceMillisMax } = this.#setting.limits
    if (this.#heard) {
      this.#heard = false
      this.#pinged = false
      this.#heardAt = now
    }
    if (!this.#spoke && now - this.#openedAt >= firstFrameMillisMax)
      return this.close(closeCode.noFirstFrame, `no frame within ${firstFrameMillisMax} ms`)
    if (this.#socket.ping === null) return
    const silence = now - this.#heardAt
    if (silence >= silenceMillisMax) return this.#giveUp(silence)
    if (silence < silenceMillisMax / 2 || this.#pinged) return
    this.#pinged = true
    try {
      this.#socket.ping()
    } catch {
      this.terminate()
    }
  }

  /** The socket is gone. What closed it first is what is told. */
  gone(code: number, reason: string): void {
    if (this.#state === "closed") return
    this.#state = "closed"
    this.#undoDrain?.()
    this.#undoDeadline?.()
    // Deno says 0 where the others say 1006.
    const end = this.#end ?? { code: code === 0 ? closeCode.cut : code, reason }
    this.#onGone?.()
    try {
      this.#listeners?.onClose(end.code, end.reason)
    } catch (error) {
      this.#setting.onFault(error)
    }
  }

  #tooSlow(): void {
    const { bufferedBytesMax } = this.#setting.limits
    this.close(closeCode.tooMany, `slow reader: more than ${bufferedBytesMax} bytes wait`)
  }

  #giveUp(silence: number): void {
    this.#end = { code: closeCode.cut, reason: `no sign of life for ${Math.round(silence)} ms` }
    this.terminate()
  }

  #flooded(): boolean {
    const now = this.#setting.time.now()
    const max = this.#setting.limits.framesPerSecondMax
    if (now - this.#framesSince < 1_000) {
      this.close(closeCode.tooMany, `more than ${max} frames or pings a second`)
      return true
    }
    this.#frames = 1
    this.#framesSince = now
    return false
  }

  #failed(error: unknown): void {
    this.#setting.onFault(error)
    this.close(closeCode.server, "the handler of this connection failed")
  }

  readonly #lookForDrain = (): void => {
    this.#undoDrain = null
    if (this.#state !== "open") return
    if (this.#socket.buffered() > this.#setting.limits.bufferedBytesHigh) {
      this.#undoDrain = this.#setting.time.after(drainMillis, this.#lookForDrain)
      return
    }
    try {
      this.#listeners?.onDrain?.()
    } catch (error) {
      this.#failed(error)
    }
  }
}

// A UTF-16 unit has one to three bytes in UTF-8: most frames are judged by their length alone.
const isOver = (frame: string, bytesMax: number): boolean =>
  frame.length * 3 > bytesMax && (frame.length > bytesMax || Buffer.byteLength(frame) > bytesMax)

const reasonBytesMax = 123

/** A reason as it fits into a close frame, cut between characters. */
export const cutReason = (reason: string): string => {
  const bytes = Buffer.from(reason)
  if (bytes.length <= reasonBytesMax) return reason
  let end = reasonBytesMax
  // A byte 10xxxxxx goes on with the character before it.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
