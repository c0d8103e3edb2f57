// What people say about a run that they send, checked before anything is stored.
import * as Result from "effect/Result"
import { InvalidInput, UnknownJob } from "../../core/domain/Errors.ts"
import { isRunId } from "../../core/domain/Ids.ts"
import { parseInstant, parseSpan, quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { RunRequest } from "../../core/run/Enqueue.ts"

/** When and how a sent run starts. */
export interface SendOptions {
  /** Wait this long. */
  readonly delay?: TimeSpan
  /** Wait until this instant; one that has passed means at once. */
  readonly at?: Date | number | string
  /** While a run of this job with this key has not ended, sending again answers that run. At most 512 characters. */
  readonly key?: string
  /** The run's id, a UUIDv7 of yours: sending twice makes one run, also after a crash in between. */
  readonly id?: string
  /** -1000 to 1000, higher first; default: the job's. */
  readonly priority?: number
  readonly queue?: string
  /** Not started within this span of its due time, it expires. */
  readonly startWithin?: TimeSpan
}

/** The request of what was said. */
export const checkSend = (
  job: string,
  input: string | null,
  options: SendOptions,
): Result.Result<RunRequest, InvalidInput> =>
  Result.gen(function* () {
    const delayMillis = options.delay === undefined ? 0 : yield* parseSpan("delay", options.delay)
    const dueAt = options.at === undefined ? null : yield* parseInstant("at", options.at)
    if (options.delay !== undefined && options.at !== undefined) {
      const next = "Give one of them."
      return yield* Result.fail(
        new InvalidInput({
          field: "at",
          reason: "a run waits for a delay or until an instant, not both",
          next,
        }),
      )
    }
    const { key, id, priority, queue } = options
    if (key !== undefined && (typeof key !== "string" || key === "" || key.length > 512)) {
      return yield* refuse("key", key, "a text of 1 to 512 characters")
    }
    if (id !== undefined && !(typeof id === "string" && isRunId(id))) {
      return yield* refuse("id", id, "a UUIDv7 in lower case")
    }
    if (priority !== undefined && !(Number.isInteger(priority) && Math.abs(priority) <= 1000)) {
      return yield* refuse("priority", priority, "a whole number from -1000 to 1000")
    }
    const within =
      options.startWithin === undefined ? null : yield* parseSpan("startWithin", options.startWithin, 1)
    return {
      job,
      input,
      delayMillis,
      dueAt,
      ...(key === undefined ? {} : { key }),
      ...(id === undefined ? {} : { id }),
      ...(priority === undefined ? {} : { priority }),
      ...(queue === undefined ? {} : { queue }),
      ...(within === null ? {} : { startWithinMillis: within }),
    }
  })

// All requests of a call are in memory at once.
const inputsMax = 100_000

/** Throws `InvalidInput` for more inputs than one call takes. */
export const checkCount = (inputs: ReadonlyArray<unknown>): void => {
  if (Array.isArray(inputs) && inputs.length <= inputsMax) return
  const given = Array.isArray(inputs) ? `${inputs.length} of them` : quote(inputs)
  throw new InvalidInput({
    field: "inputs",
    reason: `${given} is not a list of at most ${inputsMax} inputs`,
    next: "Give a list, and a longer one in parts.",
  })
}

/** A refusal that names its field and what is wanted. */
export const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` }),
  )

/** The refusal of a job that the engine does not know. */
export const foreignJob = (name: string): UnknownJob =>
  new UnknownJob({
    job: name,
    field: "job",
    reason: `job "${name}" is not one of this engine's config`,
    next: "Add it to the config's `jobs`.",
  })
