// The words of bulk work, which the API and its clients know as well as what does it.

/** What can be done in bulk. Runs are never deleted by it: those that ended go by their age, and no others may. */
export const bulkKinds = ["cancelRuns", "replayDeadLetters", "dropDeadLetters"] as const

/** One of them. */
export type BulkKind = (typeof bulkKinds)[number]

/** The states that a run can be cancelled in, in the order in which they are gone through. */
export const openStates = ["scheduled", "blocked", "retrying", "ready", "running"] as const
