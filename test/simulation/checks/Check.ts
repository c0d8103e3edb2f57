// What a check of an invariant has to go by. Safety is looked at with each call that reaches the store, liveness while
// and after everything comes to its end.
import type { Call, Ground } from "../Ground.ts"
import type { Swarm } from "../Swarm.ts"
import type { Watch } from "../Watch.ts"
import type { World } from "../World.ts"

/** The simulation as checks see it. */
export interface Scene {
  readonly world: World
  readonly swarm: Swarm
  readonly ground: Ground
  readonly watch: Watch
  /** Faults happen still. */
  readonly isStormy: () => boolean
}

/** One group of checks. */
export interface Check {
  /** After each call that the store carried out. */
  readonly saw?: (call: Call, answer: unknown) => void
  /** Once a second while everything comes to its end. */
  readonly tick?: () => void
  /** When everything must have come to its end. */
  readonly end?: () => void
}
