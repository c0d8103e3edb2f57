// Drives a timing wheel by a clock with a single sleep: until the next occupied slot, or for ever when the
// wheel is empty. Nothing is polled. Never early; late by what the host's timer and event loop are late.
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import { supervise } from "../observe/Supervisor.ts"
import { TimingWheel } from "./TimingWheel.ts"

/** A wheel that runs. */
export interface Ticker {
  /** Visits `payload` (an int32) at this instant of the clock; answers a handle to take it back. */
  readonly schedule: (at: number, payload: number) => number
  readonly cancel: (handle: number) => boolean
  readonly clear: () => void
  readonly size: () => number
}

// Looks at the clock at least this often: a suspended host or a stepped clock is noticed within it, and no host
// timer comes near 2^31 ms, where all runtimes fire at once.
const sleepMaxMillis = 30_000
// Entries that are visited, and that are moved within the wheel, per turn of the event loop: no burst holds it.
const turnMax = 1000
// A clock that steps back by more than this has the wheel re-filed; less is waited out.
const stepMillis = 1000

/**
 * Starts a ticker, which stops with the scope. `now` is any clock in milliseconds; `visit` must not throw.
 */
export const makeTicker = (options: {
  readonly now: () => number
  readonly visit: (payload: number) => void
}): Effect.Effect<Ticker, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = () => Math.floor(options.now())
    const wheel = new TimingWheel({ now: clock() })
    const earlier = Latch.makeUnsafe(false)
    // The instant for which the loop sleeps: only an earlier one needs to wake it.
    let wakeAt = Number.POSITIVE_INFINITY
    let visiting = false

    const followBack = (now: number): void => {
      if (now < wheel.now - stepMillis) wheel.rebase(now)
    }
    const turn = Effect.sync(() => {
      earlier.closeUnsafe()
      const now = clock()
      followBack(now)
      visiting = true
      wheel.advance(now, options.visit, turnMax, turnMax)
      visiting = false
      // What is due comes first; then, in turns, what the next block and span need, so that no burst is late for it.
      const isBusy = wheel.nextAt() <= now || wheel.prepare(turnMax) > 0
      wakeAt = wheel.nextAt()
      return isBusy ? 0 : wakeAt - now
    })
    const loop = Effect.gen(function* () {
      while (true) {
        const wait = yield* turn
        if (wait <= 0) yield* Effect.yieldNow
        else if (wait === Number.POSITIVE_INFINITY) yield* earlier.await
        else yield* Effect.raceFirst(Effect.sleep(Math.min(wait, sleepMaxMillis)), earlier.await)
      }
    })
    yield* supervise("ticker", loop)

    return {
      schedule: (at, payload) => {
        const tick = Math.max(0, Math.ceil(at))
        // Overdue, or the clock has stepped back unnoticed: then the wheel would hold it until its own now.
        if (tick < wheel.now && !visiting) followBack(clock())
        const handle = wheel.schedule(tick, payload)
        if (tick < wakeAt) {
          wakeAt = tick
          earlier.openUnsafe()
        }
        return handle
      },
      cancel: (handle) => wheel.cancel(handle),
      clear: () => wheel.clear(),
      size: () => wheel.size,
    }
  })
