// Runs the work of jobs and steps that is no function. Jobs go straight to their executor, beside that of functions; a
// step's handler prepares what its work is given, and hands it over here.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { Request } from "../../adapters/executor-http/Request.ts"
import { Answer, type Handlers, inlineExecutor, StopSignal } from "../../adapters/executor-inline/mod.ts"
import type { Command } from "../../adapters/executor-subprocess/Command.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import { encodePayload, errorInfo } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { Executor, type Started } from "../../core/ports/Executor.ts"
import {
  composeExecutors,
  type DescribedJob,
  type Task,
  taskInput,
  workExecutor,
  type WorkRunner,
} from "../../core/ports/Executors.ts"
import type { CheckedWork, CheckedWorks } from "./checkExecutors.ts"
import type { Job } from "./job.ts"

/** Does work. */
export interface Works {
  /** The work of a step, or of an item; its outcome is the answer of the handler that asked. */
  readonly perform: (job: string, run: Run, input: unknown, signal: AbortSignal) => Promise<Answer>
  /** Executors of the jobs whose work it is. */
  readonly executors: (jobs: ReadonlyMap<string, Job<any, any>>) => ReadonlyArray<Executor["Service"]>
  /** Ends what is under way. */
  readonly close: () => Promise<void>
}

interface Runners {
  readonly command?: WorkRunner<Command>
  readonly request?: WorkRunner<Request>
}

/** Opens what the works of a config need; what they do not need is not even loaded. */
export const openWorks = async (
  { byJob, rules }: CheckedWorks,
  publish: (event: EngineEvent) => void,
): Promise<Works> => {
  const kinds = new Set([...byJob.values()].map(({ kind }) => kind))
  const runners: Runners = {
    ...(kinds.has("command") ? { command: await openCommands(publish) } : {}),
    ...(kinds.has("request") ? { request: await openRequests(rules) } : {}),
  }
  return {
    perform: async (job, run, input, signal) => {
      const text = Result.getOrThrow(encodePayload(`input of ${run.job}`, input)) ?? "null"
      return performed(signal, (done) => startWork(runners, byJob.get(job), { run, input: text }, done))
    },
    executors: (jobs) => {
      const { command, request } = runners
      const commands = new Map<string, DescribedJob<Command>>()
      const requests = new Map<string, DescribedJob<Request>>()
      for (const [name, job] of jobs) {
        const work = byJob.get(name)
        const input = inputOf(job)
        if (work?.kind === "command") commands.set(name, { spec: work.spec, input })
        if (work?.kind === "request") requests.set(name, { spec: work.spec, input })
      }
      return [
        ...(command === undefined ? [] : [workExecutor(command, commands)]),
        ...(request === undefined ? [] : [workExecutor(request, requests)]),
      ]
    },
    close: async () => {
      await Promise.all([runners.command?.close(), runners.request?.close()])
    },
  }
}

/** The executor of these handlers and of these jobs' work, which ends with the layer. */
export const layerExecutors = (
  handlers: Handlers,
  jobs: ReadonlyMap<string, Job<any, any>>,
  works: Works,
): Layer.Layer<Executor> =>
  Layer.effect(
    Executor,
    Effect.acquireRelease(
      Effect.sync(() =>
        Result.getOrThrow(composeExecutors([inlineExecutor(handlers), ...works.executors(jobs)])),
      ),
      () => Effect.promise(works.close),
    ),
  )

const openCommands = async (publish: (event: EngineEvent) => void): Promise<WorkRunner<Command>> => {
  const { makeCommandRunner } = await import("../../adapters/executor-subprocess/mod.ts")
  return makeCommandRunner({
    log: (run, line) => publish({ kind: "log", run, line }),
    report: (doing, error) => publish({ kind: "trouble", doing, error: errorInfo(error).message }),
  })
}

const openRequests = async (rules: CheckedWorks["rules"]): Promise<WorkRunner<Request>> => {
  const { makeRequestRunner } = await import("../../adapters/executor-http/mod.ts")
  return makeRequestRunner({ rules })
}

/** The outputs of its needs are given under the names that the job gave them. */
const inputOf = ({ options }: Job<any, any>): NonNullable<DescribedJob<unknown>["input"]> => {
  const names = Object.entries((options.needs ?? {}) as Record<string, Job>)
  return (assignment) =>
    taskInput(
      assignment,
      names.map(([name, need]) => [name, need.name]),
    )
}

const startWork = (
  { command, request }: Runners,
  work: CheckedWork | undefined,
  task: Task,
  done: (outcome: Outcome) => void,
): Started | undefined =>
  work?.kind === "command"
    ? command?.start(work.spec, task, done)
    : work && request?.start(work.spec, task, done)

const performed = (
  signal: AbortSignal,
  start: (done: (outcome: Outcome) => void) => Started | undefined,
): Promise<Answer> =>
  new Promise((resolve) => {
    const stop = (): void => {
      const reason: unknown = signal.reason
      started?.stop(reason instanceof StopSignal ? reason.why : "cancelled")
    }
    const started = start((outcome) => {
      signal.removeEventListener("abort", stop)
      resolve(new Answer(outcome))
    })
    signal.addEventListener("abort", stop)
    // It was told to stop while what its work is given was prepared.
    if (signal.aborted) stop()
  })
