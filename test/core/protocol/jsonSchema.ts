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
  type: isType,
  const: (only, value) => only === value,
  enum: (all, value) => (all as ReadonlyArray<unknown>).includes(value),
  anyOf: (all, value) => (all as ReadonlyArray<Schema>).some((each) => fits(each, value)),
  minLength: onText((limit, value) => points(value) >= number(limit)),
  maxLength: onText((limit, value) => points(value) <= number(limit)),
  pattern: onText((pattern, value) => new RegExp(pattern as string, "u").test(value as string)),
  minimum: onNumber((limit, value) => number(value) >= number(limit)),
  maximum: onNumber((limit, value) => number(value) <= number(limit)),
  items: onList((schema, value) =>
    (value as ReadonlyArray<unknown>).every((each) => fits(schema as Schema, each)),
  ),
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
  maxProperties: onObject((limit, value) => Object.keys(value as object).length <= number(limit)),
}

/** Whether a value is what a schema allows. */
export const fits = (schema: Schema, value: unknown): boolean =>
  Object.entries(schema).every(([keyword, limit]) => {
    const rule = rules[keyword]
    if (rule === undefined) throw new Error(`the keyword "${keyword}" is not known here`)
    return rule(limit, value, schema)
  })
