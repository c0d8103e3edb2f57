// What a client is told when a request is refused or fails: RFC 9457, with a code for programs, the place in the body, the
// next step for people, and whether the same request may succeed later. Nothing of the inside is told.
import type { Context } from "hono"
import type { ContentfulStatusCode } from "hono/utils/http-status"
import { errorInfo } from "../../core/domain/Payload.ts"
import { type ProblemCode, problemCodes } from "../api/mod.ts"
import type { ServerEnv } from "./ServerEnv.ts"

/** One thing that is wrong with a request. */
export interface FieldError {
  /** JSON Pointer (RFC 6901) into the body; "" is all of it. */
  readonly pointer: string
  readonly detail: string
}

/** Everything that a client is told. */
export interface Problem {
  readonly status: ContentfulStatusCode
  /** For programs; never changes its meaning. */
  readonly code: string
  /** The same for every problem of this code. */
  readonly title: string
  /** What, why, and what to do next. */
  readonly detail: string
  readonly errors?: ReadonlyArray<FieldError>
  /** Whether sending the same again may succeed. */
  readonly retryable?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** A refusal on its way to `onError`. */
export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** A refusal of one of the API's kinds. */
export const refuse = (
  code: ProblemCode,
  detail: string,
  more: Partial<Pick<Problem, "errors" | "retryable" | "headers">> = {},
): Refused => {
  const [status, title] = problemCodes[code]
  return new Refused({ status, code, title, detail, ...more })
}

/** The answer. */
export const answer = (c: Context<ServerEnv>, problem: Problem): Response => {
  const { status, code, title, detail, errors, retryable = false, headers } = problem
  const body = {
    type: `urn:uhrwerk:problem:${code}`,
    title,
    status,
    detail,
    code,
    ...(errors === undefined ? {} : { errors }),
    requestId: c.get("requestId"),
    retryable,
  }
  return c.body(JSON.stringify(body), status, { ...headers, "content-type": "application/problem+json" })
}

const later = (code: string, title: string, detail: string): Problem => ({
  status: 503,
  code,
  title,
  detail,
  retryable: true,
  headers: { "retry-after": "2" },
})

const unavailable = later(
  "storeUnavailable",
  "The store does not answer",
  "Nothing is known of what was asked. It is safe to send the same again; a new run needs an `id` or a `key` for that.",
)

/** How long a store may take; the engine itself repeats what fails for about a second. */
export const answerMillisMax = 10_000

/** The store said nothing for so long that whoever waits should hear of it. */
export const noAnswer = (): Refused => new Refused(unavailable)

/** Problems by the tag of what the engine throws; `undefined`: an error that nobody expected. */
export const problemOf = (error: unknown): Problem | undefined => {
  if (error instanceof Refused) return error.problem
  const { name, message } = errorInfo(error)
  const field = (error as { readonly field?: unknown } | null)?.field
  const invalid = (code: string, title: string): Problem => ({
    status: 422,
    code,
    title,
    detail: message,
    errors: [{ pointer: pointerOf(field), detail: message }],
  })
  switch (name) {
    case "InvalidInput":
      return invalid("invalidInput", "A value is not acceptable")
    case "InvalidPayload":
      return invalid("invalidPayload", "The input is not one that this job takes")
    case "UnknownJob":
      return invalid("unknownJob", "No job of this name is defined")
    case "NotFound":
      return { status: 404, code: "notFound", title: "There is nothing of this id", detail: message }
    case "EngineStopped":
      return later(
        "notServing",
        "The server starts or stops",
        "Send to another server, or to this one in a while.",
      )
    case "Overloaded":
      return later("overloaded", "Too many requests wait to be stored", message)
    case "StoreError":
      return unavailable
    default:
      return undefined
  }
}

/** The problem of an error that is a fault of ours. */
export const faultProblem: Problem = {
  status: 500,
  code: "internal",
  title: "The server failed",
  detail: "This is a fault of the server. Its log has more under the request's id.",
}

/** A JSON Pointer of a path. */
export const pointer = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

/** Where in the body of a run a refusal points; its input is named as `input of job "a"`. */
export const pointerOf = (field: unknown): string => {
  if (typeof field !== "string") return ""
  if (/^[a-z]\w*$/i.test(field)) return pointer([field])
  return field.startsWith("input") ? "/input" : ""
}
