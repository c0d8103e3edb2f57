// Group commit: what many callers want in the same turn of the event loop becomes one call to the store, so a
// disk is waited for once and not once a caller. Order is kept; memory is bounded by `waitingMax`. While more than a
// batch waits, `writersMax` writes may be under way at a time, begun in that order.
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
 * `write` fails for a batch it is asked again for each item alone (`again`), so one item that cannot be done
 * takes no other with it; therefore `write` must be safe to repeat. Whoever has no answer when the scope ends,
 * or when `write` breaks, gets the error of `abandoned`, which is told whether the item was under way: nobody waits for
 * ever. `writersMax` (default 1) bounds the writes that are under way at a time; a further one begins beside another only
 * with a full batch, or what one write could take would be torn into several.
 */
export const makeBatcher = <Item, Answer, E>(options: {
  readonly write: (items: ReadonlyArray<Item>, again: boolean) => Effect.Effect<ReadonlyArray<Answer>, E>
  readonly sizeOf: (item: Item) => number
  readonly batchMax: number
  readonly waitingMax: number
  readonly writersMax?: number
  readonly abandoned: (isUnderWay: boolean) => E
}): Effect.Effect<Batcher<Item, Answer, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let waiting: Array<Waiting<Item, Answer, E>> = []
    const underWay = new Set<ReadonlyArray<Waiting<Item, Answer, E>>>()
    let closed = false
    const some = Latch.makeUnsafe(false)
    const full = Latch.makeUnsafe(false)
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
    const writeAll = (batch: ReadonlyArray<Waiting<Item, Answer, E>>, again = false): Effect.Effect<void> =>
      Effect.matchEffect(
        options.write(
          batch.map(({ item }) => item),
          again,
        ),
        {
          onSuccess: (answers) =>
            Effect.sync(() =>
              batch.forEach(({ done }, index) => done(Result.succeed(answers[index] as Answer))),
            ),
          onFailure: (error) =>
            batch.length === 1
              ? Effect.sync(() => batch[0]?.done(Result.fail(error)))
              : Effect.forEach(batch, (each) => writeAll([each], true), { discard: true }),
        },
      )
    const openWhenNone = (): void => {
      if (waiting.length === 0 && underWay.size === 0) none.openUnsafe()
    }
    /** Writes batches for as long as so many wait, when the latch says that something came. */
    const writer = (latch: Latch.Latch, waitingMin: number): Effect.Effect<never> =>
      Effect.gen(function* () {
        while (true) {
          yield* latch.await
          // The others of this turn of the event loop come in before the batch is closed.
          yield* Effect.yieldNow
          while (waiting.length >= waitingMin) {
            const batch = take()
            underWay.add(batch)
            yield* Effect.onError(writeAll(batch), () => Effect.sync(() => abandon(batch, true)))
            underWay.delete(batch)
          }
          latch.closeUnsafe()
          openWhenNone()
        }
      })
    const abandon = (left: ReadonlyArray<Waiting<Item, Answer, E>>, isUnderWay: boolean): void => {
      // Some of a batch may have had their answer: a second one is not heard.
      for (const { done } of left) done(Result.fail(options.abandoned(isUnderWay)))
      underWay.delete(left)
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        const left = waiting
        waiting = []
        abandon(left, false)
      }),
    )
    yield* supervise("batcher", writer(some, 1))
    for (let writers = 1; writers < (options.writersMax ?? 1); writers++)
      yield* supervise("batcher", writer(full, options.batchMax))

    return {
      add: (item, done) => {
        if (waiting.length >= options.waitingMax) return false
        if (closed) {
          done(Result.fail(options.abandoned(false)))
          return true
        }
        waiting.push({ item, done })
        none.closeUnsafe()
        some.openUnsafe()
        if (waiting.length >= options.batchMax) full.openUnsafe()
        return true
      },
      flushed: Effect.suspend(() => (waiting.length === 0 && underWay.size === 0 ? Effect.void : none.await)),
    }
  })
