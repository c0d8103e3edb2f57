// The OpenAPI 3.1 document of the HTTP API, made of the routes of `api`: the same schemas that decode the requests. The
// server answers it at `/openapi.json`; `npm run spec` writes it to `openapi.json` beside this file, and a test finds drift.
import { type AnySchema, type Endpoint, isIdempotent, isUnsafe, type Success } from "./Endpoint.ts"
import { type Json, makeSchemaSet, type SchemaSet } from "./jsonSchemas.ts"
import { api as all } from "./mod.ts"
import { problemCodes, type ProblemCode } from "./problemCodes.ts"
import { problemsByStatus } from "./problemsOf.ts"
import { capital, type Named, sharedShapes } from "./sharedShapes.ts"

/** The document of some routes; default: all. */
export const openApi = (api: Readonly<Record<string, Endpoint>> = all): Json => {
  const endpoints = Object.values(api)
  const schemas = makeSchemas()
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {})
    if (path[endpoint.method] !== undefined)
      throw new Error(`Two routes have ${endpoint.method.toUpperCase()} ${endpoint.path}`)
    path[endpoint.method] = operation(endpoint, schemas)
  }
  const identified = schemas.identified()
  const own = Object.entries(identified).map(([name, schema]) => ({ name, rank: 0, schema }))
  const { shapes, refer } = sharedShapes(
    [...schemas.roots, ...own.map(({ schema, ...each }) => ({ ...each, schema: { allOf: [schema] } }))],
    new Set([...Object.keys(identified), "Problem"]),
  )
  return {
    openapi: "3.1.0",
    info: {
      title: "Uhrwerk HTTP API",
      version: "1.0.0",
      summary: "Jobs, schedules, flows, runs, and who works on them.",
      description:
        "Instants are epoch milliseconds, spans milliseconds or texts such as `5m`. Bodies with a field that is not known are refused; answers may get new fields. Every error is `application/problem+json` (RFC 9457) with a `code` that keeps its meaning.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that this document is from." }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: refer(paths),
    components: {
      securitySchemes: {
        key: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key with a role: a viewer reads, an operator acts on runs and schedules, too, an admin does everything. As long as the store has no key, the server's own machine needs none.",
        },
      },
      parameters,
      headers,
      responses: Object.fromEntries(
        alone(endpoints).map((code) => [code, problem(problemCodes[code][0], [code])] as const),
      ),
      schemas: sorted({ ...shapes, ...(refer(identified) as Json), Problem: problemSchema }),
    },
  }
}

const sorted = (given: Json): Json =>
  Object.fromEntries(Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1)))

/** A set that remembers what each schema would be called. */
interface Schemas extends Pick<SchemaSet, "fields" | "identified"> {
  readonly roots: Array<Named>
  readonly named: (schema: AnySchema, name: string, rank: number, closed: boolean) => Json
}

const makeSchemas = (): Schemas => {
  const { of, fields, identified } = makeSchemaSet()
  const roots: Array<Named> = []
  return {
    fields,
    identified,
    roots,
    named: (schema, name, rank, closed) => {
      const made = of(schema, closed)
      roots.push({ name, rank, schema: made })
      return made
    },
  }
}

const operation = (endpoint: Endpoint, schemas: Schemas): Json => {
  const { name, tag, role, summary, description, body, bodyOptional = false, success } = endpoint
  const says =
    role === "public"
      ? "Whoever can reach the server may use it."
      : `For the role ${role} and those above it.`
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: description === undefined ? says : `${description}\n\n${says}`,
    "x-role": role,
    security: role === "public" ? [] : [{ key: [] }],
    parameters: parametersOf(endpoint, schemas),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !bodyOptional,
            content: { "application/json": { schema: schemas.named(body, `${capital(name)}Body`, 1, true) } },
          },
        }),
    responses: {
      ...successesOf(endpoint, success, schemas),
      ...Object.fromEntries(
        [...problemsByStatus(endpoint)].map(([status, codes]) => [status, refusal(status, codes)]),
      ),
    },
  }
}

