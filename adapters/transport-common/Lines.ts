// The connections of one server: how many there may be, who of them is silent, and how all of them end.
import {
  closeCode,
  type Incoming,
  type ListenOptions,
  type StopOptions,
  type TransportLimits,
  transportLimits,
  type UpgradeRequest,
} from "../../core/ports/Transport.ts"
import { Line, type LineSetting, type LineTime, type Socket } from "./Line.ts"

/** Limits with their defaults. */
export const limitsOf = (given: Partial<TransportLimits> | undefined): TransportLimits => ({
  ...transportLimits,
  ...given,
})

/** What is done with a fault when nobody asks for it: a server must not be silent about it. */
export const printFault = (error: unknown): void => console.error("A listener of a connection failed:", error)

/** A line with what it was asked for by. */
class IncomingLine extends Line implements Incoming {
  readonly request: UpgradeRequest

  constructor(
    socket: Socket,
    request: UpgradeRequest,
    subprotocol: string,
    setting: LineSetting,
    onGone: () => void,
  ) {
    super(socket, subprotocol, setting, onGone)
    this.request = request
  }
}

// Those above `connectionsMax` are told so, which takes a moment each; beyond these no upgrade is answered.
const refusedAtOnceMax = 100

/** All lines of a server. */
export class Lines {
  readonly limits: TransportLimits
  readonly #options: ListenOptions
  readonly #setting: LineSetting
  readonly #lines = new Set<Line>()
  readonly #tickMillis: number
  #undoTick: (() => void) | null = null
  #stopping = false
  #onEmpty: (() => void) | null = null

  constructor(options: ListenOptions, time: LineTime) {
    this.limits = limitsOf(options.limits)
    this.#options = options
    this.#setting = { limits: this.limits, time, onFault: options.onFault ?? printFault }
    const { firstFrameMillisMax, silenceMillisMax } = this.limits
    this.#tickMillis = Math.min(1_000, Math.min(firstFrameMillisMax, silenceMillisMax) / 4)
  }

  /** Connections that are open or closing. */
  get size(): number {
    return this.#lines.size
  }

  /** Whether an upgrade is still answered. */
  get takes(): boolean {
    return !this.#stopping && this.size < this.limits.connectionsMax + refusedAtOnceMax
  }

  /** The server's first subprotocol that is offered; else the client's first, for the handler to refuse. */
  subprotocolOf(offered: ReadonlyArray<string>): string {
    const { protocols = [] } = this.#options
    return protocols.find((name) => offered.includes(name)) ?? offered[0] ?? ""
  }

  /** A socket is open. `attach` is called with its line before any listener is. */
  open(
    socket: Socket,
    request: UpgradeRequest,
    subprotocol: string,
    attach: (line: Line) => void = () => undefined,
  ): Line {
    const line: IncomingLine = new IncomingLine(socket, request, subprotocol, this.#setting, () => {
      this.#lines.delete(line)
      if (this.size === 0) this.#onEmpty?.()
    })
    this.#lines.add(line)
    attach(line)
    this.#tick()
    if (this.size > this.limits.connectionsMax)
      line.close(closeCode.tryLater, `this server takes at most ${this.limits.connectionsMax} connections`)
    else if (this.#stopping) line.close(closeCode.restart, "the server stops")
    else line.opened(() => this.#options.onConnection(line))
    return line
  }

  /** Closes all and resolves when all have said their end: those that do not answer in time are cut. */
  async stop({
    code = closeCode.restart,
    reason = "the server stops",
    graceMillis = 2_000,
  }: StopOptions = {}): Promise<void> {
    this.#stopping = true
    if (this.size === 0) return
    const empty = new Promise<void>((resolve) => {
      const before = this.#onEmpty
      this.#onEmpty = () => {
        before?.()
        resolve()
      }
    })
    const undo = this.#setting.time.after(graceMillis, () => {
      for (const line of this.#copy()) line.terminate()
    })
    for (const line of this.#copy()) line.close(code, reason)
    await empty
    undo()
    this.#undoTick?.()
  }

  // A line that ends takes itself out while the others are being looked at.
  #copy(): ReadonlyArray<Line> {
    return [...this.#lines]
  }

  #tick(): void {
    if (this.#undoTick !== null || !Number.isFinite(this.#tickMillis)) return
    const { time } = this.#setting
    const dueAt = time.now() + this.#tickMillis
    this.#undoTick = time.after(this.#tickMillis, () => {
      this.#undoTick = null
      const now = time.now()
      // A little late is what timers are; a lot is a process that was stopped, or a machine that slept.
      const late = now - dueAt
      const lostMillis = late > this.#tickMillis ? late : 0
      for (const line of this.#copy()) line.lookAfter(now, lostMillis)
      if (this.size > 0) this.#tick()
    })
  }
}
