// Asks routes as their examples say, and checks every answer against the document: its status, its type, its headers, its
// body, and that there is nothing in it that is not said.
import * as Schema from "effect/Schema"
import { expect } from "vitest"
import type { Endpoint } from "../../../apps/api/mod.ts"
import { openApi } from "../../../apps/api/openapi.ts"
import type { Answered, World } from "../server/api/world.ts"
import { fits, linked } from "../../core/protocol/jsonSchema.ts"
import type { Ask, Example, Stage } from "./examples/Example.ts"

const document = linked(openApi()) as any

/** More about how to ask. */
export interface Asking {
  readonly key?: string
  readonly from?: string
  readonly host?: string
}

/** What was answered, and to what. */
export interface Seen extends Answered {
  /** The status of a success, or the code of a problem. */
  readonly gave: number | string
}

/** What a function of an example may use. */
export const stageOf = (world: World, key: string): Stage => ({
  engine: world.engine,
  store: world.store,
  connect: world.connect,
  ask: async (method, path, body) => {
    const { status, text, body: answered } = await world.ask(method, path, body, { key })
    if (status >= 300) throw new Error(`${method} ${path} of an example gave ${status}: ${text}`)
    return answered
  },
})

/** The request of an example. */
export const askOf = async ({ ask }: Example, stage: Stage): Promise<Ask> =>
  typeof ask === "function" ? ask(stage) : ask

/** Asks a route, and checks that what it answers is documented. */
export const askRoute = async (
  world: World,
  endpoint: Endpoint,
  { params = {}, query = {}, body, headers = {} }: Ask,
  { key, from = "127.0.0.1", host = "127.0.0.1:8080" }: Asking = {},
): Promise<Seen> => {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? "x"),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  const leave = new AbortController()
  const response = await world.app.request(
    `http://${host}${path}${search.size === 0 ? "" : `?${search.toString()}`}`,
    {
      method: endpoint.method.toUpperCase(),
      signal: leave.signal,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    },
    { remoteAddress: from },
  )
  const type = (response.headers.get("content-type") ?? "").split(";", 1)[0] ?? ""
  const text = type === "text/event-stream" ? await begin(response, leave) : await response.text()
  const isJson = /^application\/(problem\+)?json$/.test(type)
  const answered = {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
  check(endpoint, type, answered)
  return { ...answered, gave: response.status < 400 ? response.status : answered.body.code }
}

/** Events have no end: the first bytes are enough. */
const begin = async (response: Response, leave: AbortController): Promise<string> => {
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  leave.abort()
  return new TextDecoder().decode(first?.value)
}

const check = (endpoint: Endpoint, type: string, { status, headers, text, body }: Answered): void => {
  const { responses } = document.paths[endpoint.path][endpoint.method]
  const said = responses[status]
  const what = `${endpoint.name} answered ${status} ${type} ${text.slice(0, 400)}`
  if (said === undefined) throw new Error(`Not documented: ${what}`)
  expect(headers.get("x-request-id"), what).toBeTruthy()
  if (said.content === undefined) return expect(text, what).toBe("")
  const content = said.content[type]
  if (content === undefined) throw new Error(`Another type than is documented: ${what}`)
  if (body === undefined) return
  expect(fits(content.schema, body), `${what}: the body is not what its schema says`).toBe(true)
  if (status < 400) closed(endpoint, status, body, what)
}

/** An answer may get new fields, but here and now it has none that is not documented: it could be one that nobody should see. */
const closed = ({ success }: Endpoint, status: number, body: unknown, what: string): void => {
  const schemas = success.flatMap(({ status: each, schema, type }) =>
    each === status && schema !== undefined && type === undefined ? [schema] : [],
  )
  const errors = schemas.map((schema) => {
    const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(body)
    return decoded._tag === "Success" ? null : String(decoded.failure)
  })
  if (!errors.includes(null))
    throw new Error(`More, or other, than is documented: ${what}\n${errors.join("\n")}`)
}
