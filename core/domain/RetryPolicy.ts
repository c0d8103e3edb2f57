// When a failed attempt is followed by another, and after how long. Pure: the random number is handed in.
import * as Result from "effect/Result"
import { InvalidInput } from "./Errors.ts"
import type { ErrorInfo } from "./Run.ts"
import { parseSpan, quote, type TimeSpan } from "./TimeSpan.ts"

/** How the delay grows from attempt to attempt. */
export type Backoff = "fixed" | "linear" | "exponential"

/** How much of the computed delay is left to chance, so that many failures do not return together. */
export type Jitter = "none" | "full" | "equal"

/** What to do about errors of some kind: the first rule whose `error` is the error's name holds. */
export interface ErrorRule {
  readonly error: string
  /** `false`: such an error is final. */
  readonly retry?: boolean
  /** The delay after such an error, in milliseconds, instead of the computed one. */
  readonly delayMillis?: number
}

/** A checked policy; times in milliseconds. */
export interface RetryPolicy {
  /** Attempts in all, the first one included: 1 to 1,000. */
  readonly attemptMax: number
  readonly backoff: Backoff
  readonly baseMillis: number
  readonly factor: number
  /** Ceiling of the computed delay. */
  readonly delayMaxMillis: number
  /** Delays to use in order, the last one for all that follow; empty: compute them. */
  readonly delays: ReadonlyArray<number>
  readonly jitter: Jitter
  readonly rules: ReadonlyArray<ErrorRule>
}

/** A policy as people write it. */
export interface RetryOptions {
  /** Attempts in all, the first one included; default 3, 1 means no retry, at most 1,000. */
  readonly max?: number
  /** Default `exponential`. */
  readonly backoff?: Backoff
  /** First delay; default `"1s"`. */
  readonly delay?: TimeSpan
  /** Growth per attempt of `exponential`; default 2. */
  readonly factor?: number
  /** No delay is longer; default `"1h"`, or the longest of `delays`. */
  readonly delayMax?: TimeSpan
  /** Delays to use in order, the last one for all that follow. Excludes `backoff`, `delay` and `factor`. */
  readonly delays?: ReadonlyArray<TimeSpan>
  /** Default `full`; `delays` have `none` unless you say otherwise. */
  readonly jitter?: Jitter
  /** Rules by the error's class name, e.g. `{ error: "RateLimited", delay: "1m" }`. */
  readonly on?: ReadonlyArray<{ readonly error: string; readonly retry?: boolean; readonly delay?: TimeSpan }>
}

/** Three attempts, after about 1 and 2 seconds. */
export const defaultRetryPolicy: RetryPolicy = {
  attemptMax: 3,
  backoff: "exponential",
  baseMillis: 1000,
  factor: 2,
  delayMaxMillis: 3_600_000,
  delays: [],
  jitter: "full",
  rules: [],
}

