// The operations of an OpenAPI document, with what they refer to put in.
import type { Json } from "../../api/jsonSchemas.ts"

/** Named schemas. */
export type Schemas = Readonly<Record<string, Json>>

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Json
}

/** One operation. */
export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly role: string
  readonly summary: string
  readonly description: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly body: { readonly required: boolean; readonly schema: Json } | undefined
  readonly successes: ReadonlyArray<Answer>
  readonly problems: ReadonlyArray<Answer>
}

/** How one may be answered. */
export interface Answer {
  readonly status: string
  readonly description: string
  readonly headers: ReadonlyArray<readonly [name: string, about: string]>
  readonly types: ReadonlyArray<readonly [type: string, schema: Json]>
}

// Of every request or answer: said once, at the top of the page.
const usual: ReadonlySet<string> = new Set(["x-request-id", "ratelimit", "ratelimit-policy"])

/** All of a document, in its order. */
export const operationsOf = (document: Json): ReadonlyArray<Operation> =>
  Object.entries(document["paths"] as Schemas).flatMap(([path, methods]) =>
    Object.entries(methods as Schemas).map(([method, operation]) => read(document, path, method, operation)),
  )

const read = (document: Json, path: string, method: string, operation: Json): Operation => {
  const of = <A>(value: unknown): A => found(document, value) as A
  const body = operation["requestBody"] as Json | undefined
  const answers = Object.entries(operation["responses"] as Schemas).map(([status, response]): Answer => {
    const {
      description,
      headers = {},
      content = {},
    } = of<Json>(response) as {
      readonly description: string
      readonly headers?: Schemas
      readonly content?: Readonly<Record<string, { readonly schema: Json }>>
    }
    return {
      status,
      description,
      headers: Object.entries(headers)
        .filter(([name]) => !usual.has(name))
        .map(([name, each]) => [name, of<{ readonly description: string }>(each).description] as const),
      types: Object.entries(content).map(([type, { schema }]) => [type, schema] as const),
    }
  })
  return {
    id: operation["operationId"] as string,
    method,
    path,
    tag: (operation["tags"] as ReadonlyArray<string>).join(", "),
    role: operation["x-role"] as string,
    summary: operation["summary"] as string,
    description: operation["description"] as string,
    parameters: (operation["parameters"] as ReadonlyArray<unknown>)
      .map((each) => of<Parameter>(each))
      .filter(({ name }) => !usual.has(name.toLowerCase())),
    body:
      body === undefined
        ? undefined
        : {
            required: body["required"] === true,
            schema: (body["content"] as { readonly "application/json": { readonly schema: Json } })[
              "application/json"
            ].schema,
          },
    successes: answers.filter(({ status }) => status < "400"),
    problems: answers.filter(({ status }) => status >= "400"),
  }
}

const found = (document: Json, value: unknown): unknown => {
  const { $ref } = value as { readonly $ref?: string }
  return $ref === undefined
    ? value
    : $ref
        .slice(2)
        .split("/")
        .reduce<unknown>((at, key) => (at as Json)[key], document)
}
