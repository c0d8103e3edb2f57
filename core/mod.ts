// The entry `uhrwerk/effect`: the engine for programs written with Effect. Jobs are layers, their needs show in the
// types, and the promise-style entry stands on the same core.
export * as Errors from "./domain/Errors.ts"
export { makeIds } from "./domain/Ids.ts"
export type { Calendar, CalendarRule, CalendarSpan, Weekday } from "./domain/Calendar.ts"
export type { DeadLetter } from "./domain/DeadLetter.ts"
export type { Expansion, FlowDefinition, StepPlan, StepState, TriggerRule } from "./domain/Flow.ts"
export type { Outcome, Settled, Settlement } from "./domain/Outcome.ts"
export type { Placement, PlacementBy } from "./domain/Placement.ts"
export { defaultRetryPolicy, parseRetry, type RetryOptions, type RetryPolicy } from "./domain/RetryPolicy.ts"
export type { Attempt, ErrorInfo, NewRun, Run, RunState } from "./domain/Run.ts"
export type { NewSchedule, Occurrence, ScheduleRow, Trigger } from "./domain/Schedule.ts"
export { NonRetryable, RetryAfter, Snooze } from "./domain/Signals.ts"
export type { TimeSpan } from "./domain/TimeSpan.ts"
export { Engine, type EngineService } from "./engine/Engine.ts"
export { type EngineConfig, engineDefaults } from "./engine/EngineConfig.ts"
export * as Job from "./engine/JobLayer.ts"
export type { EngineEvent } from "./observe/Event.ts"
export { type Assignment, Executor, type Started, type StopReason } from "./ports/Executor.ts"
export { type Hint, Notifier } from "./ports/Notifier.ts"
export {
  contextDriver,
  CredentialStore,
  FlowStore,
  layerDriver,
  NodeStore,
  RunStore,
  ScheduleStore,
  StoreInfo,
} from "./ports/Store.ts"
export type * from "./ports/StoreDriver.ts"
export type { RunRequest } from "./run/Enqueue.ts"