const parametersOf = (endpoint: Endpoint, schemas: Schemas): ReadonlyArray<Json> => {
  const { params, query, conditional = false } = endpoint
  const of = (schema: Endpoint["query"], place: "path" | "query"): ReadonlyArray<Json> =>
    schema === undefined
      ? []
      : schemas.fields(schema).map(({ name, required, description, schema: each }) => ({
          name,
          in: place,
          ...(required || place === "path" ? { required: true } : {}),
          ...(description === undefined ? {} : { description }),
          schema: each,
        }))
  return [
    ...of(params, "path"),
    ...of(query, "query"),
    { $ref: "#/components/parameters/XRequestId" },
    ...(isIdempotent(endpoint) ? [{ $ref: "#/components/parameters/IdempotencyKey" }] : []),
    ...(conditional && isUnsafe(endpoint) ? [{ $ref: "#/components/parameters/IfMatch" }] : []),
    ...(takesPrefer(endpoint) ? [{ $ref: "#/components/parameters/Prefer" }] : []),
    ...(streamsEvents(endpoint) ? [{ $ref: "#/components/parameters/LastEventId" }] : []),
  ]
}

/** Whether it heeds `Prefer`: those that do say so in the answer (RFC 7240). */
const takesPrefer = ({ success }: Endpoint): boolean =>
  success.some(({ headers: said = {} }) => Object.hasOwn(said, "preference-applied"))

/** Whether it answers events as they happen. */
export const streamsEvents = ({ success }: Endpoint): boolean =>
  success.some(({ type }) => type === "text/event-stream")

/** A route may say the same status for several types; each of its ways is one of the status. */
const successesOf = (endpoint: Endpoint, success: ReadonlyArray<Success>, schemas: Schemas): Json => {
  const out: Record<string, { readonly description: string } & Json> = {}
  for (const { status, description, schema, type = "application/json", headers: said = {} } of success) {
    const before = out[status]
    const isText = type !== "application/json"
    const content =
      schema === undefined && !isText
        ? {}
        : {
            [type]: {
              schema: schema === undefined ? { type: "string" } : answered(endpoint, schema, schemas),
            },
          }
    const contents = { ...(before?.["content"] as Json | undefined), ...content }
    out[status] = {
      description: before === undefined ? description : `${before.description} ${description}`,
      headers: {
        ...usualHeaders(endpoint),
        ...(isIdempotent(endpoint)
          ? { "idempotency-replayed": { $ref: "#/components/headers/IdempotencyReplayed" } }
          : {}),
        ...(endpoint.conditional === true ? { etag: { $ref: "#/components/headers/ETag" } } : {}),
        ...Object.fromEntries(
          Object.entries(said).map(([name, about]) => [
            name,
            { description: about, schema: { type: "string" } },
          ]),
        ),
      },
      ...(Object.keys(contents).length === 0 ? {} : { content: contents }),
    }
  }
  return out
}

const usualHeaders = ({ role }: Endpoint): Json => ({
  "x-request-id": { $ref: "#/components/headers/XRequestId" },
  ...(role === "public"
    ? {}
    : {
        ratelimit: { $ref: "#/components/headers/RateLimit" },
        "ratelimit-policy": { $ref: "#/components/headers/RateLimitPolicy" },
      }),
})

// What `getRun` answers is a `Run`, wherever else it comes.
const answered = ({ name }: Endpoint, schema: AnySchema, schemas: Schemas): Json =>
  name.startsWith("get")
    ? schemas.named(schema, name.slice(3), 2, false)
    : schemas.named(schema, `${capital(name)}Answer`, 1, false)

/** The codes that are the only one of their status somewhere. */
const alone = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<ProblemCode> => {
  const found = new Set(
    endpoints.flatMap((endpoint) =>
      [...problemsByStatus(endpoint).values()].filter(({ length }) => length === 1).flat(),
    ),
  )
  return (Object.keys(problemCodes) as ReadonlyArray<ProblemCode>).filter((code) => found.has(code))
}

