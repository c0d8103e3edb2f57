// Outcomes of attempts as the messages that carry them, and back.
import * as Result from "effect/Result"
import type { Outcome } from "../domain/Outcome.ts"
import { encode } from "./Codec.ts"
import { idMax, stackMax, textMax } from "./Limits.ts"
import type { Ended, Sent } from "./Message.ts"
import type { AttemptKey } from "./Shapes.ts"

/** A result or failure before it has its id. */
export type SentEnded = Extract<Sent, { readonly type: "result" | "failure" }>

/** The outcome that a result or failure tells. */
export const outcomeOf = (message: Ended): Outcome => {
  if (message.type === "result") return message.outcome
  const { error, retryable, retryAfterMillis } = message
  return { kind: "failed", error, retryable, retryAfterMillis }
}

/**
 * The message that tells an outcome, its texts cut to what is allowed. One that cannot be told, as it takes more than
 * `frameBytesMax` or its output is none, becomes a failure of the kind `payload` for good.
 */
export const endedOf = (key: AttemptKey, outcome: Outcome, frameBytesMax: number): SentEnded => {
  const { run, attempt, token } = key
  const message = messageOf({ run, attempt, token }, outcome)
  // The id is not there yet: the longest one stands for it.
  const fits = encode({ ...message, id: "x".repeat(idMax) }, frameBytesMax)
  if (Result.isSuccess(fits)) return message
  const { field, reason } = fits.failure
  return messageOf({ run, attempt, token }, payloadFailure(`${field}: ${reason}`))
}

/** The end of an attempt that cannot be told to the other side: no further attempt can mend that. */
export const payloadFailure = (reason: string): Outcome => ({
  kind: "failed",
  error: {
    name: "PayloadRefused",
    message: cut(
      `The attempt cannot be told in one frame: ${reason}. Store large data elsewhere and pass references to it`,
      textMax,
    ),
    kind: "payload",
  },
  retryable: false,
  retryAfterMillis: null,
})

const messageOf = (key: AttemptKey, outcome: Outcome): SentEnded => {
  if (outcome.kind === "declined")
    return { type: "result", ...key, outcome: { ...outcome, reason: cut(outcome.reason, textMax) } }
  if (outcome.kind !== "failed") return { type: "result", ...key, outcome } as SentEnded
  const { error, retryable, retryAfterMillis } = outcome
  const { stack } = error
  const told = {
    name: cut(error.name, 128),
    message: cut(error.message, textMax),
    ...(stack === undefined ? {} : { stack: cut(stack, stackMax) }),
    kind: error.kind,
  }
  return { type: "failure", ...key, error: told, retryable, retryAfterMillis }
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)
