// The reclaimer takes back what dead nodes left behind, and removes what is kept long enough. Every node runs
// one; the store decides by its own clock whose lease has ended, so it does not matter who is first.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { RunStore, StoreInfo } from "../ports/Store.ts"

const batchMax = 500
const pruneEveryMillis = 60_000

/** Starts it, which stops with the scope; its first pass is over before this returns: restart recovery. */
export const makeReclaimer = (options: {
  readonly node: () => string
  readonly everyMillis: number
  /** How long ended runs are kept, in milliseconds; `null`: for ever. */
  readonly retentionMillis: number | null
  readonly events: Events
  /** Something became ready. */
  readonly wake: () => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<void, never, Scope.Scope | RunStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const info = yield* StoreInfo
    let pruneAt = 0

    const reclaim = Effect.gen(function* () {
      let taken = batchMax
      while (taken === batchMax) {
        const runs = yield* store.reclaim(options.node(), batchMax)
        taken = runs.length
        for (const { id, job, state } of runs) options.events.publish({ kind: "reclaimed", id, job, state })
        if (taken > 0) options.wake()
      }
    })
    const prune = Effect.gen(function* () {
      const now = yield* info.now
      if (options.retentionMillis === null || now < pruneAt) return
      pruneAt = now + pruneEveryMillis
      // One batch a turn: a long history is removed over time and never holds the store.
      let removed = batchMax
      while (removed === batchMax) {
        removed = yield* store.prune(now - options.retentionMillis, batchMax)
        yield* Effect.yieldNow
      }
    })
    const pass = Effect.catch(Effect.andThen(reclaim, prune), (error) =>
      Effect.sync(() => options.onTrouble("reclaim runs", error)),
    )
    yield* pass
    yield* supervise("reclaimer", Effect.andThen(Effect.sleep(options.everyMillis), pass))
  })
