// Every run that a node holds by the store's word: what a node asks for after a claim whose answer was lost.
import * as Effect from "effect/Effect"
import type { StoreError } from "../domain/Errors.ts"
import type { Run } from "../domain/Run.ts"
import { RunStore } from "../ports/Store.ts"

// Rows in one look; a node may have ten times as many slots.
const pageMax = 1000

/** Reads them, page by page. */
export const makeHeldBy: Effect.Effect<
  (node: string) => Effect.Effect<ReadonlyArray<Run>, StoreError>,
  never,
  RunStore
> = Effect.gen(function* () {
  const store = yield* RunStore
  return Effect.fnUntraced(function* (node) {
    const found: Array<Run> = []
    for (let page: ReadonlyArray<Run> | undefined; page === undefined || page.length === pageMax;) {
      page = yield* store.carried(node, pageMax, found.at(-1)?.id)
      found.push(...page)
    }
    return found
  })
})
