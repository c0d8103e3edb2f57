// What rules about workers mean, where a wrong one is wrong, and that no text makes reading one throw or take long. A model
// that was written apart judges random rules on random workers.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import {
  type LabelRule,
  type Labels,
  matches,
  misses,
  readRule,
  ruleLengthMax,
  ruleNestingMax,
} from "../../../core/worker/LabelRule.ts"
import { Choice } from "../../common/random.ts"

const rule = (text: string): LabelRule => Result.getOrThrow(readRule("where", text))
const refused = (text: unknown): InvalidInput => {
  const read = readRule("where", text)
  if (Result.isSuccess(read)) throw new Error(`${String(text)} was taken`)
  return read.failure
}
const worker: Labels = {
  region: "eu",
  gpu: 2,
  ssd: true,
  cores: "16",
  worker: "w1",
  runtime: "node",
  version: "2.1.0",
}
const fits = (text: string, labels: Labels = worker): boolean => matches(rule(text), labels)

describe("rule > what it means", () => {
  test.each([
    ["region = eu", true],
    ["region = EU", false],
    ['region = "eu"', true],
    ["region != us", true],
    ["region != eu", false],
    ["gpu = 2", true],
    ["gpu = 2.0", true],
    ['gpu = "2"', true],
    ['gpu = "2.0"', false],
    ["gpu > 1", true],
    ["gpu > 2", false],
    ["gpu >= 2 and gpu <= 2 and gpu < 3", true],
    ["gpu > -1", true],
    ["cores > 8", true],
    ["cores = 16", true],
    ["ssd = true", true],
    ["ssd = false", false],
    ["ssd != false", true],
    ["ssd > 0", false],
    ["region > 0", false],
    ["region < 0", false],
    ["region in (us, eu)", true],
    ["region in (us)", false],
    ["gpu in (1, 2)", true],
    ["worker = w1 and runtime = node", true],
    ["region = eu AND NOT gpu = 1", true],
    ["region=eu and(gpu>1)", true],
    ["\tregion\n=\u00a0eu ", true],
  ])("%s: %s", (text, expected) => expect(fits(text)).toBe(expected))

  test("and binds more tightly than or, not more tightly than both", () => {
    expect(fits("region = eu or region = us and gpu = 9")).toBe(true)
    expect(fits("(region = eu or region = us) and gpu = 9")).toBe(false)
    expect(fits("not region = us and gpu = 2")).toBe(true)
    expect(fits("not (region = us and gpu = 2)")).toBe(true)
    expect(fits("not not region = eu")).toBe(true)
    const text = 'not (runtime = "node" or version < 2.1) and zone in (a, b)'
    expect(fits(text, { runtime: "bun", version: "2.1.0", zone: "b" })).toBe(true)
    expect(fits(text, { runtime: "node", version: "2.1.0", zone: "b" })).toBe(false)
    expect(fits(text, { runtime: "bun", version: "2.0.9", zone: "b" })).toBe(false)
    expect(fits(text, { runtime: "bun", version: "2.1.0", zone: "c" })).toBe(false)
  })

  test("a label that a worker does not have makes every comparison false, and not makes that true", () => {
    for (const text of ["zone = a", "zone != a", "zone < 1", "zone >= 1", "zone in (a, b)"])
      expect([text, fits(text)]).toEqual([text, false])
    expect(fits("not zone = a")).toBe(true)
    expect(fits("constructor = x or not __proto__ = x", {})).toBe(true)
    expect(fits("constructor != x or toString != x or __proto__ != x", {})).toBe(false)
  })

  test("names and values in quotes may be anything", () => {
    const labels = { and: "or", "my disk": 'a "b" \\ c', "": "" }
    expect(fits('"and" = "or" and "my disk" = "a \\"b\\" \\\\ c" and "" = ""', labels)).toBe(true)
    expect(fits("pool-1/a.b:c = x@y+z", { "pool-1/a.b:c": "x@y+z" })).toBe(true)
  })
})

