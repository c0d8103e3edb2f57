// What all databases make of the questions about many runs: which jobs are asked for, and what waits in the queues.
import type { QueueDepth } from "../../core/ports/StoreDriver.ts"
import { checkBatch } from "../../core/ports/StoreLimits.ts"
import type { Row } from "./rows.ts"

/** Of which jobs something is asked for, each once: those of `jobs` that are `job`; `null` where neither is given. */
export const jobsAskedFor = ({
  job,
  jobs,
}: {
  readonly job?: string | undefined
  readonly jobs?: ReadonlyArray<string> | undefined
}): ReadonlyArray<string> | null => {
  if (jobs === undefined) return job === undefined ? null : [job]
  checkBatch("jobs", jobs)
  const all = new Set(jobs)
  return job === undefined ? [...all] : all.has(job) ? [job] : []
}

/** A depth of its row. */
export const depthOf = (row: Row): QueueDepth => ({
  queue: row["queue"] as string,
  ready: row["ready"] as number,
  oldestDueAt: row["oldest_due_at"] as number | null,
  running: row["running"] as number,
})

/** In the order of their queues, as a program sorts texts: databases differ in it. */
export const depthsByQueue = (depths: ReadonlyArray<QueueDepth>): ReadonlyArray<QueueDepth> =>
  [...depths].sort((a, b) => (a.queue < b.queue ? -1 : 1))
