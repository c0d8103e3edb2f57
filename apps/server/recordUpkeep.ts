// Removes records whose time is over, such as the log lines of old runs: every node of a store may do it, as often as it
// likes. To readers they are gone already; this gives back the room.
import type { AskedStore } from "./api/ApiParts.ts"

const everyMillis = 60_000
const batchMax = 1_000
// A long history goes over time, and never holds the store.
const batchesMax = 100

/** Starts it; the returned function ends it. */
export const startRecordUpkeep = (
  store: Pick<AskedStore, "pruneRecords">,
  onTrouble: (error: unknown) => void,
): (() => void) => {
  const ended = new AbortController()
  let isAtWork = false
  const prune = async (): Promise<void> => {
    if (isAtWork) return
    isAtWork = true
    try {
      for (let batch = 0; batch < batchesMax && !ended.signal.aborted; batch++)
        if ((await store.pruneRecords(batchMax)) < batchMax) break
    } catch (error) {
      if (!ended.signal.aborted) onTrouble(error)
    } finally {
      isAtWork = false
    }
  }
  const timer = setInterval(() => void prune(), everyMillis)
  return () => {
    ended.abort()
    clearInterval(timer)
  }
}
