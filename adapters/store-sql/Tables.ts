// What each database provides of its tables, within one transaction. The logic over them (Work.ts and what uses it) is
// the same for all databases. Lists, so that a database with a network before it needs one round trip a batch; an
// empty list is never asked for. Each database has its own statements for what is hot beside these: enqueue, claim,
// starts, plain successes, and steps of schedules that are alike.
import type { NeedCounts, StepState } from "../../core/domain/Flow.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Attempt, Run, RunState } from "../../core/domain/Run.ts"
import type { Awaitable, Fire } from "../../core/ports/StoreDriver.ts"

/** The tables as one transaction sees them. */
export interface Tables {
  /** The store's clock, in epoch milliseconds. */
  readonly now: () => number
  readonly runs: RunTable
  readonly flows: FlowTable
  readonly schedules: ScheduleTable
}

/** A run's row. */
export interface RunRow {
  readonly run: Run
  /** The latest token under which an outcome was applied: what makes a repeated settlement harmless. */
  readonly settledToken: number
}

/** One run that waits for another. */
export interface Dependent {
  readonly needId: string
  readonly runId: string
}

/** A change of how many runs of a job are in a state. */
export interface CountChange {
  readonly job: string
  readonly state: RunState
  readonly by: number
}

/** A run that can be removed. */
export interface Prunable {
  readonly id: string
  readonly job: string
  readonly state: RunState
  /** Of a run that expanded. */
  readonly expansionId: number | null
}

/** Runs and what hangs on them. */
export interface RunTable {
  /**
   * Keeps everybody else from changing these runs, and what moves with them, until the transaction ends. Asked for
   * before the first of them is read, for all of a batch at once; ids that are not there do no harm.
   */
  lock(ids: ReadonlyArray<string>): Awaitable<void>
  /** The rows of these ids, in any order, without those that are not there. Nobody else changes them from here on. */
  find(ids: ReadonlyArray<string>): Awaitable<ReadonlyArray<RunRow>>
  /** The same for whom it is only for show: nobody is kept from changing them. */
  read(ids: ReadonlyArray<string>): Awaitable<ReadonlyArray<RunRow>>
  /** Stores a run; `false`, and nothing is changed, when its id is there, or its key in use. */
  insert(run: Run): Awaitable<boolean>
  /** Stores runs that were never claimed, need nothing and have no key; answers how many: those that are there are left out. */
  insertNew(runs: ReadonlyArray<Run>): Awaitable<number>
  /** Writes changed rows; neither what a run was enqueued with nor its input ever changes, but for `dueAt`. */
  update(rows: ReadonlyArray<RunRow>): Awaitable<void>
  /** The run that has this key in use. */
  openOf(job: string, key: string): Awaitable<Pick<Run, "id" | "state" | "dueAt"> | undefined>
  addDependents(dependents: ReadonlyArray<Dependent>): Awaitable<void>
  /** What waits for these runs. */
  dependentsOf(needIds: ReadonlyArray<string>): Awaitable<ReadonlyArray<Dependent>>
  dropDependents(dependents: ReadonlyArray<Dependent>): Awaitable<void>
  addAttempts(attempts: ReadonlyArray<Attempt>): Awaitable<void>
  addCounts(changes: ReadonlyArray<CountChange>): Awaitable<void>
  addLetters(letters: ReadonlyArray<DeadLetter>): Awaitable<void>
  /** Which run did the work of a dead one again; `null` for none, `undefined` without a letter. */
  replayedBy(runId: string): Awaitable<string | null | undefined>
  markReplayed(runId: string, newId: string): Awaitable<void>
  /** Answers how many letters there were. */
  dropLetters(runIds: ReadonlyArray<string>): Awaitable<number>
  /** Runs that wait for their time and whose time to start has passed. */
  overdue(now: number, limit: number): Awaitable<ReadonlyArray<string>>
  /** Makes runs ready that are due, at most `limit`; answers job and old state of each. */
  makeReady(now: number, limit: number): Awaitable<ReadonlyArray<Pick<Run, "job" | "state">>>
  /** Running runs whose node has no lease, without those of `self`; the lowest id first. */
  orphans(self: string, now: number, limit: number): Awaitable<ReadonlyArray<string>>
  /** Removes nodes without a lease that carry nothing, but for `self`. */
  forgetNodes(self: string, now: number): Awaitable<void>
  /** Runs that ended before `before` and that nothing holds, the oldest first; see `RunStoreDriver.prune`. */
  prunable(before: number, limit: number): Awaitable<ReadonlyArray<Prunable>>
  /** Removes runs with their attempts and letters. */
  forget(ids: ReadonlyArray<string>): Awaitable<void>
}

