// What a worker and a room, a thread or process in which handlers run, say to each other. Plain data, as JSON carries it.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Assignment, StopReason } from "../../core/ports/Executor.ts"
import type { Said } from "./Place.ts"

/** An assignment without its map. */
export type Told = Omit<Assignment, "needs"> & {
  readonly needs: ReadonlyArray<readonly [job: string, output: string | null]>
}

/** To a room, which does one attempt at a time. */
export type ToRoom =
  | { readonly kind: "start"; readonly assignment: Told }
  | { readonly kind: "stop"; readonly reason: StopReason }
  /** It ends by itself. */
  | { readonly kind: "close" }

/** Of a room. */
export type FromRoom =
  /** It has loaded the config. */
  | { readonly kind: "ready" }
  /** It cannot load it, and ends. */
  | { readonly kind: "broken"; readonly error: string }
  | {
      readonly kind: "ended"
      readonly run: string
      readonly token: number
      readonly outcome: Outcome
    }
  | Said
