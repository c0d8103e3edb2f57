// Functions keep every promise of an executor, and so do executors beside each other.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { inlineExecutor } from "../../../adapters/executor-inline/mod.ts"
import { composeExecutors } from "../../../core/ports/Executors.ts"
import { type ExecutorJob, executorContract, executorJobs, runExecutorCase } from "../../../core/testing.ts"
import { handlers } from "./handlers.ts"

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
