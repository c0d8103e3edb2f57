// Gives a name to every shape that a document holds more than once, and refers to it: generators of code then make one type
// of it. A shape with an `identifier` has its name already; others are called by where they come first.
import { type Json, place } from "./jsonSchemas.ts"

/** A schema of the document, and what it would be called. */
export interface Named {
  readonly name: string
  /** The name of one of a higher rank is taken first. */
  readonly rank: number
  readonly schema: Json
}

/** The shapes that come more than once, by name, and a function that puts references in their places. */
export const sharedShapes = (
  roots: ReadonlyArray<Named>,
  taken: ReadonlySet<string>,
): { readonly shapes: Readonly<Record<string, Json>>; readonly refer: (value: unknown) => unknown } => {
  const found = new Map<string, { count: number; named: Named }>()
  const look = (value: unknown, name: string, rank: number): void => {
    if (Array.isArray(value)) return value.forEach((each) => look(each, name, rank))
    if (typeof value !== "object" || value === null) return
    const schema = value as Json
    if (isShape(schema)) {
      const text = JSON.stringify(schema)
      const before = found.get(text)
      if (before === undefined) found.set(text, { count: 1, named: { name, rank, schema } })
      else {
        before.count++
        if (rank > before.named.rank) before.named = { name, rank, schema }
      }
    }
    for (const [key, inner] of Object.entries(schema)) {
      if (key === "properties")
        for (const [field, each] of Object.entries(inner as Json)) look(each, `${name}${capital(field)}`, 0)
      else look(inner, key === "items" ? `${name}Item` : name, 0)
    }
  }
  for (const { schema, name, rank } of roots) look(schema, name, rank)

  const names = new Map<string, string>()
  const used = new Set(taken)
  for (const [text, { count, named }] of found) {
    if (count < 2) continue
    let name = named.name
    for (let number = 2; used.has(name); number++) name = `${named.name}${number}`
    used.add(name)
    names.set(text, name)
  }
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(refer)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, refer(inner)]))
  }
  const refer = (value: unknown): unknown => {
    const name = isShape(value) ? names.get(JSON.stringify(value)) : undefined
    return name === undefined ? inside(value) : { $ref: place(name) }
  }
  const shapes = [...names].map(([text, name]) => [name, inside(JSON.parse(text)) as Json] as const)
  return { shapes: Object.fromEntries(shapes), refer }
}

/** `sendRun` as the beginning of a name. */
export const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** An object of several known fields: less is not worth a name. */
const isShape = (value: unknown): boolean => {
  const { type, properties } = (value ?? {}) as Json
  return type === "object" && Object.keys(properties ?? {}).length > 1
}
