// The reclaimer takes back what dead nodes left behind, and removes what is kept long enough. Every node runs
// one; the store decides by its own clock whose lease has ended, so it does not matter who is first.
// It looks every so often, and in the very moment in which the lease of a node ends that has not renewed it: what a
// killed node carried goes on a few milliseconds after its lease, however rarely there is a look.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { NodeStore, RecordStore, RunStore, StoreInfo } from "../ports/Store.ts"

const batchMax = 500
const pruneEveryMillis = 60_000
// Of records at a time: small rows, of which a busy API makes many.
const recordBatchMax = 1_000
// And how often in one round: 1,600 a second may come, and a round has an end all the same.
const recordRoundsMax = 100
// The time to the next look while a lease has ended and its node is still there: another node has its runs in hand.
const againMillis = 250

/** Starts it, which stops with the scope; its first pass is over before this returns: restart recovery. */
export const makeReclaimer = (options: {
  readonly node: () => string
  /** The longest time between two looks: what a node left behind that ended its lease itself waits so long. */
  readonly everyMillis: number
  /** The lease of this node; the others' are taken to be no shorter, or an end may be noticed `everyMillis` late. */
  readonly leaseMillis: number
  /** How long ended runs are kept, in milliseconds; `null`: for ever. */
  readonly retentionMillis: number | null
  /** For how long after the start nothing is taken back, in milliseconds. */
  readonly holdMillis: number
  readonly events: Events
  /** Something became ready, more than this node may have slots for. */
  readonly wake: () => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<void, never, Scope.Scope | RunStore | NodeStore | RecordStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const nodes = yield* NodeStore
    const records = yield* RecordStore
    const info = yield* StoreInfo
    const clock = yield* Clock.Clock
    const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let pruneAt = monotonic()
    let pruneRecordsAt = monotonic()
    const reclaimFrom = monotonic() + options.holdMillis
    // On the monotonic clock: before it no lease ends that was there at the last look at leases.
    let endAt = monotonic()

    const reclaim = Effect.gen(function* () {
      if (monotonic() < reclaimFrom) return
      let taken = batchMax
      while (taken === batchMax) {
        const runs = yield* store.reclaim(options.node(), batchMax)
        taken = runs.length
        for (const { id, job, state } of runs) options.events.publish({ kind: "reclaimed", id, job, state })
        if (taken > 0) options.wake()
      }
    })
    /**
     * Finds out when the next lease ends. A lease is only ever made longer, and a node that joins later has a whole one
     * before it: until then nothing is to be found that a look would have to come for, and nobody has to be asked.
     */
    const lookAtLeases = Effect.gen(function* () {
      if (monotonic() < endAt || !info.capabilities.shared) return
      const now = yield* info.now
      const at = monotonic()
      const rows = yield* nodes.nodes()
      const self = options.node()
      let left = options.leaseMillis
      for (const { id, expiresAt } of rows) if (id !== self) left = Math.min(left, expiresAt - now)
      endAt = left > 0 ? at + left : at + againMillis
    })
    const prune = Effect.gen(function* () {
      if (options.retentionMillis === null || monotonic() < pruneAt) return
      pruneAt = monotonic() + pruneEveryMillis
      const now = yield* info.now
      // One batch a turn: a long history is removed over time and never holds the store.
      let removed = batchMax
      while (removed === batchMax) {
        removed = yield* store.prune(now - options.retentionMillis, batchMax)
        yield* Effect.yieldNow
      }
    })
    const pruneRecords = Effect.gen(function* () {
      if (monotonic() < pruneRecordsAt) return
      pruneRecordsAt = monotonic() + pruneEveryMillis
      for (let round = 0; round < recordRoundsMax; round++) {
        if ((yield* records.pruneRecords(recordBatchMax)) < recordBatchMax) return
        yield* Effect.yieldNow
      }
    })
    // The look goes first: what has ended by then is taken back right after it, and not only with the next pass.
    const work = Effect.all([lookAtLeases, reclaim, prune], { discard: true })
    const pass = Effect.andThen(
      Effect.catch(work, (error) => Effect.sync(() => options.onTrouble("reclaim runs", error))),
      Effect.catch(pruneRecords, (error) =>
        Effect.sync(() => options.onTrouble("remove expired records", error)),
      ),
    )
    /** Whole milliseconds, and one more: a lease has ended when its last one is over. */
    const pause = Effect.suspend(() => {
      const { everyMillis } = options
      const held = reclaimFrom - monotonic()
      if (held > 0) return Effect.sleep(Math.min(held, everyMillis))
      if (!info.capabilities.shared) return Effect.sleep(everyMillis)
      const untilEnd = endAt - monotonic() + 1
      return Effect.sleep(untilEnd > 0 ? Math.min(untilEnd, everyMillis) : everyMillis)
    })
    yield* pass
    yield* supervise("reclaimer", Effect.andThen(pause, pass))
  })
