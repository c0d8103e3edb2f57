// One process of a worker: the protocol's own machine, and handlers that take as long and end as the seed says. It ends
// when it was told to, when its server wants it no more, or when it is killed.
import * as Result from "effect/Result"
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { StopReason } from "../../core/ports/Executor.ts"
import { decode, encode, joinAcks } from "../../core/protocol/Codec.ts"
import { frameBytesMax } from "../../core/protocol/Limits.ts"
import type { Assign, Message } from "../../core/protocol/Message.ts"
import type { Moment } from "../../core/protocol/ServerState.ts"
import { type AttemptKey, keyOf } from "../../core/protocol/Shapes.ts"
import { stepWorker } from "../../core/protocol/WorkerSession.ts"
import {
  makeWorker,
  runningOf,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
  workerWakeAt,
} from "../../core/protocol/WorkerState.ts"
import type { Member } from "./Crew.ts"
import { type Act, type Attempt, stopped } from "./Handlers.ts"
import type { End } from "./Line.ts"
import { hashed } from "./Random.ts"
import type { Lane, World } from "./World.ts"

/** What a process is told. */
export interface WorkerOptions {
  readonly world: World
  readonly lane: Lane
  readonly member: Member
  readonly incarnation: string
  readonly seed: number
  readonly actOf: (run: Attempt) => Act
  /** Opens a connection to some node. */
  readonly connect: (process: Worker) => End
  readonly hears: {
    readonly begins: (process: Worker, assign: Assign) => void
    readonly ends: (process: Worker, key: AttemptKey, outcome: Outcome) => void
    readonly acknowledged: (
      process: Worker,
      key: AttemptKey,
      result: "settled" | "stale",
      isVerdict: boolean,
    ) => void
    readonly over: (process: Worker, code: number, reason: string) => void
  }
  /** What a planted bug does in the place of a step. */
  readonly step?: (state: WorkerState, event: WorkerEvent, moment: Moment) => ReadonlyArray<WorkerEffect>
}

// A handler that does not listen goes on; the longest that anybody waits for.
const deafMillisMax = 30_000
const giveUpMillis = 1500

/** A process. */
export class Worker {
  readonly state: WorkerState
  readonly member: Member
  readonly lane: Lane
  readonly #options: WorkerOptions
  readonly #stops = new Map<string, (reason: StopReason) => void>()
  #end: End | undefined
  #takeBack: () => void = () => {}
  #isWelcomed = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.member = options.member
    this.lane = options.lane
    this.state = makeWorker({ ...options.member.who, incarnation: options.incarnation }, this.#moment())
    this.step({ kind: "tick" })
  }

  get name(): string {
    return this.member.who.worker
  }

  /** Handlers that run, those for nobody included. */
  get running(): number {
    return runningOf(this.state)
  }

  /** Nothing is in hand, and no handler runs. */
  get isIdle(): boolean {
    return this.state.hand.size === 0 && this.running === 0
  }

  step(event: WorkerEvent): void {
    const { step = stepWorker } = this.#options
    this.#isWelcomed = event.kind === "message" && event.message.type === "welcome"
    const messages: Array<Message> = []
    const effects = step(this.state, event, this.#moment())
    for (const effect of effects) if (effect.kind === "send") messages.push(effect.message)
    for (const message of joinAcks(messages)) this.#send(message)
    for (const effect of effects) this.#carryOut(effect)
    this.#takeBack()
    this.#takeBack = this.lane.after(workerWakeAt(this.state) - this.#moment().now, () =>
      this.step({ kind: "tick" }),
    )
  }

  #moment(): Moment {
    const { world, lane } = this.#options
    return { now: world.elapsed, at: Math.floor(lane.now()), random: world.random.next() }
  }

  #send(message: Message): void {
    const { boast } = this.member
    const told =
      message.type === "hello"
        ? { ...message, jobs: [...message.jobs, ...boast.jobs], slots: message.slots + boast.slots }
        : message
    const frame = encode(told, this.state.welcome?.frameBytesMax ?? frameBytesMax)
    if (Result.isFailure(frame))
      throw new Error(`A worker cannot say what it has to: ${frame.failure.message}`)
    this.#end?.send(frame.success)
  }

  #carryOut(effect: WorkerEffect): void {
    const { hears } = this.#options
    switch (effect.kind) {
      case "connect":
        return this.#connect(effect.connection)
      case "close":
        return this.#end?.close(effect.code, effect.reason)
      case "begin":
        return this.#begin(effect.assign)
      case "stop":
        return this.#stops.get(keyOf(effect))?.(effect.reason)
      case "acknowledged":
        return hears.acknowledged(this, effect, effect.result, this.#isWelcomed)
      case "over":
        return hears.over(this, effect.code, effect.reason)
      case "send":
    }
  }

  #connect(connection: number): void {
    const end = this.#options.connect(this)
    this.#end = end
    end.onOpen = () => this.step({ kind: "opened", connection })
    end.listeners = {
      onFrame: (frame) => {
        const read = decode(frame, "server", frameBytesMax)
        if (Result.isSuccess(read)) this.step({ kind: "message", connection, message: read.success })
        else this.step({ kind: "refused", connection, refused: read.failure })
      },
      onClose: (code) => this.step({ kind: "closed", connection, code }),
    }
  }

  #begin(assign: Assign): void {
    const { lane, hears, actOf, seed } = this.#options
    const { run, attempt, token, job } = assign
    const act = actOf({ id: run, token, job })
    const key = keyOf(assign)
    let isOver = false
    let isTold = false
    const end = (outcome: Outcome, runsOn: boolean): void => {
      if (isOver) return
      isOver = !runsOn
      if (isOver) this.#stops.delete(key)
      hears.ends(this, { run, attempt, token }, outcome)
      this.step({ kind: "ended", run, token, outcome, ...(runsOn ? { runsOn: true } : {}) })
    }
    const stop = (reason: StopReason): void => {
      if (isTold) return
      isTold = true
      const outcome: Outcome = reason === "drain" ? { kind: "released" } : stopped
      if (!act.isDeaf) lane.after(5, () => end(outcome, false))
      else if (hashed(`${run} ${token} patience`, seed) < 0.5)
        lane.after(giveUpMillis, () => end(outcome, true))
    }
    this.#stops.set(key, stop)
    lane.after(Math.min(act.millis, deafMillisMax), () => end(act.outcome, false))
    hears.begins(this, assign)
    if (hashed(`${run} ${token} tells`, seed) < 0.2)
      lane.add(() =>
        this.step({ kind: "report", report: { type: "progress", run, attempt, token, percent: 10 } }),
      )
  }
}
