// JSON Schemas as people read them: a type in a few words, and the fields of an object as a table.
import type { Json } from "../../api/jsonSchemas.ts"
import { type Html, html, inline } from "./html.ts"

/** A type in a few words. */
export const typeOf = (schema: Json): Html => {
  const {
    $ref,
    anyOf,
    oneOf,
    enum: texts,
    const: only,
    type,
    items,
    properties,
  } = schema as {
    readonly $ref?: string
    readonly anyOf?: ReadonlyArray<Json>
    readonly oneOf?: ReadonlyArray<Json>
    readonly enum?: ReadonlyArray<unknown>
    readonly const?: unknown
    readonly type?: string | ReadonlyArray<string>
    readonly items?: Json
    readonly properties?: Json
  }
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  const either = anyOf ?? oneOf
  if (either !== undefined)
    return html`${either.map((each, place) => (place === 0 ? typeOf(each) : html` or ${typeOf(each)}`))}`
  if (texts !== undefined)
    return html`${texts.map((text, place) => html`${place === 0 ? "" : " | "}<code>${String(text)}</code>`)}`
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`
  if (items !== undefined) return html`list of ${typeOf(items)}${limits(schema)}`
  const words = Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "any JSON"
  return html`${words}${properties === undefined ? limits(schema) : ""}`
}

const limits = (schema: Json): Html => {
  const { minimum, maximum, maxLength, maxItems } = schema as Readonly<Record<string, number | undefined>>
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum !== undefined
        ? `from ${minimum}`
        : maximum !== undefined
          ? `to ${maximum}`
          : undefined
  const said = [
    range,
    maxLength === undefined ? undefined : `at most ${maxLength} characters`,
    maxItems === undefined ? undefined : `at most ${maxItems}`,
  ].filter((each) => each !== undefined)
  return said.length === 0 ? html`` : html`, ${said.join(", ")}`
}

// Deeper than that it is an example that helps, not a table.
const levelsMax = 4

/** The fields of an object, or of the objects of a list; empty where there are none. */
export const fieldsOf = (schema: Json, level = 1): Html => {
  const inner = (schema["items"] as Json | undefined) ?? schema
  const fields = Object.entries((inner["properties"] ?? {}) as Readonly<Record<string, Json>>)
  const required = (inner["required"] ?? []) as ReadonlyArray<string>
  if (fields.length === 0 || level > levelsMax) return html``
  return html`<table>
    ${fields.map(
      ([name, field]) =>
        html`<tr>
          <th>
            <code>${name}</code>${required.includes(name) ? "" : html` <span class="soft">optional</span>`}
          </th>
          <td>
            ${typeOf(field)}${field["description"] === undefined ? "" : html`<p class="soft">${inline(field["description"] as string)}</p>`}${fieldsOf(field, level + 1)}
          </td>
        </tr>`,
    )}
  </table>`
}
