// A worker for tests: the worker's own machine and codec over a connection in memory, with handlers that are functions.
// It keeps a list of all that its handlers began, and can be frozen, killed and made deaf.
import * as Result from "effect/Result"
import type { LineTime } from "../../../adapters/transport-common/Line.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import { failed } from "../../../core/domain/Outcome.ts"
import type { StopReason } from "../../../core/ports/Executor.ts"
import type { Connect, Connection } from "../../../core/ports/Transport.ts"
import { decode, encode } from "../../../core/protocol/Codec.ts"
import type { Assign } from "../../../core/protocol/Message.ts"
import { keyOf } from "../../../core/protocol/Shapes.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import {
  type Introduction,
  makeWorker,
  type WorkerEvent,
  type WorkerState,
  workerWakeAt,
} from "../../../core/protocol/WorkerState.ts"

/** A handler's hold on its attempt. */
export interface Attempt {
  readonly assign: Assign
  readonly signal: AbortSignal
  readonly report: (report: { readonly type: "progress" | "log" } & Record<string, unknown>) => void
}

/** What a test worker does for a job: an outcome, an output, or a promise of one; what it throws is a failure. */
export type TestHandler = (attempt: Attempt) => unknown

/** An outcome in the place of an output. */
export class Ends {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

/** How to make one. */
export interface TestWorkerOptions {
  readonly url: string
  readonly name?: string
  readonly incarnation?: string
  readonly handlers: Readonly<Record<string, TestHandler>>
  readonly who?: Partial<Introduction>
  readonly headers?: Readonly<Record<string, string>>
  readonly random?: () => number
}

/** One begin of a handler. */
export interface Begun {
  readonly worker: string
  readonly run: string
  readonly attempt: number
  readonly token: number
  readonly at: number
  endedAt: number | null
  stopped: StopReason | null
}

interface Surroundings {
  readonly time: LineTime
  readonly at: () => number
  readonly connect: Connect
  readonly protocol: string
}

/** The worker. */
export class TestWorker {
  readonly state: WorkerState
  readonly begun: Array<Begun> = []
  /** Attempts whose end the server acknowledged, as `result`. */
  readonly acknowledged: Array<string> = []
  over: { readonly code: number; readonly reason: string } | null = null
  /** Where it connects next. */
  url: string
  readonly #options: TestWorkerOptions
  readonly #world: Surroundings
  readonly #connections = new Map<number, Connection>()
  readonly #aborts = new Map<string, { readonly abort: AbortController; readonly begun: Begun }>()
  #takeBack: (() => void) | undefined
  #dead = false
  #frozen: Array<() => void> | null = null

  constructor(options: TestWorkerOptions, world: Surroundings) {
    this.#options = options
    this.#world = world
    this.url = options.url
    this.state = makeWorker(
      {
        worker: options.name ?? "worker",
        incarnation: options.incarnation ?? `${options.name ?? "worker"}-1`,
        runtime: "test 1",
        version: "1",
        jobs: Object.keys(options.handlers),
        slots: 1,
        prefetch: 0,
        capabilities: ["resume", "flows"],
        ...options.who,
      },
      this.#moment(),
    )
    this.step({ kind: "tick" })
  }

  /** It does nothing any more, and its connection is cut. */
  kill(): void {
    this.#dead = true
    this.#takeBack?.()
    for (const connection of this.#connections.values()) connection.terminate()
  }

  /** Stands still, as a process that was stopped: what comes waits, and so do its timers and the ends of its handlers. */
  freeze(): void {
    this.#frozen ??= []
  }

  thaw(): void {
    const waiting = this.#frozen ?? []
    this.#frozen = null
    for (const each of waiting) each()
    this.step({ kind: "tick" })
  }

  step(event: WorkerEvent): void {
    if (this.#dead) return
    if (this.#frozen !== null) return void this.#frozen.push(() => this.step(event))
    for (const effect of stepWorker(this.state, event, this.#moment())) {
      switch (effect.kind) {
        case "connect":
          this.#connect(effect.connection)
          break
        case "send":
          this.#connections.get(effect.connection)?.send(Result.getOrThrow(encode(effect.message)))
          break
        case "close":
          this.#connections.get(effect.connection)?.close(effect.code, effect.reason)
          this.#connections.delete(effect.connection)
          break
        case "begin":
          this.#begin(effect.assign)
          break
        case "stop": {
          const running = this.#aborts.get(keyOf(effect))
          if (running === undefined) break
          running.begun.stopped ??= effect.reason
          running.abort.abort(effect.reason)
          break
        }
        case "acknowledged":
          this.acknowledged.push(`${effect.run} ${effect.token} ${effect.result}`)
          break
        case "over":
          this.over = { code: effect.code, reason: effect.reason }
      }
    }
    this.#arm()
  }

  /** Runs that its handlers are at. */
  get running(): ReadonlyArray<string> {
    return [...this.#aborts.values()].map(({ begun }) => begun.run)
  }

  #connect(number: number): void {
    const { headers } = this.#options
    this.#world.connect(
      this.url,
      { protocols: [this.#world.protocol], ...(headers === undefined ? {} : { headers }) },
      {
        onFail: () => this.step({ kind: "closed", connection: number, code: 1006 }),
        onOpen: (connection) => {
          this.#connections.set(number, connection)
          this.step({ kind: "opened", connection: number })
          return {
            onFrame: (frame) => {
              const read = decode(frame, "server")
              this.step(
                Result.isSuccess(read)
                  ? { kind: "message", connection: number, message: read.success }
                  : { kind: "refused", connection: number, refused: read.failure },
              )
            },
            onClose: (code) => {
              this.#connections.delete(number)
              this.step({ kind: "closed", connection: number, code })
            },
          }
        },
      },
    )
  }

  #begin(assign: Assign): void {
    const { run, attempt, token } = assign
    const begun: Begun = {
      worker: this.state.who.worker,
      run,
      attempt,
      token,
      at: this.#world.at(),
      endedAt: null,
      stopped: null,
    }
    this.begun.push(begun)
    const abort = new AbortController()
    this.#aborts.set(keyOf(assign), { abort, begun })
    const report: Attempt["report"] = (fields) =>
      this.step({ kind: "report", report: { ...fields, run, attempt, token } as never })
    const end = (outcome: Outcome): void => {
      if (this.#dead) return
      begun.endedAt = this.#world.at()
      this.#aborts.delete(keyOf(assign))
      this.step({ kind: "ended", run, token, outcome })
    }
    void Promise.resolve()
      .then(() => this.#options.handlers[assign.job]?.({ assign, signal: abort.signal, report }))
      .then(
        (value) =>
          end(
            value instanceof Ends
              ? value.outcome
              : { kind: "succeeded", output: value === undefined ? null : JSON.stringify(value) },
          ),
        (error: unknown) =>
          end(
            abort.signal.aborted && abort.signal.reason === "drain"
              ? { kind: "released" }
              : failed({ name: "Error", message: String(error), kind: "error" }),
          ),
      )
  }

  #moment(): { readonly now: number; readonly at: number; readonly random: number } {
    return { now: this.#world.time.now(), at: this.#world.at(), random: this.#options.random?.() ?? 0.5 }
  }

  #arm(): void {
    this.#takeBack?.()
    this.#takeBack = undefined
    const wake = workerWakeAt(this.state)
    if (!Number.isFinite(wake)) return
    this.#takeBack = this.#world.time.after(Math.max(0, wake - this.#world.time.now()), () =>
      this.step({ kind: "tick" }),
    )
  }
}
