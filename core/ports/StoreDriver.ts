// The storage port as an adapter's author writes it: plain rows in, plain rows or a promise of them out.
// Each operation is atomic by itself and safe to repeat after an unknown outcome; no transaction crosses the
// port; the store's own clock decides what is due. A refusal (a batch over the limit, a need that is unknown)
// throws an error with `outcomeUnknown: false`: nothing was done, and repeating it is of no use. `layerDriver`
// (Store.ts) makes the typed services of it, and `uhrwerk/testing` has the cases that every driver must pass.
import type { DeadLetter } from "../domain/DeadLetter.ts"
import type { Settled, Settlement } from "../domain/Outcome.ts"
import type { Attempt, NewRun, Run, RunState } from "../domain/Run.ts"
import type { CredentialStoreDriver } from "./CredentialStoreDriver.ts"
import type { FlowStoreDriver } from "./FlowStoreDriver.ts"
import type { NodeStoreDriver } from "./NodeStoreDriver.ts"
import type { RecordStoreDriver } from "./RecordStoreDriver.ts"
import type { ScheduleStoreDriver } from "./ScheduleStoreDriver.ts"

export type * from "./CredentialStoreDriver.ts"
export type * from "./FlowStoreDriver.ts"
export type * from "./NodeStoreDriver.ts"
export * from "./RecordStoreDriver.ts"
export type * from "./ScheduleStoreDriver.ts"

/** A value now or later: a driver answers as its database does. */
export type Awaitable<A> = A | Promise<A>

/** What became of one enqueued run: `created`, or `exists` with the id of the run that is there. */
export interface Enqueued {
  readonly id: string
  readonly result: "created" | "exists"
  readonly state: RunState
  readonly dueAt: number
}

/** What a node asks for when it has free slots. */
export interface Claim {
  readonly node: string
  /**
   * Only these queues, and only jobs that the node has a handler for. A node asks with the same lists each time, so
   * that a driver may keep what it made of one: nobody changes a list that was handed in.
   */
  readonly queues: ReadonlyArray<string>
  readonly jobs: ReadonlyArray<string>
  /** At most this many runs, 1 to 1,000. */
  readonly limit: number
  /** `true` when the executor starts them in the same process at once: the claim is the start. */
  readonly acknowledged: boolean
  /** Of these jobs a claim is never the start: nothing is done before they expand, and a loss costs no attempt. */
  readonly expanding?: ReadonlyArray<string>
}

/** A run's id with the token that allows to change it. */
export interface Held {
  readonly id: string
  readonly token: number
}

/** Which runs to list, newest first. */
export interface RunFilter {
  readonly state?: RunState
  readonly job?: string
  /** Only runs of these jobs, 1 to 1,000: what whoever asks may see. */
  readonly jobs?: ReadonlyArray<string>
  readonly queue?: string
  readonly chainId?: string
  /** Ids below this one: the last id of the page before. As ids begin with their time, also: runs made before it. */
  readonly before?: string
  /** Ids above this one. */
  readonly after?: string
  /** 1 to 200. */
  readonly limit: number
}

/** How many runs of a job are in a state; kept by the store with each change, never counted. */
export interface RunCount {
  readonly job: string
  readonly state: RunState
  readonly count: number
}

/** How much waits in a queue. */
export interface QueueDepth {
  readonly queue: string
  /** Runs that are ready now, whose due time has come. */
  readonly ready: number
  /** Of them, the due time of the one that waits longest; `null`: none is. */
  readonly oldestDueAt: number | null
  /** Runs under way. */
  readonly running: number
}

/** What became of one cancel: `final` when it had ended before. */
export interface Cancelled {
  readonly id: string
  readonly result: "cancelled" | "final" | "unknown"
}

/** A run that its dead node left behind, and where it went. */
export interface Reclaimed {
  readonly id: string
  readonly job: string
  readonly state: RunState
  readonly node: string
  readonly attempt: number
}

/** What became of one replay: `exists` when the letter was replayed before, `unknown` without a letter. */
export interface Replayed {
  readonly runId: string
  readonly newRunId: string | null
  readonly result: "created" | "exists" | "unknown"
}

/**
 * Runs: enqueue, claim, settle and what else happens to them. Which state follows from which, and what else changes in
 * a run with it, is in `Transition`. What takes a list answers for each of it, in its order, unless it says otherwise.
 */
