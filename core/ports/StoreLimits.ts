// The bounds of a call to the store, and how a call is refused: before anything was changed, and saying so,
// because the engine repeats whatever may have been done.
import { utf8Length } from "../domain/Payload.ts"
import type { Fill, Fire, PutCredential, PutRecord } from "./StoreDriver.ts"

/** Rows in one call. */
export const batchMax = 1_000
/** Rows in one page of a list. */
export const pageMax = 200
/** Due times in one window. */
export const windowMax = 100_000

/** Bytes of what a node says of its workers. */
export const workersBytesMax = 1_048_576
/** Credentials in a store. */
export const credentialsMax = 10_000

/** Bytes of a record's body. */
export const recordBytesMax = 262_144

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

/** Throws a `RangeError` when what a node says of its workers is too long. */
export const checkWorkers = (workers: string): void => checkBytes("workers", workers, workersBytesMax)

/** Throws a `RangeError` that names the field of a credential that cannot be stored; the hash is in no error. */
export const checkCredential = ({ id, kind, name, hash, scope, expiresAt }: PutCredential): void => {
  checkLength("id", id, 64)
  if (kind !== "worker" && kind !== "api")
    throw refusal(`kind: "${kind as string}" is neither "worker" nor "api"`)
  checkLength("name", name, 255)
  if (!/^[0-9a-f]{64}$/.test(hash)) throw refusal("hash: not 64 hexadecimal digits in lower case")
  checkBytes("scope", scope, 65_536)
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt))
    throw refusal(`expiresAt: ${expiresAt} is not a whole number of milliseconds`)
}

/** Throws a `RangeError` that names the field of a record that cannot be stored. */
export const checkRecord = ({ kind, id, body, expiresAt, expected }: PutRecord): void => {
  if (!/^[a-z-]{1,32}$/.test(kind)) throw refusal(`kind: "${kind}" is not 1 to 32 characters of a-z and "-"`)
  if (!/^[ -~]{1,255}$/.test(id)) throw refusal("id: not 1 to 255 printable characters of ASCII")
  checkBytes("body", body, recordBytesMax)
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt))
    throw refusal(`expiresAt: ${expiresAt} is not a whole number of milliseconds`)
  if (expected !== null && !(Number.isSafeInteger(expected) && expected >= 0))
    throw refusal(`expected: ${expected} is no version`)
}

/** The refusal of one more. */
export const tooManyCredentials = (): RangeError =>
  refusal(`credentials: ${credentialsMax} are stored, and that is as many as there may be; delete some`)

const checkLength = (field: string, text: string, max: number): void => {
  if (text.length < 1 || text.length > max)
    throw refusal(`${field}: ${text.length} characters are not 1 to ${max}`)
}

const checkBytes = (field: string, text: string, max: number): void => {
  const bytes = utf8Length(text)
  if (bytes > max) throw refusal(`${field}: ${bytes} bytes are more than ${max}`)
}
