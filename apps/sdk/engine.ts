// An engine in your process: start it, send runs, stop it. The Promise-style shell over the core.
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Result from "effect/Result"
import { layerInline } from "../../adapters/executor-inline/mod.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { InvalidInput, NotFound, UnknownJob } from "../../core/domain/Errors.ts"
import { isRunId } from "../../core/domain/Ids.ts"
import { decodePayload, encodePayload } from "../../core/domain/Payload.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { parseInstant, parseSpan, quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { Engine, type EngineService } from "../../core/engine/Engine.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { Notifier } from "../../core/ports/Notifier.ts"
import { RunStore, type Store } from "../../core/ports/Store.ts"
import type { RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import type { RunRequest } from "../../core/run/Enqueue.ts"
import { checkConfig, type Config, type Project } from "./config.ts"
import { guardProcess } from "./guard.ts"
import { makeHandlers } from "./handlers.ts"
import { checkInput } from "./input.ts"
import type { Job } from "./job.ts"
import { runtimeName } from "./runtime.ts"

/** When and how a sent run starts. */
export interface SendOptions {
  /** Wait this long. */
  readonly delay?: TimeSpan
  /** Wait until this instant; one that has passed means at once. */
  readonly at?: Date | number | string
  /** While a run of this job with this key has not ended, sending again answers that run. At most 512 characters. */
  readonly key?: string
  /** The run's id, a UUIDv7 of yours: sending twice makes one run, also after a crash in between. */
  readonly id?: string
  /** -1000 to 1000, higher first; default: the job's. */
  readonly priority?: number
  readonly queue?: string
  /** Not started within this span of its due time, it expires. */
  readonly startWithin?: TimeSpan
}

/** A run that is in the store. */
export interface SentRun<Output = unknown> {
  readonly id: string
  /** `false`: a run of this id or key was there already, and this is it. */
  readonly created: boolean
  /** Waits for the end: the output, or an error that says how it ended otherwise. */
  readonly result: (options?: { readonly timeout?: TimeSpan }) => Promise<Output>
}

/** A started engine. */
export interface RunningEngine {
  readonly send: <Input, Output>(
    job: Job<Input, Output>,
    input: Input,
    options?: SendOptions,
  ) => Promise<SentRun<Output>>
  readonly cancel: (id: string, reason?: string) => Promise<void>
  /** Makes a new run of a dead one; answers its id. */
  readonly replay: (id: string) => Promise<string>
  readonly run: (id: string) => Promise<Run | undefined>
  readonly runs: (filter?: Partial<RunFilter>) => Promise<ReadonlyArray<Run>>
  readonly counts: () => Promise<ReadonlyArray<RunCount>>
  readonly deadLetters: () => Promise<ReadonlyArray<DeadLetter>>
  readonly pauseSchedule: (id: string, paused?: boolean) => Promise<void>
  /** Calls `listener` with all that happens until the returned function is called. */
  readonly on: (listener: (event: EngineEvent) => void) => () => void
  readonly load: EngineService["load"]
  /** Drains, and closes the store. Calling it again waits for the same end. */
  readonly stop: (options?: { readonly grace?: TimeSpan }) => Promise<void>
}

/** How to start an engine beyond its config. */
export interface StartOptions {
  /**
   * `true` (default): unhandled rejections and exceptions of the process, which user code causes, are reported
   * as `trouble` and do not end it.
   */
  readonly guard?: boolean
  /** Hears events from the very first one. */
  readonly onEvent?: (event: EngineEvent) => void
  /** Services to replace: clock, scheduler, random numbers. For tests. */
  readonly context?: Context.Context<never>
  /** The same for what handlers wait by; default `context`. */
  readonly handlerContext?: Context.Context<never>
}

/** An engine of a config; nothing is checked or opened before `start`. */
export const engine = (
  config: Config,
): { readonly start: (options?: StartOptions) => Promise<RunningEngine> } => ({
  start: async (options = {}) => startProject(await checkConfig(config), options),
})

/** Starts an engine of a checked config. */
export const startProject = async (project: Project, options: StartOptions = {}): Promise<RunningEngine> => {
  const live: { engine?: EngineService } = {}
  const handlers = makeHandlers(
    project.jobs,
    (event) => live.engine?.events.publish(event),
    options.handlerContext ?? options.context,
  )
  const layer = Engine.layer({
    book: project.book,
    schedules: project.schedules,
    slots: project.slots,
    leaseMillis: project.leaseMillis,
    pollMillis: project.pollMillis,
    retentionMillis: project.retentionMillis,
    identity: { host: hostname(), pid: process.pid, runtime: runtimeName() },
    ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
  }).pipe(
    Layer.provideMerge(Layer.mergeAll(layerInline(handlers), Notifier.layerLocal, project.storage.layer)),
    Layer.provide(Layer.succeedContext(options.context ?? Context.empty())),
  )
  const runtime = ManagedRuntime.make(layer)
  const run = <A, E>(effect: Effect.Effect<A, E, Engine | Store>): Promise<A> =>
    runtime.runPromise(options.context === undefined ? effect : Effect.provide(effect, options.context))
  const core = await run(Engine).catch(async (error: unknown) => {
    await runtime.dispose()
    throw error
  })
  live.engine = core
  const unguard = options.guard === false ? () => {} : guardProcess(core.events)

  let stopping: Promise<void> | undefined
  const stop = async (graceMillis: number): Promise<void> => {
    await run(core.drain(graceMillis))
    for (const job of project.jobs.values()) job.bind(undefined)
    await runtime.dispose()
    unguard()
  }
  const get = async (id: string): Promise<Run | undefined> =>
    (await run(Effect.flatMap(RunStore, (store) => store.get([id]))))[0]

  const running: RunningEngine = {
    send: async (job, input, sendOptions = {}) => {
      if (project.jobs.get(job.name) !== job) throw foreignJob(job.name)
      await checkInput(`input of job "${job.name}"`, job.options.input, input)
      const text = Result.getOrThrow(encodePayload(`input of job "${job.name}"`, input))
      const request = Result.getOrThrow(checkSend(job.name, text, sendOptions))
      const { id, result } = await run(core.enqueue(request))
      return {
        id,
        created: result === "created",
        result: ({ timeout } = {}) => waitFor(id, timeout, core, get, run) as Promise<never>,
      }
    },
    cancel: async (id, reason = "Cancelled by a caller") => {
      const [answer] = await run(core.cancel([id], reason))
      if (answer?.result === "unknown") throw notFound("run", id)
    },
    replay: async (id) => {
      const [answer] = await run(core.replay([id]))
      if (answer === undefined || answer.newRunId === null) throw notFound("dead letter", id)
      return answer.newRunId
    },
    run: get,
    runs: (filter = {}) => run(Effect.flatMap(RunStore, (store) => store.list({ limit: 50, ...filter }))),
    counts: () => run(Effect.flatMap(RunStore, (store) => store.counts())),
    deadLetters: () => run(Effect.flatMap(RunStore, (store) => store.deadLetters({ limit: 200 }))),
    pauseSchedule: async (id, paused = true) => {
      if (!(await run(core.pauseSchedule(id, paused)))) throw notFound("schedule", id)
    },
    on: core.events.listen,
    load: core.load,
    stop: ({ grace } = {}) => {
      const graceMillis =
        grace === undefined ? project.graceMillis : Result.getOrThrow(parseSpan("grace", grace))
      stopping ??= stop(graceMillis)
      return stopping
    },
  }
  for (const job of project.jobs.values()) job.bind(running)
  return running
}

const checkSend = (
  job: string,
  input: string | null,
  options: SendOptions,
): Result.Result<RunRequest, InvalidInput> =>
  Result.gen(function* () {
    const delayMillis = options.delay === undefined ? 0 : yield* parseSpan("delay", options.delay)
    const dueAt = options.at === undefined ? null : yield* parseInstant("at", options.at)
    if (options.delay !== undefined && options.at !== undefined) {
      const next = "Give one of them."
      return yield* Result.fail(
        new InvalidInput({
          field: "at",
          reason: "a run waits for a delay or until an instant, not both",
          next,
        }),
      )
    }
    const { key, id, priority, queue } = options
    if (key !== undefined && (typeof key !== "string" || key === "" || key.length > 512)) {
      return yield* refuse("key", key, "a text of 1 to 512 characters")
    }
    if (id !== undefined && !(typeof id === "string" && isRunId(id))) {
      return yield* refuse("id", id, "a UUIDv7 in lower case")
    }
    if (priority !== undefined && !(Number.isInteger(priority) && Math.abs(priority) <= 1000)) {
      return yield* refuse("priority", priority, "a whole number from -1000 to 1000")
    }
    const within =
      options.startWithin === undefined ? null : yield* parseSpan("startWithin", options.startWithin, 1)
    return {
      job,
      input,
      delayMillis,
      dueAt,
      ...(key === undefined ? {} : { key }),
      ...(id === undefined ? {} : { id }),
      ...(priority === undefined ? {} : { priority }),
      ...(queue === undefined ? {} : { queue }),
      ...(within === null ? {} : { startWithinMillis: within }),
    }
  })

// How often a run is looked at that another process may end; events tell of those that end here.
const lookEveryMillis = 500

const waitFor = async (
  id: string,
  timeout: TimeSpan | undefined,
  core: EngineService,
  get: (id: string) => Promise<Run | undefined>,
  run: (effect: Effect.Effect<unknown>) => Promise<unknown>,
): Promise<unknown> => {
  const millis = timeout === undefined ? null : Result.getOrThrow(parseSpan("timeout", timeout))
  let waited = 0
  while (true) {
    const found = await get(id)
    if (found === undefined) throw notFound("run", id)
    if (found.state === "succeeded") return decodePayload(found.output)
    if (isFinal(found.state)) throw new RunFailed(found)
    if (millis !== null && waited >= millis) throw new Error(`Run ${id} is ${found.state} after ${millis} ms`)
    const wait = Math.min(lookEveryMillis, millis === null ? lookEveryMillis : millis - waited)
    let stopListening = () => {}
    const ended = Effect.callback<void>((resume) => {
      stopListening = core.events.listen((event) => {
        if (event.kind === "ended" && event.run.id === id) resume(Effect.void)
      })
    })
    await run(Effect.raceFirst(ended, Effect.sleep(wait)))
    stopListening()
    waited += wait
  }
}

/** What `result()` throws when the run ended otherwise than succeeded. */
export class RunFailed extends Error {
  override readonly name = "RunFailed"
  readonly run: Run

  constructor(run: Run) {
    const why = run.error?.message ?? run.reason ?? "no reason is known"
    super(`Run ${run.id} of job "${run.job}" ended ${run.state}: ${why}`)
    this.run = run
  }
}

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` }),
  )

const foreignJob = (name: string): UnknownJob =>
  new UnknownJob({
    job: name,
    field: "job",
    reason: `job "${name}" is not one of this engine's config`,
    next: "Add it to the config's `jobs`.",
  })

const notFound = (what: string, id: string): NotFound =>
  new NotFound({
    id,
    field: what,
    reason: `there is no ${what} "${id}"`,
    next: "Check the id; old runs are removed.",
  })
