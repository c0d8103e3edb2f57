// A share of the fuzzer on every change, on both kinds of store; and that it finds what is wrong, and repeats itself.
import { describe, expect, test } from "vitest"
import { openApi } from "../../../apps/api/openapi.ts"
import { linked } from "../../core/protocol/jsonSchema.ts"
import { fuzz } from "./fuzz.ts"
import { operationsOf, requestOf } from "./Generate.ts"
import { wrongWith } from "./judge.ts"
import type { Answer } from "./send.ts"

const operations = operationsOf(linked(openApi()))

describe("a server is not harmed", () => {
  // Other suites run beside it: that an answer is quick is for `npm run fuzz`.
  const hangMillis = 15_000
  test.each([
    ["memory", 1_400],
    ["sqlite", 600],
  ] as const)("on %s, by %i requests", { timeout: 240_000 }, async (storage, requests) => {
    const { problems, succeeded, routes } = await fuzz({ storage, requests, seed: 1, hangMillis })
    expect(problems).toEqual([])
    // Most requests that fit are taken, or it would be the door that is fuzzed.
    expect(succeeded).toBeGreaterThan(routes / 4)
  })
})

test("a seed and a number give the same request, another seed another", () => {
  const texts = (seed: number) =>
    JSON.stringify(Array.from({ length: 200 }, (_, number) => requestOf(operations, seed, number)))
  expect(texts(7)).toBe(texts(7))
  expect(texts(7)).not.toBe(texts(8))
})

test("every operation is asked, with and without something broken, and some over a bare socket", () => {
  const requests = Array.from({ length: 200 * operations.length }, (_, number) =>
    requestOf(operations, 1, number),
  )
  expect(new Set(requests.map(({ operation }) => operation.id)).size).toBe(operations.length)
  expect(new Set(requests.map(({ wire }) => wire)).size).toBe(6)
  expect(requests.some(({ body }) => body?.includes("__proto__"))).toBe(true)
})

describe("what is wrong with an answer is found", () => {
  const operation = operations.find(({ id }) => id === "getRun")
  if (operation === undefined) throw new Error("no getRun")
  const request = {
    number: 0,
    operation,
    method: "GET",
    target: "/v1/runs/x",
    headers: {},
    body: undefined,
    isIts: true,
    wire: undefined,
  }
  const problem = {
    type: "t",
    title: "t",
    status: 404,
    detail: "d",
    code: "notFound",
    requestId: "r",
    retryable: false,
  }
  const good: Answer = {
    status: 404,
    type: "application/problem+json",
    text: JSON.stringify(problem),
    hasRequestId: true,
    millis: 1,
  }
  test("not what is documented", () => expect(wrongWith(request, good)).toBeUndefined())
  test.each<[Partial<Answer>, string]>([
    [{ status: 500 }, "status 500"],
    [{ status: 502 }, "status 502"],
    [{ status: 418 }, "status 418 is not documented"],
    [{ type: "text/html" }, "the type text/html is not documented"],
    [{ text: JSON.stringify({ ...problem, code: "novel" }) }, "the body is not what its schema says"],
    [{ text: "{" }, "the body: SyntaxError"],
    [{ status: 200, hasRequestId: false }, "status 200 without X-Request-Id"],
    [{ status: 200, type: "application/json", text: "{}" }, "the body is not what its schema says"],
  ])("%o", (part, text) => expect(wrongWith(request, { ...good, ...part })).toContain(text))
})
