// How things look: spans, times, text of others that must not steer the terminal, tables, JSON.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { dateOf, paint, plain, printFields, printRows, spanOf, timeOf } from "../../../apps/cli/format.ts"
import { plainLines } from "../../../apps/cli/text.ts"

let printed: Array<string> = []
beforeEach(() => {
  printed = []
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line))
})
afterEach(() => vi.unstubAllEnvs())

describe("a span", () => {
  test.each([
    [0, "0.0 ms"],
    [0.26, "0.3 ms"],
    [1, "1 ms"],
    [8.4, "8 ms"],
    [999, "999 ms"],
    [999.7, "1.0 s"],
    [1000, "1.0 s"],
    [1234, "1.2 s"],
    [59_990, "60.0 s"],
    [119_900, "119.9 s"],
    [120_000, "2 min"],
    [3_600_000, "60 min"],
    [7_200_000, "2 h"],
    [86_400_000, "24 h"],
    [172_800_000, "2 d"],
    [30 * 86_400_000, "30 d"],
  ])("of %d ms is said %j", (millis, text) => expect(spanOf(millis)).toBe(text))
})

describe("a time", () => {
  const noon = Date.UTC(2026, 0, 31, 12, 0, 0, 7)
  test("has milliseconds and its zone", () => {
    expect(timeOf(noon)).toMatch(/^\d\d:\d\d:00\.007 \S+$/)
  })
  test("of a date has the day first; none is a dash", () => {
    expect(dateOf(noon)).toMatch(/^2026-0[12]-\d\d \d\d:\d\d:00\.007 \S+$/)
    expect(dateOf(null)).toBe("-")
  })
})

describe("text of others", () => {
  test.each([
    ["an escape sequence", "\u001b[31mred\u001b[0m", " [31mred [0m"],
    ["a title", "\u001b]0;owned\u0007", " ]0;owned "],
    ["a C1 control", "\u009b31mred", " 31mred"],
    ["line ends", "a\r\nb\n\nc", "a b c"],
    ["a bell and a backspace", "a\u0007\u0008b", "a b"],
    ["a direction mark", "a\u202eb\u2066c", "a b c"],
    ["letters of any script", "夜間 バッチ 🕰 é", "夜間 バッチ 🕰 é"],
  ])("cannot steer a terminal: %s", (_, text, clean) => expect(plain(text)).toBe(clean))

  test("is cut where there is no room, and shows it", () => {
    expect(plain("x".repeat(200))).toBe("x".repeat(200))
    expect(plain("x".repeat(201))).toBe(`${"x".repeat(199)}…`)
    expect(plain("abcdef", 4)).toBe("abc…")
  })

  test("of several lines keeps its lines", () => {
    expect(plainLines("a\u001b[2J\nb\r\nc")).toBe("a [2J\nb \nc")
  })
})

describe("rows", () => {
  const rows = [
    { id: "1", name: "a\u001b[31m" },
    { id: "1234567", name: "b" },
  ]
  const columns = { id: (row: { id: string }) => row.id, name: (row: { name: string }) => row.name }

  test("as a table are aligned under their names, without blanks at the ends", () => {
    printRows({}, rows, columns)
    expect(printed).toEqual(["ID       NAME", "1        a [31m", "1234567  b"])
  })
  test("as a table without rows are their names", () => {
    printRows({ output: "table" }, [], columns)
    expect(printed).toEqual(["ID  NAME"])
  })
  test("as JSON are a list that reads back as it was", () => {
    const odd = [{ text: '\u001b[31m \u009b \u007f \u202e 🕰 "' }]
    printRows({ output: "json" }, odd, columns)
    expect(JSON.parse(printed.join("\n"))).toEqual(odd)
    expect(printed.join("\n")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(printed.join("\n")).toContain("🕰")
    printed = []
    printRows({ output: "json" }, [], columns)
    expect(printed).toEqual(["[]"])
  })
  test("as NDJSON are a line each, and none without rows", () => {
    printRows({ output: "ndjson" }, rows, columns)
    expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual(rows)
    printed = []
    printRows({ output: "ndjson" }, [], columns)
    expect(printed).toEqual([])
  })
  test("in another format are refused", () => {
    expect(() => printRows({ output: "xml" }, rows, columns)).toThrow(
      /--output xml is none of table, json, ndjson/,
    )
  })
  test("fields are aligned and inert", () => {
    printFields({ id: "1", longer: "a\u001b[31m\nb" })
    expect(printed).toEqual(["id      1", "longer  a [31m b"])
  })
})

test("colours are there on a terminal, and not when NO_COLOR is set or the output goes elsewhere", () => {
  const was = process.stdout.isTTY
  vi.stubEnv("NO_COLOR", "")
  process.stdout.isTTY = true
  expect(paint("red", "x")).toBe("\u001b[31mx\u001b[0m")
  vi.stubEnv("NO_COLOR", "1")
  expect(paint("red", "x")).toBe("x")
  vi.stubEnv("NO_COLOR", "")
  process.stdout.isTTY = false
  expect(paint("red", "x")).toBe("x")
  process.stdout.isTTY = was
})
