// What the desk has to tell the store and to ask it beside claims and outcomes: that attempts have begun, which of them
// are still ours, what became of those whose worker vanished, and which workers are here.
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import { supervise } from "../observe/Supervisor.ts"
import { NodeStore, RunStore } from "../ports/Store.ts"
import type { Outcome } from "../domain/Outcome.ts"
import type { Attempt, Attempts } from "./Attempts.ts"

/** Looks after the attempts that workers have. */
export interface LookAfter {
  /** Its handler was called: the store is to know. */
  readonly started: (attempt: Attempt) => void
  /** Its worker is gone with it: how it ends if it is still ours. */
  readonly lost: (attempt: Attempt, outcome: Outcome) => void
  /** Asks now which attempts are still ours. */
  readonly check: () => void
  /** The workers are others, or different. */
  readonly changed: () => void
  /** Keeps what the store knows of the workers up to date. */
  readonly report: (text: () => string) => Effect.Effect<void, never, Scope.Scope>
}

// Rows in one call, the least time between two reports, and after how long a report is repeated.
const chunkMax = 1000
const reportEveryMillis = 1000
const repeatMillis = 5_000

/** Starts it; it stops with the scope. */
export const makeLookAfter = (options: {
  readonly attempts: Attempts
  readonly node: () => string
  readonly pollMillis: number
  /** Its run was cancelled, or is another's. */
  readonly onGone: (attempt: Attempt) => void
  /** It is still ours, and its worker is gone. */
  readonly onLost: (attempt: Attempt, outcome: Outcome) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<LookAfter, never, Scope.Scope | RunStore | NodeStore> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const nodes = yield* NodeStore
    const { attempts } = options
    const begun = new Set<Attempt>()
    const gone = new Map<Attempt, Outcome>()
    const someBegun = Latch.makeUnsafe(false)
    const someGone = Latch.makeUnsafe(false)
    const unsure = Latch.makeUnsafe(false)
    const dirty = Latch.makeUnsafe(true)

    const held = ({ run }: Attempt) => ({ id: run.id, token: run.token })
    const takeSome = <A>(from: { readonly keys: () => Iterable<A> }): ReadonlyArray<A> =>
      [...from.keys()].slice(0, chunkMax)

    const tellStarted = Effect.gen(function* () {
      yield* someBegun.await
      // The others of this turn go with it, and what has ended meanwhile need not be told.
      yield* Effect.yieldNow
      someBegun.closeUnsafe()
      for (const attempt of begun) if (attempt.settling) begun.delete(attempt)
      while (begun.size > 0) {
        const some = takeSome(begun)
        const answers = yield* store.started(some.map(held))
        some.forEach((attempt, index) => {
          begun.delete(attempt)
          if (answers[index] !== true) options.onGone(attempt)
        })
      }
    })
    /** Another node may have adopted it with its worker: then it is not lost, and not ours. */
    const lookForLost = Effect.gen(function* () {
      yield* someGone.await
      yield* Effect.yieldNow
      someGone.closeUnsafe()
      while (gone.size > 0) {
        const some = takeSome(gone)
        const rows = new Map((yield* store.get(some.map(({ run }) => run.id))).map((row) => [row.id, row]))
        for (const attempt of some) {
          const outcome = gone.get(attempt)
          gone.delete(attempt)
          const row = rows.get(attempt.run.id)
          const isOurs = row?.token === attempt.run.token && row.node === options.node()
          // Its worker has come again with it meanwhile, and has a new seat.
          if (attempts.of(attempt.run) !== attempt) continue
          if (outcome !== undefined && row?.state === "running" && isOurs) options.onLost(attempt, outcome)
          else attempts.remove(attempt)
        }
      }
    })
    const watch = Effect.gen(function* () {
      yield* Effect.raceFirst(unsure.await, Effect.sleep(options.pollMillis))
      unsure.closeUnsafe()
      const all = [...attempts.values()].filter(({ told, settling }) => !told && !settling)
      const areBegun = all.filter(({ startedAt }) => startedAt !== null)
      for (let from = 0; from < areBegun.length; from += chunkMax) {
        const some = areBegun.slice(from, from + chunkMax)
        const answers = yield* store.started(some.map(held))
        some.forEach((attempt, index) => (answers[index] === true ? undefined : options.onGone(attempt)))
      }
      // To say of the others that they have begun would cost an attempt when their worker is lost.
      const others = all.filter(({ startedAt }) => startedAt === null)
      for (let from = 0; from < others.length; from += chunkMax) {
        const some = others.slice(from, from + chunkMax)
        const rows = new Map((yield* store.get(some.map(({ run }) => run.id))).map((row) => [row.id, row]))
        for (const attempt of some) {
          const row = rows.get(attempt.run.id)
          if (row?.state !== "running" || row.token !== attempt.run.token) options.onGone(attempt)
        }
      }
    })
    const again = (doing: string, effect: Effect.Effect<void, StoreError>, latch: Latch.Latch) =>
      Effect.catch(effect, (error) =>
        Effect.andThen(
          Effect.sync(() => {
            options.onTrouble(doing, error)
            latch.openUnsafe()
          }),
          Effect.sleep(100),
        ),
      )
    yield* supervise("starts at workers", again("acknowledge starts", tellStarted, someBegun))
    yield* supervise("lost attempts", again("give up lost attempts", lookForLost, someGone))
    yield* supervise(
      "watch over attempts at workers",
      Effect.catch(watch, (error) => Effect.sync(() => options.onTrouble("look after workers' runs", error))),
    )
    return {
      started: (attempt) => {
        begun.add(attempt)
        someBegun.openUnsafe()
      },
      lost: (attempt, outcome) => {
        if (!gone.has(attempt)) gone.set(attempt, outcome)
        someGone.openUnsafe()
      },
      check: () => void unsure.openUnsafe(),
      changed: () => void dirty.openUnsafe(),
      report: (text) =>
        supervise(
          "report of workers",
          Effect.gen(function* () {
            yield* Effect.raceFirst(dirty.await, Effect.sleep(repeatMillis))
            dirty.closeUnsafe()
            const isKept = yield* Effect.catch(nodes.reportWorkers(options.node(), text()), (error) =>
              Effect.as(
                Effect.sync(() => options.onTrouble("tell of the workers", error)),
                true,
              ),
            )
            // The node lost its lease, and is not there again yet.
            if (!isKept) dirty.openUnsafe()
            yield* Effect.sleep(reportEveryMillis)
          }),
        ),
    }
  })
