// Jobs in the style of Effect: a definition with schemas, and its handler as a layer, so that what the handler
// needs shows in the type. `layerEngine` starts an engine of all jobs that were registered before it.
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  type DependencyCycle,
  type DuplicateName,
  InvalidInput,
  InvalidPayload,
  type InvalidSchedule,
  type StoreError,
  type UnknownJob,
} from "../domain/Errors.ts"
import { type Job as JobRow, parseJobs } from "../domain/Job.ts"
import type { Outcome } from "../domain/Outcome.ts"
import type { Placement } from "../domain/Placement.ts"
import { decodePayload, encodePayload, errorInfo } from "../domain/Payload.ts"
import type { RetryOptions } from "../domain/RetryPolicy.ts"
import type { Run } from "../domain/Run.ts"
import type { Limits, NewSchedule, Trigger } from "../domain/Schedule.ts"
import { NonRetryable, RetryAfter, Snooze } from "../domain/Signals.ts"
import type { TimeSpan } from "../domain/TimeSpan.ts"
import { type Assignment, Executor } from "../ports/Executor.ts"
import type { Notifier } from "../ports/Notifier.ts"
import type { Store } from "../ports/Store.ts"
import type { Enqueued } from "../ports/StoreDriver.ts"
import type { EnqueueError, RunRequest } from "../run/Enqueue.ts"
import { Engine } from "./Engine.ts"
import { type EngineConfig, engineDefaults } from "./EngineConfig.ts"
import { checkJob, checkRequest, checkTrigger } from "./JobChecks.ts"
import { checkCatchUp, checkHold, checkOverlap, type ScheduleOptions } from "./ScheduleChecks.ts"

/** A job with the schemas of its input, output and expected errors. */
export interface Job<Input, Output, E> {
  readonly name: string
  readonly input: Schema.Codec<Input, any>
  readonly output: Schema.Codec<Output, any>
  readonly error: Schema.Codec<E, any>
  readonly options: JobOptions
}

/** What a job may say beside its schemas. */
export interface JobOptions {
  readonly retry?: RetryOptions
  readonly timeout?: TimeSpan
  readonly queue?: string
  readonly priority?: number
  /** Its runs are carried out by workers, never by the engine's own process: no handler of its layer is called. */
  readonly placement?: Placement
  readonly on?: { readonly trigger: Trigger; readonly input?: unknown } & Omit<
    ScheduleOptions,
    keyof Limits | "only" | "except" | "closed" | "jitter"
  >
}

/** Defines a job; schemas that are left out are `Schema.Void` (input, output) and `Schema.Never` (errors). */
export const make = <Input = void, Output = void, E = never>(
  name: string,
  options: JobOptions & {
    readonly input?: Schema.Codec<Input, any>
    readonly output?: Schema.Codec<Output, any>
    readonly error?: Schema.Codec<E, any>
  } = {},
): Job<Input, Output, E> => ({
  name,
  input: options.input ?? (Schema.Void as unknown as Schema.Codec<Input, any>),
  output: options.output ?? (Schema.Void as unknown as Schema.Codec<Output, any>),
  error: options.error ?? Schema.Never,
  options,
})

/** The run that a handler works for. */
export class CurrentRun extends Context.Service<CurrentRun, Run>()("uhrwerk/core/CurrentRun") {}

type Start = (assignment: Assignment, done: (outcome: Outcome) => void) => { readonly stop: () => void }

interface Entry {
  readonly job: Job<any, any, any>
  /** `null`: it has no handler here. */
  readonly start: Start | null
}

/** The jobs that were registered, each for as long as its layer lives, for the engine that is started after them. */
export class JobRegistry extends Context.Service<JobRegistry, { readonly entries: Set<Entry> }>()(
  "uhrwerk/core/JobRegistry",
) {
  static readonly layer: Layer.Layer<JobRegistry> = Layer.sync(JobRegistry, () => ({
    entries: new Set<Entry>(),
  }))
}

/**
 * A job's handler as a layer. A typed failure ends the attempt and retries by the policy; `NonRetryable`,
 * `RetryAfter` and `Snooze` say more, as for promises. The fiber is interrupted on timeout, cancel and drain.
 */
export const toLayer = <Input, Output, E, R>(
  job: Job<Input, Output, E>,
  handler: (
    input: Input,
  ) => Effect.Effect<NoInfer<Output>, NoInfer<E> | NonRetryable | RetryAfter | Snooze, R>,
): Layer.Layer<never, never, JobRegistry | Exclude<R, CurrentRun>> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { entries } = yield* JobRegistry
      const context = yield* Effect.context<Exclude<R, CurrentRun>>()
      const fork = Effect.runForkWith(context)
      const start: Start = (assignment, done) => {
        const attempt = Effect.gen(function* () {
          const input = yield* Effect.mapError(
            Schema.decodeUnknownEffect(job.input)(decodePayload(assignment.run.input)),
            (error) => new NonRetryable(`The input does not fit the job's schema: ${error.message}`),
          )
          const output = yield* handler(input)
          return yield* Effect.mapError(
            Schema.encodeUnknownEffect(job.output)(output),
            ({ message }) => new UnfitOutput({ message }),
          )
        })
        const fiber = fork(
          Effect.provideService(attempt, CurrentRun, assignment.run) as Effect.Effect<
            unknown,
            unknown,
            Exclude<R, CurrentRun>
          >,
        )
        fiber.addObserver((exit) => done(outcomeOf(exit)))
        return { stop: () => fork(Fiber.interrupt(fiber)) }
      }
      const entry = { job, start }
      entries.add(entry)
      yield* Effect.addFinalizer(() => Effect.sync(() => entries.delete(entry)))
    }),
  )

