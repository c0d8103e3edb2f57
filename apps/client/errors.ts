// What a call rejects with: the server's refusal, or that there was no answer. Neither ever holds the key.
import type { ProblemCode } from "../api/problemCodes.ts"

/** One thing that is wrong with a request. */
export interface FieldError {
  /** A JSON Pointer into the body, or below `/query` or `/params`; "" is all of it. */
  readonly pointer: string
  readonly detail: string
}

/** What an `ApiProblem` says. */
export interface ProblemFields {
  readonly code: ProblemCode | "unknown"
  readonly status: number
  readonly detail: string
  readonly errors: ReadonlyArray<FieldError>
  readonly requestId: string | null
  readonly retryable: boolean
  readonly retryAfterMillis: number | null
}

/** The server refused or failed. */
export class ApiProblem extends Error implements ProblemFields {
  override readonly name = "ApiProblem"
  /** For programs. `unknown`: the answer is none of Uhrwerk's, such as that of a proxy. */
  readonly code: ProblemCode | "unknown"
  /** Of HTTP. */
  readonly status: number
  /** What happened, why, and what to do next; the same as `message`. */
  readonly detail: string
  readonly errors: ReadonlyArray<FieldError>
  /** For the server's log; `null`: it was not told. */
  readonly requestId: string | null
  /** Whether the same request may succeed later; the client has tried so often by then. */
  readonly retryable: boolean
  /** What `Retry-After` said. */
  readonly retryAfterMillis: number | null

  constructor(fields: ProblemFields) {
    super(fields.detail)
    this.code = fields.code
    this.status = fields.status
    this.detail = fields.detail
    this.errors = fields.errors
    this.requestId = fields.requestId
    this.retryable = fields.retryable
    this.retryAfterMillis = fields.retryAfterMillis
  }
}

/** The server did not answer, or not with anything that can be read: whether it did what was asked is not known. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer"
  /** `timeout`: not in time. `connection`: refused, or cut. `redirect`: it points elsewhere, where the key must not go. */
  readonly why: "timeout" | "connection" | "redirect" | "unreadable"

  constructor(why: NoAnswer["why"], message: string) {
    super(message)
    this.why = why
  }
}

/** The problem of an answer that is no success. */
export const problemOf = async (response: Response, now: number): Promise<ApiProblem> => {
  const text = await response.text().catch(() => "")
  const said = parsed(text)
  const retryAfterMillis = waitOf(response.headers.get("retry-after"), now)
  const isProblem = /^application\/problem\+json\b/.test(response.headers.get("content-type") ?? "")
  const requestId = response.headers.get("x-request-id")
  if (!isProblem || typeof said["code"] !== "string")
    return new ApiProblem({
      code: "unknown",
      status: response.status,
      detail: `The answer is ${response.status}, and not one of an Uhrwerk server. Check the address.`,
      errors: [],
      requestId,
      // What a proxy says when there is nothing behind it.
      retryable: [429, 502, 503, 504].includes(response.status),
      retryAfterMillis,
    })
  return new ApiProblem({
    code: said["code"] as ProblemCode,
    status: response.status,
    detail: typeof said["detail"] === "string" ? said["detail"] : said["code"],
    errors: Array.isArray(said["errors"]) ? (said["errors"] as ReadonlyArray<FieldError>) : [],
    requestId,
    retryable: said["retryable"] === true,
    retryAfterMillis,
  })
}

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}

/** `Retry-After`: seconds, or an instant as HTTP writes it. */
const waitOf = (text: string | null, now: number): number | null => {
  if (text === null) return null
  const millis = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(millis) ? Math.max(0, millis) : null
}
