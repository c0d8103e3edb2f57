// Membership: this engine's one lease, on which everything that it carries hangs. Renewed every quarter of its
// span; believed in until a second before it can have ended, by the monotonic clock, from the start of the last
// successful renewal. A node whose lease was taken starts again under a new id.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
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
}

/** Joins, and renews until the scope ends. `onLost` is called when the runs of this node are no longer its own. */
export const makeMembership = (options: {
  readonly identity: NodeIdentity
  readonly ids: IdSource
  readonly leaseMillis: number
  readonly onLost: (node: string) => void
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
    let believedUntil = monotonic() + leaseMillis - marginMillis
    let left = false

    const lose = (): void => {
      options.onLost(id)
      id = options.ids()
      // Nobody knows the new one until it has joined: what it claimed before that would be anybody's.
      believedUntil = Number.NEGATIVE_INFINITY
    }
    const join = Effect.suspend(() => {
      const from = monotonic()
      return Effect.tap(store.join({ id, ...options.identity }, leaseMillis), () =>
        Effect.sync(() => {
          believedUntil = from + leaseMillis - marginMillis
        }),
      )
    })
    const renew = Effect.gen(function* () {
      if (left) return
      const from = monotonic()
      if (yield* store.renew(id, leaseMillis)) {
        believedUntil = from + leaseMillis - marginMillis
        return
      }
      if (left) return
      lose()
      yield* join
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
    yield* supervise("membership", Effect.andThen(Effect.sleep(leaseMillis / 4), beat))

    return {
      id: () => id,
      holdsLease: () => !left && (!capabilities.shared || monotonic() < believedUntil),
      leave: Effect.suspend(() => {
        // Once: a drain that a dead store has held up is not held up again by the end of the scope.
        if (left) return Effect.void
        left = true
        return Effect.ignore(store.leave(id))
      }),
    }
  })

// What a driver throws from `join` when its tables were changed by a newer version.
const isOutdated = ({ cause }: StoreError): boolean =>
  cause instanceof StoreUnusable && cause.kind === "newerSchema"