/** A run that expanded. */
export interface ExpansionRow {
  readonly id: number
  readonly runId: string
  /** What the steps run by: a definition, or a list (JSON text). */
  readonly definitionId: number | null
  /** Of the definition. */
  readonly name: string | null
  readonly version: string | null
  readonly list: string | null
  readonly size: number
  readonly round: number
  readonly faults: number
  readonly retryInMillis: number | null
  readonly deadlineAt: number | null
  readonly hasInput: boolean
  /** Of its run. */
  readonly run: Pick<Run, "chainId" | "nominalAt" | "state" | "waitingFor">
}

/** A new one, in its first round and without faults. */
export interface NewExpansion {
  readonly runId: string
  readonly definitionId: number | null
  readonly list: string | null
  readonly size: number
  readonly retryInMillis: number | null
  readonly deadlineAt: number | null
  /** `undefined`: its steps read the input of the run. */
  readonly input: string | null | undefined
}

/** How far a step is. One without a row is blocked, and none of its needs has ended. */
export interface StepRow extends Omit<NeedCounts, "needs"> {
  readonly step: number
  readonly state: StepState
  /** Its latest run. */
  readonly runId: string | null
}

/** One step with what is known of its run. */
export interface StepResult {
  readonly step: number
  readonly state: StepState
  readonly runId: string | null
  readonly reason: string | null
  /** Of one that succeeded; others have none, whether by themselves or by hand. */
  readonly output: string | null
}

/** Runs that expanded, their steps and the definitions that these run by. */
export interface FlowTable {
  expansions(runIds: ReadonlyArray<string>): Awaitable<ReadonlyArray<ExpansionRow>>
  /** Answers its id. */
  insert(expansion: NewExpansion): Awaitable<number>
  /** The input that its steps read; asked for only if it has one. */
  inputOf(id: number): Awaitable<string | null>
  nextRound(expansion: Pick<ExpansionRow, "id" | "round" | "retryInMillis" | "deadlineAt">): Awaitable<void>
  endDeadline(id: number): Awaitable<void>
  /** Sets how many steps of a run are open (its `waitingFor`), and of its expansion the faults; `null` leaves these. */
  setTotals(
    totals: ReadonlyArray<{
      readonly id: number
      readonly runId: string
      readonly open: number
      readonly faults: number | null
    }>,
  ): Awaitable<void>
  /** Removes an expansion and its steps; answers its definition. */
  forget(id: number): Awaitable<number | null>
  /** Runs whose steps should have ended by now; by deadline, and of one deadline in the order in which they expanded. */
  overtime(now: number, limit: number): Awaitable<ReadonlyArray<string>>

  /** Rows of these steps, or of all, in any order, without those that are not there. */
  steps(id: number, places: ReadonlyArray<number> | null): Awaitable<ReadonlyArray<StepRow>>
  /** Makes or changes rows; what people said of a step stays. */
  putSteps(rows: ReadonlyArray<StepRow & { readonly id: number }>): Awaitable<void>
  dropSteps(id: number, places: ReadonlyArray<number>): Awaitable<void>
  /** Copies the steps of a run that has ended, as they read from then on; their runs are kept for the copy. */
  copySteps(from: number, to: number): Awaitable<void>
  /** What somebody said who ended a step by hand; it has a row. */
  setWords(id: number, step: number, reason: string, output: string | null): Awaitable<void>
  /** The runs of steps that are released and have not ended. */
  released(id: number): Awaitable<ReadonlyArray<string>>
  /** In the order of the steps, those without a row left out; `null`: of all. */
  results(id: number, places: ReadonlyArray<number> | null): Awaitable<ReadonlyArray<StepResult>>
  /** The inputs of a list's items: those of the runs that they all got. */
  items(id: number): Awaitable<ReadonlyArray<string | null>>
  /** Of these runs those that are steps. */
  stepRuns(
    ids: ReadonlyArray<string>,
  ): Awaitable<ReadonlyArray<{ readonly id: string; readonly parentId: string; readonly step: number }>>

