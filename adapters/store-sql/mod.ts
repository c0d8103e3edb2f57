// The entry `uhrwerk/sql`: the logic of a store for authors of other databases. Whoever gives rows and transactions
// (the tables of Tables.ts) gets what follows from them: retries, letters, dependents, flows, schedules, pruning. The
// logic is generators over what the tables answer, now or later, so one and the same serves every driver.
export { Definitions } from "./Definitions.ts"
export { existing, storeRun, storeRuns } from "./enqueue.ts"
export { decisionsOf, fillOne, fireOne, isPlain } from "./fire.ts"
export { makeRun, makeStore, type RunGeneral, type StoreParts, type TransactionOf } from "./GeneralStore.ts"
export { makeOperations, type RunWork, type Transaction } from "./operations.ts"
export {
  type Cell,
  decodeAttempt,
  decodeCredential,
  decodeDeadLetter,
  decodeDue,
  decodeEnded,
  decodeOccurrence,
  decodeRun,
  decodeSchedule,
  dueColumns,
  encodeNew,
  encodeRun,
  newRunColumns,
  type Row,
} from "./rows.ts"
export { depthOf, depthsByQueue, jobsAskedFor } from "./listing.ts"
export { decodeRecord, decodeRecordKept, makeRecords, type RecordTables } from "./records.ts"
export { settleOne } from "./settle.ts"
export { done, mapped, nothing, runAsync, runSync, type Sql, wait, waitAll } from "./Sql.ts"
export { adoptRuns, startRuns } from "./start.ts"
export {
  type CalendarTable,
  type CredentialTable,
  dueSchedule,
  type FlowReads,
  isOver,
  type LastRun,
  type NodeTable,
  type RecordKept,
  type RecordKey,
  type RecordRange,
  type RecordTable,
  type RunReads,
  type ScheduleDue,
  type ScheduleReads,
  scheduleRow,
  type ScheduleStored,
  type StoreTables,
  type Wanted,
} from "./StoreTables.ts"
export type * from "./Tables.ts"
export { each, promote, promoteAll, reclaim } from "./upkeep.ts"
export { aheadMax, type EndedRun, endedReason, Work } from "./Work.ts"

export type { DeadLetter } from "../../core/domain/DeadLetter.ts"
export { StoreInUse, StoreUnusable } from "../../core/domain/Errors.ts"
export type { Expansion, FlowDefinition, NeedCounts, StepEnd, StepState } from "../../core/domain/Flow.ts"
export type { Settled, Settlement } from "../../core/domain/Outcome.ts"
export {
  type Attempt,
  type ErrorInfo,
  finalStates,
  isFinal,
  type NewRun,
  type Run,
  type RunState,
  runStates,
} from "../../core/domain/Run.ts"
export type {
  CatchUp,
  DueSchedule,
  Occurrence,
  OccurrenceReason,
  Overlap,
  PutSchedule,
  ScheduleRow,
  Trigger,
} from "../../core/domain/Schedule.ts"
/** Every change of a run, as a pure function. */
export * as Transition from "../../core/domain/Transition.ts"
export { layerDriver, type Store } from "../../core/ports/Store.ts"
export type * from "../../core/ports/StoreDriver.ts"
export {
  batchMax,
  checkBatch,
  checkCredential,
  checkFills,
  checkFires,
  checkLimit,
  checkWorkers,
  credentialsMax,
  pageMax,
  refusal,
  tooManyCredentials,
  windowMax,
} from "../../core/ports/StoreLimits.ts"
