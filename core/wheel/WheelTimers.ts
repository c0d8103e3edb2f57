// Timers over a ticker on the monotonic clock: the time-outs of all running attempts for one host timer.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Timers } from "../ports/Timers.ts"
import { makeTicker } from "./Ticker.ts"

/** Starts timers that stop with the scope. Callbacks must not throw. */
export const makeWheelTimers: Effect.Effect<Timers, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  // A monotonic clock may start anywhere, and ticks are not negative: count from here.
  const origin = clock.monotonicTimeNanosUnsafe()
  const now = () => Number(clock.monotonicTimeNanosUnsafe() - origin) / 1e6

  // The wheel carries numbers only; this table has the callback of each.
  const callbacks: Array<(() => void) | undefined> = []
  const free: Array<number> = []
  const take = (slot: number): (() => void) | undefined => {
    const callback = callbacks[slot]
    callbacks[slot] = undefined
    if (callback !== undefined) free.push(slot)
    return callback
  }
  const ticker = yield* makeTicker({ now, visit: (slot) => take(slot)?.() })
  return {
    after: (millis, callback) => {
      const slot = free.pop() ?? callbacks.length
      callbacks[slot] = callback
      const handle = ticker.schedule(now() + millis, slot)
      return () => {
        // A fired timer's slot may serve another one by now; the wheel's handle knows.
        if (ticker.cancel(handle)) take(slot)
      }
    },
  }
})
