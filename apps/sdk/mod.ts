// The package entry `uhrwerk`: jobs, triggers, a config and an engine, in the style of promises.
export { NonRetryable, RetryAfter, Snooze } from "../../core/domain/Signals.ts"
export {
  DependencyCycle,
  DuplicateName,
  EngineStopped,
  InvalidFlow,
  InvalidInput,
  InvalidPayload,
  InvalidSchedule,
  NotFound,
  Overloaded,
  type Refusal,
  StoreError,
  StoreInUse,
  StoreUnusable,
  UnknownJob,
} from "../../core/domain/Errors.ts"
export type { RetryOptions } from "../../core/domain/RetryPolicy.ts"
export type { Run, RunState } from "../../core/domain/Run.ts"
export type { TimeSpan } from "../../core/domain/TimeSpan.ts"
export type { EngineEvent } from "../../core/observe/Event.ts"
export { StopSignal } from "../../adapters/executor-inline/mod.ts"
export type { CalendarRule, CalendarSpan, Weekday } from "../../core/domain/Calendar.ts"
export { calendar, type CalendarOptions, type CalendarPart, type CalendarSpec } from "./calendars.ts"
export { type Config, defineConfig } from "./config.ts"
export {
  type BackfillOptions,
  engine,
  RunFailed,
  type RunningEngine,
  type SendOptions,
  type SentRun,
  type StartOptions,
} from "./engine.ts"
export { type SendItem, type SentMany, SendsRefused } from "./sendMany.ts"
export type { OwnConnection, OwnTransaction, PendingRun } from "./sendIn.ts"
export {
  type Flow,
  flow,
  type FlowBuilder,
  type FlowOptions,
  type ItemContext,
  type MapOptions,
  type Step,
  type StepContext,
  type StepOptions,
  type SubFlowOptions,
} from "./flow.ts"
export type { FlowRun, StepEndOptions } from "./flowCalls.ts"
export { type Job, job, type JobOptions, type RunContext, type Startable } from "./job.ts"
export type { CommandOptions } from "../../adapters/executor-subprocess/Command.ts"
export type { RequestOptions, RequestRules } from "../../adapters/executor-http/Request.ts"
export type { CommandRules, ExecutorRules } from "./checkExecutors.ts"
export { command, onWorkers, request, type Work, type WorkersOptions } from "./work.ts"
export type { PlacementBy } from "../../core/domain/Placement.ts"
export { after, at, cron, every, type TriggerSpec } from "./triggers.ts"
