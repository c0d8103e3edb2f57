// What a check of an invariant has to go by. Safety is looked at with each call that reaches the store, liveness while
// and after everything comes to its end.
import type { Call, Ground } from "../Ground.ts"
import type { Hears, Seat } from "../Fleet.ts"
import type { Swarm } from "../Swarm.ts"
import type { Watch } from "../Watch.ts"
import type { HearsWorkers, Post } from "../Workers.ts"
import type { World } from "../World.ts"

/** The simulation as checks see it. */
export interface Scene {
  readonly world: World
  readonly swarm: Swarm
  readonly ground: Ground
  readonly watch: Watch
  /** Faults happen still. */
  readonly isStormy: () => boolean
  /** Where nodes run. */
  readonly seats: () => ReadonlyArray<Seat>
  /** Where workers are. */
  readonly posts: () => ReadonlyArray<Post>
}

/** One group of checks. */
export interface Check extends Partial<Hears>, Partial<HearsWorkers> {
  /** After each call that the store carried out, or refused: then there is no answer. */
  readonly saw?: (call: Call, answer: unknown, refusal: unknown) => void
  /** Once a second, in the storm as well. */
  readonly everySecond?: () => void
  /** Once a second while everything comes to its end. */
  readonly tick?: () => void
  /** When everything must have come to its end. */
  readonly end?: () => void
}
