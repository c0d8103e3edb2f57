// A worker over the worker's own machine of core/protocol that can break one rule at a time, in this process and over a
// real socket: what the kit is tested with. Without a fault it keeps them all.
import * as Result from "effect/Result"
import { connect } from "../../../adapters/transport-websocket/client.ts"
import type { Launch } from "../../../apps/worker-test/mod.ts"
import { jobs } from "../../../apps/worker-test/jobs.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import { encodePayload } from "../../../core/domain/Payload.ts"
import type { Connection } from "../../../core/ports/Transport.ts"
import type { StopReason } from "../../../core/ports/Executor.ts"
import { decode } from "../../../core/protocol/Codec.ts"
import type { Assign, Message } from "../../../core/protocol/Message.ts"
import { payloadFailure } from "../../../core/protocol/Outcomes.ts"
import type { Moment } from "../../../core/protocol/ServerState.ts"
import { keyOf } from "../../../core/protocol/Shapes.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import { makeWorker, type WorkerEvent, workerWakeAt } from "../../../core/protocol/WorkerState.ts"

/** What it does wrong. */
export type Fault =
  | "answersErrors"
  | "beatsTooOften"
  | "beginsOffline"
  | "beginsTwice"
  | "doesNotDrain"
  | "endsOnBadJson"
  | "forgetsEnded"
  | "goesOnAfterGrace"
  | "ignoresCancel"
  | "ignoresLater"
  | "ignoresTimeout"
  | "retriesPayload"
  | "lateStart"
  | "logsEachLine"
  | "neverResends"
  | "noBeats"
  | "noJitter"
  | "reconnectsAtOnce"
  | "repeatsIds"
  | "retriesAlways"
  | "retriesRevoked"
  | "roundsTokens"
  | "sameIncarnation"
  | "silentAboutUnknown"
  | "staleGoesOn"
  | "stopsOnRestart"
  | "terminatesAtOnce"
  | "tokenInAddress"
  | "waitsForSilence"

class Stop extends Error {
  readonly reason: StopReason
  constructor(reason: StopReason) {
    super(`The attempt was stopped: ${reason}`)
    this.reason = reason
  }
}

/** Starts one in this process. */
export const faultyWorker =
  (fault: Fault | null = null): Launch =>
  (env) => {
    let end: (exit: { code: number | null; signal: string | null }) => void = () => undefined
    const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => (end = resolve))
    const worker = new Worker(env, fault, (code) => end({ code, signal: null }))
    return {
      pid: null,
      terminate: () => worker.terminate(),
      kill: () => worker.exit(137),
      exited,
      output: () => [],
    }
  }

class Worker {
  readonly #env: Readonly<Record<string, string>>
  readonly #fault: Fault | null
  readonly #onExit: (code: number) => void
  readonly #state
  readonly #stops = new Map<string, (reason: StopReason) => void>()
  readonly #assigned = new Set<string>()
  readonly #sent = new Set<string>()
  #connection: Connection | null = null
  #undo: () => void = () => undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #over = false
  #fixed = 0
  // Acknowledgements that are kept back.
  #late: Array<string> = []

