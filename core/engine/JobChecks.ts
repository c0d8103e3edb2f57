// What programs in the style of Effect write about a job, a schedule and a run to send, checked before anything is
// stored. The promise-style entry has checks of its own, in the words of its options.
import * as Result from "effect/Result"
import { InvalidInput, type InvalidSchedule } from "../domain/Errors.ts"
import { isRunId } from "../domain/Ids.ts"
import { type Job, parseName } from "../domain/Job.ts"
import type { Placement } from "../domain/Placement.ts"
import { parseRetry, type RetryOptions } from "../domain/RetryPolicy.ts"
import type { Trigger } from "../domain/Schedule.ts"
import { parseInstant, parseSpan, quote, type TimeSpan } from "../domain/TimeSpan.ts"
import type { RunRequest } from "../run/Enqueue.ts"
import { compilePlacement } from "../worker/Placement.ts"
import { checkLimits, checkPlacement } from "./ScheduleChecks.ts"

/** The shortest period of a fixed rate, in milliseconds. */
const periodMinMillis = 10

/** The row of a job; `field` is its place among the jobs. */
export const checkJob = (
  field: string,
  name: string,
  options: {
    readonly retry?: RetryOptions
    readonly timeout?: TimeSpan
    readonly queue?: string
    readonly priority?: number
    readonly placement?: Placement
  },
): Result.Result<Job, InvalidInput> =>
  Result.gen(function* () {
    const checked = yield* parseName(`${field}.name`, name)
    const place = `job "${checked}"`
    const { placement } = options
    if (placement !== undefined) yield* compilePlacement(`${place}.placement`, placement)
    return {
      name: checked,
      queue: yield* parseName(`${place}.queue`, options.queue ?? "default"),
      priority: yield* checkPriority(`${place}.priority`, options.priority ?? 0),
      retry: yield* parseRetry(`${place}.retry`, options.retry),
      timeoutMillis:
        options.timeout === undefined ? null : yield* parseSpan(`${place}.timeout`, options.timeout, 1),
      needs: [],
      ...(placement === undefined ? {} : { placement }),
    }
  })

/** A trigger with its times checked; a cron text is read when the engine starts. */
export const checkTrigger = (
  field: string,
  trigger: Trigger,
): Result.Result<Trigger, InvalidInput | InvalidSchedule> =>
  Result.gen(function* () {
    const { only, except, closed, jitterMillis: jitter } = trigger
    const pattern = yield* checkPattern(field, trigger)
    const placed = yield* checkPlacement(field, pattern, {
      ...(only === undefined ? {} : { only }),
      ...(except === undefined ? {} : { except }),
      ...(closed === undefined ? {} : { closed }),
      ...(jitter === undefined ? {} : { jitter }),
    })
    return yield* checkLimits(field, placed, trigger)
  })

const checkPattern = (field: string, trigger: Trigger): Result.Result<Trigger, InvalidInput> =>
  Result.gen(function* () {
    switch (trigger.kind) {
      case "cron":
        return trigger
      case "every": {
        const { periodMillis, startAt } = trigger
        return {
          kind: "every",
          periodMillis: yield* parseSpan(`${field}.periodMillis`, periodMillis, periodMinMillis),
          startAt: startAt === null ? null : yield* parseInstant(`${field}.startAt`, startAt),
        }
      }
      case "after":
        return {
          kind: "after",
          delayMillis: yield* parseSpan(`${field}.delayMillis`, trigger.delayMillis),
        }
      case "at":
        return { kind: "at", at: yield* parseInstant(`${field}.at`, trigger.at) }
    }
  })

/** When and how a sent run starts. */
export const checkRequest = <R extends Omit<RunRequest, "job" | "input">>(
  request: R,
): Result.Result<R, InvalidInput> =>
  Result.gen(function* () {
    const { id, key = null, priority, delayMillis, dueAt = null, startWithinMillis = null } = request
    if (id !== undefined && !(typeof id === "string" && isRunId(id))) {
      return yield* refuse("id", id, "a UUIDv7 in lower case")
    }
    if (key !== null && (typeof key !== "string" || key === "" || key.length > 512)) {
      return yield* refuse("key", key, "a text of 1 to 512 characters")
    }
    if (priority !== undefined) yield* checkPriority("priority", priority)
    if (delayMillis !== undefined) yield* parseSpan("delayMillis", delayMillis)
    if (dueAt !== null) yield* parseInstant("dueAt", dueAt)
    if (startWithinMillis !== null) yield* parseSpan("startWithinMillis", startWithinMillis, 1)
    return request
  })

const checkPriority = (field: string, priority: number): Result.Result<number, InvalidInput> =>
  Number.isInteger(priority) && Math.abs(priority) <= 1000
    ? Result.succeed(priority)
    : refuse(field, priority, "a whole number from -1000 to 1000")

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` }),
  )
