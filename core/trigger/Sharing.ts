// Sharing the due schedules between the nodes of a store, by `Shares`. Who is there is read from the store, and only
// when many are due, at most four times in a lease.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { DueSchedule } from "../domain/Schedule.ts"
import { NodeStore, StoreInfo } from "../ports/Store.ts"
import { makeCourtesy, type Ring, ringOf, type Split } from "./Shares.ts"

/** Between which nodes, and when. */
export interface SharingOptions {
  /** The id of this engine's node. */
  readonly node: () => string
  readonly leaseMillis: number
  /** From how many due schedules on. Fewer are planned by every node that sees them: that costs less than to ask. */
  readonly shareFrom: number
}

/** Says which of the due schedules to plan now; `now` is the store's. */
export type Sharing = (due: ReadonlyArray<DueSchedule>, now: number) => Effect.Effect<Split<DueSchedule>>

// A node that lives moves on within some milliseconds, one whose machine is overloaded within this.
const graceMillis = 500

/** Makes it; a store that serves one engine at a time has nothing to share. */
export const makeSharing = (options: SharingOptions): Effect.Effect<Sharing, never, NodeStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* NodeStore
    const { capabilities } = yield* StoreInfo
    const clock = yield* Clock.Clock
    const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    // Longer than a lease holds on after its node's end, and until that is seen here.
    const split = makeCourtesy({ graceMillis, distrustMillis: 1.5 * options.leaseMillis })
    const known: { ring: Ring | null; nodes: string; readAt: number } = {
      ring: null,
      nodes: "",
      readAt: Number.NEGATIVE_INFINITY,
    }

    const read = Effect.fnUntraced(function* (now: number) {
      const readAt = monotonic()
      const ids = (yield* store.nodes()).filter(({ expiresAt }) => expiresAt > now).map(({ id }) => id)
      const nodes = ids.toSorted((a, b) => (a < b ? -1 : 1))
      known.readAt = readAt
      const names = nodes.join(" ")
      if (names === known.nodes) return
      known.nodes = names
      // One that is not among them has lost its lease, or stands alone: it leaves nothing to others.
      known.ring = nodes.length > 1 && nodes.includes(options.node()) ? ringOf(nodes) : null
    })

    return Effect.fnUntraced(function* (due, now) {
      const all = { taken: due, left: 0 }
      if (!capabilities.shared || due.length < options.shareFrom) return all
      // Without an answer the last one serves: a share is a matter of courtesy.
      if (monotonic() - known.readAt > options.leaseMillis / 4) yield* Effect.ignore(read(now))
      const { ring } = known
      if (ring === null) return all
      // What waits for the end of a run is planned where that ended: nobody else hears of it.
      const ownerOf = ({ id, nextAt }: DueSchedule) => (nextAt === null ? undefined : ring.ownerOf(id))
      return split(due, options.node(), ownerOf, monotonic())
    })
  })
