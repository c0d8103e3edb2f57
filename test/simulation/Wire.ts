// The way from a node to the store: each call is carried out by the store's lane, whatever becomes of the node in the
// meantime, and its answer comes back as a task of the node. Faults of the seed act on it, and so do the states of the
// world: a node that is cut off, a store that is down, a disk that is full.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { aroundCalls, type Fault, withFaults } from "../../core/contract/Faults.ts"
import type { Store, StoreOperation } from "../../core/ports/Store.ts"
import type { Random } from "./Random.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { Lane } from "./World.ts"

/** What disturbs the way to the store; the events of a simulation set and clear it. */
export interface Weather {
  /** Faults happen at all. */
  isStormy: boolean
  isStoreDown: boolean
  isDiskFull: boolean
}

/** How one node is connected. */
export interface Link {
  /** `requests`: nothing arrives; `answers`: all is done, and no answer comes. */
  cut: "requests" | "answers" | null
}

const reads: ReadonlySet<string> = new Set<StoreOperation>([
  "dueWithin",
  "carried",
  "get",
  "list",
  "counts",
  "attempts",
  "deadLetters",
  "stepInputs",
  "flowOf",
  "schedules",
  "dueSchedules",
  "nextScheduleAt",
  "occurrences",
  "calendars",
  "nodes",
  "workers",
  "credentials",
  "records",
  "now",
])

// How long a client waits for an answer that does not come.
const timeoutMillis = 3000

/** What happens to a call of this node, now. */
export const makeFaults =
  (swarm: Swarm, weather: Weather, link: Link, random: Random, { counters }: Watch) =>
  (operation: StoreOperation): Fault | null => {
    const fault = choose(operation)
    if (fault?.fails === "before") counters.failedBefore++
    if (fault?.fails === "after" && !reads.has(operation)) counters.ambiguous++
    return fault

    function choose(called: StoreOperation): Fault | null {
      if (weather.isStoreDown) return { fails: "before" }
      if (link.cut === "requests") return { fails: "before", delayMillis: timeoutMillis }
      if (link.cut === "answers") return { fails: "after", answerMillis: timeoutMillis }
      if (weather.isDiskFull && !reads.has(called)) return { fails: "before" }
      if (!weather.isStormy) return null
      const delays = random.chance(swarm.slow)
        ? {
            delayMillis: random.int(0, swarm.slowMaxMillis),
            answerMillis: random.int(0, swarm.slowMaxMillis),
          }
        : {}
      if (random.chance(swarm.failsBefore)) return { ...delays, fails: "before" }
      if (random.chance(swarm.failsAfter)) return { ...delays, fails: "after" }
      return "delayMillis" in delays ? delays : null
    }
  }

/**
 * Hears a call leave its node; the answer hears it come back, done or failed. Either may say that the node has died at
 * that moment: `null`, and nothing is sent; `false`, and nobody is there to take what came back.
 */
export type Hear = (operation: StoreOperation) => ((isDone: boolean) => boolean) | null

/** The store's services as a node of this lane has them. */
export const wired = (
  store: Context.Context<Store>,
  node: Lane,
  storeLane: Lane,
  plan: (operation: StoreOperation) => Fault | null,
  hear: Hear,
): Context.Context<Store> => {
  const run = Effect.runForkWith(storeLane.context)
  const over = <A, E>(operation: StoreOperation, call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.callback<A, E>((resume) => {
      const returned = hear(operation)
      if (returned === null) return
      const answer = (exit: Exit.Exit<A, E>): void => {
        if (returned(Exit.isSuccess(exit))) resume(exit)
      }
      const fiber = run(call)
      const exit = fiber.pollUnsafe()
      if (exit === undefined) fiber.addObserver((late) => node.add(() => answer(late)))
      else answer(exit)
    })
  return aroundCalls(withFaults(store, plan), (operation, _args, call) => over(operation, call))
}
