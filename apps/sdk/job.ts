// Jobs as most people write them: a name, a function, and what should happen around it.
import { EngineStopped } from "../../core/domain/Errors.ts"
import type { Shard } from "../../core/domain/Placement.ts"
import type { RetryOptions } from "../../core/domain/RetryPolicy.ts"
import type { TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { RunningEngine, SendOptions, SentRun } from "./engine.ts"
import type { InputSchema } from "./input.ts"
import type { TriggerSpec } from "./triggers.ts"
import type { Work } from "./work.ts"

/** Jobs that must have succeeded before, by the name under which their outputs are found in `ctx.needs`. */
export type Needs = Readonly<Record<string, Job<any, any>>>

/** What a handler is given beside its input. */
export interface RunContext<N extends Needs = {}> {
  readonly run: {
    readonly id: string
    readonly job: string
    /** Counted from 1. */
    readonly attempt: number
    readonly attemptMax: number
    /** Grows with each claim: hand it to systems that should refuse an outdated attempt. */
    readonly token: number
    readonly dueAt: Date
    /** The schedule's instant that this run stands for; `null` when it was sent. */
    readonly nominalAt: Date | null
    /** Milliseconds between `dueAt` and the start of this attempt. */
    readonly late: number
  }
  /** Aborted on timeout, cancel and drain: pass it on to whatever you wait for. */
  readonly signal: AbortSignal
  /** What the needed jobs returned. */
  readonly needs: { readonly [K in keyof N]: N[K] extends Job<any, infer Output> ? Output : never }
  /** A line of text for whoever watches the engine, at most 2,048 characters. */
  readonly log: (line: string) => void
  /**
   * How far it is, 0 to 100 (what is outside counts as the nearest of them), `null` when it cannot tell; with a note of
   * at most 2,048 characters. Only the newest counts, so call it as often as you like.
   */
  readonly progress: (percent: number | null, note?: string) => void
  /** Which part of a broadcast this is; `null`: of none. */
  readonly shard: Shard | null
  /** Waits; ends early by throwing when the signal is aborted. Runs on the engine's clock, so also in tests. */
  readonly sleep: (span: TimeSpan) => Promise<void>
  /** Ends this attempt, which is not counted, and runs again after the span. */
  readonly snooze: (span: TimeSpan) => never
}

/** What both jobs and flows may say. */
export interface StartableOptions<Input> {
  /** Checks the input; without it any plain data is taken. */
  readonly input?: InputSchema<Input>
  /** When it starts by itself; several triggers make several schedules. */
  readonly on?: TriggerSpec | ReadonlyArray<TriggerSpec>
  /** Default `default`. */
  readonly queue?: string
  /** Higher starts first within the queue, -1000 to 1000; default 0. */
  readonly priority?: number
}

/** How a job is defined. */
export interface JobOptions<Input, Output, N extends Needs> extends StartableOptions<Input> {
  /**
   * The handler, or what does its work: `command()`, `request()`, `onWorkers()`. What it returns is kept as the run's
   * output: plain data, at most 256 KiB as JSON.
   */
  readonly run: ((input: Input, ctx: RunContext<N>) => Output | Promise<Output>) | Work<Output, Input>
  readonly retry?: RetryOptions
  /** How long an attempt may take; default: no limit. */
  readonly timeout?: TimeSpan
  /** Starting this job starts these first, as one chain. */
  readonly needs?: N
}

/** What can be started: a job or a flow. */
export interface Startable<Input = unknown, Output = unknown> {
  readonly name: string
  readonly options: StartableOptions<Input>
  /** Enqueues a run in the engine that was last started with it. */
  readonly send: (input: Input, options?: SendOptions) => Promise<SentRun<Output>>
  /** Used by the engine: to whom `send` speaks. */
  readonly bind: (engine: RunningEngine | undefined) => void
}

/** A defined job. */
export interface Job<Input = unknown, Output = unknown> extends Startable<Input, Output> {
  readonly options: JobOptions<Input, Output, any>
}

/** Defines a job. Names are checked when the config is loaded. */
export const job = <Input = void, Output = void, const N extends Needs = {}>(
  name: string,
  options: JobOptions<Input, Output, N>,
): Job<Input, Output> => bindable<Job<Input, Output>>({ name, options }, `job "${name}"`)

/** What is defined, with a `send` that speaks to the engine that was last started with it. */
export const bindable = <S extends Startable<any, any>>(
  defined: Omit<S, "send" | "bind">,
  field: string,
): S => {
  let bound: RunningEngine | undefined
  const made = {
    ...defined,
    bind: (engine: RunningEngine | undefined) => {
      bound = engine
    },
    send: (input: unknown, sendOptions?: SendOptions) => {
      if (bound !== undefined) return bound.send(made, input, sendOptions)
      return Promise.reject(
        new EngineStopped({
          field,
          reason: "no engine with it is started",
          next: "Call `engine(config).start()` first.",
        }),
      )
    },
  } as S
  return made
}
