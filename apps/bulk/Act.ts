// What bulk work does with a page of what it found. A page may be done again, after a crash or an answer that was lost:
// nothing happens twice, and what was done the first time is counted as its own.
import { fingerprint, lowestId } from "../../core/domain/Ids.ts"
import type { Bulk, BulkStore } from "./Bulk.ts"

/** What became of a page. */
export interface Acted {
  /** Changed by this work. */
  readonly done: number
  /** Ended, replayed or dropped by somebody else before it came to them. */
  readonly skipped: number
  /** Refused by the store. */
  readonly failed: number
  /** Why, of the last one that was refused. */
  readonly error: string | null
}

/** Nothing yet. */
export const nothingDone: Acted = { done: 0, skipped: 0, failed: 0, error: null }

/** Both together. */
export const plus = (a: Acted, b: Acted): Acted => ({
  done: a.done + b.done,
  skipped: a.skipped + b.skipped,
  failed: a.failed + b.failed,
  error: b.error ?? a.error,
})

/**
 * Does a page, at most 200 ids; `again`: it may have been done before. What the store refuses as a whole is tried one by
 * one, so that one bad row holds up no other. Fails as the store does where nothing is known; then do it again.
 */
export const act = async (
  store: BulkStore,
  bulk: Bulk,
  ids: ReadonlyArray<string>,
  again: boolean,
): Promise<Acted> => {
  if (ids.length === 0) return nothingDone
  try {
    return await whole(store, bulk, ids, again)
  } catch (error) {
    const refused = refusalOf(error)
    if (refused === undefined) throw error
    if (ids.length === 1) return { ...nothingDone, failed: 1, error: refused }
  }
  let sum = nothingDone
  for (const id of ids) sum = plus(sum, await act(store, bulk, [id], again))
  return sum
}

const whole = async (
  store: BulkStore,
  bulk: Bulk,
  ids: ReadonlyArray<string>,
  again: boolean,
): Promise<Acted> => {
  switch (bulk.kind) {
    case "cancelRuns":
      return cancelAll(store, bulk, ids, again)
    case "replayDeadLetters": {
      const newIds = ids.map((id) => replayId(bulk, id))
      const answers = await store.replay(ids, newIds)
      // Replayed before under this very id, it was this work that did it.
      const done = answers.filter(
        ({ result, newRunId }, index) => result === "created" || newRunId === newIds[index],
      ).length
      return { ...nothingDone, done, skipped: ids.length - done }
    }
    case "dropDeadLetters": {
      const dropped = await store.drop(ids)
      // A letter that is gone tells nobody who dropped it.
      const done = again ? ids.length : dropped
      return { ...nothingDone, done, skipped: ids.length - done }
    }
  }
}

const cancelAll = async (
  store: BulkStore,
  bulk: Bulk,
  ids: ReadonlyArray<string>,
  again: boolean,
): Promise<Acted> => {
  const reason = `${bulk.reason} (operation ${bulk.id})`
  const answers = await store.cancel(ids, reason)
  const cancelled = answers.filter(({ result }) => result === "cancelled").length
  const final = answers.flatMap(({ id, result }) => (result === "final" ? [id] : []))
  const before =
    again && final.length > 0 ? (await store.get(final)).filter((run) => run.reason === reason).length : 0
  const done = cancelled + before
  return { ...nothingDone, done, skipped: ids.length - done }
}

/** The id of the run that bulk work makes of a letter: always the same, and above all that it may touch. */
export const replayId = ({ id, frozenAt }: Pick<Bulk, "id" | "frozenAt">, runId: string): string => {
  const hash = fingerprint(`${id}/${runId}`)
  const time = lowestId(frozenAt + 1).slice(0, 13)
  return `${time}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}

/** Why the store refused, if that is what an error says: nothing was done, and doing it again is of no use. */
const refusalOf = (error: unknown): string | undefined => {
  const cause = error instanceof RangeError ? error : (error as { readonly cause?: unknown } | null)?.cause
  return cause instanceof RangeError &&
    (cause as { readonly outcomeUnknown?: unknown }).outcomeUnknown === false
    ? cause.message
    : undefined
}
