// From a job as people write it to a handler as the executor calls it: input decoded and checked, a context to
// speak through, and everything that the function throws left to the executor.
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Handler } from "../../adapters/executor-inline/mod.ts"
import { errorInfo, decodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { NonRetryable, Snooze } from "../../core/domain/Signals.ts"
import { parseSpan } from "../../core/domain/TimeSpan.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { checkInput } from "./input.ts"
import type { Job, RunContext } from "./job.ts"

const lineMax = 2048

/** What all contexts have: the run, its signal and ways to speak, but nothing to read. */
export type MakeContext = (run: Run, signal: AbortSignal) => Omit<RunContext, "needs">

/** Makes contexts; `services` may replace the clock. */
export const makeContexts = (
  publish: (event: EngineEvent) => void,
  services: Context.Context<never> = Context.empty(),
): MakeContext => {
  const sleepOn = Effect.runPromiseWith(services)
  return (run, signal) => ({
    run: describe(run, startOf(run)),
    signal,
    // Code without types may log anything.
    log: (line: unknown) => publish({ kind: "log", run, line: String(line).slice(0, lineMax) }),
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
    ({ run, needs }, signal) => {
      const ctx: RunContext<any> = {
        ...contextOf(run, signal),
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
