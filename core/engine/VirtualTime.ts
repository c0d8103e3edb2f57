// Time that moves only when told: a clock for the whole engine, and a scheduler that finishes all work of one
// instant before the next. The real engine runs on it, so a test of a year takes moments.
import * as Context from "effect/Context"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import { FarHeap } from "../wheel/FarHeap.ts"

interface Sleeper {
  readonly wake: () => void
  /** Where it stands in the heap. */
  position: number
}

/** A clock to move by hand. */
export interface VirtualTime {
  /** The instant, in epoch milliseconds. */
  readonly now: () => number
  /** The next instant at which something wants to go on; Infinity when nothing waits. */
  readonly nextAt: () => number
  /** Moves to the instant and wakes what waits for it. Never back; what it wakes runs in microtasks. */
  readonly moveTo: (instant: number) => void
  /** Clock and scheduler as a context: provide it to everything that is to live in this time. */
  readonly context: Context.Context<never>
  /** The same for handlers: who sleeps by this one is counted in `sleeping`. */
  readonly handlerContext: Context.Context<never>
  /** How many sleep by `handlerContext`. */
  readonly sleeping: () => number
}

/** Makes a virtual time that stands at `startAt`, in epoch milliseconds. */
export const makeVirtualTime = (startAt: number): VirtualTime => {
  let now = startAt
  // A test may have ten thousand handlers asleep: each is found, and taken out, in a few steps.
  const sleepers: Array<Sleeper | undefined> = []
  const free: Array<number> = []
  const heap = new FarHeap((index, position) => {
    const sleeper = sleepers[index]
    if (sleeper !== undefined) sleeper.position = position
  })
  const add = (at: number, sleeper: Sleeper): number => {
    const index = free.pop() ?? sleepers.length
    sleepers[index] = sleeper
    heap.push(at, index)
    return index
  }
  /** Frees the place of one that is out of the heap. */
  const forget = (index: number): Sleeper | undefined => {
    const sleeper = sleepers[index]
    sleepers[index] = undefined
    free.push(index)
    return sleeper
  }
  // In one number, nanoseconds since 1970 would be off by a hundred, and timers late by a millisecond.
  const nanos = (): bigint =>
    BigInt(Math.floor(now)) * 1_000_000n + BigInt(Math.round((now - Math.floor(now)) * 1e6))
  const clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration: Duration.Duration) =>
      Effect.callback<void>((resume) => {
        if (Duration.toMillis(duration) <= 0) return resume(Effect.void)
        const sleeper = { wake: () => resume(Effect.void), position: -1 }
        const index = add(now + Duration.toMillis(duration), sleeper)
        return Effect.sync(() => {
          // Woken already: its place may be another's by now.
          if (sleepers[index] !== sleeper) return
          heap.remove(sleeper.position)
          forget(index)
        })
      }),
  }
  let sleeping = 0
  const counted = (duration: Duration.Duration) =>
    Effect.suspend(() => {
      sleeping++
      return Effect.ensuring(
        clock.sleep(duration),
        Effect.sync(() => {
          sleeping--
        }),
      )
    })
  // Microtasks: by the next turn of the host's event loop, all that could go on at this instant has.
  const scheduler = new MixedScheduler("async", (task) => {
    let cancelled = false
    void Promise.resolve().then(() => (cancelled ? undefined : task()))
    return () => {
      cancelled = true
    }
  })
  return {
    now: () => now,
    nextAt: () => heap.tickMin,
    moveTo: (instant) => {
      now = Math.max(now, instant)
      const woken: Array<Sleeper | undefined> = []
      while (heap.tickMin <= now) woken.push(forget(heap.pop()))
      for (const sleeper of woken) sleeper?.wake()
    },
    context: Context.make(Clock.Clock, clock).pipe(Context.add(Scheduler, scheduler)),
    handlerContext: Context.make(Clock.Clock, { ...clock, sleep: counted }).pipe(
      Context.add(Scheduler, scheduler),
    ),
    sleeping: () => sleeping,
  }
}
