// The supervisor: keeps the engine's loops alive. A loop handles its own failures; what still ends one is a broken
// invariant, which is reported, never swallowed, and the loop begins anew a second later.
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Hears of loops that broke. */
export const OnBroken = Context.Reference<(loop: string, error: string) => void>("uhrwerk/core/OnBroken", {
  defaultValue: () => () => {},
})

const restartMillis = 1000

/** Runs `loop` for as long as the scope is open, and again when it breaks. */
export const supervise = <R>(
  name: string,
  loop: Effect.Effect<unknown, never, R>,
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const onBroken = yield* OnBroken
    const guarded = Effect.catchCause(loop, (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(
            Effect.sync(() => onBroken(name, Cause.pretty(cause))),
            Effect.sleep(restartMillis),
          ),
    )
    yield* Effect.forkScoped(Effect.forever(guarded))
  })
