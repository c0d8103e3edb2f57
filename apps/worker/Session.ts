// Drives the worker's side of the protocol, a pure machine, over real connections: delivers what happens and the time, and
// does what it asks for. All that is sent in one turn of the event loop goes together, before any handler is called, so
// that a handler that blocks does not hold back the word that it began.
import { loadavg } from "node:os"
import * as Result from "effect/Result"
import type { StopReason } from "../../core/ports/Executor.ts"
import type { Connect, Connection } from "../../core/ports/Transport.ts"
import { closeOf } from "../../core/protocol/Close.ts"
import { decode, encode, joinAcks } from "../../core/protocol/Codec.ts"
import type { Assign, Message } from "../../core/protocol/Message.ts"
import type { Moment } from "../../core/protocol/ServerState.ts"
import { subprotocol, spokenVersions } from "../../core/protocol/Version.ts"
import { stepWorker } from "../../core/protocol/WorkerSession.ts"
import {
  type Introduction,
  makeWorker,
  type WorkerEffect,
  type WorkerEvent as MachineEvent,
  type WorkerState,
  workerWakeAt,
} from "../../core/protocol/WorkerState.ts"
import { notBegun } from "./stopped.ts"
import { after, monotonic } from "./Time.ts"
import type { WorkerEvent } from "./WorkerEvent.ts"

/** What a session is given. */
export interface SessionOptions {
  readonly connect: Connect
  readonly url: string
  readonly token: string | null
  readonly who: Introduction
  /** Calls the handler; `waitedMillis` have passed since the assignment came. */
  readonly begin: (assign: Assign, waitedMillis: number) => void
  readonly stop: (run: string, token: number, reason: StopReason) => void
  readonly tell: (event: WorkerEvent) => void
  /** It has ended, with this as the last close. */
  readonly over: (closed: { readonly code: number; readonly reason: string }) => void
}

/** The worker's side of its session, over all connections. */
export class Session {
  readonly state: WorkerState
  readonly #options: SessionOptions
  readonly #events: Array<MachineEvent> = []
  readonly #arrivedAt = new WeakMap<Assign, number>()
  #busy = false
  #connection: Connection | null = null
  #giveUp: (() => void) | null = null
  #isSlow = false
  #outbox: Array<Message> = []
  #begins: Array<Assign> = []
  #turn = false
  #wakeAt = Number.POSITIVE_INFINITY
  #takeBack: () => void = () => {}
  #closed = { code: 1006, reason: "" }

  constructor(options: SessionOptions) {
    this.#options = options
    this.state = makeWorker(options.who, moment())
  }

  /** Whether what is sent now is read. */
  get isFlowing(): boolean {
    return this.state.phase === "open" && !this.#isSlow
  }

  /** Something happened. What follows may come back here: it is taken in its turn. */
  step(event: MachineEvent): void {
    this.#events.push(event)
    if (this.#busy) return
    this.#busy = true
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      const now = moment()
      // After a freeze it is the time that counts first: what lay in the socket is older than it.
      if (next.kind !== "tick" && now.now >= workerWakeAt(this.state)) this.#apply({ kind: "tick" }, now)
      this.#apply(next, now)
    }
    this.#busy = false
    this.#arm()
  }

  /** Waits for no connection any more that is not there yet: there is nothing to tell. */
  leave(): void {
    if (this.state.phase !== "connecting") return
    this.#giveUp?.()
    this.step({ kind: "closed", connection: this.state.connection, code: closeOf.done })
  }

  /** Stops at once, without a word. */
  abandon(): void {
    this.#takeBack()
    this.#giveUp?.()
    this.#connection?.terminate()
    this.state.phase = "over"
  }

