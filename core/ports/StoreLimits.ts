// The bounds of a call to the store, and how a call is refused: before anything was changed, and saying so,
// because the engine repeats whatever may have been done.
import type { Fill, Fire } from "./StoreDriver.ts"

/** Rows in one call. */
export const batchMax = 1_000
/** Rows in one page of a list. */
export const pageMax = 200
/** Due times in one window. */
export const windowMax = 100_000

/** An error after which nothing was done. */
export const refusal = (message: string): RangeError =>
  Object.assign(new RangeError(message), { outcomeUnknown: false })

/** Throws a `RangeError` that names the field when a batch is too large. */
export const checkBatch = (field: string, rows: { readonly length: number }): void => {
  if (rows.length > batchMax)
    throw refusal(`${field}: ${rows.length} rows are more than ${batchMax} in one call`)
}

/** Throws a `RangeError` when steps, or all their occurrences or runs together, are too many. */
export const checkFires = (fires: ReadonlyArray<Fire>): void => {
  checkBatch("fires", fires)
  checkBatch("occurrences", { length: sum(fires, ({ occurrences }) => occurrences) })
  checkBatch("runs", { length: sum(fires, ({ runs }) => runs) })
}

/** Throws a `RangeError` when fills, or all their runs together, are too many. */
export const checkFills = (fills: ReadonlyArray<Fill>): void => {
  checkBatch("fills", fills)
  checkBatch("runs", { length: sum(fills, ({ runs }) => runs) })
}

const sum = <A>(items: ReadonlyArray<A>, rowsOf: (item: A) => { readonly length: number }): number =>
  items.reduce((total, item) => total + rowsOf(item).length, 0)

/** Throws a `RangeError` that names the field when a limit is not a whole number from 1 to `max`. */
export const checkLimit = (limit: number, max: number): void => {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw refusal(`limit: ${limit} is not a whole number from 1 to ${max}`)
  }
}
