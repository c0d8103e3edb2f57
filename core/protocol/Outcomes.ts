// Outcomes of attempts as the messages that carry them, and back.
import * as Result from "effect/Result"
import type { Outcome } from "../domain/Outcome.ts"
import { encode } from "./Codec.ts"
import { idMax } from "./Limits.ts"
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
 * The message that tells an outcome. One that takes more than `frameBytesMax` becomes a failure of the kind
 * `payload` for good: sent as it is it would be refused, and again after each reconnect.
 */
export const endedOf = (key: AttemptKey, outcome: Outcome, frameBytesMax: number): SentEnded => {
  const { run, attempt, token } = key
  const message = messageOf({ run, attempt, token }, outcome)
  // The id is not there yet: the longest one stands for it.
  const fits = encode({ ...message, id: "x".repeat(idMax) }, frameBytesMax)
  if (Result.isSuccess(fits)) return message
  return messageOf({ run, attempt, token }, payloadFailure(fits.failure.reason))
}

/** The end of an attempt whose data do not fit a frame: no attempt can mend that. */
export const payloadFailure = (reason: string): Outcome => ({
  kind: "failed",
  error: {
    name: "PayloadTooLarge",
    message: `The attempt cannot be told in one frame: ${reason}. Store large data elsewhere and pass references to it`,
    kind: "payload",
  },
  retryable: false,
  retryAfterMillis: null,
})

const messageOf = (key: AttemptKey, outcome: Outcome): SentEnded => {
  if (outcome.kind !== "failed") return { type: "result", ...key, outcome } as SentEnded
  const { error, retryable, retryAfterMillis } = outcome
  return { type: "failure", ...key, error, retryable, retryAfterMillis }
}