/** A job without a handler here, as a layer: workers carry it out, as its `placement` says, or any that has a handler. */
export const onWorkers = (job: Job<any, any, any>): Layer.Layer<never, never, JobRegistry> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { entries } = yield* JobRegistry
      const entry = { job, start: null }
      yield* Effect.acquireRelease(
        Effect.sync(() => entries.add(entry)),
        () => Effect.sync(() => entries.delete(entry)),
      )
    }),
  )

// Between the handler and its outcome only, so that it is told from a handler's own failure.
class UnfitOutput extends Data.TaggedError("UnfitOutput")<{ readonly message: string }> {}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (Exit.isSuccess(exit)) {
    const output = encodePayload("output", exit.value)
    return Result.isSuccess(output) ? { kind: "succeeded", output: output.success } : notKept(output.failure)
  }
  const error = Cause.squash(exit.cause)
  if (error instanceof UnfitOutput) return notKept(unfit("output", error.message))
  if (error instanceof Snooze) return { kind: "snoozed", delayMillis: error.delayMillis }
  return {
    kind: "failed",
    error: errorInfo(error, Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "error"),
    retryable: !(error instanceof NonRetryable),
    retryAfterMillis: error instanceof RetryAfter ? error.delayMillis : null,
  }
}

// The work is done: doing it again would give the same value that cannot be kept.
const notKept = (error: InvalidPayload): Outcome => ({
  kind: "failed",
  error: errorInfo(error, "payload"),
  retryable: false,
  retryAfterMillis: null,
})

const unfit = (field: string, message: string): InvalidPayload =>
  new InvalidPayload({
    field,
    reason: `it does not fit the job's schema (${message.replaceAll("\n", " ")})`,
    next: "Correct the value, or the schema.",
  })

/** Enqueues a run of a job with a typed input. What is refused is refused before anything is stored. */
export const send = <Input, Output, E>(
  job: Job<Input, Output, E>,
  input: Input,
  options: Omit<RunRequest, "job" | "input"> = {},
): Effect.Effect<Enqueued, EnqueueError | InvalidPayload, Engine> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    yield* Effect.fromResult(checkRequest(options))
    const encoded = yield* Effect.fromResult(encodeInput(job, input))
    return yield* engine.enqueue({ ...options, job: job.name, input: encoded })
  })

const encodeInput = (
  job: Job<any, any, any>,
  input: unknown,
): Result.Result<string | null, InvalidPayload> => {
  const field = `input of job "${job.name}"`
  return Result.flatMap(
    Result.mapError(Schema.encodeUnknownResult(job.input)(input), ({ message }) => unfit(field, message)),
    (value) => encodePayload(field, value),
  )
}

/** Why an engine of layers does not start. */
export type StartError =
  | InvalidInput
  | InvalidPayload
  | InvalidSchedule
  | DuplicateName
  | UnknownJob
  | DependencyCycle
  | StoreError

/** An engine of all jobs in the registry. Provide the jobs' layers to it, or they are not there yet. */
export const layerEngine = (
  options: Partial<Omit<EngineConfig, "book" | "schedules">> = {},
): Layer.Layer<Engine, StartError, JobRegistry | Store | Notifier> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { entries } = yield* JobRegistry
      const rows: Array<JobRow> = []
      const schedules: Array<NewSchedule> = []
      for (const [index, { job }] of [...entries].entries()) {
        rows.push(yield* Effect.fromResult(checkJob(`jobs[${index}]`, job.name, job.options)))
        const { on } = job.options
        if (on === undefined) continue
        const field = `job "${job.name}".on`
        const input = yield* Effect.fromResult(encodeInput(job, on.input))
        const trigger = yield* Effect.fromResult(checkTrigger(`${field}.trigger`, on.trigger))
        const overlap = yield* Effect.fromResult(checkOverlap(`${field}.overlap`, on.overlap))
        const catchUp = yield* Effect.fromResult(checkCatchUp(field, on))
        const isHeld = on.trigger.holdOnFailure === true
        const hold = yield* Effect.fromResult(checkHold(field, isHeld, overlap))
        schedules.push({
          id: job.name,
          job: job.name,
          trigger: { ...trigger, ...hold },
          input,
          overlap,
          ...catchUp,
          fromConfig: true,
        })
      }
      const book = yield* Effect.fromResult(parseJobs(rows))
      const starts = new Map(
        [...entries].flatMap(({ job, start }) =>
          start === null || job.options.placement !== undefined ? [] : [[job.name, start] as const],
        ),
      )
      const executor = Layer.succeed(Executor, {
        jobs: new Set(starts.keys()),
        start: (assignment, done) => starts.get(assignment.run.job)?.(assignment, done) ?? { stop: () => {} },
      })
      const identity = { host: "localhost", pid: 0, runtime: "effect" }
      return Layer.provide(
        Engine.layer({ ...engineDefaults, identity, ...options, book, schedules }),
        executor,
      )
    }),
  )
