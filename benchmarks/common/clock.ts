// The host's clock at another time of day: it runs as the host's does, sleeps are real, and it can be set. For what
// happens at an instant and is not to be waited for.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A clock that can be set. */
export interface MovedClock {
  readonly now: () => number
  /** From now on it shows this instant, and goes on from there. */
  readonly moveTo: (instant: number) => void
  /** As an engine takes it. */
  readonly context: Context.Context<never>
}

/** A clock that shows `instant` now. */
export const movedClock = (instant: number): MovedClock => {
  let offset = instant - Date.now()
  const now = (): number => Date.now() + offset
  const nanos = (): bigint => BigInt(now()) * 1_000_000n
  const host = Effect.runSync(Clock.clockWith((clock) => Effect.succeed(clock)))
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => host.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: host.monotonicTimeNanos,
    sleep: (duration) => host.sleep(duration),
  }
  return {
    now,
    moveTo: (target) => {
      offset = target - Date.now()
    },
    context: Context.make(Clock.Clock, clock),
  }
}
