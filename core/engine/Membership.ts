// Membership: this engine's one lease, on which everything that it carries hangs. Renewed every quarter of its
// span; believed in until a second before it can have ended, by the monotonic clock, from the start of the last
// successful renewal. A node whose lease was taken starts again under a new id. Where the wall clock has gone further
// than the lease, the machine slept, and monotonic clocks stand still meanwhile: then the store is asked at once.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import { type StoreError, StoreUnusable } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import { supervise } from "../observe/Supervisor.ts"
import { NodeStore, StoreInfo } from "../ports/Store.ts"

/** Where a node runs, for people. */
export interface NodeIdentity {
  readonly host: string
  readonly pid: number
  readonly runtime: string
}

/** This engine's place among the nodes. */
export interface Membership {
  /** The node's current id. */
  readonly id: () => string
  readonly holdsLease: () => boolean
  /** Ends the lease, so that nobody waits for it. */
  readonly leave: Effect.Effect<void>
  /** Renews it once more and lets it end by itself: until then what this node carries is nobody else's. */
  readonly lapse: Effect.Effect<void>
}

/** Joins, and renews until the scope ends. `onLost` is called when the runs of this node are no longer its own. */
export const makeMembership = (options: {
  readonly identity: NodeIdentity
  readonly ids: IdSource
  readonly leaseMillis: number
  readonly onLost: (node: string) => void
  /** Called when there is a lease again, after one that was lost or in doubt. */
  readonly onHeld: () => void
  /** Called once: the store is of a newer version, and there is no lease to be had any more. */
  readonly onOutdated: (error: StoreError) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<Membership, StoreError, Scope.Scope | NodeStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* NodeStore
    const { capabilities } = yield* StoreInfo
    const clock = yield* Clock.Clock
    const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const { leaseMillis } = options
    const marginMillis = Math.min(1000, leaseMillis / 4)
    let id = options.ids()
    const believedMillis = leaseMillis - marginMillis
    let believedUntil = monotonic() + believedMillis
    let wallUntil = clock.currentTimeMillisUnsafe() + believedMillis
    let left = false
    const doubtful = Latch.makeUnsafe(false)

    /** From the begin of a call that the store has answered well. */
    const believe = (from: number, wallFrom: number): void => {
      believedUntil = from + believedMillis
      wallUntil = wallFrom + believedMillis
    }

    const lose = (): void => {
      options.onLost(id)
      id = options.ids()
      // Nobody knows the new one until it has joined: what it claimed before that would be anybody's.
      believedUntil = Number.NEGATIVE_INFINITY
    }
    const join = Effect.suspend(() => {
      const [from, wallFrom] = [monotonic(), clock.currentTimeMillisUnsafe()]
      return Effect.tap(store.join({ id, ...options.identity }, leaseMillis), () =>
        Effect.sync(() => believe(from, wallFrom)),
      )
    })
    const renew = Effect.gen(function* () {
      if (left) return
      const [from, wallFrom] = [monotonic(), clock.currentTimeMillisUnsafe()]
      const isDoubtful = wallFrom >= wallUntil
      if (yield* store.renew(id, leaseMillis)) {
        believe(from, wallFrom)
        if (isDoubtful) options.onHeld()
        return
      }
      if (left) return
      lose()
      yield* join
      options.onHeld()
    })
    const beat = Effect.catch(renew, (error) =>
      Effect.sync(() => {
        if (isOutdated(error)) {
          left = true
          return options.onOutdated(error)
        }
        options.onTrouble("renew the lease", error)
        // Others may take our runs now, so our handlers must stop first. Nobody can, where a store is ours alone.
        if (capabilities.shared && monotonic() > believedUntil) lose()
      }),
    )
    yield* join
    const pause = Effect.raceFirst(Effect.sleep(leaseMillis / 4), doubtful.await)
    const turn = Effect.andThen(
      pause,
      Effect.suspend(() => {
        doubtful.closeUnsafe()
        return beat
      }),
    )
    yield* supervise("membership", turn)

    return {
      id: () => id,
      holdsLease: () => {
        if (left) return false
        if (clock.currentTimeMillisUnsafe() < wallUntil)
          return !capabilities.shared || monotonic() < believedUntil
        doubtful.openUnsafe()
        return false
      },
      leave: Effect.suspend(() => {
        // Once: a drain that a dead store has held up is not held up again by the end of the scope.
        if (left) return Effect.void
        left = true
        return Effect.ignore(store.leave(id))
      }),
      lapse: Effect.suspend(() => {
        if (left) return Effect.void
        left = true
        return Effect.ignore(store.renew(id, leaseMillis))
      }),
    }
  })

// What a driver throws from `join` when its tables were changed by a newer version.
const isOutdated = ({ cause }: StoreError): boolean =>
  cause instanceof StoreUnusable && cause.kind === "newerSchema"
