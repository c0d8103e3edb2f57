// An engine in your process: start it, send runs, stop it. The Promise-style shell over the core.
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Result from "effect/Result"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { Engine, type EngineService } from "../../core/engine/Engine.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { RunStore, type Store } from "../../core/ports/Store.ts"
import type { Enqueued, Replayed, RunCount, RunFilter } from "../../core/ports/StoreDriver.ts"
import { type RunRequest, stopped } from "../../core/run/Enqueue.ts"
import type { WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import { checkConfig, checkHands, type Config, type Project } from "./config.ts"
import { guardProcess } from "./guard.ts"
import { makeFlowHandlers } from "./flowHandlers.ts"
import { makeFlowCalls, type FlowCalls } from "./flowCalls.ts"
import { makeContexts, makeHandlers } from "./handlers.ts"
import { checkInput, checkInputSync } from "./input.ts"
import type { Startable } from "./job.ts"
import { makeQueueCalls, type QueueCalls } from "./queueCalls.ts"
import { makeReaders } from "./readers.ts"
import { zoneDataVersion } from "../../core/trigger/Zone.ts"
import { runtimeName } from "./runtime.ts"
import { makeScheduleCalls, type ScheduleCalls } from "./scheduleCalls.ts"
import { checkCount, checkSend, foreignJob, type SendOptions } from "./send.ts"
import { makeSendIn, type OwnConnection, type OwnTransaction, type PendingRun } from "./sendIn.ts"
import { makeSendMany, type SendItem, type SentMany } from "./sendMany.ts"
import { notFound, waitFor } from "./waitFor.ts"
import { layerExecutors, openWorks } from "./works.ts"

export type { BackfillOptions } from "./backfill.ts"
export type { SendOptions } from "./send.ts"
export { RunFailed } from "./waitFor.ts"

/** A run that is in the store. */
export interface SentRun<Output = unknown> {
  readonly id: string
  /** `false`: a run of this id or key was there already, and this is it. */
  readonly created: boolean
  /** Waits for the end: the output, or an error that says how it ended otherwise. */
  readonly result: (options?: { readonly timeout?: TimeSpan }) => Promise<Output>
}

/** A started engine. */
export interface RunningEngine extends FlowCalls, ScheduleCalls, QueueCalls {
  readonly send: <Input, Output>(
    job: Startable<Input, Output>,
    input: Input,
    options?: SendOptions,
  ) => Promise<SentRun<Output>>
  /**
   * Sends one run for each input, with the same options or with those that a function names for each, at most 100,000.
   * Nothing is sent when one of them is refused. When it fails later (the store, the end of the engine, too many that
   * wait), some may be stored: with ids of your own it is safe to call again.
   */
  readonly sendAll: <Input, Output>(
    job: Startable<Input, Output>,
    inputs: ReadonlyArray<Input>,
    options?: SendOptions | ((input: Input, index: number) => SendOptions),
  ) => Promise<ReadonlyArray<Pick<SentRun, "id" | "created">>>
  /**
   * The same for runs of any jobs, each with its own options. Rejects with `SendsRefused`, which names all that are
   * refused by their places.
   */
  readonly sendMany: (items: ReadonlyArray<SendItem>) => Promise<SentMany>
  /**
   * Sends within a transaction of your own (postgres-js's `begin`, Drizzle's `transaction`), which must be in the
   * database of the storage: rolled back, there is no run; committed, it runs. With SQLite the transaction is one that
   * you began on a connection to the file, and should end in the same turn: an engine in this process waits for it.
   */
  readonly sendIn: <Input, Output>(
    transaction: OwnTransaction | OwnConnection,
    job: Startable<Input, Output>,
    input: Input,
    options?: SendOptions,
  ) => Promise<PendingRun>
  /**
   * The same for transactions that wait for nothing, as those of SQLite are: the run is stored when the call returns, and
   * what it throws rolls them back.
   */
  readonly sendInSync: <Input, Output>(
    connection: OwnConnection,
    job: Startable<Input, Output>,
    input: Input,
    options?: SendOptions,
  ) => PendingRun
  readonly cancel: (id: string, reason?: string) => Promise<void>
  /** Makes a new run of a dead one; answers its id. */
  readonly replay: (id: string) => Promise<string>
  /** The same for up to 1,000, answered in their order; one without a letter is no error. */
  readonly replayAll: (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<Replayed>>
  readonly run: (id: string) => Promise<Run | undefined>
  readonly runs: (filter?: Partial<RunFilter>) => Promise<ReadonlyArray<Run>>
  readonly counts: () => Promise<ReadonlyArray<RunCount>>
  readonly deadLetters: () => Promise<ReadonlyArray<DeadLetter>>
  /** Calls `listener` with all that happens until the returned function is called. */
  readonly on: (listener: (event: EngineEvent) => void) => () => void
  readonly load: EngineService["load"]
  /** The id of its node, as in `uhrwerk node list`; another one after a lease was lost. */
  readonly node: EngineService["node"]
  /** The workers that are connected; `null` without `StartOptions.workers`. */
  readonly workers: EngineService["desk"]
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
  /** Serves workers: `RunningEngine.workers` takes their connections. */
  readonly workers?: WorkersConfig
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
  checkHands(project, options.workers !== undefined)
  const live: { engine?: EngineService } = {}
  const contextOf = makeContexts(
    (event) => live.engine?.events.publish(event),
    options.handlerContext ?? options.context,
  )
  const works = await openWorks(project.works, (event) => live.engine?.events.publish(event))
  const handlers = new Map([
    ...makeHandlers(project.jobs, contextOf),
    ...makeFlowHandlers(project.flows, contextOf, works.perform),
  ])
  const layer = Engine.layer({
    book: project.book,
    schedules: project.schedules,
    calendars: project.calendars,
    dialects: project.dialects,
    slots: project.slots,
    leaseMillis: project.leaseMillis,
    pollMillis: project.pollMillis,
    retentionMillis: project.retentionMillis,
    identity: { host: hostname(), pid: process.pid, runtime: runtimeName() },
    zones: { version: zoneDataVersion(process.versions) },
    ...(options.workers === undefined ? {} : { workers: options.workers }),
    ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
  }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        layerExecutors(handlers, project.jobs, works),
        project.storage.notifier,
        project.storage.layer,
      ),
    ),
    Layer.provide(Layer.succeedContext(options.context ?? Context.empty())),
  )
  const runtime = ManagedRuntime.make(layer)
  let isOver = false
  const run = async <A, E>(effect: Effect.Effect<A, E, Engine | Store>): Promise<A> => {
    // What comes after the end gets the same answer as what comes shortly before it.
    if (isOver) throw stopped()
    return runtime.runPromise(
      options.context === undefined ? effect : Effect.provide(effect, options.context),
    )
  }
  /** What is sent most often needs none of the runtime's services, and the batcher answers it also when the engine ends. */
  const enqueue = async (request: RunRequest): Promise<Enqueued> => {
    if (isOver || options.context !== undefined) return run(core.enqueue(request))
    return Effect.runPromise(core.enqueue(request))
  }
  const core = await run(Engine).catch(async (error: unknown) => {
    await runtime.dispose()
    throw error
  })
  live.engine = core
  const unguard = options.guard === false ? () => {} : guardProcess(core.events)

  const readers = makeReaders(project.flows)
  const startables: ReadonlyArray<Startable<any, any>> = [
    ...project.jobs.values(),
    ...[...project.flows.values()].map(({ flow }) => flow),
  ]
  // The commit is still to come, mostly in this turn; one that comes later is found by the next poll.
  const sendIn = makeSendIn(project, (dueAt) => setTimeout(() => isOver || core.look(dueAt), 0))
  const fieldOf = (job: Startable<any, any>): readonly [string, string] => {
    const flow = project.flows.get(job.name)
    if ((flow?.flow ?? project.jobs.get(job.name)) !== job) throw foreignJob(job.name)
    const what = flow === undefined ? "job" : "flow"
    return [`input of ${what} "${job.name}"`, `the ${what}'s`]
  }
  const checked = (name: string, field: string, input: unknown, given: SendOptions): RunRequest =>
    Result.getOrThrow(checkSend(name, Result.getOrThrow(encodePayload(field, input)), given))
  const requestOf = async (job: Startable<any, any>, input: unknown, given: SendOptions) => {
    const [field, whose] = fieldOf(job)
    await checkInput(field, job.options.input, input, whose)
    return checked(job.name, field, input, given)
  }
  let stopping: Promise<void> | undefined
  const stop = async (graceMillis: number): Promise<void> => {
    await run(core.drain(graceMillis))
    for (const each of startables) each.bind(undefined)
    isOver = true
    await runtime.dispose()
    unguard()
  }
  const get = async (id: string): Promise<Run | undefined> =>
    (await run(Effect.flatMap(RunStore, (store) => store.get([id]))))[0]

  const running: RunningEngine = {
    ...makeFlowCalls(core, run),
    ...makeScheduleCalls(project, core, run),
    ...makeQueueCalls(core, run),
    send: async (job, input, sendOptions = {}) => {
      const { id, result } = await enqueue(await requestOf(job, input, sendOptions))
      return {
        id,
        created: result === "created",
        result: async ({ timeout } = {}) => {
          const output = await waitFor(id, timeout, core, get, run)
          const flow = project.flows.get(job.name)
          return (flow === undefined ? output : await readers.output(flow, output)) as never
        },
      }
    },
    sendAll: async (job, inputs, options = {}) => {
      checkCount(inputs)
      const requests: Array<RunRequest> = []
      for (const [index, input] of inputs.entries())
        requests.push(
          await requestOf(job, input, typeof options === "function" ? options(input, index) : options),
        )
      const answers = await run(core.enqueueAll(requests))
      return answers.map(({ id, result }) => ({ id, created: result === "created" }))
    },
    sendMany: makeSendMany({
      book: project.book,
      requestOf,
      enqueueAll: (requests) => run(core.enqueueAll(requests)),
    }),
    sendIn: async (transaction, job, input, sendOptions = {}) =>
      sendIn.async(transaction, await requestOf(job, input, sendOptions)),
    sendInSync: (connection, job, input, sendOptions = {}) => {
      if (isOver) throw stopped()
      const [field, whose] = fieldOf(job)
      checkInputSync(field, job.options.input, input, whose)
      return sendIn.sync(connection, checked(job.name, field, input, sendOptions))
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
    replayAll: (ids) => run(core.replay(ids)),
    run: get,
    runs: (filter = {}) => run(Effect.flatMap(RunStore, (store) => store.list({ limit: 50, ...filter }))),
    counts: () => run(Effect.flatMap(RunStore, (store) => store.counts())),
    deadLetters: () => run(Effect.flatMap(RunStore, (store) => store.deadLetters({ limit: 200 }))),
    on: core.events.listen,
    load: core.load,
    node: core.node,
    workers: core.desk,
    stop: ({ grace } = {}) => {
      const graceMillis =
        grace === undefined ? project.graceMillis : Result.getOrThrow(parseSpan("grace", grace))
      stopping ??= stop(graceMillis)
      return stopping
    },
  }
  for (const each of startables) each.bind(running)
  return running
}
