// Puts the routes of the API on the app: decodes each request by its endpoint, and hands it to its handler through the gate.
import type { Context, Hono, MiddlewareHandler } from "hono"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Issue from "effect/SchemaIssue"
import { type AnySchema, api, type ApiName, type Endpoint } from "../../api/mod.ts"
import { bodyOf } from "../body.ts"
import { type FieldError, pointer, refuse } from "../problems.ts"
import type { ServerEnv } from "../ServerEnv.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Gate } from "../access/Gate.ts"
import type { Call, Handler, Handlers } from "./Handler.ts"

/** Adds all routes. `door`: what is checked of each request before it; below `/v1` it is already. */
export const mount = (
  app: Hono<ServerEnv>,
  handlers: Handlers<typeof api>,
  parts: ApiParts,
  gate: Gate,
  door: ReadonlyArray<MiddlewareHandler<ServerEnv>>,
): void => {
  for (const name of Object.keys(api) as ReadonlyArray<ApiName>) {
    const endpoint: Endpoint = api[name]
    const handler = handlers[name] as Handler<Endpoint>
    const read = readerOf(endpoint)
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1")
    if (endpoint.role !== "public" && !path.startsWith("/v1/")) app.use(path, ...door)
    app.on(endpoint.method.toUpperCase(), path, (c) =>
      gate.pass(c, endpoint, async (caller) => {
        const call: Call<Endpoint> = {
          ...(await read(c)),
          caller,
          requestId: c.get("requestId"),
          headers: c.req.raw.headers,
          signal: c.req.raw.signal,
          parts,
        }
        return () => handler(call)
      }),
    )
  }
}

const readerOf = ({ params, query, body, bodyOptional = false }: Endpoint) => {
  const readParams = params === undefined ? undefined : decoderOf(params, "params")
  const readQuery = query === undefined ? noQuery : decoderOf(query, "query")
  const readBody = body === undefined ? undefined : bodyOf(body, bodyOptional)
  return async (c: Context<ServerEnv>): Promise<Pick<Call<Endpoint>, "params" | "query" | "body">> => ({
    params: readParams?.(c.req.param()) ?? {},
    query: readQuery(queryOf(c)) as never,
    body: (readBody === undefined ? {} : await readBody(c)) as never,
  })
}

/** A parameter that comes once is a text, one that is repeated a list. Of any name: `__proto__` is one like others. */
const queryOf = (c: Context<ServerEnv>): Readonly<Record<string, unknown>> => {
  const given = new URL(c.req.url).searchParams
  return Object.fromEntries(
    [...new Set(given.keys())].map((key) => {
      const [value, ...more] = given.getAll(key)
      return [key, more.length === 0 ? value : [value, ...more]]
    }),
  )
}

// A struct without fields takes any object.
const noQuery = (given: Readonly<Record<string, unknown>>): object => {
  const errors = Object.keys(given)
    .slice(0, errorsMax)
    .map((key) => ({ pointer: pointer(["query", key]), detail: "This route takes no query" }))
  if (errors.length > 0) throw wrongRequest(errors)
  return {}
}

const wrongRequest = (errors: ReadonlyArray<FieldError>) =>
  refuse("invalidRequest", "`errors` says what is wrong. Correct it and ask again.", { errors })

const format = Issue.makeFormatterStandardSchemaV1()
const errorsMax = 20

const decoderOf = (schema: AnySchema, where: "params" | "query") => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (given: unknown): unknown => {
    const decoded = decode(given)
    if (Result.isSuccess(decoded)) return decoded.success
    const errors = format(decoded.failure.issue)
      .issues.slice(0, errorsMax)
      .map(({ path = [], message }): FieldError => ({
        pointer: pointer([where, ...(path as ReadonlyArray<PropertyKey>)]),
        detail: message,
      }))
    throw wrongRequest(errors)
  }
}
