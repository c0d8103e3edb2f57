// The jobs of the executors' contract as functions.
import type { Handler } from "../../../adapters/executor-inline/mod.ts"
import { NonRetryable, RetryAfter } from "../../../core/domain/Signals.ts"
import type { ExecutorJob } from "../../../core/testing.ts"

const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

export const handlers: Record<ExecutorJob, Handler> = {
  echo: ({ run }) => JSON.parse(run.input ?? "null") as unknown,
  nothing: () => undefined,
  large: ({ run }) => "x".repeat(Number(run.input)),
  fail: () => Promise.reject(new Error("broken")),
  fatal: () => {
    throw new NonRetryable("broken for good")
  },
  later: () => {
    throw new RetryAfter("90s")
  },
  slow: (_, signal) =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason as Error)
      signal.addEventListener("abort", () => reject(signal.reason as Error))
    }),
  late: () => wait(300).then(() => "late"),
}
