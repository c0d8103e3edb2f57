// Settlement: from an attempt's outcome to the store. Decides retry or dead by the job's policy, writes outcomes
// in batches, and repeats a write until the store has answered: the token makes that harmless.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { StoreError } from "../domain/Errors.ts"
import type { JobBook } from "../domain/Job.ts"
import type { Outcome, Settled, Settlement } from "../domain/Outcome.ts"
import { defaultRetryPolicy, nextDelay } from "../domain/RetryPolicy.ts"
import type { ErrorInfo, Run } from "../domain/Run.ts"
import { RunStore } from "../ports/Store.ts"
import { makeBatcher } from "./Batcher.ts"

/** Settles outcomes. */
export interface Settler {
  /** Takes an outcome; `done` hears what became of it. */
  readonly settle: (run: Run, outcome: Outcome, done: (settled: Settled) => void) => void
  /** Waits until all taken outcomes are in the store. */
  readonly flushed: Effect.Effect<void>
}

/** The outcome under the run's token, with the retry decided. `random` is in [0, 1). */
export const decide = (book: JobBook, run: Run, outcome: Outcome, random: number): Settlement => {
  const held = { id: run.id, token: run.token }
  if (outcome.kind !== "failed" && outcome.kind !== "expanded") return { ...held, ...outcome }
  // The row's own limit counts: the policy may have changed since it was stored.
  const policy = { ...(book.jobs.get(run.job)?.retry ?? defaultRetryPolicy), attemptMax: run.attemptMax }
  if (outcome.kind === "expanded") {
    const failure = {
      attempt: run.attempt,
      error: ofSteps,
      retryable: outcome.retryable,
      retryAfterMillis: null,
    }
    const { kind, expansion } = outcome
    return { ...held, kind, expansion, retryInMillis: nextDelay(policy, failure, random) }
  }
  const { error, retryable, retryAfterMillis } = outcome
  const failure = { attempt: run.attempt, error, retryable, retryAfterMillis }
  return { ...held, kind: "failed", error, retryInMillis: nextDelay(policy, failure, random) }
}

// What the store will say when the steps of a run end badly.
const ofSteps: ErrorInfo = { name: "StepsFailed", message: "Its steps failed", kind: "error" }

/** Starts it; it stops with the scope. `onTrouble` hears of each failed write. */
export const makeSettler = (options: {
  readonly book: JobBook
  readonly random: () => number
  readonly onTrouble: (error: StoreError) => void
}): Effect.Effect<Settler, never, Scope.Scope | RunStore> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const write = (
      settlements: ReadonlyArray<Settlement>,
    ): Effect.Effect<ReadonlyArray<Settled>, StoreError> => {
      const once = Effect.tapError(store.settle(settlements), (error) =>
        Effect.sync(() => options.onTrouble(error)),
      )
      // A batch is tried once, then each of it alone (see Batcher), and that until the store answers.
      return settlements.length > 1 ? once : Effect.retry(once, untilItAnswers)
    }
    const batcher = yield* makeBatcher({
      write,
      sizeOf: () => 1,
      batchMax: 500,
      // As many as there are slots: a slot is free when its outcome is settled.
      waitingMax: Number.POSITIVE_INFINITY,
      abandoned: () =>
        new StoreError({
          driver: "any",
          operation: "settle",
          outcomeUnknown: true,
          cause: new Error("the engine ended before the store answered"),
        }),
    })
    return {
      settle: (run, outcome, done) => {
        batcher.add(decide(options.book, run, outcome, options.random()), (answer) => {
          if (Result.isSuccess(answer)) done(answer.success)
        })
      },
      flushed: batcher.flushed,
    }
  })

const untilItAnswers = Schedule.min([Schedule.exponential("20 millis"), Schedule.spaced("2 seconds")])
