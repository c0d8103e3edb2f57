// The scripted server that a worker under test meets: a real socket, the server's own session of core/protocol behind
// it, and a store of a few rows that says which attempt holds. Cases move it, and bend it: frames that get lost, hellos
// that wait, connections that are refused. All that is said is written down, and cases wait for what they expect.
import * as Result from "effect/Result"
import { serve } from "../../adapters/transport-websocket/mod.ts"
import type { Incoming, Listening, Listeners } from "../../core/ports/Transport.ts"
import { decode, encode } from "../../core/protocol/Codec.ts"
import { admit, greet } from "../../core/protocol/Greeting.ts"
import type { Assign, Hello, Message, Side } from "../../core/protocol/Message.ts"
import { openServer } from "../../core/protocol/ServerOpen.ts"
import { stepServer } from "../../core/protocol/ServerSession.ts"
import {
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "../../core/protocol/ServerState.ts"
import type { Verdict } from "../../core/protocol/Shapes.ts"
import { defaultTerms, type Terms } from "../../core/protocol/Terms.ts"
import { subprotocol } from "../../core/protocol/Version.ts"
import { calm, patience } from "./Case.ts"
import { Conversation } from "./Conversation.ts"
import type { Launch, Started } from "./Launch.ts"
import { type Relay, relay } from "./Pieces.ts"
import { type Attempt, Rows } from "./Rows.ts"

const tickMillis = 15
/** Where workers connect to. */
export const path = "/v1/worker"
/** How many handlers at once, and how many runs beyond them, the worker is asked for. */
export const slots = 2
const prefetch = 1
/** How long the worker is asked to let its handlers end after SIGTERM, in milliseconds. */
export const drainMillis = 3_000
/** How long a worker may take to say its first hello, in milliseconds. */
export const startMillis = 20_000

/** How a stage is set up. */
export interface Setup {
  readonly name: string
  readonly launch: Launch
  readonly terms?: Partial<Terms> | undefined
  readonly pieces?: true | undefined
}

/** A server for one process of the worker. */
export class Stage extends Conversation {
  readonly rows = new Rows()
  readonly hellos: Array<Hello> = []
  readonly token: string
  readonly terms: Terms
  /** The session, while there is one. */
  state: ServerState | null = null
  /** How the worker connected last. */
  connection: Incoming | null = null
  /** What becomes of a connection: its hello is answered, is not answered yet, or it is cut at once. */
  takes: "welcome" | "hold" | "refuse" = "welcome"
  /** Whether a message does not arrive. */
  loses: (from: Side, message: Message) => boolean = () => false
  /** The welcome as text, where a case wants another one. */
  edits: (frame: string, message: Message) => string = (frame) => frame
  started: Started | null = null
  isClosed = false
  relay: Relay | null = null
  #listening: Listening | null = null
  #connections = 0
  #sessions = 0
  #held: (() => void) | null = null
  #ticker: ReturnType<typeof setInterval> | undefined
  readonly #setup: Setup

  constructor(setup: Setup) {
    super()
    this.#setup = setup
    this.token = crypto.randomUUID()
    this.terms = { ...defaultTerms("kit"), ...calm, ...setup.terms }
  }

  /** Listens, and starts the worker. */
  async open(): Promise<void> {
    this.#listening = await serve({
      path,
      protocols: [subprotocol(1)],
      onConnection: (connection) => this.#connected(connection),
    })
    const { port } = new URL(this.#listening.url)
    if (this.#setup.pieces === true) this.relay = await relay(Number(port))
    this.#ticker = setInterval(() => {
      if (this.state !== null && serverWakeAt(this.state) <= this.moment().now) this.step({ kind: "tick" })
    }, tickMillis)
    this.started = this.#setup.launch({
      UHRWERK_URL: `ws://127.0.0.1:${this.relay?.port ?? port}${path}`,
      UHRWERK_TOKEN: this.token,
      UHRWERK_WORKER: this.#setup.name,
      UHRWERK_SLOTS: String(slots),
      UHRWERK_PREFETCH: String(prefetch),
      UHRWERK_DRAIN_MILLIS: String(drainMillis),
    })
    void this.started.exited.then((exit) => {
      this.write({ kind: "exited", ...exit })
    })
  }

  /** Ends the worker and the server. */
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.#ticker)
    this.started?.kill()
    await this.started?.exited
    this.relay?.close()
    await this.#listening?.stop({ graceMillis: 100 })
  }

  /** Another process of the same worker, with a server of its own, when it has its welcome. */
  async twin(): Promise<Stage> {
    const twin = new Stage({ ...this.#setup, name: `${this.#setup.name}-twin` })
    await twin.open()
    await twin.ready()
    return twin
  }

  /** The name that the worker was given. */
  get name(): string {
    return this.#setup.name
  }

  /** The latest hello. */
  get hello(): Hello {
    return this.hellos.at(-1) as Hello
  }

  /** Waits until the worker has its welcome; of what a case before it bent, nothing is left. */
  async ready(): Promise<void> {
    this.takes = "welcome"
    this.loses = () => false
    this.edits = (frame) => frame
    this.release()
    const millis = this.hellos.length === 0 ? startMillis : patience
    await this.until("the worker says hello", () => this.state?.phase === "open", millis)
  }

  moment(): Moment {
    return { now: performance.now(), at: Date.now(), random: Math.random() }
  }

  /** Lets something happen to the session. */
  step(event: ServerEvent): void {
    if (this.state !== null) this.#follow(stepServer(this.state, event, this.moment()))
  }

  /** Sends an attempt of a new run, or that of `given`. */
  assign(job: string, input: unknown, given: Partial<Assign> = {}): Attempt {
    const attempt = this.rows.make(given)
    this.step({ kind: "assign", assign: { ...this.rows.assignOf(attempt, job, input), ...given } })
    return attempt
  }

  /** Sends an attempt of a new run past the session, which takes no more than the worker has room for. */
  press(job: string, input: unknown): Attempt {
    const attempt = this.rows.make({})
    const id = `x${this.entries.length}`
    this.say(JSON.stringify({ type: "assign", id, ...this.rows.assignOf(attempt, job, input) }))
    return attempt
  }

  /** Sends a text as it is, whatever the session thinks of it. */
  say(frame: string): void {
    this.#write("server", frame, null, false)
    this.connection?.send(frame)
  }

  /** Cuts the connection without a word. */
  cut(): void {
    this.connection?.terminate()
  }

  /** Closes it. */
  shut(code: number, reason: string): void {
    this.connection?.close(code, reason)
  }

  /** Answers a hello that waits. */
  release(): void {
    const held = this.#held
    this.#held = null
    held?.()
  }

  /** Forgets its session, as a server that was restarted has: what still holds is in the store. */
  forget(): void {
    this.state = null
  }

  #connected(connection: Incoming): Listeners {
    const number = ++this.#connections
    this.write({ kind: "opened", connection: number, request: connection.request })
    if (this.takes === "refuse") {
      // The upgrade's answer goes out first.
      setTimeout(() => connection.terminate(), 5)
      return { onFrame: () => undefined, onClose: () => undefined }
    }
    this.connection = connection
    let greeted = false
    return {
      onFrame: (frame) => {
        if (greeted) return this.#heard(number, frame)
        greeted = true
        this.#first(number, frame)
      },
      onClose: (code, reason) => {
        this.write({ kind: "closed", connection: number, code, reason })
        this.step({ kind: "closed", connection: number })
      },
    }
  }

  #first(number: number, frame: string): void {
    const read = decode(frame, "worker")
    const message = Result.isSuccess(read) ? read.success : null
    this.#write("worker", frame, message, false)
    const greeted = greet(read)
    if (greeted.kind === "close") return this.connection?.close(greeted.code, greeted.reason)
    this.hellos.push(greeted.hello)
    const answer = (): void => this.#greet(number, greeted.hello)
    if (this.takes === "hold") this.#held = answer
    else answer()
    this.write({ kind: "note", text: `hello ${this.hellos.length} is there` })
  }

  #greet(number: number, hello: Hello): void {
    const known = this.state ?? undefined
    const admitted = admit(hello, known)
    if (admitted === "resume") return this.step({ kind: "resume", connection: number, hello })
    if (admitted === "outdated")
      return this.connection?.close(4400, "connection: a hello counts its connections upwards")
    if (admitted === "replace") this.step({ kind: "end", close: "replaced", reason: "replaced" })
    const verdicts: Array<Verdict> = hello.inHand.map(({ run, attempt, token }) => ({
      run,
      attempt,
      token,
      verdict: this.rows.verdictOf({ run, attempt, token }),
    }))
    const session = `${this.#setup.name}-S${++this.#sessions}`
    const { terms } = this
    const opened = openServer({ terms, session, connection: number, hello, verdicts }, this.moment())
    this.state = opened.state
    this.#follow(opened.effects)
  }

  #heard(number: number, frame: string): void {
    const read = decode(frame, "worker")
    const message = Result.isSuccess(read) ? read.success : null
    const lost = message !== null && this.loses("worker", message)
    this.#write("worker", frame, message, lost, Result.isFailure(read) ? read.failure.message : null)
    if (lost) return
    if (Result.isSuccess(read)) this.step({ kind: "message", connection: number, message: read.success })
    else this.step({ kind: "refused", connection: number, refused: read.failure })
  }

  #follow(effects: ReadonlyArray<ServerEffect>): void {
    for (const effect of effects) {
      if (effect.kind === "send") this.#send(effect.message)
      else if (effect.kind === "close") this.connection?.close(effect.code, effect.reason)
      else if (effect.kind === "release" || effect.kind === "lost") this.rows.free(effect)
      else if (effect.kind === "outcome") {
        const result = this.rows.settle(effect, effect.outcome)
        this.step({ kind: "settled", run: effect.run, token: effect.token, result })
        this.write({ kind: "note", text: `${effect.run} is ${result}` })
      }
    }
  }

  #send(message: Message): void {
    const encoded = encode(message)
    if (Result.isFailure(encoded)) throw encoded.failure
    const frame = this.edits(encoded.success, message)
    const lost = this.loses("server", message)
    this.#write("server", frame, message, lost)
    if (!lost) this.connection?.send(frame)
  }

  #write(
    from: Side,
    frame: string,
    message: Message | null,
    lost: boolean,
    refused: string | null = null,
  ): void {
    const connection = this.#connections
    if (from === "server") this.write({ kind: "said", connection, frame, lost })
    else this.write({ kind: "heard", connection, frame, message, lost, refused })
  }
}
