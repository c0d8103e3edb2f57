// A small reader of JSON Schema 2020-12, written from its specification and not from our code: it knows the keywords
// that our schemas use, and fails over any other, so that none is passed over unseen.

type Schema = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

const isType = (type: unknown, value: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type

const number = (limit: unknown): number => limit as number
const points = (value: unknown): number => Array.from(value as string).length

type Rule = (limit: unknown, value: unknown, schema: Schema) => boolean
const onText =
  (rule: Rule): Rule =>
  (limit, value, schema) =>
    typeof value !== "string" || rule(limit, value, schema)
const onNumber =
  (rule: Rule): Rule =>
  (limit, value, schema) =>
    typeof value !== "number" || rule(limit, value, schema)
const onList =
  (rule: Rule): Rule =>
  (limit, value, schema) =>
    !Array.isArray(value) || rule(limit, value, schema)
const onObject =
  (rule: Rule): Rule =>
  (limit, value, schema) =>
    !isObject(value) || rule(limit, value, schema)

const rules: Readonly<Record<string, Rule>> = {
  $schema: () => true,
  $id: () => true,
  title: () => true,
  description: () => true,
  type: (types, value) =>
    Array.isArray(types) ? types.some((type) => isType(type, value)) : isType(types, value),
  const: (only, value) => only === value,
  enum: (all, value) => (all as ReadonlyArray<unknown>).includes(value),
  anyOf: (all, value) => (all as ReadonlyArray<Schema>).some((each) => fits(each, value)),
  allOf: (all, value) => (all as ReadonlyArray<Schema>).every((each) => fits(each, value)),
  oneOf: (all, value) => (all as ReadonlyArray<Schema>).filter((each) => fits(each, value)).length === 1,
  // An annotation, unless a reader chooses to check it.
  format: () => true,
  default: () => true,
  examples: () => true,
  minLength: onText((limit, value) => points(value) >= number(limit)),
  maxLength: onText((limit, value) => points(value) <= number(limit)),
  pattern: onText((pattern, value) => new RegExp(pattern as string, "u").test(value as string)),
  minimum: onNumber((limit, value) => number(value) >= number(limit)),
  maximum: onNumber((limit, value) => number(value) <= number(limit)),
  items: onList((schema, value) =>
    (value as ReadonlyArray<unknown>).every((each) => fits(schema as Schema, each)),
  ),
  minItems: onList((limit, value) => (value as ReadonlyArray<unknown>).length >= number(limit)),
  uniqueItems: onList((wanted, value) => {
    const texts = (value as ReadonlyArray<unknown>).map((each) => JSON.stringify(each))
    return wanted !== true || new Set(texts).size === texts.length
  }),
  exclusiveMinimum: onNumber((limit, value) => number(value) > number(limit)),
  exclusiveMaximum: onNumber((limit, value) => number(value) < number(limit)),
  maxItems: onList((limit, value) => (value as ReadonlyArray<unknown>).length <= number(limit)),
  required: onObject((names, value) =>
    (names as ReadonlyArray<string>).every((name) => Object.hasOwn(value as object, name)),
  ),
  properties: onObject((schemas, value) =>
    Object.entries(schemas as Record<string, Schema>).every(
      ([name, schema]) => !Object.hasOwn(value as object, name) || fits(schema, (value as Schema)[name]),
    ),
  ),
  additionalProperties: onObject((schema, value, { properties = {} }) =>
    Object.entries(value as Schema).every(
      ([name, each]) => Object.hasOwn(properties as object, name) || fits(schema as Schema, each),
    ),
  ),
  propertyNames: onObject((schema, value) =>
    Object.keys(value as object).every((name) => fits(schema as Schema, name)),
  ),
  minProperties: onObject((limit, value) => Object.keys(value as object).length >= number(limit)),
  maxProperties: onObject((limit, value) => Object.keys(value as object).length <= number(limit)),
}

/** Whether a value is what a schema allows. */
export const fits = (schema: Schema | boolean, value: unknown): boolean =>
  typeof schema === "boolean"
    ? schema
    : Object.entries(schema).every(([keyword, limit]) => {
        const rule = rules[keyword]
        if (rule === undefined) throw new Error(`the keyword "${keyword}" is not known here`)
        return rule(limit, value, schema)
      })

/** A document whose references are what they refer to: the same objects, so that it may hold itself. */
export const linked = (document: Schema): Schema => {
  const root = structuredClone(document) as Record<string, unknown>
  const at = (reference: string): unknown =>
    reference
      .slice(2)
      .split("/")
      .reduce<unknown>((inner, key) => (inner as Schema | undefined)?.[key], root)
  const seen = new Set<unknown>()
  const link = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return
    seen.add(value)
    for (const [key, each] of Object.entries(value)) {
      const reference = refOf(each)
      if (reference !== undefined) {
        let found = at(reference)
        // What is said elsewhere may itself be said elsewhere.
        for (let next = refOf(found); next !== undefined; next = refOf(found)) found = at(next)
        if (found === undefined) throw new Error(`there is nothing at ${reference}`)
        ;(value as Record<string, unknown>)[key] = found
        link(found)
      } else link(each)
    }
  }
  link(root)
  return root
}

const refOf = (value: unknown): string | undefined => {
  const reference = (value as { readonly $ref?: unknown } | null | undefined)?.$ref
  return typeof reference === "string" ? reference : undefined
}
