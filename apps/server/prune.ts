// Takes out of the store what has expired of the records there: the audit after its time, answers that nobody repeats any
// more. Each server does it, a little every minute; two at the same time do no harm.
import type { AskedStore } from "./api/ApiParts.ts"

const everyMillis = 60_000
const batch = 1_000
// In a row; what is left then waits for the next minute, and runs come first.
const batchesMax = 20

/** Starts to. `onTrouble` hears of the first failure of several in a row. */
export const startPruning = (
  store: Pick<AskedStore, "pruneRecords">,
  onTrouble: (doing: string, error: unknown) => void,
): { readonly stop: () => void } => {
  let failing = false
  let stopped = false
  const prune = async (): Promise<void> => {
    try {
      for (let times = 0; times < batchesMax; times++)
        if (stopped || (await store.pruneRecords(batch)) < batch) break
      failing = false
    } catch (error) {
      if (!failing && !stopped) onTrouble("remove records that have expired", error)
      failing = true
    }
  }
  const timer = setInterval(() => void prune(), everyMillis)
  return {
    stop: () => {
      stopped = true
      clearInterval(timer)
    },
  }
}
