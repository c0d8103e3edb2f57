// What a database provides beside the tables of a transaction's logic (Tables.ts) to be a whole store: what a claim
// takes, what is shown to people and planners, calendars, nodes, credentials and records. SQLite and PostgreSQL have statements of their own
// in place of these; another database gives the rows, and GeneralStore.ts does the rest.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { type Attempt, isFinal, type Run, type RunState } from "../../core/domain/Run.ts"
import type { DueSchedule, Occurrence, ScheduleRow, Trigger } from "../../core/domain/Schedule.ts"
import type {
  Awaitable,
  CalendarRow,
  CredentialRow,
  NodeRow,
  NodeWorkers,
  QueueDepth,
  RecordRow,
  RunCount,
  RunFilter,
} from "../../core/ports/StoreDriver.ts"
import type { FlowTable, RunRow, RunTable, ScheduleKept, ScheduleTable, Tables } from "./Tables.ts"

/** All tables of a store, as one transaction sees them. */
export interface StoreTables extends Tables {
  readonly runs: RunTable & RunReads
  readonly flows: FlowTable & FlowReads
  readonly schedules: ScheduleTable & ScheduleReads
  readonly calendars: CalendarTable
  readonly nodes: NodeTable
  readonly credentials: CredentialTable
  readonly records: RecordTable
}

/** What a node wants of the runs that are ready. */
export interface Wanted {
  readonly queues: ReadonlyArray<string>
  readonly jobs: ReadonlyArray<string>
  /** The store's now. */
  readonly now: number
  readonly limit: number
}

/** Runs as a claim and people look for them. */
export interface RunReads {
  /**
   * The runs that a claim may take: `ready`, of these queues and jobs, `dueAt` at or before now, with an attempt left
   * and not past `expiresAt`. By priority, the highest first, then `dueAt`, then id. Nobody else gets them from here on:
   * a database with several clients locks the rows and passes over those that are locked.
   */
  ready(wanted: Wanted): Awaitable<ReadonlyArray<RunRow>>
  /** The running runs of this node with an id above `after`, by id. */
  running(node: string, after: string, limit: number): Awaitable<ReadonlyArray<Run>>
  /** Distinct `dueAt` of scheduled and retrying runs, above `from` and up to `until`, ascending. */
  dueTimes(from: number, until: number, limit: number): Awaitable<ReadonlyArray<number>>
  /**
   * Those of a state, a job, jobs, a queue, a chain, where asked for, with an id below `before` and above `after`, the
   * highest id first.
   */
  list(filter: RunFilter & { readonly before: string; readonly after: string }): Awaitable<ReadonlyArray<Run>>
  /** What `addCounts` has summed up, in any order. */
  counts(): Awaitable<ReadonlyArray<RunCount>>
  /** Of ready and running runs, in any order. */
  depths(): Awaitable<ReadonlyArray<QueueDepth>>
  /** In the order in which they were added. */
  attempts(runId: string): Awaitable<ReadonlyArray<Attempt>>
  /** Letters that nothing has replayed, of these jobs or of all, with an id below `before`, the highest id first. */
  letters(filter: {
    readonly jobs: ReadonlyArray<string> | null
    readonly before: string
    readonly limit: number
  }): Awaitable<ReadonlyArray<DeadLetter>>
}

/** Flow runs as a planner of time looks for them. */
export interface FlowReads {
  /** Distinct deadlines of flow runs, above `from` and up to `until`, ascending. */
  deadlines(from: number, until: number, limit: number): Awaitable<ReadonlyArray<number>>
}

/** A schedule with all that is stored of it. */
export interface ScheduleStored extends ScheduleKept {
  readonly pausedNote: string | null
  readonly resumedAt: number | null
  readonly createdAt: number
  readonly lastRunId: string | null
  readonly runCount: number
}

/** What a schedule needs to know of its last run. */
export interface LastRun {
  readonly state: RunState
  readonly endedAt: number | null
  /** Whether it has a letter that nothing has replayed. */
  readonly hasOpenLetter: boolean
}

/** A schedule with its last run; `null` when it has none, or none that is there. */
export interface ScheduleDue extends ScheduleStored {
  readonly lastRun: LastRun | null
}

/** Schedules as planners and people look for them. */
export interface ScheduleReads {
  /** In any order. */
  all(): Awaitable<ReadonlyArray<ScheduleStored>>
  /** Those that are not paused and whose `nextAt` is at or before now, by `nextAt`, then id. */
  due(now: number, limit: number): Awaitable<ReadonlyArray<ScheduleDue>>
  /** Those that are not paused and have a `waitsUntil` but no `nextAt`, and whose last run `isOver`; in any order. */
  waiting(limit: number): Awaitable<ReadonlyArray<ScheduleDue>>
  /** The earliest `nextAt` of those that are not paused. */
  nextAt(): Awaitable<number | null>
  /** Rows that begin before `before`, of one schedule or of all, the latest first. */
  occurrences(filter: {
    readonly scheduleId: string | null
    readonly before: number
    readonly limit: number
  }): Awaitable<ReadonlyArray<Occurrence>>
}

