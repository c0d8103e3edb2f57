// One try to deliver an event: a signed POST as Standard Webhooks says it (standardwebhooks.com), by the guarded exchange of
// the HTTP executor: addresses are looked up once and checked, redirects are not followed, and time and answer are bounded.
import * as Result from "effect/Result"
import { exchange, type Resolve, resolveByHost } from "../../../adapters/executor-http/exchange.ts"
import { retryAfterMillis } from "../../../adapters/executor-http/outcome.ts"
import type { CheckedRules } from "../../../adapters/executor-http/Request.ts"
import { parseSecrets, signatureHeaders } from "../../../adapters/executor-http/signature.ts"
import type { CloudEvent } from "../events/cloudEvents.ts"
import { type Attempt, checkUrl, type Webhook } from "./Webhook.ts"

/** How events are sent. */
export interface SendOptions {
  readonly rules: CheckedRules
  readonly resolve?: Resolve
  /** Epoch milliseconds; it is signed. */
  readonly now: () => number
  /** From the look-up to the end of the answer; default 10 s. */
  readonly timeoutMillis?: number
  /** Ends it before. */
  readonly signal?: AbortSignal
}

/** What came of it, and what it means for those that follow. */
export interface Sent {
  readonly attempt: Attempt
  /** The receiver wants nothing more (410). */
  readonly isGone: boolean
  /** What a `Retry-After` asks for, at most an hour; 0: nothing. */
  readonly waitMillis: number
}

const timeoutUsual = 10_000
const answerMax = 65_536
const waitMax = 3_600_000

/** Tries once; never rejects. */
export const sendEvent = async (webhook: Webhook, event: CloudEvent, options: SendOptions): Promise<Sent> => {
  const { rules, resolve = resolveByHost, now, timeoutMillis = timeoutUsual, signal } = options
  const at = now()
  const begin = performance.now()
  const sent = (status: number | null, error: string | null, more: Partial<Sent> = {}): Sent => ({
    attempt: { at, millis: Math.round(performance.now() - begin), status, error },
    isGone: false,
    waitMillis: 0,
    ...more,
  })
  const checked = checkUrl(webhook.url, rules)
  if (Result.isFailure(checked)) return sent(null, checked.failure.message)
  const texts = webhook.secrets.filter(({ until }) => until === null || until > at).map(({ text }) => text)
  const secrets = parseSecrets("secret", texts)
  if (Result.isFailure(secrets)) return sent(null, "It has no secret to sign with")
  const body = JSON.stringify(event)
  const late = AbortSignal.timeout(timeoutMillis)
  const answer = await exchange({
    url: checked.success,
    method: "POST",
    headers: {
      "content-type": "application/cloudevents+json; charset=utf-8",
      "user-agent": "uhrwerk",
      ...signatureHeaders(secrets.success, event.id, at, body),
    },
    body,
    answerMax,
    isBodyWanted: false,
    networks: rules.networks,
    ca: rules.ca,
    resolve,
    signal: signal === undefined ? late : AbortSignal.any([late, signal]),
  })
  if (answer.kind === "forbidden") return sent(null, "Its host has an address that is not public")
  if (answer.kind === "error")
    return sent(null, late.aborted ? `No answer within ${timeoutMillis} ms` : `It failed: ${answer.code}`)
  const { status } = answer
  if (status >= 200 && status < 300) return sent(status, null)
  const isRedirect = status >= 300 && status < 400
  return sent(status, `Answered with ${status}${isRedirect ? ", a redirect, which is not followed" : ""}`, {
    isGone: status === 410,
    waitMillis: Math.min(waitMax, retryAfterMillis(answer.retryAfter, now()) ?? 0),
  })
}
