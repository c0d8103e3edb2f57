// The wheel's view of the near future: the due times of the waiting runs of the next minute, so that each starts
// in its millisecond while memory stays bounded, however many runs wait in the store. The wheel is a cache:
// it holds instants and no runs, and an instant too many costs one look at the store.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import { supervise } from "../observe/Supervisor.ts"
import { RunStore } from "../ports/Store.ts"
import { makeTicker } from "./Ticker.ts"

/** Wakes somebody when waiting runs become due. */
export interface Horizon {
  /** A run was stored that is due at this instant. */
  readonly add: (dueAt: number) => void
  /** How many instants the wheel holds. */
  readonly size: () => number
}

/** How far ahead instants are loaded at least, in milliseconds. */
export const windowMillis = 60_000
/** Instants in one load; with more waiting, the window is shorter. */
export const loadMax = 20_000
// After a load that failed.
const retryMillis = 1000

/**
 * Starts a horizon that calls `wake` when something is due; it stops with the scope. It loads twice a window, so an
 * engine that polls less often than that, as in virtual time, gets a longer one.
 */
export const makeHorizon = (
  wake: () => void,
  onError: (error: StoreError) => Effect.Effect<void>,
  pollMillis = 0,
): Effect.Effect<Horizon, never, Scope.Scope | RunStore> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const spanMillis = Math.max(windowMillis, 2 * pollMillis)
    // Everything due up to here is in the wheel or was added by a hint.
    let loadedUntil = 0
    // A load that is under way may have read the store before a hint's run was there.
    let loadingUntil = 0
    const ticker = yield* makeTicker({ now, visit: wake })

    const load = Effect.gen(function* () {
      // What is due already is not for the wheel: the dispatcher takes it as slots become free.
      const from = Math.max(now(), loadedUntil)
      const until = now() + spanMillis
      loadingUntil = until
      const instants = yield* store.dueWithin(from, until, loadMax)
      // With a full page, what lies behind its last instant was not seen.
      loadedUntil = instants.length < loadMax ? until : (instants[instants.length - 1] as number)
      loadingUntil = 0
      for (const instant of instants) ticker.schedule(instant, 0)
      return Math.min(spanMillis / 2, Math.max(1, loadedUntil - now()))
    })
    const loop = Effect.gen(function* () {
      while (true) {
        const wait = yield* Effect.catch(load, (error) => Effect.as(onError(error), retryMillis))
        yield* Effect.sleep(wait)
      }
    })
    yield* supervise("horizon", loop)

    return {
      add: (dueAt) => {
        if (dueAt <= Math.max(loadedUntil, loadingUntil)) ticker.schedule(dueAt, 0)
      },
      size: ticker.size,
    }
  })