/** Checks what somebody wrote; `field` is its path in error texts. */
export const parseRetry = (
  field: string,
  options: RetryOptions = {},
): Result.Result<RetryPolicy, InvalidInput> =>
  Result.gen(function* () {
    const standard = defaultRetryPolicy
    if (typeof options !== "object" || options === null || Array.isArray(options)) {
      return yield* refuse(field, options, "an object of retry options")
    }
    const attemptMax = options.max ?? standard.attemptMax
    if (!Number.isInteger(attemptMax) || attemptMax < 1 || attemptMax > 1000) {
      return yield* refuse(`${field}.max`, options.max, "a whole number of attempts from 1 to 1000")
    }
    const factor = options.factor ?? standard.factor
    if (!Number.isFinite(factor) || factor < 1 || factor > 1000) {
      return yield* refuse(`${field}.factor`, options.factor, "a number from 1 to 1000")
    }
    const backoff = options.backoff ?? standard.backoff
    if (!["fixed", "linear", "exponential"].includes(backoff)) {
      return yield* refuse(`${field}.backoff`, options.backoff, '"fixed", "linear" or "exponential"')
    }
    const listed = options.delays ?? []
    if (!Array.isArray(listed)) return yield* refuse(`${field}.delays`, listed, "a list of delays")
    const jitter = options.jitter ?? (listed.length === 0 ? standard.jitter : "none")
    if (!["none", "full", "equal"].includes(jitter)) {
      return yield* refuse(`${field}.jitter`, options.jitter, '"none", "full" or "equal"')
    }
    const delays: Array<number> = []
    for (const [index, delay] of listed.entries()) {
      delays.push(yield* parseSpan(`${field}.delays[${index}]`, delay))
    }
    const rules: Array<ErrorRule> = []
    const written = options.on ?? []
    if (!Array.isArray(written)) return yield* refuse(`${field}.on`, written, "a list of rules")
    for (const [index, rule] of written.entries()) {
      if (typeof rule !== "object" || rule === null) {
        return yield* refuse(
          `${field}.on[${index}]`,
          rule,
          'a rule such as { error: "RateLimited", delay: "1m" }',
        )
      }
      const { error, retry, delay } = rule
      if (typeof error !== "string" || error === "") {
        return yield* refuse(`${field}.on[${index}].error`, error, "the class name of an error")
      }
      if (retry !== undefined && typeof retry !== "boolean") {
        return yield* refuse(`${field}.on[${index}].retry`, retry, "true or false")
      }
      const delayMillis =
        delay === undefined ? undefined : yield* parseSpan(`${field}.on[${index}].delay`, delay)
      rules.push({
        error,
        ...(retry === undefined ? {} : { retry }),
        ...(delayMillis === undefined ? {} : { delayMillis }),
      })
    }
    return {
      attemptMax,
      backoff,
      baseMillis: yield* parseSpan(`${field}.delay`, options.delay ?? standard.baseMillis),
      factor,
      // Delays that somebody wrote out are meant as they are, unless a ceiling is written too.
      delayMaxMillis: yield* parseSpan(
        `${field}.delayMax`,
        options.delayMax ?? Math.max(standard.delayMaxMillis, ...delays),
      ),
      delays,
      jitter,
      rules,
    }
  })

/**
 * Delay before attempt `attempt + 1`, in whole milliseconds, or `null` when there is none: the attempts are
 * used up, the error is not retryable, or a rule says so. In this order: the handler's own wish, a rule for the
 * error, the list of delays, or `fixed: base`, `linear: base * attempt`, `exponential: base * factor ** (attempt
 * - 1)`; the last four capped at `delayMaxMillis`, then jittered: `full` is uniform in [0, d], `equal` in
 * [d/2, d]. A rule's delay and the handler's wish are taken as they are. Never negative. `random` is in [0, 1).
 */
export const nextDelay = (
  policy: RetryPolicy,
  failure: {
    readonly attempt: number
    readonly error: ErrorInfo
    readonly retryable: boolean
    readonly retryAfterMillis: number | null
  },
  random: number,
): number | null => {
  const { attempt, error, retryable, retryAfterMillis } = failure
  if (!retryable || attempt >= policy.attemptMax) return null
  const rule = policy.rules.find((each) => each.error === error.name)
  if (rule?.retry === false) return null
  if (retryAfterMillis !== null) return Math.max(0, Math.ceil(retryAfterMillis))
  if (rule?.delayMillis !== undefined) return rule.delayMillis
  const delay = Math.min(computed(policy, attempt), policy.delayMaxMillis)
  if (policy.jitter === "full") return Math.round(delay * random)
  if (policy.jitter === "equal") return Math.round(delay / 2 + (delay / 2) * random)
  return Math.round(delay)
}

const computed = ({ delays, backoff, baseMillis, factor }: RetryPolicy, attempt: number): number => {
  if (delays.length > 0) return delays[Math.min(attempt, delays.length) - 1] as number
  if (backoff === "fixed") return baseMillis
  if (backoff === "linear") return baseMillis * attempt
  // A power beyond all numbers, times a base of zero, would be NaN.
  return baseMillis * Math.min(factor ** (attempt - 1), Number.MAX_VALUE)
}

const refuse = (field: string, value: unknown, wanted: string) =>
  Result.fail(
    new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` }),
  )
