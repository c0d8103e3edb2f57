// What the server of a chaos run knows and its workers do: one job, whose handler writes down each start, signal and end.
import { appendFileSync } from "node:fs"
import { job, NonRetryable, onWorkers, type RunContext } from "../../../apps/sdk/mod.ts"
import { filesOf, type Mode } from "../evidence.ts"
import { failureText } from "./checks.ts"
import type { Output, WorkerLine } from "./evidence.ts"

/** Input of the job. */
export interface Input {
  readonly mode: Mode
  readonly millis: number
}

/** The job's name. */
export const jobName = "work"

/** How long a worker or a server that was asked to stop waits for handlers. */
export const graceMillis = 3000

// A run is lost with each fault that hits it; it must not die of that.
export const attemptMax = 20
const retry = { max: attemptMax, backoff: "fixed", delay: "50ms", jitter: "none" } as const

/** The job as the server has it: workers carry it out. */
export const serverJob = job<Input, Output>(jobName, { retry, run: onWorkers() })

/** Waits, unless the signal says otherwise; then it throws what the signal was given. */
const rest = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop)
      resolve()
    }, millis)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    signal.addEventListener("abort", stop, { once: true })
  })

/** A job that takes the process of whoever does it down. */
export const poisonName = "poison"
const poisonRetry = { ...retry, max: 3 } as const

/** The same as the server has it. */
export const serverPoison = job<void, void>(poisonName, { retry: poisonRetry, run: onWorkers() })

/** And as a worker has it. */
export const workerPoison = job<void, void>(poisonName, { run: () => process.exit(9) })

/** The job as a worker has it; `folder` is where the evidence goes. */
export const workerJob = (folder: string, worker: string) => {
  const files = filesOf(folder)
  const { pid } = process
  const note = (line: WorkerLine): void => appendFileSync(files.effects, `${JSON.stringify(line)}\n`)

  /** Runs the body between two lines; what it returns says who did it, under which token. */
  const logged = async (
    { run: { id, attempt, token, dueAt }, signal }: RunContext,
    body: (token: number) => Promise<void> | void,
  ): Promise<Output> => {
    note({ kind: "start", id, attempt, token, dueAt: dueAt.getTime(), at: Date.now(), worker, pid })
    const onAbort = (): void => note({ kind: "abort", id, token, at: Date.now(), worker, pid })
    signal.addEventListener("abort", onAbort, { once: true })
    let ok = false
    try {
      await body(token)
      ok = true
      return { pid, token }
    } finally {
      signal.removeEventListener("abort", onAbort)
      note({ kind: "end", id, token, ok, at: Date.now(), worker, pid })
    }
  }

  return job<Input, Output>(jobName, {
    retry,
    run: ({ mode, millis }, ctx) =>
      logged(ctx, async (token) => {
        if (mode === "broken") throw new Error(failureText("Broken for ever", token))
        if (mode === "refused") throw new NonRetryable(failureText("Refused for good", token))
        if (mode === "flaky" && ctx.run.attempt === 1)
          throw new TypeError(failureText("Not at the first attempt", token))
        if (mode === "slow") await rest(millis, ctx.signal)
      }),
  })
}
