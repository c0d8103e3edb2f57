// Bulk work done at once, by the process that was told to: the command line's way. Stopped in the middle, it has done
// what it said; started again, it goes on with what is left.
import { act, type Acted, nothingDone, plus } from "./Act.ts"
import type { Bulk, BulkStore } from "./Bulk.ts"
import { beginOf, look, type Place } from "./Look.ts"
import { millisFor, pageAt } from "./Rate.ts"

/** How to go about it. */
export interface RunBulkOptions {
  /** `null`: as fast as the store is. */
  readonly perSecond: number | null
  /** Waits so many milliseconds. */
  readonly wait: (millis: number) => Promise<void>
  /** Hears after each page what was done so far. */
  readonly onProgress: (so: Acted) => void
}

/** Does it all; answers what became of it. Fails as the store does. */
export const runBulk = async (store: BulkStore, bulk: Bulk, options: RunBulkOptions): Promise<Acted> => {
  const { perSecond, wait, onProgress } = options
  let place: Place | null = beginOf(bulk)
  let sum = nothingDone
  let owed = 0
  while (place !== null) {
    const { ids, next } = await look(store, bulk, place, pageAt(perSecond))
    if (owed > 0 && ids.length > 0) await wait(owed)
    sum = plus(sum, await act(store, bulk, ids, false))
    owed = millisFor(ids.length, perSecond)
    place = next
    onProgress(sum)
  }
  return sum
}