/** Calendars by their names. */
export interface CalendarTable {
  /** Each replaces the one of its name. */
  put(rows: ReadonlyArray<CalendarRow>): Awaitable<void>
  /** In any order. */
  all(): Awaitable<ReadonlyArray<CalendarRow>>
  remove(names: ReadonlyArray<string>): Awaitable<void>
}

/**
 * Nodes by their ids. Those without a lease that carry nothing go by `RunTable.forgetNodes`. What a node reported goes with
 * it, however it goes.
 */
export interface NodeTable {
  /** Replaces the one of its id; it has reported nothing. */
  put(node: NodeRow): Awaitable<void>
  find(id: string): Awaitable<NodeRow | undefined>
  /** Answers whether it is there. */
  extend(id: string, expiresAt: number): Awaitable<boolean>
  remove(id: string): Awaitable<void>
  /** In any order. */
  all(): Awaitable<ReadonlyArray<NodeRow>>
  /** Keeps what a node says of its workers, a text of up to 1 MiB, in place of what it said before; answers whether it is there. */
  report(id: string, workers: string): Awaitable<boolean>
  /** Of those that have said something, in any order. */
  reports(): Awaitable<ReadonlyArray<NodeWorkers>>
}

/** Credentials by their ids. Nobody else adds one between `insert` and the end of its transaction. */
export interface CredentialTable {
  /** `false`, and nothing is changed, when its id is there, or one of its kind and name. */
  insert(row: CredentialRow): Awaitable<boolean>
  count(): Awaitable<number>
  /** In any order. */
  all(): Awaitable<ReadonlyArray<CredentialRow>>
  /** Answers how many there were. */
  remove(ids: ReadonlyArray<string>): Awaitable<number>
}

/** What a record is found by. */
export type RecordKey = Pick<RecordRow, "kind" | "id">

/** What a put reads of a record that is there, expired or not: not its body. */
export type RecordKept = Pick<RecordRow, "kind" | "id" | "expiresAt" | "version">

/** A page of a kind: ids of at least `from`, and below `below`, in the order of their bytes. */
export interface RecordRange {
  readonly kind: string
  readonly from: string
  readonly below: string
  readonly isAscending: boolean
  readonly limit: number
}

/** Records by kind and id. Ids are compared by their bytes: upper case comes before lower case, and a space counts. */
export interface RecordTable {
  /**
   * Those of these keys that are there, expired or not, in any order. Nobody else changes them until the transaction
   * ends: a database with several clients locks them here, in the order that is given.
   */
  lock(keys: ReadonlyArray<RecordKey>): Awaitable<ReadonlyArray<RecordKept>>
  /** Rows that were not there. Where somebody else was faster, the whole transaction is taken back and driven again. */
  add(rows: ReadonlyArray<RecordRow>): Awaitable<void>
  /** Rows in place of those that were locked. */
  replace(rows: ReadonlyArray<RecordRow>): Awaitable<void>
  /** Those of a kind that were locked. */
  remove(kind: string, ids: ReadonlyArray<string>): Awaitable<void>
  /** Those that have not expired: without `expiresAt`, or it is after now. Index: kind and id, unique. */
  page(range: RecordRange, now: number): Awaitable<ReadonlyArray<RecordRow>>
  /** Removes some whose `expiresAt` is now or before it; answers how many. Index: `expiresAt` of those that have one. */
  removeExpired(now: number, limit: number): Awaitable<number>
}

const triggerOf = (text: string): Trigger => JSON.parse(text) as Trigger

/** Whether a dead run counts as alive, since its schedule waits until somebody has dealt with its letter. */
const isHeld = ({ trigger }: Pick<ScheduleKept, "trigger">, { state, hasOpenLetter }: LastRun): boolean =>
  state === "dead" && hasOpenLetter && triggerOf(trigger).holdOnFailure === true

/** Whether what waits for the last run of a schedule need not wait any more. */
export const isOver = (schedule: Pick<ScheduleKept, "trigger">, lastRun: LastRun | null): boolean =>
  lastRun === null || (isFinal(lastRun.state) && !isHeld(schedule, lastRun))

/** A schedule as the port shows it. */
export const scheduleRow = ({
  triggerId: _triggerId,
  trigger,
  overlap,
  catchUp,
  ...row
}: ScheduleStored): ScheduleRow => ({
  ...row,
  trigger: triggerOf(trigger),
  overlap: overlap as ScheduleRow["overlap"],
  ...(catchUp === null ? {} : { catchUp: JSON.parse(catchUp) as NonNullable<ScheduleRow["catchUp"]> }),
})

/** A due schedule as the port shows it. */
export const dueSchedule = ({ lastRun, ...schedule }: ScheduleDue): DueSchedule => ({
  ...scheduleRow(schedule),
  lastRunAlive: !isOver(schedule, lastRun),
  lastRunEndedAt: lastRun !== null && isOver(schedule, lastRun) ? lastRun.endedAt : null,
})
