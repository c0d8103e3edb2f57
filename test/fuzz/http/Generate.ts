// Requests made of the OpenAPI document: each from its own number and the seed, so that one can be made again without those
// before it. About half of them are what a route takes; in the others something is broken, or everything.
import { Choice } from "../../common/random.ts"
import { anyJson, anyText, fitting } from "./values.ts"

type Schema = Readonly<Record<string, any>>

/** An operation of the document, its references put in. */
export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }>
  readonly body: Schema | undefined
  readonly responses: Readonly<Record<string, any>>
  /** Whether it may take its time: events, and what waits for something. */
  readonly waits: boolean
}

/** A request. */
export interface Request {
  readonly number: number
  readonly operation: Operation
  readonly method: string
  /** Path and query, as they go over the wire. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether what is answered must be one of the operation's answers: it was sent to its very address. */
  readonly isIts: boolean
  /** Sent over a bare socket: how the body's bytes come. */
  readonly wire: "whole" | "truncated" | "chunks" | "badChunks" | "longer" | undefined
}

/** All operations of a linked document. */
export const operationsOf = (document: Schema): ReadonlyArray<Operation> =>
  Object.entries(document["paths"] as Record<string, Record<string, Schema>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]): Operation => {
      const parameters = each["parameters"] as Operation["parameters"]
      const types = Object.values(each["responses"] as Record<string, Schema>).flatMap(({ content = {} }) =>
        Object.keys(content as object),
      )
      return {
        id: each["operationId"] as string,
        method: method.toUpperCase(),
        path,
        parameters,
        body: each["requestBody"]?.content["application/json"].schema as Schema | undefined,
        responses: each["responses"] as Record<string, any>,
        waits:
          types.includes("text/event-stream") ||
          parameters.some(({ name }) => name === "timeout" || name === "Prefer"),
      }
    }),
  )

/** Request so-and-so of a seed. */
export const requestOf = (operations: ReadonlyArray<Operation>, seed: number, number: number): Request => {
  const choice = new Choice(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  const operation = choice.of(operations)
  const isBroken = choice.percent(55)
  const broken = (percent: number): boolean => isBroken && choice.percent(percent)
  const isWild = broken(8)
  const body = bodyOf(choice, operation, broken(50))
  const method = broken(5)
    ? choice.of(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
    : operation.method
  return {
    number,
    operation,
    method,
    target: `${pathOf(choice, operation, isWild, broken)}${queryOf(choice, operation, broken)}`,
    headers: headersOf(choice, operation, body, broken),
    body,
    isIts: !isWild && method === operation.method,
    wire:
      body !== undefined && choice.percent(3)
        ? choice.of(["whole", "truncated", "chunks", "badChunks", "longer"] as const)
        : undefined,
  }
}

const wilds: ReadonlyArray<string> = [
  "/v1/runs/../../etc/passwd",
  "/v1/%2e%2e/%2e%2e/etc/passwd",
  "/v1//runs",
  "/v1/runs/%00",
  "/v1/runs/%ff%fe",
  "/v1/runs/%",
  "/docs/../v1/me",
  "/docs/%2e%2e%2fpackage.json",
  "/V1/RUNS",
  "/v1/runs;a=b",
  "//evil.example/v1/runs",
  "/v1/worker",
  "/openapi.json?x=1",
  "/%c0%ae%c0%ae/",
  "/v1/\\..\\..",
]

const pathOf = (
  choice: Choice,
  { path, parameters }: Operation,
  isWild: boolean,
  broken: (percent: number) => boolean,
): string => {
  if (isWild) return choice.of(wilds)
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = parameters.find((each) => each.in === "path" && each.name === name)?.schema ?? {}
    const text = broken(40) ? anyText(choice) : String(fitting(choice, schema, name))
    // An empty part, and dots, would be another address.
    return /^\.{0,2}$/.test(text) ? "x" : encodeURIComponent(text.toWellFormed()).slice(0, 6_000)
  })
}

