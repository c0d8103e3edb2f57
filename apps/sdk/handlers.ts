// From a job as people write it to a handler as the executor calls it: input decoded and checked, a context to
// speak through, and everything that the function throws left to the executor.
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Handler } from "../../adapters/executor-inline/mod.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { errorInfo, decodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { NonRetryable, Snooze } from "../../core/domain/Signals.ts"
import { parseSpan, quote } from "../../core/domain/TimeSpan.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import type { Assignment } from "../../core/ports/Executor.ts"
import { checkInput } from "./input.ts"
import type { Job, RunContext } from "./job.ts"

const lineMax = 2048

// Code without types may say anything.
const lineOf = (said: unknown): string => String(said).slice(0, lineMax)

/** What all contexts have: the run, its signal and ways to speak, but nothing to read. */
export type MakeContext = (assignment: Assignment, signal: AbortSignal) => Omit<RunContext, "needs">

/** Makes contexts; `services` may replace the clock. */
export const makeContexts = (
  publish: (event: EngineEvent) => void,
  services: Context.Context<never> = Context.empty(),
): MakeContext => {
  const sleepOn = Effect.runPromiseWith(services)
  return ({ run, shard = null }, signal) => ({
    run: describe(run, startOf(run)),
    signal,
    log: (line: unknown) => publish({ kind: "log", run, line: lineOf(line) }),
    progress: (percent: unknown, note?: string) =>
      publish({
        kind: "progress",
        run,
        percent: checkPercent(percent),
        note: note === undefined ? null : lineOf(note),
      }),
    shard,
    sleep: async (span) => {
      const millis = Result.getOrThrow(parseSpan("sleep", span))
      try {
        await sleepOn(Effect.sleep(Duration.millis(millis)), { signal })
      } catch (error) {
        throw signal.aborted ? signal.reason : error
      }
    },
    snooze: (span) => {
      throw new Snooze(span)
    },
  })
}

/** Handlers for those of these jobs that have a function. */
export const makeHandlers = (
  jobs: ReadonlyMap<string, Job<any, any>>,
  contextOf: MakeContext,
): ReadonlyMap<string, Handler> => {
  const handler =
    (job: Job<any, any>, work: JobFunction): Handler =>
    (assignment, signal) => {
      const { run, needs } = assignment
      const ctx: RunContext<any> = {
        ...contextOf(assignment, signal),
        needs: Object.fromEntries(
          Object.entries((job.options.needs ?? {}) as Record<string, Job>).map(([name, need]) => [
            name,
            decodePayload(needs.get(need.name) ?? null),
          ]),
        ),
      }
      const input = decodePayload(run.input)
      if (job.options.input === undefined) return work(input, ctx)
      return checked(job, input, run).then((value) => work(value, ctx))
    }
  const handlers = new Map<string, Handler>()
  for (const [name, job] of jobs)
    if (typeof job.options.run === "function") handlers.set(name, handler(job, job.options.run))
  return handlers
}

type JobFunction = (input: unknown, ctx: RunContext<any>) => unknown

// Input that was accepted and does not fit any more will not fit at the next attempt either.
const checked = async (job: Job<any, any>, input: unknown, run: Run): Promise<unknown> => {
  try {
    return await checkInput(`input of run ${run.id}`, job.options.input, input)
  } catch (error) {
    throw new NonRetryable(errorInfo(error).message, { cause: error })
  }
}

// A share that was computed may be a little off, and of nothing it is not a number: that must not end an attempt.
const checkPercent = (percent: unknown): number | null => {
  if (typeof percent === "number") return Number.isNaN(percent) ? null : Math.min(100, Math.max(0, percent))
  if (percent === null) return null
  throw new InvalidInput({
    field: "ctx.progress",
    reason: `${quote(percent)} is not a number from 0 to 100`,
    next: "Give a number, or null when it cannot be told.",
  })
}

const startOf = (run: Run): number => run.startedAt ?? run.dueAt

const describe = (run: Run, startedAt: number): RunContext["run"] => ({
  id: run.id,
  job: run.job,
  attempt: run.attempt,
  attemptMax: run.attemptMax,
  token: run.token,
  dueAt: new Date(run.dueAt),
  nominalAt: run.nominalAt === null ? null : new Date(run.nominalAt),
  late: startedAt - run.dueAt,
})
