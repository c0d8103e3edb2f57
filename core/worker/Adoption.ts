// What a worker has in hand from before, against the store: after a restart of its server, or at another one, it goes on
// with every attempt whose token still holds. Its word alone counts for nothing: the row says whether it may be so.
import * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import type { Run } from "../domain/Run.ts"
import { RunStore } from "../ports/Store.ts"
import type { Hello } from "../protocol/Message.ts"
import type { Verdict } from "../protocol/Shapes.ts"

/** What the store says, and the runs that are kept. */
export interface Adopted {
  readonly verdicts: ReadonlyArray<Verdict>
  readonly runs: ReadonlyArray<Run>
}

// Rows in one call; a worker has at most twice as many in hand.
const chunkMax = 1000

/**
 * Adopts for `node`. `mayHave` says whether this worker may carry the run at all, and that nobody else here does. Of what
 * was not begun nothing is kept: it goes back by itself. What has ended is kept while its token is the newest, so that
 * its outcome is told once more and the store says what became of it.
 */
export const makeAdopt: Effect.Effect<
  (
    node: string,
    inHand: Hello["inHand"],
    mayHave: (run: Run) => boolean,
  ) => Effect.Effect<Adopted, StoreError>,
  never,
  RunStore
> = Effect.gen(function* () {
  const store = yield* RunStore
  return Effect.fnUntraced(function* (node, inHand, mayHave) {
    if (inHand.length === 0) return { verdicts: [], runs: [] }
    const rows = new Map<string, Run>()
    for (const some of chunks(inHand.map(({ run }) => run)))
      for (const row of yield* store.get(some)) rows.set(row.id, row)
    const known = inHand.flatMap((each) => {
      const row = rows.get(each.run)
      const isIt = row !== undefined && row.token === each.token && row.attempt === each.attempt
      return isIt && mayHave(row) ? [{ each, row }] : []
    })
    const kept = new Set<string>()
    for (const { each, row } of known)
      if (each.state === "ended" && row.state !== "running") kept.add(each.run)
    const begun = known.filter(({ each, row }) => each.state !== "waiting" && row.state === "running")
    for (const some of chunks(begun)) {
      const held = yield* store.adopt(
        node,
        some.map(({ row }) => ({ id: row.id, token: row.token })),
      )
      some.forEach(({ row }, index) => (held[index] === true ? kept.add(row.id) : undefined))
    }
    return {
      verdicts: inHand.map(({ run, attempt, token }) => ({
        run,
        attempt,
        token,
        verdict: kept.has(run) && rows.get(run)?.token === token ? ("keep" as const) : ("stale" as const),
      })),
      runs: known.flatMap(({ row }) => (kept.has(row.id) ? [row] : [])),
    }
  })
})

const chunks = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / chunkMax) }, (_, index) =>
    items.slice(index * chunkMax, (index + 1) * chunkMax),
  )
