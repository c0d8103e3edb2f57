// JSON Schemas (2020-12) of the API's schemas, as readers and generators of code like them: without nesting that says
// nothing, and with one name for each shape that several places share.
import * as Schema from "effect/Schema"
import type { AnySchema } from "./Endpoint.ts"

/** A piece of JSON. */
export type Json = Readonly<Record<string, unknown>>

/** Where a shared schema is found by its name. */
export const place = (name: string): string => `#/components/schemas/${name}`

/** Schemas of the API as JSON Schemas. */
export interface SchemaSet {
  /** The schema of what is sent. `closed`: with another field it is refused, as bodies are; answers may get new fields. */
  readonly of: (schema: AnySchema, closed: boolean) => Json
  /** The parameters of a struct of texts: each as what it means (a number, a flag), not as the text that it is sent as. */
  readonly fields: (schema: AnySchema) => ReadonlyArray<Parameter>
  /** Those with an `identifier`, so far: `of` refers to them. */
  readonly identified: () => Readonly<Record<string, Json>>
}

/** A parameter of a path or a query. */
export interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly description: string | undefined
  readonly schema: Json
}

/** An empty set. */
export const makeSchemaSet = (): SchemaSet => {
  const identified = new Map<string, Json>()
  const of = (schema: AnySchema, closed: boolean): Json => {
    const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema, {
      onExcessProperty: closed ? "error" : "ignore",
    })
    for (const [name, definition] of Object.entries(definitions)) {
      const each = tidied(definition) as Json
      const before = identified.get(name)
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(each))
        throw new Error(`Two schemas of the API are called "${name}": give one of them another identifier`)
      identified.set(name, each)
    }
    return tidied(root) as Json
  }
  return {
    of,
    fields: (schema) => {
      const sent = of(schema, false)
      const meant = (of(Schema.toType(schema), false)["properties"] ?? {}) as Readonly<Record<string, Json>>
      const required = (sent["required"] ?? []) as ReadonlyArray<string>
      return Object.entries((sent["properties"] ?? {}) as Readonly<Record<string, Json>>).map(
        ([name, text]) => {
          const { description, ...said } = parameterOf(text, meant[name] ?? text)
          return {
            name,
            required: required.includes(name),
            description: (description ?? meant[name]?.["description"]) as string | undefined,
            schema: said,
          }
        },
      )
    },
    identified: () => Object.fromEntries(identified),
  }
}

const parameterOf = (sent: Json, meant: Json): Json => {
  const flags = sent["enum"] as ReadonlyArray<unknown> | undefined
  if (flags !== undefined && flags.length === 2 && flags.includes("true") && flags.includes("false")) {
    const { enum: _, ...rest } = sent
    return { ...rest, type: "boolean" }
  }
  const either = sent["anyOf"] as ReadonlyArray<Json> | undefined
  const list = either?.find(({ type }) => type === "array")
  // Given once or many times: that is what a list in a query is.
  if (list !== undefined) return { ...sent, anyOf: undefined, ...list }
  return meant["type"] === "integer" || meant["type"] === "number" || meant["type"] === "boolean"
    ? meant
    : sent
}

const noise: Json = {
  minLength: 0,
  minProperties: 0,
  additionalProperties: true,
  // Of every whole number of JavaScript.
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
}

const tidied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tidied)
  if (typeof value !== "object" || value === null) return value
  const out: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) {
    // Names of fields are no words of JSON Schema.
    const inner =
      key === "properties"
        ? Object.fromEntries(Object.entries(each as Json).map(([name, field]) => [name, tidied(field)]))
        : tidied(each)
    if (key === "allOf") for (const part of inner as ReadonlyArray<Json>) merge(out, part)
    else if (key === "anyOf" || key === "oneOf") merge(out, either(key, inner as ReadonlyArray<Json>))
    else if (key === "enum" && (inner as ReadonlyArray<unknown>).length === 1)
      out["const"] = (inner as ReadonlyArray<unknown>)[0]
    else if (key === "$ref") out[key] = (inner as string).replace("#/$defs/", place(""))
    else if (noise[key] !== inner) out[key] = inner
  }
  return out
}

/** What is said outside goes before what a part says. */
const merge = (out: Record<string, unknown>, part: Json): void => {
  for (const [key, value] of Object.entries(part))
    if (out[key] === undefined || key !== "description") out[key] = value
}

const either = (key: string, parts: ReadonlyArray<Json>): Json => {
  if (parts.length === 1) return parts[0] ?? {}
  const texts = parts.map((part) => part["const"])
  if (texts.every((text) => typeof text === "string")) return { type: "string", enum: texts }
  const [first = {}, second = {}] = parts
  const isPlain =
    typeof first["type"] === "string" && first["enum"] === undefined && first["const"] === undefined
  // `null` as one more type, but for what has a name.
  return parts.length === 2 && second["type"] === "null" && isPlain
    ? { ...first, type: [first["type"], "null"] }
    : { [key]: parts }
}
