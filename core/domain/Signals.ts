// What a handler throws to say more than "failed". Executors know them by their classes.
import { parseSpan, type TimeSpan } from "./TimeSpan.ts"
import * as Result from "effect/Result"

/** Thrown by a handler: no further attempt helps, so the run is dead at once. */
export class NonRetryable extends Error {
  override readonly name = "NonRetryable"
}

/** Thrown by a handler: try again after this span, whatever the policy computes; an attempt is used. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter"
  readonly delayMillis: number

  constructor(
    delay: TimeSpan,
    message = "The handler asked for a later attempt",
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
    this.delayMillis = Result.getOrThrow(parseSpan("RetryAfter", delay))
  }
}

/** Thrown by a handler: not now. The run waits for the span and no attempt is used. */
export class Snooze extends Error {
  override readonly name = "Snooze"
  readonly delayMillis: number

  constructor(delay: TimeSpan) {
    super("The handler asked to run later")
    // At least a moment, or a handler that always snoozes would keep a node busy with nothing else.
    this.delayMillis = Math.max(snoozeMinMillis, Result.getOrThrow(parseSpan("Snooze", delay)))
  }
}

/** The shortest snooze, in milliseconds. */
export const snoozeMinMillis = 100