  definitionId(name: string, version: string): Awaitable<number | undefined>
  /** Answers its id; that of the one there is, if somebody else was faster. */
  insertDefinition(name: string, version: string, definition: string): Awaitable<number>
  /** Its JSON text. */
  definition(id: number): Awaitable<string>
  /** Removes a definition that no expansion has any more. */
  forgetDefinition(id: number): Awaitable<void>
}

/** A schedule as it is stored, as far as saving and moving it reads it; what is JSON stays a text. */
export interface ScheduleKept {
  readonly id: string
  readonly job: string
  readonly trigger: string
  readonly triggerId: number
  readonly input: string | null
  readonly overlap: string
  readonly catchUp: string | null
  readonly fromConfig: boolean
  readonly version: number
  readonly cursor: number
  readonly nextAt: number | null
  readonly waitsUntil: number | null
  readonly pausedAt: number | null
  readonly zoneData: string | null
}

/** A decided instant as it is stored. */
export interface Decided {
  readonly seq: number
  readonly count: number
  readonly lastAt: number
  readonly runId: string | null
}

/** A decision to store. */
export type Decision = Fire["occurrences"][number] & {
  readonly scheduleId: string
  readonly zoneData: string | null
  readonly decidedAt: number
}

/** Schedules and their ledger. */
export interface ScheduleTable {
  /** In any order, without those that are not there. Nobody else changes them from here on. */
  find(ids: ReadonlyArray<string>): Awaitable<ReadonlyArray<ScheduleKept>>
  /** A new one, in its first version. */
  insert(
    schedule: Omit<ScheduleKept, "version" | "waitsUntil" | "pausedAt">,
    createdAt: number,
  ): Awaitable<void>
  /** Writes an edited one but for its pause; it gets a further version. */
  edit(schedule: Omit<ScheduleKept, "version" | "pausedAt">): Awaitable<void>
  remove(ids: ReadonlyArray<string>): Awaitable<void>
  /** Writes a pause, or its end, which keeps the last `resumedAt` if it is `null`; a further version. */
  pause(
    id: string,
    change: {
      readonly pausedAt: number | null
      readonly pausedNote: string | null
      readonly resumedAt: number | null
    },
  ): Awaitable<void>
  /** The id of a trigger's text, which is used from now on. */
  takeTrigger(text: string, now: number): Awaitable<number>
  /** Notes that these schedules leave their triggers, or are removed. */
  leaveTriggers(ids: ReadonlyArray<string>, now: number): Awaitable<void>
  /** Moves schedules that have the version of their step; answers how many had. */
  move(fires: ReadonlyArray<Fire>): Awaitable<number>
  /** Stores decisions under their schedules' triggers, but for instants that were decided; answers how many. */
  decide(decisions: ReadonlyArray<Decision>): Awaitable<number>
  /** The decision that begins at this instant. */
  decided(scheduleId: string, at: number): Awaitable<Decided | undefined>
  /** Gives a decision its run, in place of a reason; it is of one instant then. */
  fill(seq: number, runId: string | null, decidedAt: number): Awaitable<void>
  /** Takes an instant out of the decision about several that holds it. */
  countOut(scheduleId: string, at: number): Awaitable<void>
  /** Removes decisions of before `before` whose runs are gone; answers how many. */
  forgetOccurrences(before: number, limit: number): Awaitable<number>
  /** Removes the texts of triggers that no schedule has and that were left before `before`. */
  forgetTriggers(before: number): Awaitable<void>
}
