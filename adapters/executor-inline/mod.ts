// Runs handlers in this process: plain functions, async functions, and anything that returns a promise. What a
// handler throws, returns or never finishes ends its own attempt and harms nothing else.
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { failed, missingHandler, type Outcome } from "../../core/domain/Outcome.ts"
import { encodePayload, errorInfo } from "../../core/domain/Payload.ts"
import { NonRetryable, RetryAfter, Snooze } from "../../core/domain/Signals.ts"
import { type Assignment, Executor, type StopReason } from "../../core/ports/Executor.ts"

/** A job's code. Its output must be plain data of at most 256 KiB as JSON. */
export type Handler = (assignment: Assignment, signal: AbortSignal) => unknown

/** What a handler may return in the place of an output: the outcome itself. */
export class Answer {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

/** Handlers by the name of their job. */
export type Handlers = ReadonlyMap<string, Handler>

/** An executor of these handlers, in this process. */
export const inlineExecutor = (handlers: Handlers): Executor["Service"] => ({
  jobs: new Set(handlers.keys()),
  start: (assignment, done) => {
    const abort = new AbortController()
    const handler = handlers.get(assignment.run.job)
    if (handler === undefined) done(missingHandler(assignment.run.job))
    else call(handler, assignment, abort.signal, done)
    return {
      stop: (reason: StopReason) => {
        abort.abort(new StopSignal(reason))
      },
    }
  },
})

/** The same as a layer. */
export const layerInline = (handlers: Handlers): Layer.Layer<Executor> =>
  Layer.sync(Executor, () => inlineExecutor(handlers))

/** What an aborted handler finds as its signal's `reason`. */
export class StopSignal extends Error {
  override readonly name = "StopSignal"
  /** `timeout`, `cancelled`, `drain` or `leaseLost`. */
  readonly why: StopReason

  constructor(why: StopReason) {
    super(`The attempt was stopped: ${why}`)
    this.why = why
  }
}

const call = (
  handler: Handler,
  assignment: Assignment,
  signal: AbortSignal,
  done: (outcome: Outcome) => void,
): void => {
  try {
    const value = handler(assignment, signal)
    if (isThenable(value))
      value.then(
        (output) => done(returned(output)),
        (error: unknown) => done(threw(error)),
      )
    else done(returned(value))
  } catch (error) {
    done(threw(error))
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as { readonly then?: unknown }).then === "function"

const returned = (value: unknown): Outcome => {
  if (value instanceof Answer) return value.outcome
  const output = encodePayload("output", value)
  if (Result.isSuccess(output)) return { kind: "succeeded", output: output.success }
  // The work is done: doing it again would give the same value that cannot be kept.
  return failed(errorInfo(output.failure, "payload"), false)
}

const threw = (error: unknown): Outcome => {
  if (error instanceof Snooze) return { kind: "snoozed", delayMillis: error.delayMillis }
  if (error instanceof RetryAfter) return failed(errorInfo(error), true, error.delayMillis)
  if (error instanceof StopSignal)
    return failed(errorInfo(error, error.why === "timeout" ? "timeout" : "cancelled"))
  return failed(errorInfo(error), !(error instanceof NonRetryable))
}
