// Whether an answer is one that may be: documented for its operation, and with the body that is documented.
import { fits } from "../../core/protocol/jsonSchema.ts"
import type { Request } from "./Generate.ts"
import type { Answer } from "./send.ts"

/** What is wrong with an answer; `undefined`: nothing. */
export const wrongWith = (request: Request, answer: Answer): string | undefined => {
  const { operation, isIts, wire, method } = request
  const { status, type, text, hasRequestId } = answer
  // Cut, as the request was; or while a body came that was refused.
  if (status === null) return undefined
  if (status >= 500 && status !== 503) return `status ${status}`
  // What the runtime's own parser refuses before there is a request.
  if (!hasRequestId)
    return status >= 400 && status < 500 ? undefined : `status ${status} without X-Request-Id`
  if (method === "HEAD" || (wire !== undefined && text === "")) return undefined
  if (!isIts) return status < 500 ? problemWrong(status, type, text) : `status ${status}`
  const said = operation.responses[status]
  if (said === undefined) return `status ${status} is not documented`
  if (said.content === undefined) return text === "" ? undefined : "a body where none is documented"
  const [, content] =
    Object.entries(said.content as Record<string, any>).find(([key]) => key.split(";", 1)[0] === type) ?? []
  if (content === undefined) return `the type ${type} is not documented`
  if (!/[/+]json$/.test(type)) return undefined
  try {
    return fits(content.schema, JSON.parse(text)) ? undefined : "the body is not what its schema says"
  } catch (error) {
    return `the body: ${String(error)}`
  }
}

const problemWrong = (status: number, type: string, text: string): string | undefined => {
  if (status < 400) return undefined
  if (type !== "application/problem+json") return `status ${status} is ${type}, no problem`
  try {
    const { status: said, code } = JSON.parse(text) as { readonly status?: number; readonly code?: string }
    return said === status && typeof code === "string"
      ? undefined
      : "the problem says another status, or no code"
  } catch {
    return "the problem is no JSON"
  }
}
