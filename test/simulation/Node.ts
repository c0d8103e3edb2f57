// A node of a simulation: the real engine in a lane of its own, started, crashed, frozen, drained and started again.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { Engine, type EngineService } from "../../core/engine/Engine.ts"
import type { Calendar } from "../../core/domain/Calendar.ts"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { Executor } from "../../core/ports/Executor.ts"
import { type Hint, Notifier } from "../../core/ports/Notifier.ts"
import type { Store } from "../../core/ports/Store.ts"
import type { WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import { book } from "./Handlers.ts"
import type { Swarm } from "./Swarm.ts"
import type { Lane } from "./World.ts"

/** What a life of a node needs. */
export interface Life {
  readonly lane: Lane
  readonly swarm: Swarm
  readonly store: Context.Context<Store>
  readonly executor: Executor["Service"]
  readonly notifier: Notifier["Service"]
  readonly schedules: ReadonlyArray<NewSchedule>
  readonly calendars: ReadonlyArray<Calendar>
  readonly workers: WorkersConfig | null
  readonly onEvent: (event: EngineEvent) => void
  readonly onReady: (engine: EngineService) => void
  /** It could not start, or has ended after `stop`. */
  readonly onEnd: (problem: string | null) => void
}

/** Starts an engine; the answer ends it as a program does that closes its scope. */
export const live = (life: Life): (() => void) => {
  const { lane, swarm } = life
  const layer = Engine.layer({
    book,
    schedules: life.schedules,
    calendars: life.calendars,
    slots: swarm.slots,
    leaseMillis: swarm.leaseMillis,
    pollMillis: swarm.pollMillis,
    shareFrom: swarm.shareFrom,
    retentionMillis: null,
    identity: { host: lane.name, pid: 1, runtime: "simulation" },
    ...(life.workers === null ? {} : { workers: life.workers }),
    onEvent: life.onEvent,
  }).pipe(
    Layer.provide(Layer.succeed(Executor, life.executor)),
    Layer.provide(Layer.succeed(Notifier, life.notifier)),
    Layer.provide(Layer.succeedContext(life.store)),
  )
  const fiber = Effect.runForkWith(lane.context)(
    Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(layer)
        life.onReady(Context.get(context, Engine))
        return yield* Effect.never
      }),
    ),
  )
  fiber.addObserver((exit) => {
    const isAsked = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
    life.onEnd(isAsked || Exit.isSuccess(exit) ? null : String(exit.cause))
  })
  return () => fiber.interruptUnsafe()
}

/** Carries a hint to a listener of this lane. */
export type Carry = (from: Lane, to: Lane, arrive: () => void) => void

/** Hints between nodes. */
export class HintBus {
  readonly #listeners = new Map<Lane, Set<(hint: Hint) => void>>()
  readonly #carry: Carry

  constructor(carry: Carry) {
    this.#carry = carry
  }

  /** The notifier of a node. */
  of(lane: Lane): Notifier["Service"] {
    return {
      publish: (hint) => {
        for (const [to, listeners] of this.#listeners) {
          if (to.isDead) this.#listeners.delete(to)
          else this.#carry(lane, to, () => listeners.forEach((listener) => listener(hint)))
        }
      },
      subscribe: (listener) => {
        const own = this.#listeners.get(lane) ?? new Set()
        this.#listeners.set(lane, own)
        own.add(listener)
        return () => own.delete(listener)
      },
    }
  }
}
