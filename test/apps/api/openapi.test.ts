// The OpenAPI document is that of the routes, is one by an independent validator, and says what the schemas do.
import { readFileSync } from "node:fs"
import { Validator } from "@seriousme/openapi-schema-validator"
import * as Schema from "effect/Schema"
import { describe, expect, test } from "vitest"
import { api, type Endpoint, endpoint } from "../../../apps/api/mod.ts"
import { page, flag, text } from "../../../apps/api/fields.ts"
import { openApi, openApiText } from "../../../apps/api/openapi.ts"
import { problemsOf } from "../../../apps/api/problemsOf.ts"
import { fits, linked } from "../../core/protocol/jsonSchema.ts"

const Point = Schema.Struct({ x: Schema.Int, y: Schema.NullOr(Schema.Int) })
const Tree = Schema.Struct({ name: Schema.String, at: Point }).annotate({ identifier: "Tree" })
const samples = {
  getTree: endpoint({
    name: "getTree",
    method: "get",
    path: "/v1/trees/{id}",
    tag: "trees",
    role: "viewer",
    summary: "Read a tree",
    params: Schema.Struct({ id: text(9, "Which.") }),
    query: Schema.Struct({
      ...page,
      tall: Schema.optionalKey(flag("Only tall ones.")),
      kind: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
    }),
    success: [{ status: 200, description: "It.", schema: Tree }],
    problems: ["notFound"],
  }),
  plant: endpoint({
    name: "plant",
    method: "post",
    path: "/v1/trees",
    tag: "trees",
    role: "operator",
    summary: "Plant a tree",
    conditional: true,
    body: Schema.Struct({ at: Point, properties: Schema.optionalKey(Schema.String) }),
    success: [
      { status: 201, description: "Planted.", schema: Schema.Struct({ tree: Tree, at: Point, near: Point }) },
      { status: 200, description: "A text.", type: "text/event-stream" },
    ],
    problems: [],
  }),
} as const satisfies Readonly<Record<string, Endpoint>>

const document = openApi(samples) as any
const whole = linked(document) as any

test("the published file is that of the code (else: npm run spec)", () => {
  const file = new URL("../../../apps/api/openapi.json", import.meta.url)
  expect(readFileSync(file, "utf8")).toBe(openApiText())
})

test.each([
  ["of the API", openApi()],
  ["of samples", document],
])("the document %s is OpenAPI 3.1 by an independent validator", async (_, given) => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(given) as Record<string, unknown>)).toEqual({ valid: true })
  expect(validator.version).toBe("3.1")
  expect(() => linked(given)).not.toThrow()
})

test("the validator finds what is wrong", async () => {
  const broken = structuredClone(document)
  broken.paths["/v1/trees"].post.responses = "none"
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

test("every route is in it once, under its own name, and no other", () => {
  const said = Object.entries(openApi()["paths"] as object).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { readonly operationId: string }>).map(
      ([method, { operationId }]) => `${operationId} ${method} ${path}`,
    ),
  )
  const routes = Object.entries(api).map(([name, { method, path }]) => `${name} ${method} ${path}`)
  expect(said.sort()).toEqual(routes.sort())
  for (const [key, { name, path, params }] of Object.entries(api as Readonly<Record<string, Endpoint>>)) {
    expect(name).toBe(key)
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each)
    const fields = params === undefined ? [] : Object.keys((params as any).fields)
    expect([name, new Set(fields)]).toEqual([name, new Set(wanted)])
  }
})

test("two routes at one address are found", () => {
  expect(() => openApi({ a: samples.plant, b: { ...samples.plant, name: "b" } })).toThrow(
    "Two routes have POST /v1/trees",
  )
})

describe("parameters > are said as what they mean", () => {
  const parameters = whole.paths["/v1/trees/{id}"].get.parameters as ReadonlyArray<any>
  const schema = (name: string) => parameters.find((each) => each.name === name)
  test("a number with its limits, and optional", () =>
    expect(schema("limit")).toEqual({
      name: "limit",
      in: "query",
      description: "How many at most; default 50.",
      schema: { type: "integer", minimum: 1, maximum: 200 },
    }))
  test("a flag", () => expect(schema("tall").schema).toEqual({ type: "boolean" }))
  test("one that may be repeated, as a list", () =>
    expect(schema("kind")).toMatchObject({
      required: true,
      schema: { type: "array", items: { type: "string" } },
    }))
  test("one of the path", () =>
    expect(schema("id")).toMatchObject({ in: "path", required: true, schema: { maxLength: 9 } }))
  test("headers: those that a route heeds", () => {
    const names = (given: ReadonlyArray<any>) =>
      given.filter((each) => each.in === "header").map((each) => each.name)
    expect(names(parameters)).toEqual(["X-Request-Id"])
    expect(names(whole.paths["/v1/trees"].post.parameters)).toEqual([
      "X-Request-Id",
      "Idempotency-Key",
      "If-Match",
      "Last-Event-ID",
    ])
  })
})

test("shapes that come again have a name: their own, or that of where they come first", () => {
  expect(Object.keys(document.components.schemas)).toEqual(["PlantAnswerAt", "Problem", "Tree"])
  expect(document.components.schemas.Tree.properties.at).toEqual({
    $ref: "#/components/schemas/PlantAnswerAt",
  })
})

test("a body is closed, an answer is open, a field may have the name of a keyword", () => {
  const { requestBody, responses } = whole.paths["/v1/trees"].post
  const body = requestBody.content["application/json"].schema
  const at = { x: 1, y: null }
  expect(fits(body, { at })).toBe(true)
  expect(fits(body, { at, properties: "p" })).toBe(true)
  expect(fits(body, { at, novel: 1 })).toBe(false)
  const answer = responses[201].content["application/json"].schema
  expect(fits(answer, { tree: { name: "elm", at }, at, near: at, novel: 1 })).toBe(true)
  expect(fits(answer, { tree: { name: 1, at }, at, near: at })).toBe(false)
})

test("problems are said by status with their codes, the common ones included", () => {
  const { responses } = whole.paths["/v1/trees"].post
  const codes = Object.values(responses as Record<string, any>).flatMap(
    ({ content }) => content["application/problem+json"]?.schema.allOf[1].properties.code.enum ?? [],
  )
  expect(new Set(codes)).toEqual(new Set(problemsOf(samples.plant)))
  expect(codes).toHaveLength(problemsOf(samples.plant).length)
  expect(codes).toEqual(expect.arrayContaining(["changed", "keyReused", "tooLarge", "unauthenticated"]))
  expect(Object.keys(responses[503].headers)).toContain("retry-after")
})

test("a route for everybody says so", () => {
  const open = openApi({ a: { ...samples.getTree, role: "public" } }) as any
  const { security, responses } = open.paths["/v1/trees/{id}"].get
  expect([security, responses[401]]).toEqual([[], undefined])
  expect(document.paths["/v1/trees/{id}"].get.security).toEqual([{ key: [] }])
})
