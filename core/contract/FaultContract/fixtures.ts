// What the cases of faults are made of: a call whose outcome nobody knows, in a store beside a twin that had no fault.
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { StoreError } from "../../domain/Errors.ts"
import type { Store, StoreOperation } from "../../ports/Store.ts"
import { type Case, ContractClock, ContractTwin, ContractViolation, expectSame, expectTrue } from "../Case.ts"
import { type Fault, withFaults } from "../Faults.ts"
import { expectAlike, lookAtEnd } from "./look.ts"

/** How long the caller waits before it repeats: a store that does a thing again has another time in its rows. */
export const pauseMillis = 30

/** One operation in one situation, and what the store owes to whoever has to repeat it. */
export interface Trial<A> {
  readonly operation: StoreOperation
  /** Of the situation, where an operation has several. */
  readonly what?: string
  /** What is promised when the call was done and its answer was lost. */
  readonly promise: string
  /** Brings the situation about, and answers the call. */
  readonly prepare: Effect.Effect<
    Effect.Effect<A, StoreError, Store>,
    StoreError | ContractViolation,
    Store | ContractClock
  >
  /** How the call is repeated; absent: as it was. */
  readonly again?: Effect.Effect<A, StoreError, Store>
  /** What the repetition of a finished call is answered with, from its own answer; absent: the same. */
  readonly recorded?: (answer: A) => unknown
  /** Whose traces stay after two calls; absent: those of the `first`, and the second changes nothing. */
  readonly counts?: "first" | "last"
}

/** Both cases of an operation: done and reported as failed, and failed before it was done. */
export const trial = <A>(of: Trial<A>): ReadonlyArray<Case> => {
  const subject = `${of.operation} > ${of.what === undefined ? "" : `${of.what}, `}`
  return [
    { name: `${subject}done and reported as failed, then repeated: ${of.promise}`, run: tried(of, "after") },
    {
      name: `${subject}failed before it was done, then repeated: it is done once, and answered as ever`,
      run: tried(of, "before"),
    },
  ]
}

const tried = <A>(of: Trial<A>, fails: "before" | "after"): Case["run"] =>
  Effect.gen(function* () {
    const clock = yield* ContractClock
    const wait = Effect.sync(() => clock.advance(pauseMillis))
    const isDoneAtOnce = fails === "after" && of.counts !== "last"
    const twin = yield* inTwin(
      Effect.gen(function* () {
        const call = yield* of.prepare
        if (!isDoneAtOnce) yield* wait
        const answer = yield* call
        if (isDoneAtOnce) yield* wait
        return { answer, seen: yield* lookAtEnd }
      }),
    )
    const call = yield* of.prepare
    yield* unheard(of.operation, call, fails)
    yield* wait
    const answer = yield* of.again ?? call
    const { recorded = (same: A): unknown => same } = of
    yield* expectSame("answer", answer, fails === "after" ? recorded(twin.answer) : twin.answer)
    yield* expectAlike(yield* lookAtEnd, twin.seen)
  })

/** Does it in the twin, from now on; afterwards the clock stands as before. */
export const inTwin = <A, E>(
  effect: Effect.Effect<A, E, Store | ContractClock>,
): Effect.Effect<A, unknown, ContractClock | ContractTwin> =>
  Effect.gen(function* () {
    const clock = yield* ContractClock
    const from = clock.now()
    const answer = yield* Effect.provide(effect, yield* (yield* ContractTwin).store)
    clock.set(from)
    return answer
  })

/** Makes the call, and fails unless the caller is told that its outcome is unknown. */
export const unheard = <A>(
  operation: StoreOperation,
  call: Effect.Effect<A, StoreError, Store>,
  fails: NonNullable<Fault["fails"]> = "after",
): Effect.Effect<void, ContractViolation, Store> =>
  Effect.contextWith((store: Context.Context<Store>) => {
    const faulty = withFaults(store, (called) => (called === operation ? { fails } : null))
    return Effect.provide(call, faulty)
  }).pipe(
    Effect.flip,
    Effect.mapError((actual) => new ContractViolation({ what: operation, expected: "a failure", actual })),
    Effect.flatMap((error) => expectTrue("the outcome is unknown", error.outcomeUnknown)),
  )
