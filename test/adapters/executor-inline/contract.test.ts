// Functions keep every promise of an executor, and so do executors beside each other.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { type Handler, inlineExecutor } from "../../../adapters/executor-inline/mod.ts"
import { NonRetryable, RetryAfter } from "../../../core/domain/Signals.ts"
import { composeExecutors } from "../../../core/ports/Executors.ts"
import { type ExecutorJob, executorContract, executorJobs, runExecutorCase } from "../../../core/testing.ts"

const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const handlers: Record<ExecutorJob, Handler> = {
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

describe("inline", () => {
  const executor = inlineExecutor(new Map(Object.entries(handlers)))
  for (const each of executorContract) test(each.name, () => runExecutorCase(each, executor))
})

describe("several executors", () => {
  const of = (...jobs: ReadonlyArray<ExecutorJob>) =>
    inlineExecutor(new Map(jobs.map((job) => [job, handlers[job]])))
  const [first, second, ...others] = executorJobs
  const executor = Result.getOrThrow(composeExecutors([of(first), of(...others), of(second), of()]))
  for (const each of executorContract) test(each.name, () => runExecutorCase(each, executor))

  test("a job of two of them is refused, by name", () => {
    const refused = Result.flip(composeExecutors([of("echo"), of("fail", "echo")]))
    expect(Result.getOrThrow(refused)).toMatchObject({
      _tag: "DuplicateName",
      name: "echo",
      field: "executors[1].jobs",
    })
  })
})
