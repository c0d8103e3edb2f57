// Planted bugs: what each puts in the place of an honest part. A simulation that does not find them proves nothing.
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EngineService } from "../../core/engine/Engine.ts"
import type { Executor } from "../../core/ports/Executor.ts"
import type { Store } from "../../core/ports/Store.ts"
import type { Ground, Spoil } from "./Ground.ts"
import type { Swarm } from "./Swarm.ts"
import type { Lane, World } from "./World.ts"

/** A part that is wrong; all that it leaves out is honest. */
export interface Bug extends Spoil {
  readonly name: string
  /** The store as a node sees it: with faults between it and the ground. */
  readonly store?: (
    honest: Context.Context<Store>,
    place: { readonly lane: Lane; readonly ground: Ground; readonly world: World },
  ) => Context.Context<Store>
  /** Whoever runs the handlers of a node's life. */
  readonly executor?: (honest: Executor["Service"], node: Lane) => Executor["Service"]
  readonly drain?: (engine: EngineService, graceMillis: number) => Effect.Effect<void>
  readonly swarm?: (swarm: Swarm) => Swarm
}

/** No bug. */
export const honest: Bug = { name: "none" }