describe("rule > version", () => {
  const version = (text: string, own: string): boolean => fits(text, { version: own })

  test("goes part by part as numbers, and what comes before a release is less", () => {
    const order = [
      "1",
      "1.9",
      "1.10.0-alpha",
      "1.10.0-alpha.1",
      "1.10.0-alpha.beta",
      "1.10.0-beta.2",
      "1.10.0-beta.11",
      "1.10.0-rc.1",
      "1.10",
      "1.10.1",
      "2.0.0-0",
      "2",
    ]
    for (const [place, own] of order.entries())
      for (const [other, asked] of order.entries()) {
        const found = ["<", "<=", "=", "!=", ">=", ">"].map((sign) =>
          version(`version ${sign} ${asked}`, own),
        )
        const [less, same] = [place < other, place === other]
        expect([own, asked, found]).toEqual([
          own,
          asked,
          [less, less || same, same, !same, !less, !less && !same],
        ])
      }
    expect(version("version = 2.1", "v2.1.0+build.7")).toBe(true)
    expect(version('version in (1, "2.1")', "2.1.0")).toBe(true)
  })

  test("one that is none equals its own text, and is neither less nor more", () => {
    expect(version("version = nightly", "nightly")).toBe(true)
    expect(version("version = 2", "nightly")).toBe(false)
    expect(version("version != 2", "nightly")).toBe(true)
    expect(version("version < 2 or version >= 2", "nightly")).toBe(false)
    expect(version("version <= 2 or version >= 2", "+2")).toBe(false)
    expect(version("version >= 2", "1..3")).toBe(false)
  })

  test("of a label that is called otherwise there is no order but that of numbers", () => {
    expect(refused("app < 2.1.0").reason).toContain('"2.1.0" is not a number')
    expect(fits("app < 2.10", { app: "2.9" })).toBe(false)
  })
})

describe("rule > one that is wrong", () => {
  test.each([
    ["", 0, "the name of a label is missing at the end", "Write one such as"],
    ["region", 6, '"region" is compared with nothing', "region = true"],
    ["region = ", 9, "a value is missing at the end", "Write a word"],
    ["region = and", 9, 'a value is missing before "and"', "double quotes"],
    ["region == eu", 7, '"==" compares nothing', "Write = instead"],
    ["gpu => 2", 4, '"=>" compares nothing', "Use one of"],
    ["gpu > eu", 6, '"eu" is not a number', "=, != or in"],
    ['gpu > "2"', 6, '"2" is not a number', "=, != or in"],
    ["version < new", 10, '"new" is not a version', "=, != or in"],
    ["region = 'eu'", 9, "double quotes", "double quotes"],
    ['region = "eu', 9, "a text has no end", 'Write the "'],
    ["region = eu gpu > 1", 12, '"gpu" follows what is complete', "`and` or `or`"],
    ["region = eu && gpu > 1", 12, '"&&" follows what is complete', "`and` or `or`"],
    ["(region = eu", 0, '"(" is not closed', 'Write the ")"'],
    ["region = eu)", 11, '")" closes nothing', "Remove it"],
    ["region in eu", 10, "`in` has no list", "region in (a, b)"],
    ["region in ()", 11, 'a value is missing before ")"', "Write a word"],
    ["region in (a b)", 13, 'the list has no ")"', "commas"],
    ["region not in (a)", 7, '"region" is compared with nothing', "not region in (...)"],
    ["and = 1", 0, 'the name of a label is missing before "and"', "Write one such as"],
    ["not", 3, "the name of a label is missing", "Write one such as"],
  ])("%s, at %i: %s", (text, position, reason, next) => {
    const error = refused(text)
    expect(error).toBeInstanceOf(InvalidInput)
    expect(error.field).toBe("where")
    expect(error.position).toBe(position)
    expect(error.reason).toContain(reason)
    expect(error.reason).toContain(`at character ${position + 1}`)
    expect(error.next).toContain(next)
  })

  test("is too long or too deep, or no text", () => {
    const long = `region = ${"x".repeat(ruleLengthMax - 9)}`
    expect(Result.isSuccess(readRule("where", long))).toBe(true)
    expect(refused(`${long}x`).reason).toContain("513 characters")
    const deep = (depth: number): string => `${"(".repeat(depth)}a = 1${")".repeat(depth)}`
    expect(Result.isSuccess(readRule("where", deep(ruleNestingMax)))).toBe(true)
    expect(refused(deep(ruleNestingMax + 1)).reason).toContain(`more than ${ruleNestingMax}`)
    expect(refused(`${"not ".repeat(ruleNestingMax + 1)}a = 1`).position).toBe(4 * (ruleNestingMax + 1))
    expect(refused(42).reason).toContain("42 is no rule")
    expect(refused(null).reason).toContain("null is no rule")
    // Beside one another is not deep.
    expect(Result.isSuccess(readRule("where", Array(40).fill("(a = 1)").join(" and ")))).toBe(true)
  })
})

