// What an examination says of runs that wait: the same words for all databases.
import { spanOf } from "../../core/domain/TimeSpan.ts"
import { type Finding, ok, warn } from "../../core/ports/Examination.ts"

/** Runs that are due and nobody started, as one query finds them. */
export interface Waiting {
  /** Counted up to `waitingMax`. */
  readonly count: number
  /** How long the one waits that is due the longest, in milliseconds. */
  readonly longestMillis: number
  readonly liveNodes: number
}

/** Where counting ends. */
export const waitingMax = 10_000

// A queue is no fault; one that nothing was taken from for so long may be one.
const patienceMillis = 60_000

/** Runs that are due: whether somebody takes them. */
export const waitingFinding = ({ count, longestMillis, liveNodes }: Waiting): Finding => {
  const what = "due runs"
  if (count === 0) return ok(what, "none waits")
  const runs = `${count === waitingMax ? `${count} or more` : count} ${count === 1 ? "run" : "runs"}`
  const found = `${runs} due and not started, the oldest for ${spanOf(longestMillis)}`
  if (longestMillis < patienceMillis) return ok(what, found)
  return liveNodes === 0
    ? warn(what, `${found}, and no node is live`, "Start one: uhrwerk serve")
    : warn(
        what,
        `${found}, with ${liveNodes} live ${liveNodes === 1 ? "node" : "nodes"}`,
        "Ask why: uhrwerk run list --state ready, then uhrwerk run explain ID; add nodes or slots if all are busy.",
      )
}
