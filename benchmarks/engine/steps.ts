// The engine's write transactions, in order and with their sizes: the floor makes the same ones. They are heard
// in the warm-up round, by a store that notes its calls; the measured rounds run on the SDK's own storage.
import * as Effect from "effect/Effect"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { Storage } from "../../apps/sdk/storage.ts"
import { layerDriver } from "../../core/ports/Store.ts"

/** One transaction of a run's happy path, and how many rows it wrote. */
export interface Step {
  readonly operation: "enqueue" | "claim" | "settle"
  readonly rows: number
}

/** A storage over this file that notes into `steps`. */
export const notingStorage = (
  file: string,
): { readonly storage: Storage; readonly steps: ReadonlyArray<Step> } => {
  const steps: Array<Step> = []
  // The driver of SQLite answers at once, so its answer is a list and no promise of one.
  const note = <Answer>(operation: Step["operation"], answer: Answer): Answer => {
    steps.push({ operation, rows: (answer as unknown as ReadonlyArray<unknown>).length })
    return answer
  }
  const layer = layerDriver(
    Effect.sync(() => {
      const driver = sqliteDriver({ file, now: Date.now })
      return {
        ...driver,
        enqueue: (runs) => note("enqueue", driver.enqueue(runs)),
        claim: (wish) => note("claim", driver.claim(wish)),
        settle: (settlements) => note("settle", driver.settle(settlements)),
      } satisfies typeof driver
    }),
  )
  return { storage: { name: "noting", layer }, steps }
}

/** Transactions that wrote rows, those that found nothing to do, and the rows of a transaction on average. */
export interface Batches {
  readonly transactions: number
  readonly empty: number
  readonly rowsOnAverage: number
}

/** Sums up the steps of one operation. */
export const batchesOf = (steps: ReadonlyArray<Step>, operation: Step["operation"]): Batches => {
  const sizes = steps.filter((step) => step.operation === operation).map(({ rows }) => rows)
  const written = sizes.filter((rows) => rows > 0)
  const rows = written.reduce((sum, each) => sum + each, 0)
  return {
    transactions: written.length,
    empty: sizes.length - written.length,
    rowsOnAverage: Math.round(rows / Math.max(1, written.length)),
  }
}
