// What becomes of the bytes that work outside of this process gives back: nothing, JSON, or text. One rule for
// processes and for HTTP, so that a job may change from one to the other.
import * as Result from "effect/Result"
import { failed, type Outcome } from "./Outcome.ts"
import { encodePayload, payloadBytesMax } from "./Payload.ts"
import { quote } from "./TimeSpan.ts"

/** `none`: it is no output. `json`: it is the output, and must be JSON. `text`: it is the output, as one text. */
export type OutputKind = "none" | "json" | "text"

/** All of them, for checks. */
export const outputKinds: ReadonlyArray<OutputKind> = ["none", "json", "text"]

/**
 * The outcome of work that ended well and gave this text; `what` names it in errors, such as `The last line of
 * stdout`, and `isShown` whether they may quote it. No text at all is no output. What cannot be kept is not retried:
 * the work is done.
 */
export const outputOutcome = (kind: OutputKind, text: string, what: string, isShown: boolean): Outcome => {
  if (kind === "none" || (kind === "json" && text.trim() === "")) return { kind: "succeeded", output: null }
  const value = kind === "text" ? Result.succeed(text) : Result.try((): unknown => JSON.parse(text))
  if (Result.isFailure(value)) return unfit(`${what} is no JSON${isShown ? `: ${quote(text.trim())}` : ""}`)
  // Written anew: blanks and line breaks of its writer are not worth a place in a row.
  const output = encodePayload("output", value.success)
  if (Result.isFailure(output)) return unfit(`${what} cannot be kept: ${output.failure.reason}`)
  return { kind: "succeeded", output: output.success }
}

/** The outcome of work whose output is more than `max` bytes. */
export const outputTooLarge = (what: string, max: number = payloadBytesMax): Outcome =>
  unfit(`${what} is larger than the ${max} bytes allowed`)

const unfit = (message: string): Outcome =>
  failed({ name: "InvalidPayload", message, kind: "payload" }, false)
