// A server for tests of workers: the real transport on a real socket and the real machine of the protocol, but in the place
// of a store a list of what happened. It says what it is told to say, and keeps every frame that came.
import * as Result from "effect/Result"
import { serve } from "../../adapters/transport-websocket/mod.ts"
import type { Incoming, Listening } from "../../core/ports/Transport.ts"
import type { StopReason } from "../../core/ports/Executor.ts"
import type { CloseName } from "../../core/protocol/Close.ts"
import { decode, encode } from "../../core/protocol/Codec.ts"
import { admit } from "../../core/protocol/Greeting.ts"
import type { Assign, Hello, Message, MessageOf, MessageType } from "../../core/protocol/Message.ts"
import { openServer } from "../../core/protocol/ServerOpen.ts"
import { stepServer } from "../../core/protocol/ServerSession.ts"
import {
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "../../core/protocol/ServerState.ts"
import type { AttemptKey, Verdict } from "../../core/protocol/Shapes.ts"
import { defaultTerms, type Terms } from "../../core/protocol/Terms.ts"

const moment = (): Moment => ({ now: performance.now(), at: Date.now(), random: 0.5 })

/** How the server is. */
export interface ScriptOptions {
  readonly terms?: Partial<Terms>
  readonly port?: number
  /** Closes instead of a welcome, when it answers a code; called with the Authorization header and the hello. */
  readonly deny?: (authorization: string | undefined, hello: Hello) => readonly [number, string] | null
  /** What the store says of attempts of another session; default: nothing holds. */
  readonly verdicts?: (hello: Hello) => ReadonlyArray<Verdict>
}

/** What a test does with it. */
export interface ScriptedServer {
  readonly url: string
  readonly port: number
  /** All that workers sent, in order. */
  readonly heard: ReadonlyArray<Message>
  readonly all: <T extends MessageType>(type: T) => ReadonlyArray<MessageOf<T>>
  /** Codes of connections that ended, in order; each with its reason. */
  readonly closes: ReadonlyArray<readonly [number, string]>
  readonly effects: ReadonlyArray<ServerEffect>
  /** The latest session. */
  readonly state: () => ServerState | undefined
  readonly assign: (given: Partial<Assign> & Pick<Assign, "run" | "job">) => void
  readonly stop: (run: string, reason: StopReason, token?: number) => void
  readonly step: (event: ServerEvent) => void
  /** Sends a frame past the machine. */
  readonly raw: (message: object) => void
  /** The next frames of ours that this is true of are lost. */
  readonly lose: (which: ((message: Message) => boolean) | null) => void
  /** The next frames of the worker that this is true of are lost. */
  readonly ignore: (which: ((message: Message) => boolean) | null) => void
  /** Cuts the connection without a word. */
  readonly cut: () => void
  readonly drain: (graceMillis: number) => void
  readonly end: (close: CloseName, reason: string, keep?: true) => void
  /** Waits until it is true, at most `millis` (default 10,000). */
  readonly until: (what: string, holds: () => unknown, millis?: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Waits until it is true, at most `millis`. */
export const until = async (what: string, holds: () => unknown, millis = 10_000): Promise<void> => {
  const end = performance.now() + millis
  while (performance.now() < end) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`${what}: not within ${millis} ms`)
}

/** Starts one. */
export const scriptedServer = async (options: ScriptOptions = {}): Promise<ScriptedServer> => {
  const heard: Array<Message> = []
  const closes: Array<readonly [number, string]> = []
  const effects: Array<ServerEffect> = []
  const lines = new Map<number, Incoming>()
  let connections = 0
  let sessions = 0
  let state: ServerState | undefined
  let lose: ((message: Message) => boolean) | null = null
  let ignore: ((message: Message) => boolean) | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  const terms = { ...defaultTerms("scripted"), ...options.terms }

  const arm = (): void => {
    clearTimeout(timer)
    if (state === undefined) return
    const wait = serverWakeAt(state) - performance.now()
    if (Number.isFinite(wait)) timer = setTimeout(() => step({ kind: "tick" }), Math.max(1, wait))
  }
  const follow = (some: ReadonlyArray<ServerEffect>): void => {
    for (const effect of some) {
      effects.push(effect)
      if (effect.kind === "send") {
        if (lose?.(effect.message) === true) continue
        lines.get(effect.connection)?.send(Result.getOrThrow(encode(effect.message)))
      } else if (effect.kind === "close") lines.get(effect.connection)?.close(effect.code, effect.reason)
      else if (effect.kind === "outcome") {
        const { run, token } = effect
        // A store takes a moment.
        setTimeout(() => step({ kind: "settled", run, token, result: "settled" }), 1)
      }
    }
    arm()
  }
  const step = (event: ServerEvent): void => {
    if (state !== undefined) follow(stepServer(state, event, moment()))
  }
  const greet = (connection: number, hello: Hello, line: Incoming): void => {
    const denied = options.deny?.(line.request.headers.get("authorization"), hello) ?? null
    if (denied !== null) return line.close(...denied)
    const admitted = admit(hello, state)
    if (admitted === "outdated") return line.close(4409, "outdated")
    if (admitted === "resume") return step({ kind: "resume", connection, hello })
    if (admitted === "replace")
      step({ kind: "end", close: "replaced", reason: "a newer process has the name" })
    const session = `S${++sessions}`
    const verdicts = options.verdicts?.(hello) ?? []
    const opened = openServer({ terms, session, connection, hello, verdicts }, moment())
    state = opened.state
    follow(opened.effects)
  }
  const server: Listening = await serve({
    path: "/v1/worker",
    protocols: ["uhrwerk.worker.v1"],
    ...(options.port === undefined ? {} : { port: options.port }),
    onConnection: (line) => {
      const connection = ++connections
      lines.set(connection, line)
      return {
        onFrame: (frame) => {
          const read = decode(frame, "worker")
          if (Result.isFailure(read)) return step({ kind: "refused", connection, refused: read.failure })
          const message = read.success
          if (ignore?.(message) === true) return
          heard.push(message)
          if (message.type === "hello") greet(connection, message, line)
          else step({ kind: "message", connection, message })
        },
        onClose: (code, reason) => {
          lines.delete(connection)
          closes.push([code, reason])
          step({ kind: "closed", connection })
        },
      }
    },
  })
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    heard,
    all: (type) => heard.filter((message) => message.type === type) as never,
    closes,
    effects,
    state: () => state,
    assign: (given) =>
      step({
        kind: "assign",
        assign: {
          attempt: 1,
          token: 1,
          queue: "default",
          input: null,
          attemptMax: 3,
          timeoutMillis: null,
          dueAt: Date.now(),
          lateMillis: 0,
          nominalAt: null,
          schedule: null,
          needs: [],
          step: null,
          ...given,
        },
      }),
    stop: (run, reason, token = 1) => step({ kind: "stop", run, token, reason }),
    step,
    raw: (message) => {
      for (const line of lines.values()) line.send(JSON.stringify(message))
    },
    lose: (which) => {
      lose = which
    },
    ignore: (which) => {
      ignore = which
    },
    cut: () => {
      for (const line of lines.values()) line.terminate()
    },
    drain: (graceMillis) => step({ kind: "drain", graceMillis, reason: "the server drains" }),
    end: (close, reason, keep) =>
      step({ kind: "end", close, reason, ...(keep === undefined ? {} : { keep }) }),
    until,
    close: async () => {
      clearTimeout(timer)
      state = undefined
      await server.stop({ graceMillis: 200 })
    },
  }
}

/** Of an attempt. */
export const ofRun = (run: string, token = 1): AttemptKey => ({ run, attempt: token, token })
