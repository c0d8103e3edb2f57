// Removes batches of the journal that are too old, too many or too large. Any server of a store may do it, also several at a
// time.
import type { AskedStore } from "../api/ApiParts.ts"
import { batchKind as kind, decodeBatch } from "./Batch.ts"

/** How much is kept at most; see `JournalOptions`. */
export interface Kept {
  readonly keptMillis: number
  readonly batchesMax: number
  readonly bytesMax: number
}

const roundsMax = 100
const pageBatches = 100

/** Removes what is over the bounds, the oldest first, and never the last batch: numbers would begin anew. */
export const pruneJournal = async (
  store: Pick<AskedStore, "records" | "deleteRecords" | "now">,
  { keptMillis, batchesMax, bytesMax }: Kept,
): Promise<void> => {
  const at = await store.now()
  for (let round = 0; round < roundsMax; round++) {
    // Mostly nothing is old, and one batch says so.
    const rows = await store.records({ kind, order: "ascending", limit: round === 0 ? 1 : pageBatches })
    const [last] = await store.records({ kind, order: "descending", limit: 1 })
    if (last === undefined) return
    const newest = decodeBatch(last)
    const old = rows.filter((row) => {
      const { number, bytesUpTo } = decodeBatch(row)
      const isOver =
        row.updatedAt <= at - keptMillis ||
        number <= newest.number - batchesMax ||
        bytesUpTo <= newest.bytesUpTo - bytesMax
      return isOver && number < newest.number
    })
    if (old.length === 0) return
    await store.deleteRecords(
      kind,
      old.map(({ id }) => id),
    )
    if (old.length < rows.length) return
  }
}
