// Planted bugs: what each puts in the place of an honest part. A simulation that does not find them proves nothing.
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EngineService } from "../../core/engine/Engine.ts"
import type { Executor } from "../../core/ports/Executor.ts"
import type { Store } from "../../core/ports/Store.ts"
import type { stepWorker } from "../../core/protocol/WorkerSession.ts"
import type { WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import type { Ground, Spoil } from "./Ground.ts"
import type { Direction, Line } from "./Line.ts"
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
  /** What nodes grant their workers. */
  readonly terms?: WorkersConfig["terms"]
  /** The machine of a worker's process. */
  readonly worker?: () => typeof stepWorker
  /** What becomes of a frame on its way; `null`: it goes as it is. */
  readonly frame?: (frame: string, direction: Direction, line: Line, ground: Ground) => string | null
}

/** No bug. */
export const honest: Bug = { name: "none" }
