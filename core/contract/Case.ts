// The contract kit's vocabulary: a case is data (a promise and the effect that checks it), so that every test
// runner can register the same cases. A case gets a fresh store and a clock that only moves when told; it
// fails with `ContractViolation`, which says what was promised and what the store did instead.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreError } from "../domain/Errors.ts"
import type { Store } from "../ports/Store.ts"
import type { StoreCapabilities } from "../ports/StoreDriver.ts"

/** The clock of the store under test: it stands still until a case moves it. */
export class ContractClock extends Context.Service<
  ContractClock,
  {
    /** Epoch milliseconds. */
    readonly now: () => number
    readonly set: (millis: number) => void
    readonly advance: (millis: number) => void
  }
>()("uhrwerk/core/ContractClock") {}

/**
 * A second store for the case, as empty as its own and on the same clock: what happens there without a fault is what
 * must be seen in its own with one. It is opened when it is asked for.
 */
export class ContractTwin extends Context.Service<
  ContractTwin,
  { readonly store: Effect.Effect<Context.Context<Store>, unknown> }
>()("uhrwerk/core/ContractTwin") {}

/** What a case is given. */
export type CaseServices = Store | ContractClock | ContractTwin

/** One promise of a store, and how to check it. */
export interface Case {
  /** `operation > what it promises`; unique in the kit. */
  readonly name: string
  /** Fails when the promise is broken. Given a store without any row and a clock of its own. */
  readonly run: Effect.Effect<void, unknown, CaseServices>
  /** Why the case does not apply to a store that says this of itself; `null` when it does. */
  readonly skip?: (capabilities: StoreCapabilities) => string | null
}

/** A store did not do what a case promises. */
export class ContractViolation extends Schema.TaggedError<ContractViolation>()("ContractViolation", {
  /** What was looked at. */
  what: Schema.String,
  expected: Schema.Unknown,
  actual: Schema.Unknown,
}) {
  override get message(): string {
    return `${this.what}: expected ${shown(this.expected)}, got ${shown(this.actual)}`
  }
}

/** Fails unless both are the same by value: own keys of rows, in any order; elements of lists, in order. */
export const expectSame = (
  what: string,
  actual: unknown,
  expected: unknown,
): Effect.Effect<void, ContractViolation> =>
  same(actual, expected) ? Effect.void : Effect.fail(new ContractViolation({ what, expected, actual }))

/** Fails unless the row has these fields with these values; other fields are not looked at. */
export const expectFields = <A extends object>(
  what: string,
  actual: A | undefined,
  expected: Partial<A>,
): Effect.Effect<void, ContractViolation> => {
  if (actual === undefined) return Effect.fail(new ContractViolation({ what, expected, actual }))
  const seen: Record<string, unknown> = {}
  for (const key of Object.keys(expected)) seen[key] = (actual as Record<string, unknown>)[key]
  return expectSame(what, seen, expected)
}

/** Fails unless the condition holds. */
export const expectTrue = (what: string, holds: boolean): Effect.Effect<void, ContractViolation> =>
  expectSame(what, holds, true)

/**
 * Fails unless the operation is refused with a `StoreError` that says that nothing was done, so that nobody
 * repeats it for ever.
 */
export const expectRefused = <A, R>(
  what: string,
  operation: Effect.Effect<A, StoreError, R>,
): Effect.Effect<StoreError, ContractViolation, R> =>
  operation.pipe(
    Effect.flip,
    Effect.mapError((actual) => new ContractViolation({ what, expected: "a refusal", actual })),
    Effect.tap((error) => expectSame(`${what}: outcomeUnknown`, error.outcomeUnknown, false)),
  )

/** Fails unless the operation is refused with a `RangeError` whose text names the field. */
export const expectLimit = <A, R>(
  field: string,
  operation: Effect.Effect<A, StoreError, R>,
): Effect.Effect<void, ContractViolation, R> =>
  Effect.gen(function* () {
    const error = yield* expectRefused(`limit of ${field}`, operation)
    const cause = error.cause
    const named = cause instanceof RangeError && cause.message.includes(field)
    if (!named)
      return yield* new ContractViolation({
        what: "cause",
        expected: `RangeError of ${field}`,
        actual: cause,
      })
  })

// Not `Equal.equals`: rows of a database may have no prototype, and a missing key must differ from `undefined`.
const same = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  )
}

const shownMax = 600

const shown = (value: unknown): string => {
  const text =
    value instanceof Error ? `${value.name}: ${value.message}` : (JSON.stringify(value) ?? String(value))
  return text.length > shownMax ? `${text.slice(0, shownMax)}... (${text.length} characters)` : text
}
