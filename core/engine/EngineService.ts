// What can be asked of a running engine, as whoever holds one sees it.
import type * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import type { Events } from "../observe/Event.ts"
import type { Cancelled, Enqueued, Replayed } from "../ports/StoreDriver.ts"
import type { Enqueue, EnqueueError, RunRequest } from "../run/Enqueue.ts"
import type { Desk } from "../worker/WorkersConfig.ts"
import type { FlowOperations } from "./FlowOperations.ts"
import type { OrderCalls } from "./Orders.ts"
import type { ScheduleHands } from "./ScheduleHands.ts"

/** What can be asked of a running engine. */
export interface EngineService extends FlowOperations, ScheduleHands, OrderCalls {
  readonly events: Events
  /** Stores a run; it is acknowledged when it is in the store. */
  readonly enqueue: (request: RunRequest) => Effect.Effect<Enqueued, EnqueueError>
  readonly enqueueAll: Enqueue["enqueueAll"]
  readonly cancel: (
    ids: ReadonlyArray<string>,
    reason: string,
  ) => Effect.Effect<ReadonlyArray<Cancelled>, StoreError>
  /** Makes new runs of dead ones. */
  readonly replay: (runIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Replayed>, StoreError>
  /** A run was stored by another way than `enqueue`, due at this instant; 0: at once. */
  readonly look: (dueAt: number) => void
  /** The workers that are connected to this engine; `null`: it serves none. */
  readonly desk: Desk | null
  /** The id of this engine's node. */
  readonly node: () => string
  /** Runs whose handlers run now, and its slots. */
  readonly load: () => { readonly carried: number; readonly slots: number; readonly waitingInWheel: number }
  /**
   * Stops without loss: takes no new work, waits up to `graceMillis` for running handlers, tells the rest to stop
   * and hands their runs back, writes all outcomes, leaves. Calling it again waits for the same end.
   */
  readonly drain: (graceMillis: number) => Effect.Effect<void>
}