export interface RunStoreDriver {
  /**
   * Stores runs; a run whose id is there already, or whose key a run of its job holds that has not ended, is not stored
   * again. In order: needs first. One whose need is not stored is refused, and with it all; one whose need ended
   * otherwise than as succeeded is stored and skipped.
   */
  enqueue(runs: ReadonlyArray<NewRun>): Awaitable<ReadonlyArray<Enqueued>>
  /**
   * Promotes what is due, then gives ready runs to the node: by priority, the highest first, then due time, then id;
   * never one that is past its time to start. Of very many that are due, those that were due first come first. A node
   * whose lease has ended, or that never joined, gets none: what it took would be taken back at once, with an attempt
   * lost.
   */
  claim(claim: Claim): Awaitable<ReadonlyArray<Run>>
  /** Acknowledges starts; answers which tokens still hold: the run is running under this one. */
  started(runs: ReadonlyArray<Held>): Awaitable<ReadonlyArray<boolean>>
  /**
   * Applies outcomes under their tokens, in order: attempts, dead letters and the release of dependents are part of the
   * same step; so are the steps that an expanded run begins with, and those that the end of one releases. The run of a
   * step that ends as dead gets no letter of its own: its flow run does. An outcome under another token than that of
   * the running run is `stale` and changes nothing, but for the one that was applied before under this very token:
   * whoever repeats it is told what became of the run, until it is claimed again.
   */
  settle(settlements: ReadonlyArray<Settlement>): Awaitable<ReadonlyArray<Settled>>
  /**
   * Ends attempts at steps that are over their deadline, lets runs expire whose time to start has passed (also ready
   * ones), and makes due runs ready, the earliest first; at most `limit` of all together. Answers how many.
   */
  promote(limit: number): Awaitable<number>
  /**
   * The distinct due times of scheduled and retrying runs, and deadlines of flow runs, after `from`, up to `until`,
   * ascending, at most `limit`.
   */
  dueWithin(from: number, until: number, limit: number): Awaitable<ReadonlyArray<number>>
  /**
   * Running runs that `node` holds, by id, at most `limit`, of those above `after`: how a node finds a claim whose
   * answer it never got.
   */
  carried(node: string, limit: number, after?: string): Awaitable<ReadonlyArray<Run>>
  /**
   * Gives running runs to `node`, whoever held them, under their own tokens: how a node takes over what workers carry
   * that have come to it. Nothing else of them changes. Answers which are its own now; one that was before is as well, so
   * that repeating it is harmless. A node without a lease gets none. At most 1,000.
   */
  adopt(node: string, runs: ReadonlyArray<Held>): Awaitable<ReadonlyArray<boolean>>
  /**
   * Takes back runs of nodes whose lease has expired, the lowest id first and at most `limit`, never those of `self`.
   * The end of one may end another, as in a flow that fails with its first step. What had started has lost an attempt;
   * what had not is ready again, `lossMax` times. Removes the rows of such nodes once they carry nothing, but never
   * that of `self`. Answers the runs that it took back.
   */
  reclaim(self: string, limit: number): Awaitable<ReadonlyArray<Reclaimed>>
  /** Ends runs that have not ended, with the steps that they expanded into; what needs them is skipped. */
  cancel(ids: ReadonlyArray<string>, reason: string): Awaitable<ReadonlyArray<Cancelled>>
  /** The runs of these ids, in that order, without those that are not there. */
  get(ids: ReadonlyArray<string>): Awaitable<ReadonlyArray<Run>>
  /** By id, the highest first. */
  list(filter: RunFilter): Awaitable<ReadonlyArray<Run>>
  /** In any order, without those that are 0. */
  counts(): Awaitable<ReadonlyArray<RunCount>>
  /** By queue, without queues in which nothing is ready and nothing runs. It counts rows: for people, and for metrics. */
  queueDepths(): Awaitable<ReadonlyArray<QueueDepth>>
  /** The failed attempts of a run, oldest first. */
  attempts(runId: string): Awaitable<ReadonlyArray<Attempt>>
  /** Letters that were not replayed, by the id of their run, the highest first; `before`: ids below this one. */
  deadLetters(filter: {
    readonly job?: string
    /** Only letters of these jobs, 1 to 1,000. */
    readonly jobs?: ReadonlyArray<string>
    readonly before?: string
    readonly limit: number
  }): Awaitable<ReadonlyArray<DeadLetter>>
  /** Makes a new run of a dead one, once; `newIds[i]` is for `runIds[i]`. Refused: too few ids, one that is taken. */
  replay(runIds: ReadonlyArray<string>, newIds: ReadonlyArray<string>): Awaitable<ReadonlyArray<Replayed>>
  /** Removes letters; answers how many there were. The dead runs stay until they are pruned. */
  drop(runIds: ReadonlyArray<string>): Awaitable<number>
  /**
   * Deletes runs that ended before `before`, at most `limit`, the oldest first; answers how many. A run stays while it
   * has a letter that was not replayed, while one that has not ended needs it, and while it is its schedule's last. The
   * run of a step stays as long as its flow run is there, or a re-run that kept it. With them go rows of the ledger
   * whose instant and decision are before `before`, but not those whose run is there, and attempts and letters of these
   * runs. A run that was made after the clock had stepped back may stay until the older ones can go as well.
   */
  prune(before: number, limit: number): Awaitable<number>
}

/** The reason of a run that its schedule's next one took the place of. */
export const replacedReason = "Its schedule started the next run in its place"

/** The reason of a step's run whose flow run was cancelled, failed or took too long before it had ended. */
export const calledOffReason = "Called off with its flow run"

/** What a store can promise, said honestly. */
export interface StoreCapabilities {
  /** Name in errors and logs. */
  readonly name: string
  /** Acknowledged rows outlive the process and a power failure. */
  readonly durable: boolean
  /** Several engines may use it at once. */
  readonly shared: boolean
  /**
   * What whoever runs it should know before something breaks, such as what a failover may lose: a sentence each, without
   * a full stop, which an engine tells when it starts. Absent: nothing.
   */
  readonly cautions?: ReadonlyArray<string>
}

/** Everything that a storage adapter implements. */
export interface StoreDriver
  extends
    RunStoreDriver,
    FlowStoreDriver,
    ScheduleStoreDriver,
    NodeStoreDriver,
    CredentialStoreDriver,
    RecordStoreDriver {
  readonly capabilities: StoreCapabilities
  /** The store's clock, in epoch milliseconds: it decides due times, leases and expiry. */
  now(): Awaitable<number>
  close(): Awaitable<void>
}