  #apply(event: MachineEvent, now: Moment): void {
    const { state } = this
    const before = state.phase
    const effects = stepWorker(state, event, now)
    const close = effects.findLast((each) => each.kind === "close")
    if (close !== undefined) this.#closed = { code: close.code, reason: close.reason }
    if (before !== state.phase) this.#tellPhase(before, event, now)
    for (const effect of effects) this.#do(effect)
  }

  #tellPhase(before: WorkerState["phase"], event: MachineEvent, { now }: Moment): void {
    const { state } = this
    const { tell } = this.#options
    const { code, reason } = this.#closed
    const retryInMillis = Math.max(0, Math.round(state.connectAt - now))
    if (state.phase === "open" && event.kind === "message" && event.message.type === "welcome") {
      const { node, session, resumed } = event.message
      tell({ kind: "connected", node, session, resumed })
    } else if (state.phase !== "off") return
    else if (before === "open") tell({ kind: "lost", code, reason, retryInMillis })
    else tell({ kind: "unreachable", reason: reason || `closed with ${code}`, retryInMillis })
  }

  #do(effect: WorkerEffect): void {
    switch (effect.kind) {
      case "connect":
        return this.#connect(effect.connection)
      case "send":
        this.#outbox.push(effect.message)
        return this.#soon()
      case "close": {
        this.#flush()
        const connection = this.#connection
        this.#connection = null
        this.#giveUp?.()
        return connection?.close(effect.code, effect.reason)
      }
      case "begin":
        this.#begins.push(effect.assign)
        return this.#soon()
      case "stop":
        return this.#stop(effect)
      case "acknowledged": {
        const { run, attempt, token, result } = effect
        return this.#options.tell({ kind: "acknowledged", run, attempt, token, result })
      }
      case "over":
        this.#flush()
        this.#takeBack()
        return this.#options.over({ code: effect.code, reason: this.#closed.reason || effect.reason })
    }
  }

  #stop(effect: Extract<WorkerEffect, { readonly kind: "stop" }>): void {
    const { run, token } = effect
    const waiting = this.#begins.findIndex((each) => each.run === run && each.token === token)
    if (waiting < 0) return this.#options.stop(run, token, effect.reason)
    const [assign] = this.#begins.splice(waiting, 1)
    const outcome = notBegun(effect.reason, assign?.timeoutMillis ?? null)
    this.step({ kind: "ended", run, token, outcome })
  }

  #connect(connection: number): void {
    const { connect, url, token } = this.#options
    this.#outbox.length = 0
    this.#isSlow = false
    this.#closed = { code: 1006, reason: "" }
    const isCurrent = (): boolean => this.state.connection === connection
    this.#giveUp = connect(
      url,
      {
        headers: token === null ? {} : { Authorization: `Bearer ${token}` },
        protocols: spokenVersions().slice(0, 1).map(subprotocol),
        onFault: (error) => this.#trouble("read what the server sent", error),
      },
      {
        onOpen: (line) => {
          this.#giveUp = null
          this.#connection = line
          this.step({ kind: "opened", connection })
          return {
            onFrame: (frame) => this.#heard(connection, frame),
            onDrain: () => {
              if (isCurrent()) this.#isSlow = false
            },
            onClose: (code, reason) => this.#gone(connection, line, code, reason),
          }
        },
        onFail: (error) => {
          this.#giveUp = null
          if (isCurrent()) this.#closed = { code: 1006, reason: error.message }
          this.step({ kind: "closed", connection, code: 1006 })
        },
      },
    )
  }

  #heard(connection: number, frame: string): void {
    const read = decode(frame, "server")
    if (Result.isFailure(read)) return this.step({ kind: "refused", connection, refused: read.failure })
    const message = read.success
    if (message.type === "assign") this.#arrivedAt.set(message, monotonic())
    if (message.type === "drain" && this.state.drain === null)
      this.#options.tell({ kind: "draining", by: "server", graceMillis: message.graceMillis })
    this.step({ kind: "message", connection, message })
  }

  #gone(connection: number, line: Connection, code: number, reason: string): void {
    if (this.#connection === line) this.#connection = null
    if (this.state.connection === connection) this.#closed = { code, reason }
    this.step({ kind: "closed", connection, code })
  }

  #soon(): void {
    if (this.#turn) return
    this.#turn = true
    setImmediate(() => {
      this.#turn = false
      this.#flush()
      // Some runtimes write in a turn of their own: the handlers get the next one.
      if (this.#begins.length > 0) setImmediate(() => this.#begin())
    })
  }

  #begin(): void {
    for (let assign = this.#begins.shift(); assign !== undefined; assign = this.#begins.shift()) {
      this.#options.begin(assign, monotonic() - (this.#arrivedAt.get(assign) ?? monotonic()))
    }
  }

  #flush(): void {
    const messages = this.#outbox
    this.#outbox = []
    const bytesMax = this.state.welcome?.frameBytesMax
    for (const message of joinAcks(messages)) {
      const frame = encode(message.type === "heartbeat" ? { ...message, load: load() } : message, bytesMax)
      if (Result.isFailure(frame))
        this.#trouble(`send a message of the type "${message.type}"`, frame.failure)
      else if (this.#connection?.send(frame.success) === "slow") this.#isSlow = true
    }
  }

  #trouble(doing: string, error: unknown): void {
    this.#options.tell({
      kind: "trouble",
      doing,
      error: error instanceof Error ? error.message : String(error),
    })
  }

  /** One timer, for the next moment at which the machine has something to do. */
  #arm(): void {
    const wakeAt = workerWakeAt(this.state)
    // A timer that is too early costs one look; those that move with every message would cost more.
    if (wakeAt >= this.#wakeAt || this.state.phase === "over") return
    this.#takeBack()
    this.#wakeAt = wakeAt
    this.#takeBack = after(Math.max(0, wakeAt - monotonic()), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.step({ kind: "tick" })
    })
  }
}

const moment = (): Moment => ({ now: monotonic(), at: Date.now(), random: Math.random() })

/** How busy the machine was in the last minute, 1 for one full core; 0 where nobody says. */
const load = (): number => {
  try {
    return Math.round((loadavg()[0] ?? 0) * 100) / 100
  } catch {
    // Deno, without the permission to ask.
    return 0
  }
}