const queryOf = (choice: Choice, { parameters }: Operation, broken: (percent: number) => boolean): string => {
  const pairs: Array<string> = []
  const add = (name: string, value: string): void =>
    void pairs.push(
      `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed()).slice(0, 4_000)}`,
    )
  for (const { name, in: place, required = false, schema } of parameters) {
    if (place !== "query" || !(required || choice.percent(35)) || broken(10)) continue
    // Not for so long that the others wait for it.
    const usual = name === "timeout" ? "1ms" : fitting(choice, schema, name)
    for (const each of Array.isArray(usual) ? usual : [usual])
      add(name, broken(30) ? anyText(choice) : String(each))
    if (broken(5)) add(name, anyText(choice))
  }
  if (broken(8))
    add(choice.of(["__proto__", "constructor", "novel", "limit[]", "limit", "cursor"]), anyText(choice))
  if (broken(2)) pairs.push("%", "&&=", "a=%ff")
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

const bodyOf = (choice: Choice, { body: schema }: Operation, isBroken: boolean): string | undefined => {
  if (schema === undefined) return choice.percent(3) ? anyJson(choice) : undefined
  const text = JSON.stringify(fitting(choice, schema))
  if (!isBroken) return text
  switch (choice.int(0, 6)) {
    case 0:
      return anyJson(choice)
    case 1:
      return text.slice(0, choice.int(0, text.length))
    case 2:
      return choice.of([
        "",
        "\ufeff" + text,
        "{}",
        "[]",
        "undefined",
        "'a'",
        text + text,
        '{"job":"greet","job":1}',
      ])
    case 3:
      return `{"job":"echo","input":"${"x".repeat(choice.of([262_140, 262_150, 1_100_000]))}"}`
    case 4:
      // One more field, of a name that is something elsewhere.
      return text.replace(
        /^\{/,
        `{${JSON.stringify(choice.of(["__proto__", "constructor", "novel"]))}:${anyJson(choice)}${text === "{}" ? "" : ","}`,
      )
    default: {
      // One value is another.
      const values = [...text.matchAll(/:("(?:[^"\\]|\\.)*"|-?[\d.e+]+|true|false|null)/g)]
      const one = values.length === 0 ? undefined : choice.of(values)
      if (one === undefined) return anyJson(choice)
      return `${text.slice(0, one.index)}:${anyJson(choice)}${text.slice(one.index + one[0].length)}`
    }
  }
}

// What a header may hold at all: anything else a client cannot send.
const headerText = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?").slice(0, 2_000)

const headersOf = (
  choice: Choice,
  { parameters }: Operation,
  body: string | undefined,
  broken: (percent: number) => boolean,
): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  if (body !== undefined)
    headers["content-type"] = broken(8)
      ? choice.of([
          "text/plain",
          "application/json; charset=utf-16",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "",
          "application/json;",
          "application/problem+json",
        ])
      : "application/json"
  const odd = (name: string, percent: number, usual: () => string): void => {
    if (broken(percent)) headers[name] = headerText(anyText(choice))
    else if (choice.percent(15)) headers[name] = usual()
  }
  odd("x-request-id", 5, () => `fuzz-${choice.int(0, 9)}`)
  odd("accept", 3, () => "application/json")
  for (const { name, in: place } of parameters)
    if (place === "header" && name !== "X-Request-Id")
      odd(name.toLowerCase(), 15, () =>
        name === "Idempotency-Key"
          ? `key ${choice.int(0, 40)}`
          : name === "If-Match"
            ? choice.of(["*", '"1"', 'W/"1"'])
            : name === "Prefer"
              ? "wait=0"
              : "0",
      )
  odd("content-encoding", 1, () => "identity")
  if (broken(3)) headers["origin"] = choice.of(["https://evil.example", "null", "http://127.0.0.1"])
  if (broken(3))
    headers["authorization"] = choice.of([
      "Bearer x",
      "Basic Zm9vOmJhcg==",
      "Bearer",
      "Bearer uhr_key_a_b",
      headerText(anyText(choice)),
    ])
  if (broken(2)) headers["x-forwarded-for"] = "203.0.113.9"
  if (broken(2)) headers["host"] = choice.of(["evil.example", "localhost", "127.0.0.1:1", "[::1]"])
  return headers
}
