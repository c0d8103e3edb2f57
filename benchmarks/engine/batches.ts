// How large the engine's batches are: the floor gets the same. Heard in the warm-up round, by a store that
// counts its calls; the rounds that are measured run on the SDK's own storage.
import * as Effect from "effect/Effect"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { Storage } from "../../apps/sdk/storage.ts"
import { layerDriver } from "../../core/ports/Store.ts"

/** Calls of one operation with rows, calls without, and rows. */
export interface Tally {
  calls: number
  empty: number
  rows: number
}

/** The operations that write a run's happy path. */
export interface Batches {
  readonly enqueue: Tally
  readonly claim: Tally
  readonly settle: Tally
}

/** Rows in a call, on average over those with rows; 1 when there was none. */
export const batchOf = ({ calls, rows }: Tally): number => Math.max(1, Math.round(rows / Math.max(1, calls)))

/** A storage over this file that counts into `batches`. */
export const countingStorage = (file: string): { readonly storage: Storage; readonly batches: Batches } => {
  const batches: Batches = { enqueue: tally(), claim: tally(), settle: tally() }
  const layer = layerDriver(
    Effect.sync(() => {
      const driver = sqliteDriver({ file, now: Date.now })
      return {
        ...driver,
        enqueue: counting(batches.enqueue, driver.enqueue),
        claim: counting(batches.claim, driver.claim),
        settle: counting(batches.settle, driver.settle),
      }
    }),
  )
  return { storage: { name: "counting", layer }, batches }
}

const tally = (): Tally => ({ calls: 0, empty: 0, rows: 0 })

// The driver of SQLite answers at once, so its answer is a list and no promise of one.
const counting =
  <Given, Answer>(into: Tally, operation: (given: Given) => Answer) =>
  (given: Given): Answer => {
    const answer = operation(given)
    const { length } = answer as unknown as ReadonlyArray<unknown>
    if (length === 0) into.empty++
    else into.calls++
    into.rows += length
    return answer
  }
