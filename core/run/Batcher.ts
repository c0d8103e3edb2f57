// Group commit: what many callers want in the same turn of the event loop becomes one call to the store, so a
// disk is waited for once and not once a caller. Order is kept; memory is bounded by `waitingMax`.
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { supervise } from "../observe/Supervisor.ts"

/** Collects items and hands them on in batches. */
export interface Batcher<Item, Answer, E> {
  /** Adds an item, whose answer or error `done` gets; `false` when too many wait, then nothing was added. */
  readonly add: (item: Item, done: (answer: Result.Result<Answer, E>) => void) => boolean
  /** Waits until everything added before has its answer. */
  readonly flushed: Effect.Effect<void>
}

interface Waiting<Item, Answer, E> {
  readonly item: Item
  readonly done: (answer: Result.Result<Answer, E>) => void
}

/**
 * Starts a batcher, which stops with the scope. `sizeOf` says how much of `batchMax` an item takes. When
 * `write` fails for a batch it is asked again for each item alone, so one item that cannot be done takes no
 * other with it; therefore `write` must be safe to repeat.
 */
export const makeBatcher = <Item, Answer, E>(options: {
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Answer>, E>
  readonly sizeOf: (item: Item) => number
  readonly batchMax: number
  readonly waitingMax: number
}): Effect.Effect<Batcher<Item, Answer, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let waiting: Array<Waiting<Item, Answer, E>> = []
    let busy = false
    const some = Latch.makeUnsafe(false)
    const none = Latch.makeUnsafe(true)

    const take = (): Array<Waiting<Item, Answer, E>> => {
      let size = 0
      let count = 0
      for (const { item } of waiting) {
        size += options.sizeOf(item)
        if (count > 0 && size > options.batchMax) break
        count++
      }
      const batch = waiting.slice(0, count)
      waiting = waiting.slice(count)
      return batch
    }
    const writeAll = (batch: ReadonlyArray<Waiting<Item, Answer, E>>): Effect.Effect<void> =>
      Effect.matchEffect(options.write(batch.map(({ item }) => item)), {
        onSuccess: (answers) =>
          Effect.sync(() =>
            batch.forEach(({ done }, index) => done(Result.succeed(answers[index] as Answer))),
          ),
        onFailure: (error) =>
          batch.length === 1
            ? Effect.sync(() => batch[0]?.done(Result.fail(error)))
            : Effect.forEach(batch, (each) => writeAll([each]), { discard: true }),
      })
    const loop = Effect.gen(function* () {
      while (true) {
        yield* some.await
        // The others of this turn of the event loop come in before the batch is closed.
        yield* Effect.yieldNow
        busy = true
        while (waiting.length > 0) yield* writeAll(take())
        busy = false
        some.closeUnsafe()
        none.openUnsafe()
      }
    })
    yield* supervise("batcher", loop)

    return {
      add: (item, done) => {
        if (waiting.length >= options.waitingMax) return false
        waiting.push({ item, done })
        none.closeUnsafe()
        some.openUnsafe()
        return true
      },
      flushed: Effect.suspend(() => (waiting.length === 0 && !busy ? Effect.void : none.await)),
    }
  })
