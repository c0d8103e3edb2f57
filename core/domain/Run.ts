// A run: one execution of a job, as the plain row that every store keeps and every stage passes on.
// Times are epoch milliseconds of the store's clock; payloads are JSON text, encoded once at the edge.

/** Every state of a run. The last five are final: nothing changes them, a replay makes a new run. */
export const runStates = [
  "blocked",
  "scheduled",
  "ready",
  "running",
  "retrying",
  "succeeded",
  "dead",
  "cancelled",
  "skipped",
  "expired",
] as const

/** One of the ten states of a run. */
export type RunState = (typeof runStates)[number]

/** The states that nothing follows. */
export const finalStates = ["succeeded", "dead", "cancelled", "skipped", "expired"] as const

const finals: ReadonlySet<string> = new Set(finalStates)

/** Whether nothing can follow this state. */
export const isFinal = (state: RunState): boolean => finals.has(state)

/** What is kept of an error: enough to understand it, never more than the limits of `Failure`. */
export interface ErrorInfo {
  /** The error's class name, or `NonError` for a thrown value that is none. */
  readonly name: string
  readonly message: string
  /** At most 4 KiB. */
  readonly stack?: string
  /** What ended the attempt. */
  readonly kind: "error" | "timeout" | "lost" | "payload" | "cancelled"
}

/** A run as it is asked for: the store adds state, counters and its own times. */
export interface NewRun {
  /** UUIDv7, made by the caller, so that enqueueing twice after an unknown outcome makes one run. */
  readonly id: string
  readonly job: string
  readonly queue: string
  /** JSON text, at most 256 KiB; `null` for no input. */
  readonly input: string | null
  /** From when it may start; `null` means `delayMillis` after the store's now. */
  readonly dueAt: number | null
  readonly delayMillis: number
  /** Higher starts first; default 0. */
  readonly priority: number
  /** How many attempts it may use, at least 1. */
  readonly attemptMax: number
  /** While a run of the same job and key is not final, enqueueing returns that one. */
  readonly key: string | null
  /** Not started this long after it was due, by the store's clock, it expires; `null`: it waits for ever. */
  readonly startWithinMillis: number | null
  readonly scheduleId: string | null
  /** The instant of the schedule that this run stands for. */
  readonly nominalAt: number | null
  /** The runs started together because one needs the others; the id of the run that was asked for. */
  readonly chainId: string | null
  /** Runs that must have succeeded before this one may start. */
  readonly needs: ReadonlyArray<string>
  /** The dead run that this one replays. */
  readonly replayOf: string | null
  /** The run whose step this one is; `null` for a run of its own. */
  readonly parentId: string | null
  /** Which step of it: the place in its flow, or in the list that it maps; `null` without a parent. */
  readonly step: number | null
}

/** A run as it is stored. */
export interface Run extends Omit<NewRun, "startWithinMillis"> {
  readonly dueAt: number
  /** Not started before this instant, it expires; `null`: it waits for ever. */
  readonly expiresAt: number | null
  /** Always 0: `dueAt` says it. */
  readonly delayMillis: number
  readonly state: RunState
  readonly createdAt: number
  /** Attempts used so far; the running one counts. */
  readonly attempt: number
  /** How often it was lost before its start was acknowledged; bounded apart from the attempts. */
  readonly losses: number
  /** Grows by one with each claim: only its holder may change the run. */
  readonly token: number
  /** The node that carries it while it runs, `null` otherwise. */
  readonly node: string | null
  /** How many of `needs` have not succeeded yet; of a run that expanded, how many steps have not ended. */
  readonly waitingFor: number
  /** When the latest attempt was claimed. */
  readonly startedAt: number | null
  /** Whether the executor acknowledged the start of the latest attempt. */
  readonly startAcknowledged: boolean
  readonly endedAt: number | null
  /** JSON text of what the handler returned. */
  readonly output: string | null
  /** Why the latest attempt failed. */
  readonly error: ErrorInfo | null
  /** In one sentence, why it ended without running, or waits; of several needs that failed it names one. */
  readonly reason: string | null
}

/** A failed, lost or timed-out attempt; a clean one lives on the run's own row. */
export interface Attempt {
  readonly runId: string
  readonly attempt: number
  readonly token: number
  readonly node: string | null
  readonly startedAt: number | null
  readonly endedAt: number
  readonly error: ErrorInfo
}
