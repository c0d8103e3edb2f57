// Conversations as data: what happens to each side, what each side then does, and every frame between them, in order.
// `record` lets the two machines speak; a transcript in `transcripts/` is right while recording its own stimuli gives
// it again. Whoever tests a worker of their own plays the server's lines and compares the worker's.
import * as Result from "effect/Result"
import { decode, encode } from "./Codec.ts"
import { admit } from "./Greeting.ts"
import type { Message, Side } from "./Message.ts"
import { openServer } from "./ServerOpen.ts"
import { stepServer } from "./ServerSession.ts"
import type { Moment, ServerEffect, ServerEvent, ServerState } from "./ServerState.ts"
import type { Verdict } from "./Shapes.ts"
import { defaultTerms } from "./Terms.ts"
import { stepWorker } from "./WorkerSession.ts"
import {
  type Introduction,
  makeWorker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
} from "./WorkerState.ts"

/** What happens from outside; `at` is in milliseconds from the begin. */
export type Stimulus =
  | { readonly at: number; readonly to: "worker"; readonly event: WorkerEvent }
  | { readonly at: number; readonly to: "server"; readonly event: ServerEvent }
  /** `cut`: both sides notice that the connection is gone. `lose`: frames vanish from now on. `carry`: no more. */
  | { readonly at: number; readonly network: "cut" | "lose" | "carry" }
  /** The latest frame of this side arrives once more. */
  | { readonly at: number; readonly repeat: Side }
  /** This text arrives, which no machine of ours would send. */
  | { readonly at: number; readonly raw: string; readonly from: Side }
  /** The store's word for the next session about attempts that the worker has from before. */
  | { readonly at: number; readonly verdicts: ReadonlyArray<Verdict> }

/** What follows: a frame, or anything else that a side does. */
export type Consequence =
  | { readonly at: number; readonly from: Side; readonly frame: Message; readonly lost?: true }
  | { readonly at: number; readonly by: Side; readonly does: Readonly<Record<string, unknown>> }

export type Line = Stimulus | Consequence

/** A conversation. */
export interface Transcript {
  readonly name: string
  /** What it shows. */
  readonly about: string
  readonly worker: Introduction
  readonly lines: ReadonlyArray<Line>
}

/** Where time begins in every transcript, in epoch milliseconds. */
export const beginAt = 1_790_000_000_000

const isStimulus = (line: Line): line is Stimulus => !("frame" in line) && !("does" in line)

/** Lets the machines speak, moved by the stimuli. */
export const record = (given: Omit<Transcript, "lines">, stimuli: ReadonlyArray<Stimulus>): Transcript => {
  const recorder = new Recorder(given.worker)
  for (const stimulus of stimuli) recorder.take(stimulus)
  return { ...given, lines: recorder.lines }
}

/** Records the stimuli of a transcript again: the outcome is equal to it as long as the machines do what it says. */
export const replay = (transcript: Transcript): Transcript => {
  const { lines, ...given } = transcript
  return record(given, lines.filter(isStimulus))
}

class Recorder {
  readonly lines: Array<Line> = []
  readonly worker: WorkerState
  server: ServerState | undefined
  at = 0
  sessions = 0
  loses = false
  verdicts: ReadonlyArray<Verdict> = []
  readonly latest = new Map<Side, string>()

  constructor(who: Introduction) {
    this.worker = makeWorker(who, this.moment())
  }

  moment(): Moment {
    return { now: this.at, at: beginAt + this.at, random: 0.5 }
  }

  take(stimulus: Stimulus): void {
    this.at = stimulus.at
    this.lines.push(stimulus)
    if ("network" in stimulus) {
      this.loses = stimulus.network === "lose"
      if (stimulus.network !== "cut") return
      const { connection } = this.worker
      this.toServer({ kind: "closed", connection })
      this.toWorker({ kind: "closed", connection, code: 1006 })
    } else if ("repeat" in stimulus) this.arrives(stimulus.repeat, this.latest.get(stimulus.repeat) ?? "")
    else if ("raw" in stimulus) this.arrives(stimulus.from, stimulus.raw)
    else if ("verdicts" in stimulus) this.verdicts = stimulus.verdicts
    else if (stimulus.to === "worker") this.toWorker(stimulus.event)
    else this.toServer(stimulus.event)
  }

  toWorker(event: WorkerEvent): void {
    this.follow("worker", stepWorker(this.worker, event, this.moment()))
  }

  toServer(event: ServerEvent): void {
    if (this.server !== undefined) this.follow("server", stepServer(this.server, event, this.moment()))
  }

  follow(by: Side, effects: ReadonlyArray<ServerEffect | WorkerEffect>): void {
    // All that a side does at once is written down before the other one answers.
    const arriving: Array<() => void> = []
    const { at } = this
    for (const effect of effects) {
      if (effect.kind === "send") {
        const frame = Result.getOrThrow(encode(effect.message))
        this.latest.set(by, frame)
        this.lines.push({
          at,
          from: by,
          frame: effect.message,
          ...(this.loses ? { lost: true as const } : {}),
        })
        if (!this.loses) arriving.push(() => this.arrives(by, frame))
        continue
      }
      const { ...does } = effect
      this.lines.push({ at, by, does })
      if (effect.kind === "connect") {
        const { connection } = effect
        arriving.push(() => this.toWorker({ kind: "opened", connection }))
      } else if (effect.kind === "close" && !this.loses) {
        const { connection, code } = effect
        arriving.push(() =>
          by === "server"
            ? this.toWorker({ kind: "closed", connection, code })
            : this.toServer({ kind: "closed", connection }),
        )
      }
    }
    for (const each of arriving) each()
  }

  arrives(from: Side, frame: string): void {
    const read = decode(frame, from)
    const { connection } = this.worker
    if (Result.isFailure(read)) {
      const event = { kind: "refused", connection, refused: read.failure } as const
      if (from === "worker") this.toServer(event)
      else this.toWorker(event)
    } else if (from === "server") this.toWorker({ kind: "message", connection, message: read.success })
    else if (read.success.type === "hello" && this.server?.connection !== connection) this.hello(read.success)
    else this.toServer({ kind: "message", connection, message: read.success })
  }

  hello(hello: Extract<Message, { readonly type: "hello" }>): void {
    const { connection } = this.worker
    const admitted = admit(hello, this.server)
    if (admitted === "resume") return this.toServer({ kind: "resume", connection, hello })
    if (admitted === "replace")
      this.toServer({ kind: "end", close: "replaced", reason: "a newer process has the name" })
    const session = `S${++this.sessions}`
    const terms = defaultTerms("n1")
    const opened = openServer({ terms, session, connection, hello, verdicts: this.verdicts }, this.moment())
    this.server = opened.state
    this.follow("server", opened.effects)
  }
}
