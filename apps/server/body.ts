// The JSON body of a request, decoded by a schema. What is wrong is told with its place, all of it at once, and never
// quotes a value.
import type { Context } from "hono"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Issue from "effect/SchemaIssue"
import { nestsDeeper } from "../../core/protocol/Depth.ts"
import { payloadDepthMax } from "../../core/protocol/Limits.ts"
import { pointer, Refused } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"

// One level more than an input may have.
const depthMax = payloadDepthMax + 1
const errorsMax = 20
const format = Issue.makeFormatterStandardSchemaV1()

/** Reads bodies of this schema; what it refuses is thrown as `Refused`. Fields that the schema does not know are errors. */
export const bodyOf = <A>(schema: Schema.Codec<A, any>, isOptional = false) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return async (c: Context<ServerEnv>): Promise<A> => {
    if (isOptional && !hasBody(c)) return checked({})
    const type = c.req.header("content-type") ?? ""
    // Also against forms of web pages, which may be sent anywhere but not as JSON.
    if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
      throw new Refused({
        status: 415,
        code: "notJson",
        title: "The body is not said to be JSON",
        detail: "Send JSON in UTF-8, with the header `Content-Type: application/json`.",
      })
    return checked(parse(await textOf(c)))
  }
  function checked(given: unknown): A {
    const decoded = decode(given)
    if (Result.isSuccess(decoded)) return decoded.success
    const { issues } = format(decoded.failure.issue)
    const errors = issues.slice(0, errorsMax).map(({ path = [], message }) => ({
      pointer: pointer(path as ReadonlyArray<PropertyKey>),
      detail: message,
    }))
    throw new Refused({
      status: 422,
      code: "invalidBody",
      title: "The body is not what this route takes",
      detail: `${issues.length} ${issues.length === 1 ? "value is" : "values are"} wrong; \`errors\` says where. Correct them and send it again.`,
      errors,
    })
  }
}

// Without a length there is none by the rules of HTTP; who says what it is, as a `Request` made by hand does, has one.
const hasBody = (c: Context<ServerEnv>): boolean => {
  const length = c.req.header("content-length")
  if (length !== undefined) return length !== "0"
  return c.req.header("transfer-encoding") !== undefined || c.req.header("content-type") !== undefined
}

const textOf = async (c: Context<ServerEnv>): Promise<string> => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(await c.req.arrayBuffer())
  } catch {
    throw badJson("it is not UTF-8, or it was cut off")
  }
}

const parse = (text: string): unknown => {
  if (nestsDeeper(text, depthMax)) throw badJson(`it nests deeper than ${depthMax} levels`)
  try {
    return JSON.parse(text)
  } catch {
    throw badJson("it cannot be parsed")
  }
}

const badJson = (why: string): Refused =>
  new Refused({
    status: 400,
    code: "badJson",
    title: "The body is no JSON",
    detail: `The body is not JSON that can be used: ${why}. Correct it and send it again.`,
    errors: [{ pointer: "", detail: why }],
  })
