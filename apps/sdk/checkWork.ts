// What jobs, flows, steps and the items of lists have in common: where and how often their work is tried.
import * as Result from "effect/Result"
import type { InvalidInput } from "../../core/domain/Errors.ts"
import { type Job as CoreJob, parseName } from "../../core/domain/Job.ts"
import { parseRetry, type RetryOptions } from "../../core/domain/RetryPolicy.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { refuse } from "./send.ts"

/** The job of this name, without needs; `place` begins the fields of its options in error texts. */
export const checkWork = (
  place: string,
  name: string,
  options: {
    readonly queue?: string
    readonly priority?: number
    readonly retry?: RetryOptions | undefined
    readonly timeout?: TimeSpan | undefined
  },
): Result.Result<CoreJob, InvalidInput> =>
  Result.gen(function* () {
    const priority = options.priority ?? 0
    if (!Number.isInteger(priority) || Math.abs(priority) > 1000)
      return yield* refuse(`${place}.priority`, priority, "a whole number from -1000 to 1000")
    return {
      name,
      queue: yield* parseName(`${place}.queue`, options.queue ?? "default"),
      priority,
      retry: yield* parseRetry(`${place}.retry`, options.retry),
      timeoutMillis:
        options.timeout === undefined ? null : yield* parseSpan(`${place}.timeout`, options.timeout, 1),
      needs: [],
    }
  })