describe("rule > what keeps a worker from fitting", () => {
  test("is named part by part, as it was written", () => {
    const text = "region = us and (gpu > 4 or ssd = true) and not cores = 16"
    expect(misses(rule(text), worker)).toEqual([
      { text: "region = us", names: ["region"] },
      { text: "not cores = 16", names: ["cores"] },
    ])
    expect(misses(rule("(region = us or gpu > 4)"), worker)).toEqual([
      { text: "(region = us or gpu > 4)", names: ["region", "gpu"] },
    ])
    expect(misses(rule("region = eu"), worker)).toEqual([])
    expect(misses(rule("gpu in (3, 4 )"), worker)).toEqual([{ text: "gpu in (3, 4 )", names: ["gpu"] }])
  })
})

describe("rule > whatever the text", () => {
  test("reading it ends in a rule or a refusal with a place within the text, soon", () => {
    const choice = new Choice(8)
    const pieces = [
      ...Array.from("()=!<>,\"'\\ \t\n.-+&|aZ09"),
      "\u0000",
      "\ud800",
      "é",
      "😀",
      "and",
      " and ",
      " or ",
      " not ",
      " in ",
      "region = eu",
      "gpu > 1",
      "version < 2-rc.1",
      "constructor",
      "(".repeat(20),
      '"a\\',
    ]
    let taken = 0
    for (let round = 0; round < 20_000; round++) {
      const text = choice.list(0, 30, () => choice.of(pieces)).join("")
      const read = readRule("where", text)
      if (Result.isSuccess(read)) {
        taken++
        expect(typeof matches(read.success, worker)).toBe("boolean")
        misses(read.success, {})
      } else {
        const { position = -1, next } = read.failure
        expect(position >= 0 && position <= text.length, text).toBe(true)
        expect(next).not.toBe("")
      }
    }
    expect(taken).toBeGreaterThan(50)
    for (const text of [
      "(".repeat(512),
      "not ".repeat(128),
      `a = ${"1".repeat(508)}`,
      `version = 1${"-".repeat(500)}`,
      `version = ${"1.".repeat(250)}1`,
      `a in (${"x,".repeat(250)}`,
      '"'.repeat(512),
      '\\"'.repeat(256),
    ])
      readRule("where", text)
  })

  test("a rule judges as its parts do", () => {
    const choice = new Choice(9)
    const values = ["a", "b", "1", "2", "true"] as const
    interface Model {
      readonly text: string
      readonly holds: (labels: Labels) => boolean
    }
    const comparison = (): Model => {
      const name = choice.of(["x", "y", "z"])
      const sign = choice.of(["=", "!=", "in", "<", ">="] as const)
      const value = sign === "<" || sign === ">=" ? choice.of(["1", "2"]) : choice.of(values)
      return {
        text: sign === "in" ? `${name} in (${value}, b)` : `${name} ${sign} ${value}`,
        holds: (labels) => {
          const label = labels[name]
          if (label === undefined) return false
          if (sign === "=") return String(label) === value
          if (sign === "!=") return String(label) !== value
          if (sign === "in") return String(label) === value || label === "b"
          if (!/^[0-9]$/.test(String(label))) return false
          return sign === "<" ? Number(label) < Number(value) : Number(label) >= Number(value)
        },
      }
    }
    const made = (depth: number): Model => {
      if (depth === 0 || choice.percent(30)) return comparison()
      const parts = choice.list(2, 3, () => made(depth - 1))
      const [first] = parts as [Model]
      switch (choice.of(["and", "or", "not"])) {
        case "not":
          return { text: `not (${first.text})`, holds: (labels) => !first.holds(labels) }
        case "or":
          return {
            text: `(${parts.map(({ text }) => text).join(" or ")})`,
            holds: (labels) => parts.some(({ holds }) => holds(labels)),
          }
        default:
          return {
            text: parts.map(({ text }) => (/ or /.test(text) ? `(${text})` : text)).join(" and "),
            holds: (labels) => parts.every(({ holds }) => holds(labels)),
          }
      }
    }
    for (let round = 0; round < 3000; round++) {
      const model = made(3)
      if (model.text.length > ruleLengthMax) continue
      const labels: Record<string, string | number | boolean> = {}
      for (const name of ["x", "y", "z"])
        if (choice.percent(80)) labels[name] = choice.of<string | number | boolean>(["a", "b", 1, "2", true])
      expect([model.text, labels, fits(model.text, labels)]).toEqual([
        model.text,
        labels,
        model.holds(labels),
      ])
    }
  })
})
