// An example of a request, as a command: what is required, with values that fit the schema.
import type { Json } from "../../api/jsonSchemas.ts"
import type { Operation, Schemas } from "./operations.ts"

/** The command. */
export const curlOf = (
  { method, path, parameters, body, role, successes }: Operation,
  schemas: Schemas,
): string => {
  const required = parameters.filter((each) => each.required === true)
  const address = required
    .filter((each) => each.in === "path")
    .reduce((so, { name }) => so.replace(`{${name}}`, name.toUpperCase()), path)
  const query = required
    .filter((each) => each.in === "query")
    .map(({ name, schema }) => `${name}=${encodeURIComponent(plain(valueOf(schema, schemas)))}`)
    .join("&")
  const streams = successes.some(({ types }) => types.some(([type]) => type === "text/event-stream"))
  const text =
    body === undefined ? "" : JSON.stringify(valueOf(body.schema, schemas)).replaceAll("'", "'\\''")
  return [
    `curl${streams ? " -N" : ""}${method === "get" ? "" : ` -X ${method.toUpperCase()}`} 'http://127.0.0.1:8080${address}${query === "" ? "" : `?${query}`}'`,
    ...(role === "public" ? [] : [`-H "Authorization: Bearer $UHRWERK_KEY"`]),
    ...(parameters.some(({ name }) => name === "If-Match") ? [`-H 'If-Match: ETAG'`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d '${text}'`]),
  ].join(" \\\n  ")
}

const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** A value that a schema takes: only what is required. */
const valueOf = (schema: Json, schemas: Schemas, name = "text"): unknown => {
  const {
    $ref,
    anyOf,
    oneOf,
    enum: texts,
    const: only,
    type,
    items,
    minItems,
    minimum,
  } = schema as {
    readonly $ref?: string
    readonly anyOf?: ReadonlyArray<Json>
    readonly oneOf?: ReadonlyArray<Json>
    readonly enum?: ReadonlyArray<unknown>
    readonly const?: unknown
    readonly type?: string | ReadonlyArray<string>
    readonly items?: Json
    readonly minItems?: number
    readonly minimum?: number
  }
  if ($ref !== undefined) return valueOf(schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}, schemas, name)
  if (only !== undefined) return only
  if (texts !== undefined) return texts[0]
  const [first] = anyOf ?? oneOf ?? []
  if (first !== undefined) return valueOf(first, schemas, name)
  switch (Array.isArray(type) ? (type as ReadonlyArray<string>)[0] : type) {
    case "object": {
      const fields = (schema["properties"] ?? {}) as Schemas
      const required = (schema["required"] ?? []) as ReadonlyArray<string>
      return Object.fromEntries(required.map((each) => [each, valueOf(fields[each] ?? {}, schemas, each)]))
    }
    case "array":
      return (minItems ?? 0) > 0 ? [valueOf(items ?? {}, schemas, name)] : []
    case "integer":
    case "number":
      return Math.max(minimum ?? 1, 1)
    case "boolean":
      return true
    case "null":
      return null
    case "string":
      return name.toUpperCase()
    default:
      return {}
  }
}
