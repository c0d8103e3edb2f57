// Which errors count as the same: those that differ in details only, and no others.
import { describe, expect, test } from "vitest"
import { errorPattern } from "../../../core/domain/Fingerprint.ts"

const of = (message: string, name = "Error") => errorPattern({ name, message })
const same = (...messages: ReadonlyArray<string>) =>
  new Set(messages.map((each) => of(each).fingerprint)).size

describe("errorPattern", () => {
  test.each([
    ["numbers", "Timed out after 300 ms", "Timed out after 1200.5 ms", "Error: Timed out after # ms"],
    ["units", "Took 300ms", "Took 5ms", "Error: Took #ms"],
    [
      "addresses",
      "connect ECONNREFUSED 10.0.0.1:5432",
      "connect ECONNREFUSED 192.168.7.20:80",
      "Error: connect ECONNREFUSED #",
    ],
    ["quoted texts", "No user \"ada\" in 'de'", "No user \"o'brien\" in 'at'", 'Error: No user "…" in "…"'],
    ["escaped quotes", 'Bad "a\\"b" here', 'Bad "" here', 'Error: Bad "…" here'],
    [
      "UUIDs",
      "Run 0199a1b2-0000-7000-8000-000000000001 is gone",
      "Run 1f3b3a52-9e5c-4a55-b2b0-7f3a2d0c1e9b is gone",
      "Error: Run # is gone",
    ],
    ["hexadecimal", "at 0xDEADBEEF of deadbeefcafe", "at 0x1 of 0a1b2c3d4e", "Error: at # of #"],
    [
      "ids",
      "Customer cus_9s6XKzkNRiz8i3 has none",
      "Customer cus_4fdAW5ftNQow1a has none",
      "Error: Customer # has none",
    ],
    ["spaces", "a\n\tb", "a  b", "Error: a b"],
  ])("%s do not count", (_, a, b, pattern) => {
    expect(of(a).pattern).toBe(pattern)
    expect(same(a, b)).toBe(1)
  })

  test("words, and the name, count", () => {
    expect(same("User is gone", "User is back", "User can't go", "User can not go")).toBe(4)
    expect(of("x", "TypeError").fingerprint).not.toBe(of("x", "RangeError").fingerprint)
  })

  test("an apostrophe quotes nothing", () => {
    expect(of("It isn't Ada's, it's mine").pattern).toBe("Error: It isn't Ada's, it's mine")
  })

  test("is 16 hex digits, and always the same", () => {
    expect(of("It broke 3 times")).toEqual({
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      pattern: "Error: It broke # times",
    })
    expect(of("It broke 3 times")).toEqual(of("It broke 4 times"))
  })

  test.each(['"', "'", "a1", "0x", "\\", " '", "1.", '"\\'])(
    "many of %j end at once, cut to what is kept",
    (text) => {
      expect(of(text.repeat(100_000)).pattern.length).toBeLessThanOrEqual(500)
    },
  )
})
