// A worker's seat at the desk: its session, which is a pure machine, with the connections that it speaks through, the
// timer that it asks for, and what is known of the worker for people. All effects but sending and closing go to the desk.
import * as Result from "effect/Result"
import type { Incoming } from "../ports/Transport.ts"
import type { Timers } from "../ports/Timers.ts"
import { decode, encode, joinAcks } from "../protocol/Codec.ts"
import type { Hello, Message } from "../protocol/Message.ts"
import { stepServer } from "../protocol/ServerSession.ts"
import {
  freeSlots,
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "../protocol/ServerState.ts"
import { labelsOf } from "./Placement.ts"
import type { Grant } from "./WorkersConfig.ts"
import type { WorkerStatus, WorkerView } from "./WorkerView.ts"

/** What seats have in common. */
export interface SeatOptions {
  readonly moment: () => Moment
  readonly timers: Timers
  readonly node: () => string
  /** What the desk does: everything but sending and closing. */
  readonly onEffect: (seat: Seat, effect: Exclude<ServerEffect, { kind: "send" | "close" }>) => void
  /** It has acknowledgements to send at the end of this turn. */
  readonly onAcks: (seat: Seat) => void
  /** It may take more than before. */
  readonly onRoom: () => void
  /** It can run other jobs than before. */
  readonly onJobs: () => void
  /** A frame was refused, and the worker told. */
  readonly onRefused: (seat: Seat, reason: string) => void
}

/** One worker's seat. */
export class Seat {
  readonly name: string
  readonly state: ServerState
  readonly grant: Grant
  readonly #options: SeatOptions
  readonly #connections = new Map<number, Incoming>()
  readonly #connectedAt: number
  hello: Hello
  /** What placement rules ask for; made once for each hello. */
  labels: ReturnType<typeof labelsOf>
  /** How its last connection ended, for people; `null`: none has. */
  goneAs: string | null = null
  /** What its last heartbeat said. */
  #load: number | null = null
  #heardAt: number
  #acks: Array<Message> = []
  /** It does not read what was sent. */
  #slow = false
  #takeBack: (() => void) | undefined
  #armedAt = Number.POSITIVE_INFINITY

  constructor(state: ServerState, hello: Hello, grant: Grant, connection: Incoming, options: SeatOptions) {
    this.name = hello.worker
    this.state = state
    this.hello = hello
    this.grant = grant
    this.#options = options
    this.#connections.set(state.connection, connection)
    this.#connectedAt = options.moment().at
    this.#heardAt = this.#connectedAt
    this.labels = labelsOf(this.view())
  }

  /** Something happens to the session. */
  step(event: ServerEvent): void {
    this.take(stepServer(this.state, event, this.#options.moment()))
  }

  /** Carries out what follows from an event. */
  take(effects: ReadonlyArray<ServerEffect>): void {
    for (const effect of effects) {
      if (effect.kind === "send") this.#send(effect.connection, effect.message)
      else if (effect.kind === "close") this.#close(effect)
      else this.#options.onEffect(this, effect)
    }
    this.#arm()
  }

  /** The same worker is there on another connection. */
  resume(connection: Incoming, hello: Hello): void {
    const number = this.nextConnection
    this.#connections.set(number, connection)
    this.hello = hello
    this.labels = labelsOf(this.view())
    this.#slow = false
    this.#heardAt = this.#options.moment().at
    // What they say is in the welcome, and before that nothing is sent.
    this.#acks = []
    this.step({ kind: "resume", connection: number, hello })
  }

  /** The number that its next connection has. */
  get nextConnection(): number {
    return this.state.connection + 1
  }

  /** A frame came. */
  hear(connection: number, frame: string): void {
    if (connection !== this.state.connection) return
    const read = decode(frame, "worker", this.state.terms.frameBytesMax)
    const [room, unable] = [this.room, this.state.unable.size]
    this.#heardAt = this.#options.moment().at
    if (Result.isSuccess(read)) {
      const message = read.success
      if (message.type === "heartbeat" && message.load !== undefined) this.#load = message.load
      this.step({ kind: "message", connection, message })
    } else {
      this.#options.onRefused(this, read.failure.message)
      this.step({ kind: "refused", connection, refused: read.failure })
    }
    if (this.state.unable.size > unable) this.#options.onJobs()
    if (this.room > room) this.#options.onRoom()
  }

  /** A connection has ended; `as`: how, for people. */
  closed(connection: number, as: string): void {
    this.#connections.delete(connection)
    if (connection === this.state.connection) this.goneAs = as
    this.step({ kind: "closed", connection })
  }

  drained(connection: number): void {
    if (connection !== this.state.connection) return
    this.#slow = false
    this.#options.onRoom()
  }

  /** How many more runs it takes now. */
  get room(): number {
    return this.#slow ? 0 : freeSlots(this.state)
  }

  /** Sends the acknowledgements of this turn in as few frames as they fit. */
  flush(): void {
    if (this.#acks.length === 0) return
    const acks = this.#acks
    this.#acks = []
    for (const message of joinAcks(acks)) this.#write(this.state.connection, message)
  }

  view(): WorkerView {
    const { hello, state } = this
    return {
      name: this.name,
      node: this.#options.node(),
      status: this.#status,
      runtime: hello.runtime,
      version: hello.version,
      jobs: [...state.jobs],
      unable: [...state.unable],
      queues: hello.queues ?? this.grant.queues,
      labels: hello.labels ?? {},
      slots: state.slots,
      prefetch: state.prefetch,
      inHand: state.held.size,
      load: this.#load,
      credential: this.grant.id,
      address: this.#connections.get(state.connection)?.request.remoteAddress ?? "",
      connectedAt: this.#connectedAt,
      heardAt: this.#heardAt,
    }
  }

  get #status(): WorkerStatus {
    if (this.state.phase !== "open") return "cut"
    if (this.state.draining) return "draining"
    return this.state.suspect ? "suspect" : "alive"
  }

  #send(connection: number, message: Message): void {
    if (message.type === "ack") {
      if (this.#acks.push(message) === 1) this.#options.onAcks(this)
      return
    }
    // A run that comes later shows the worker that it has read all acknowledgements before it.
    this.flush()
    this.#write(connection, message)
  }

  #write(number: number, message: Message): void {
    const connection = this.#connections.get(number)
    if (connection === undefined) return
    const frame = encode(message, this.state.terms.frameBytesMax)
    const sent = Result.isSuccess(frame) ? connection.send(frame.success) : "tooLarge"
    if (sent === "slow") this.#slow = true
    if (sent !== "tooLarge" || message.type !== "assign") return
    const reason = Result.isSuccess(frame)
      ? "assign: it is larger than the transport sends"
      : `${frame.failure.field}: ${frame.failure.reason}`
    this.step({ kind: "unsendable", run: message.run, token: message.token, reason })
  }

  #close({ connection, code, reason }: Extract<ServerEffect, { kind: "close" }>): void {
    this.flush()
    this.#connections.get(connection)?.close(code, reason)
    this.#connections.delete(connection)
  }

  #arm(): void {
    const at = onGrid(serverWakeAt(this.state), this.#options.moment().now)
    // One that fires too early finds nothing to do, and is set anew: signs of life need not move it.
    if (at >= this.#armedAt && at !== Number.POSITIVE_INFINITY) return
    this.#takeBack?.()
    this.#takeBack = undefined
    this.#armedAt = at
    if (at === Number.POSITIVE_INFINITY) return
    const millis = Math.max(0, at - this.#options.moment().now)
    this.#takeBack = this.#options.timers.after(millis, () => {
      this.#armedAt = Number.POSITIVE_INFINITY
      this.#takeBack = undefined
      this.step({ kind: "tick" })
    })
  }
}

// What lies far ahead waits for the next quarter of a second, so that the timers of many seats fire in one turn.
const farMillis = 2_000
const gridMillis = 250

const onGrid = (at: number, now: number): number =>
  at - now < farMillis || at === Number.POSITIVE_INFINITY ? at : Math.ceil(at / gridMillis) * gridMillis
