// A worker without anything around the protocol: the machine `WorkerSession` on the transport's own client, as light as one
// can be, so that it is the server that is loaded. Its handlers are called in place, and may end in place.
import * as Result from "effect/Result"
import { connect } from "../../adapters/transport-websocket/client.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Connection } from "../../core/ports/Transport.ts"
import { decode, encode, joinAcks } from "../../core/protocol/Codec.ts"
import type { Assign, Message } from "../../core/protocol/Message.ts"
import type { Moment } from "../../core/protocol/ServerState.ts"
import { currentVersion, subprotocol } from "../../core/protocol/Version.ts"
import { stepWorker } from "../../core/protocol/WorkerSession.ts"
import {
  type Introduction,
  makeWorker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
  workerWakeAt,
} from "../../core/protocol/WorkerState.ts"

/** What went over a worker's connections. An `ack` with several entries is one frame, and a message for each. */
export interface Traffic {
  framesIn: number
  framesOut: number
  messagesIn: number
  messagesOut: number
}

/** How to make one. */
export interface BareOptions {
  readonly url: string
  readonly name: string
  readonly jobs: ReadonlyArray<string>
  readonly slots: number
  readonly prefetch?: number
  /** Does the work, and calls `end` with what became of it, now or later. */
  readonly onBegin: (assign: Assign, end: (outcome: Outcome) => void) => void
  readonly onAcknowledged?: (result: "settled" | "stale") => void
  /** `try`: it connects, and the detail is when that was due, on `performance.now()`. */
  readonly onChange?: (what: "try" | "open" | "closed" | "welcome" | "stop", detail: string) => void
}

const moment = (): Moment => ({ now: performance.now(), at: Date.now(), random: Math.random() })
const limits = { framesPerSecondMax: Number.POSITIVE_INFINITY }
const hex = (): string =>
  Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0")

/** Such a worker; it connects at once, and again and again until it has ended. */
export class BareWorker {
  readonly traffic: Traffic = { framesIn: 0, framesOut: 0, messagesIn: 0, messagesOut: 0 }
  private readonly options: BareOptions
  private readonly state: WorkerState
  private readonly ended = Promise.withResolvers<number>()
  private connection: Connection | null = null
  private outbox: Array<Message> = []
  private timer: ReturnType<typeof setTimeout> | undefined
  private timerAt = Number.POSITIVE_INFINITY
  private giveUp = (): void => undefined

  constructor(options: BareOptions) {
    this.options = options
    const who: Introduction = {
      worker: options.name,
      incarnation: `${hex()}${hex()}${hex()}${hex()}`,
      runtime: "bare",
      version: "1",
      jobs: options.jobs,
      slots: options.slots,
      prefetch: options.prefetch ?? 0,
      labels: {},
      capabilities: ["resume"],
    }
    this.state = makeWorker(who, moment())
    this.step({ kind: "tick" })
  }

  /** Whether its session is open. */
  get isOpen(): boolean {
    return this.state.phase === "open"
  }

  /** Takes nothing more, and resolves with the last close code when it has ended. */
  drain(graceMillis: number): Promise<number> {
    this.step({ kind: "drain", graceMillis, reason: "the load is over" })
    return this.ended.promise
  }

  /** Cuts its connection; it comes back. */
  cut(): void {
    this.connection?.terminate()
  }

  /** Ends without a word. */
  vanish(): void {
    clearTimeout(this.timer)
    this.state.phase = "over"
    this.giveUp()
    this.connection?.terminate()
    this.connection = null
  }

  private step(event: WorkerEvent): void {
    for (const effect of stepWorker(this.state, event, moment())) this.does(effect)
    this.arm()
  }

  private does(effect: WorkerEffect): void {
    switch (effect.kind) {
      case "send":
        // What one turn says goes out at its end, its acknowledgements in one frame.
        if (this.outbox.push(effect.message) === 1) queueMicrotask(() => this.flush())
        break
      case "connect":
        this.options.onChange?.("try", String(this.state.connectAt))
        this.connect(effect.connection)
        break
      case "close":
        this.flush()
        this.connection?.close(effect.code, effect.reason)
        this.connection = null
        break
      case "begin": {
        const { run, token } = effect.assign
        this.options.onBegin(effect.assign, (outcome) => this.step({ kind: "ended", run, token, outcome }))
        break
      }
      case "stop":
        this.options.onChange?.("stop", effect.run)
        break
      case "acknowledged":
        this.options.onAcknowledged?.(effect.result)
        break
      case "over":
        this.ended.resolve(effect.code)
    }
  }

  private connect(number: number): void {
    let mine: Connection | null = null
    this.giveUp = connect(
      this.options.url,
      { protocols: [subprotocol(currentVersion)], limits },
      {
        onOpen: (connection) => {
          mine = this.connection = connection
          this.options.onChange?.("open", String(number))
          this.step({ kind: "opened", connection: number })
          return {
            onFrame: (frame) => this.hear(number, frame),
            onClose: (code) => {
              if (this.connection === mine) this.connection = null
              this.options.onChange?.("closed", String(code))
              this.step({ kind: "closed", connection: number, code })
            },
          }
        },
        onFail: () => this.step({ kind: "closed", connection: number, code: 1006 }),
      },
    )
  }

  private hear(connection: number, frame: string): void {
    const { traffic } = this
    traffic.framesIn++
    const read = decode(frame, "server")
    if (Result.isFailure(read)) return this.step({ kind: "refused", connection, refused: read.failure })
    const message = read.success
    traffic.messagesIn += countOf(message)
    this.step({ kind: "message", connection, message })
    if (message.type === "welcome") this.options.onChange?.("welcome", message.session)
  }

  private flush(): void {
    const { connection, traffic } = this
    const messages = joinAcks(this.outbox)
    this.outbox = []
    for (const message of messages) {
      const frame = encode(message)
      if (Result.isFailure(frame)) throw frame.failure
      traffic.framesOut++
      traffic.messagesOut += countOf(message)
      connection?.send(frame.success)
    }
  }

  /** One timer, which is moved only when something is due before it. */
  private arm(): void {
    const wakeAt = workerWakeAt(this.state)
    if (wakeAt >= this.timerAt) return
    clearTimeout(this.timer)
    this.timerAt = wakeAt
    this.timer = setTimeout(
      () => {
        this.timerAt = Number.POSITIVE_INFINITY
        this.step({ kind: "tick" })
      },
      Math.max(0, wakeAt - performance.now()),
    )
  }
}

const countOf = (message: Message): number => (message.type === "ack" ? message.acks.length : 1)
