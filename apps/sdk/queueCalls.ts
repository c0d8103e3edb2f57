// What people ask of the queues of a store, and a server of its engine: to let one rest, to go on, to look at what was
// asked elsewhere.
import type * as Effect from "effect/Effect"
import type { OrderCalls } from "../../core/engine/Orders.ts"
import type { PausedQueue } from "../../core/run/PausedQueues.ts"

/** What can be asked of queues. */
export interface QueueCalls {
  /**
   * Lets nothing of a queue start any more, whichever node or worker asks: here at once, elsewhere within two seconds. What
   * runs goes on, as does what a worker has fetched in advance, and what waits stays ready; its `startWithin` goes on to count. `note`: why, at most 512 characters;
   * `by`: who. The queue need not be one of this config. At most 1,000 are paused at once.
   */
  readonly pauseQueue: (queue: string, note?: string | null, by?: string | null) => Promise<PausedQueue>
  /** Lets it go on, here at once; answers whether it was paused. */
  readonly resumeQueue: (queue: string) => Promise<boolean>
  /** Whether this engine's node takes nothing new, as somebody has asked for it. */
  readonly isDraining: () => boolean
  /** Reads now what is asked of this engine's node by records of the store, which it does every 1.5 s in any case. */
  readonly readOrders: () => Promise<void>
}

/** Over a running engine. */
export const makeQueueCalls = (
  core: OrderCalls,
  perform: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
): QueueCalls => ({
  pauseQueue: (queue, note = null, by = null) => perform(core.pauseQueue(queue, note, by)),
  resumeQueue: (queue) => perform(core.resumeQueue(queue)),
  isDraining: core.isDraining,
  readOrders: () => perform(core.readOrders),
})