const refusal = (status: number, codes: ReadonlyArray<ProblemCode>): Json =>
  codes.length === 1 ? { $ref: `#/components/responses/${codes.join("")}` } : problem(status, codes)

const problem = (status: number, codes: ReadonlyArray<ProblemCode>): Json => ({
  description: codes.map((code) => `\`${code}\`: ${problemCodes[code][1]}.`).join(" "),
  headers: {
    "x-request-id": { $ref: "#/components/headers/XRequestId" },
    ...(status === 429 || status === 503
      ? { "retry-after": { $ref: "#/components/headers/RetryAfter" } }
      : {}),
  },
  content: {
    "application/problem+json": {
      schema: {
        allOf: [
          { $ref: "#/components/schemas/Problem" },
          {
            type: "object",
            properties: { status: { const: status }, code: { type: "string", enum: codes } },
          },
        ],
      },
    },
  },
})

const header = (name: string, description: string, schema: Json): Json => ({
  name,
  in: "header",
  description,
  schema,
})

const parameters: Json = {
  XRequestId: header(
    "X-Request-Id",
    "An id of yours for the request: 1 to 128 letters, digits, `-`, `_` and `=`. It comes back in the answer; one that does not fit is passed over.",
    { type: "string" },
  ),
  IdempotencyKey: header(
    "Idempotency-Key",
    "A text of yours for this request, such as a UUID. Sent again with it within a day, the first answer is given again and nothing is done twice.",
    { type: "string", minLength: 1, maxLength: 255 },
  ),
  IfMatch: header("If-Match", "The `ETag` that was read: if it was changed since, nothing is done.", {
    type: "string",
  }),
  Prefer: header("Prefer", "`wait=30`: how many seconds to wait at most.", { type: "string" }),
  LastEventId: header("Last-Event-ID", "The id of the last event that was read: go on after it.", {
    type: "string",
  }),
}

const headers: Json = {
  XRequestId: {
    description: "The request's id; where it failed, the server's log has more under it.",
    schema: { type: "string" },
  },
  IdempotencyReplayed: {
    description:
      "`true`: it was done before under this `Idempotency-Key`, and this is what was answered then.",
    schema: { type: "string" },
  },
  RateLimit: {
    description:
      "How many requests (`r`) there may be at once, and in how many seconds (`t`) there is one more.",
    schema: { type: "string" },
  },
  RateLimitPolicy: {
    description: "How many requests (`q`) there may be in so many seconds (`w`).",
    schema: { type: "string" },
  },
  ETag: { description: "Of this version, for `If-Match`.", schema: { type: "string" } },
  RetryAfter: {
    description: "How many seconds to wait before the same request.",
    schema: { type: "integer", minimum: 0 },
  },
}

const problemSchema: Json = {
  type: "object",
  description: "What is told when a request is refused or fails.",
  properties: {
    type: { type: "string", description: "`urn:uhrwerk:problem:` and the code." },
    title: { type: "string", description: "The same for every problem of the code." },
    status: { type: "integer", minimum: 400, maximum: 599 },
    detail: { type: "string", description: "What happened, why, and what to do next." },
    code: { type: "string", description: "For programs: it never changes its meaning." },
    errors: {
      type: "array",
      description: "What is wrong, and where, at most 20.",
      items: {
        type: "object",
        properties: {
          pointer: { type: "string", description: "A JSON Pointer into the body; empty: all of it." },
          detail: { type: "string" },
        },
        required: ["pointer", "detail"],
      },
    },
    requestId: { type: "string" },
    retryable: { type: "boolean", description: "Whether the same request may succeed later." },
  },
  required: ["type", "title", "status", "detail", "code", "requestId", "retryable"],
}

/** The text of the published file. */
export const openApiText = (): string => `${JSON.stringify(openApi(), null, 2)}\n`
