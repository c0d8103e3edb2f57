// The bounds of a call to the store, and how a call is refused: before anything was changed, and saying so,
// because the engine repeats whatever may have been done.

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

/** Throws a `RangeError` that names the field when a limit is not a whole number from 1 to `max`. */
export const checkLimit = (limit: number, max: number): void => {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw refusal(`limit: ${limit} is not a whole number from 1 to ${max}`)
  }
}
