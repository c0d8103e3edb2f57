// The bounds of a call to the store: whoever exceeds them has a bug, and hears it at once.

/** Rows in one call. */
export const batchMax = 1000
/** Rows in one page of a list. */
export const pageMax = 200

/** Throws a `RangeError` that names the field when a batch is too large. */
export const checkBatch = (field: string, rows: { readonly length: number }): void => {
  if (rows.length > batchMax) {
    throw new RangeError(`${field}: ${rows.length} rows are more than ${batchMax} in one call`)
  }
}

/** Throws a `RangeError` that names the field when a number is not a whole one within its bounds. */
export const checkLimit = (field: string, limit: number, max: number): void => {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw new RangeError(`${field}: ${limit} is not a whole number from 1 to ${max}`)
  }
}