  constructor(env: Readonly<Record<string, string>>, fault: Fault | null, onExit: (code: number) => void) {
    this.#env = env
    this.#fault = fault
    this.#onExit = onExit
    this.#state = makeWorker(
      {
        worker: env["UHRWERK_WORKER"] ?? "",
        incarnation: fault === "sameIncarnation" ? "0".repeat(32) : crypto.randomUUID(),
        runtime: "test",
        version: "1",
        jobs: [...jobs],
        slots: Number(env["UHRWERK_SLOTS"]),
        prefetch: Number(env["UHRWERK_PREFETCH"]),
        capabilities: ["resume"],
      },
      this.#moment(),
    )
    this.#step({ kind: "tick" })
  }

  terminate(): void {
    if (this.#fault === "terminatesAtOnce") return this.exit(0)
    const graceMillis = Number(this.#env["UHRWERK_DRAIN_MILLIS"])
    this.#step({ kind: "drain", graceMillis, reason: "SIGTERM" })
  }

  exit(code: number): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    this.#undo()
    this.#connection?.terminate()
    for (const stop of this.#stops.values()) stop("leaseLost")
    this.#onExit(code)
  }

  #moment(): Moment {
    return { now: performance.now(), at: Date.now(), random: Math.random() }
  }

  #step(event: WorkerEvent): void {
    if (this.#over) return
    const effects = stepWorker(this.#state, event, this.#moment())
    this.#bend(event)
    for (const effect of effects) {
      if (effect.kind === "connect") this.#connect(effect.connection)
      else if (effect.kind === "send") this.#send(effect.message)
      else if (effect.kind === "close") this.#connection?.close(effect.code, effect.reason)
      else if (effect.kind === "begin") void this.#begin(effect.assign)
      else if (effect.kind === "stop") this.#stop(keyOf(effect), effect.reason)
      else if (effect.kind === "over") {
        this.exit(effect.code === 1000 ? 0 : 1)
      }
    }
    this.#wake()
  }

  /** Faults of what the machine knows. */
  #bend(event: WorkerEvent): void {
    const state = this.#state
    const now = performance.now()
    if (event.kind === "closed") {
      if (this.#fault === "reconnectsAtOnce") state.connectAt = now
      if (this.#fault === "noJitter" && event.code === 1006) state.connectAt = now + 450 * 2 ** this.#fixed++
      if (this.#fault === "forgetsEnded")
        for (const [key, entry] of state.hand) if (entry.state === "ended") state.hand.delete(key)
      if (this.#fault === "beginsOffline")
        for (const entry of state.hand.values())
          if (entry.state === "waiting" && entry.assign !== null) {
            entry.state = "running"
            void this.#begin(entry.assign)
          }
    }
    if (this.#fault === "beatsTooOften" && state.beatAt > now + 100) state.beatAt = now + 60
    if (this.#fault === "waitsForSilence") state.heardAt = now
  }

  #wake(): void {
    clearTimeout(this.#timer)
    const millis = workerWakeAt(this.#state) - performance.now()
    if (millis < 1e9)
      this.#timer = setTimeout(() => this.#step({ kind: "tick" }), Math.max(0, Math.ceil(millis)))
  }

  #connect(number: number): void {
    const { UHRWERK_URL: url = "", UHRWERK_TOKEN: token = "" } = this.#env
    const inAddress = this.#fault === "tokenInAddress"
    this.#undo = connect(
      inAddress ? `${url}?token=${token}` : url,
      {
        protocols: ["uhrwerk.worker.v1"],
        ...(inAddress ? {} : { headers: { Authorization: `Bearer ${token}` } }),
      },
      {
        onOpen: (connection) => {
          this.#connection = connection
          queueMicrotask(() => this.#step({ kind: "opened", connection: number }))
          return {
            onFrame: (frame) => this.#heard(number, frame),
            onClose: (code) => this.#closed(number, code),
          }
        },
        onFail: () => this.#closed(number, 1006),
      },
    )
  }

  #closed(connection: number, given: number): void {
    let code = given
    if (this.#fault === "retriesRevoked" && code === 4401) code = 1006
    if (this.#fault === "retriesAlways") code = 1006
    if (this.#fault === "ignoresLater" && code === 1013) code = 1006
    if (this.#fault === "stopsOnRestart" && code === 1012) code = 1006
    this.#step({ kind: "closed", connection, code })
  }

  #heard(connection: number, frame: string): void {
    const read = decode(frame, "server")
    if (Result.isFailure(read)) {
      if (this.#fault === "endsOnBadJson" && read.failure.code === "badJson") return this.exit(1)
      if (this.#fault === "silentAboutUnknown" && read.failure.code === "unknownType") return
      return this.#step({ kind: "refused", connection, refused: read.failure })
    }
    let message = read.success
    if (message.type === "assign") {
      const key = keyOf(message)
      if (this.#fault === "beginsTwice" && this.#assigned.has(key)) {
        this.#state.hand.delete(key)
        this.#state.begun.delete(message.run)
      }
      this.#assigned.add(key)
      this.#jobs.set(message.run, message.job)
    }
    if (this.#fault === "doesNotDrain" && message.type === "drain") return
    if (this.#fault === "answersErrors" && message.type === "error")
      this.#write({ type: "error", id: `e${performance.now()}`, code: "error", message: "an error came" })
    if (this.#fault === "staleGoesOn" && message.type === "welcome")
      message = {
        ...message,
        inHand: message.inHand.map((each) => ({
          ...each,
          verdict: each.verdict === "stale" ? "keep" : each.verdict,
        })),
      }
    this.#step({ kind: "message", connection, message })
  }

  #send(given: Message): void {
    let message = given
    if (message.type === "heartbeat" && this.#fault === "noBeats") return
    if (message.type === "log" && this.#fault === "repeatsIds") message = { ...message, id: "log" }
    if (this.#fault === "retriesPayload" && message.type === "failure" && message.error.kind === "payload")
      message = { ...message, retryable: true }
    if (message.type === "result" || message.type === "failure") {
      const key = keyOf(message)
      if (this.#fault === "neverResends" && this.#state.connection === 1 && this.#sent.has(key)) return
      this.#sent.add(key)
    }
    if (this.#fault === "roundsTokens" && "token" in message && message.token === Number.MAX_SAFE_INTEGER)
      message = { ...message, token: message.token - 1 } as Message
    if (this.#fault === "lateStart" && message.type === "ack" && message.acks[0]?.result === "started") {
      const { run } = message.acks[0]
      const job = this.#jobs.get(run)
      if (job === "kit.log") return void this.#late.push(JSON.stringify(message))
    }
    this.#write(message)
    if (message.type === "result") for (const late of this.#late.splice(0)) this.#connection?.send(late)
  }

  readonly #jobs = new Map<string, string>()

  #write(message: Message): void {
    this.#connection?.send(JSON.stringify(message))
  }

  #stop(key: string, reason: StopReason): void {
    if (this.#fault === "ignoresCancel" && reason === "cancelled") return
    if (this.#fault === "goesOnAfterGrace" && reason === "leaseLost") return
    this.#stops.get(key)?.(reason)
  }

  async #begin(assign: Assign): Promise<void> {
    const key = keyOf(assign)
    let told: StopReason | null = null
    let timer: ReturnType<typeof setTimeout> | undefined
    const stopped = new Promise<never>((_, reject) => {
      const stop = (reason: StopReason): void => {
        told = reason
        reject(new Stop(reason))
      }
      this.#stops.set(key, stop)
      if (assign.timeoutMillis !== null && assign.timeoutMillis < 2 ** 31 && this.#fault !== "ignoresTimeout")
        timer = setTimeout(stop, assign.timeoutMillis, "timeout")
    })
    stopped.catch(() => undefined)
    let outcome: Outcome
    try {
      outcome = this.#encode(await this.#run(assign, stopped))
    } catch (error) {
      const cancelled = told === "timeout" ? "timeout" : "cancelled"
      const kind = error instanceof Stop ? cancelled : "error"
      const { message, retryable = true } = error as Error & { readonly retryable?: boolean }
      outcome = {
        kind: "failed",
        error: { name: "Error", message, kind },
        retryable,
        retryAfterMillis: null,
      }
    }
    clearTimeout(timer)
    this.#stops.delete(key)
    this.#step({ kind: "ended", run: assign.run, token: assign.token, outcome })
  }

  #encode(value: unknown): Outcome {
    const encoded = encodePayload("output", value)
    return Result.isSuccess(encoded)
      ? { kind: "succeeded", output: encoded.success }
      : payloadFailure(encoded.failure.reason)
  }

  async #run(assign: Assign, stopped: Promise<never>): Promise<unknown> {
    const { job, run, attempt, token } = assign
    const input = assign.input === null ? null : JSON.parse(assign.input)
    const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
    switch (job) {
      case "kit.echo":
        return input
      case "kit.fail":
        throw Object.assign(new Error(input.message), { retryable: input.retryable })
      case "kit.sleep":
        await Promise.race([pause(input.millis), stopped])
        return undefined
      case "kit.deaf":
        await pause(input.millis)
        return undefined
      case "kit.repeat":
        return String(input.text).repeat(input.times)
      default: {
        const lines = Array.from({ length: input?.lines ?? 3 }, (_, index) => ({
          at: Date.now(),
          level: "info" as const,
          text: `line ${index + 1}`,
        }))
        const size = this.#fault === "logsEachLine" ? 1 : 100
        for (let at = 0; at < lines.length; at += size)
          this.#step({
            kind: "report",
            report: { type: "log", run, attempt, token, lines: lines.slice(at, at + size) },
          })
        this.#step({
          kind: "report",
          report: { type: "progress", run, attempt, token, percent: 50, note: "half" },
        })
        await pause(20)
        return undefined
      }
    }
  }
}
