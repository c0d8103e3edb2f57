// From the answer to a request to the outcome of the attempt.
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import { outputOutcome, outputTooLarge } from "../../core/domain/OutputKind.ts"
import type { Answer } from "./exchange.ts"
import type { Request } from "./Request.ts"

// What may be otherwise a moment later. Whatever begins with 5 is too.
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * 2xx has succeeded; 408, 425, 429 and 5xx are tried again, after their `Retry-After` if they have one; all others, also
 * redirects, which nobody follows, are not. A connection that fails is tried again. `what` names the request.
 */
export const outcomeOf = (request: Request, what: string, answer: Answer, nowMillis: number): Outcome => {
  const fail = (message: string, retryable: boolean, retryAfterMillis: number | null = null): Outcome =>
    failed(
      { name: "RequestFailed", message: `${what} ${message}`, kind: "error" },
      retryable,
      retryAfterMillis,
    )
  if (answer.kind === "forbidden")
    return fail(
      "is not made: its host has an address that is not public, and in none of `executors.request.networks`",
      false,
    )
  if (answer.kind === "error") return fail(`failed: ${answer.code}`, true)
  const { status, body } = answer
  if (status >= 200 && status < 300) {
    if (request.output === "none") return { kind: "succeeded", output: null }
    if (body === null) return outputTooLarge(`The answer to ${what}`, request.answerMax)
    if (answer.encoding !== null && answer.encoding.toLowerCase() !== "identity")
      return failed(
        { name: "InvalidPayload", message: `The answer to ${what} is compressed, unasked`, kind: "payload" },
        false,
      )
    return outputOutcome(request.output, decoder.decode(body), `The answer to ${what}`, false)
  }
  if (status >= 300 && status < 400)
    return fail(`was answered with a redirect (${status}), which is not followed`, false)
  const isPassing = passing.has(status) || status >= 500
  const wish = isPassing ? retryAfterMillis(answer.retryAfter, nowMillis) : null
  return fail(
    `was answered with ${status}`,
    isPassing,
    wish === null ? null : Math.min(wish, request.retryAfterMaxMillis),
  )
}

/** The span that a `Retry-After` asks for, of seconds or of an HTTP date (RFC 9110, 10.2.3); `null` for anything else. */
export const retryAfterMillis = (text: string | null, nowMillis: number): number | null => {
  if (text === null) return null
  // More digits than any cap has.
  if (/^\d+$/.test(text.trim())) return Number(text.trim().slice(0, 15)) * 1000
  const at = httpDate.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - nowMillis)
}

const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

const decoder = new TextDecoder()
