// `If-Match`: which requests may change a version, and which are told that it is another one by now.
import { describe, expect, test } from "vitest"
import { checkMatch, etagOf } from "../../../../apps/server/api/etag.ts"
import { Refused } from "../../../../apps/server/problems.ts"

const codeOf = (ifMatch: string | null, etag: string | null, needed = false): string => {
  try {
    checkMatch(new Headers(ifMatch === null ? {} : { "if-match": ifMatch }), etag, { needed })
    return "may"
  } catch (error) {
    return (error as Refused).problem.code
  }
}

test("a tag stands for all of its parts, and is one by the grammar", () => {
  expect(etagOf("a", 1)).toBe(etagOf("a", 1))
  expect(new Set([etagOf("a", 1), etagOf("a1"), etagOf("a", "1"), etagOf("a", 2)]).size).toBe(4)
  expect(etagOf('ü\n"')).toMatch(/^"[\w-]{22}"$/)
})

describe("checkMatch", () => {
  const etag = etagOf("now")
  test.each([
    [null, etag, "may"],
    [null, null, "may"],
    [etag, etag, "may"],
    ["*", etag, "may"],
    [`"old", ${etag}`, etag, "may"],
    ["*", null, "changed"],
    [etag, null, "changed"],
    ['"old"', etag, "changed"],
    [`W/${etag}`, etag, "changed"],
    [etag.slice(1, -1), etag, "badHeader"],
    ["", etag, "badHeader"],
    [Array.from({ length: 21 }, () => etag).join(","), etag, "badHeader"],
  ])("If-Match %j of %j: %s", (given, is, code) => expect(codeOf(given, is)).toBe(code))

  test("where it is needed, a request without it is refused", () => {
    expect(codeOf(null, etag, true)).toBe("changed")
    expect(codeOf(etag, etag, true)).toBe("may")
  })
})
