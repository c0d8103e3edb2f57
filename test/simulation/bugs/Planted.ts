// What a planted bug is, and the small words that all of them are written with.
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "../../../core/domain/Errors.ts"
import { aroundCalls } from "../../../core/contract/Faults.ts"
import type { Store, StoreOperation } from "../../../core/ports/Store.ts"
import type { Awaitable } from "../../../core/ports/StoreDriver.ts"
import type { Bug } from "../Bug.ts"
import type { Swarm } from "../Swarm.ts"

/** A bug, and what must find it. */
export interface Planted {
  /** What is wrong, in a few words. */
  readonly name: string
  /** One of these invariants must be seen broken. */
  readonly breaks: ReadonlyArray<string>
  /** Turned on for every seed, where few seeds have it by themselves. */
  readonly swarm?: Partial<Swarm>
  /** A fresh one for each seed, as some remember things. */
  readonly make: () => Omit<Bug, "name">
}

/** The memory store answers at once; its type says that it might not. */
export const atOnce = <A>(answer: Awaitable<A>): A => answer as A

/** A store with something around the calls of one operation. */
export const around = (
  store: Context.Context<Store>,
  spoiled: StoreOperation,
  spoil: <A>(
    call: Effect.Effect<A, StoreError>,
    args: ReadonlyArray<unknown>,
  ) => Effect.Effect<A, StoreError>,
): Context.Context<Store> =>
  aroundCalls(store, (operation, args, call) => (operation === spoiled ? spoil(call, args) : call))
