// Comparing two versions: which command lines it takes, how figures are paired, and one real run against a commit.
import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { parseOptions } from "../../benchmarks/compare/options.ts"
import { numbersOf, pairUp } from "../../benchmarks/compare/pairs.ts"

describe("benchmarks > compare > options", () => {
  test("base, rounds, and behind -- the benchmark with its own options", () => {
    expect(
      parseOptions(["--base", "main", "--rounds", "5", "--", "wheel", "--sizes", "1000", "--json"]),
    ).toEqual({
      base: "main",
      rounds: 5,
      command: ["wheel", "--sizes", "1000"],
      json: false,
    })
    expect(parseOptions(["--base", "main", "--json", "--", "engine"])).toMatchObject({
      rounds: 3,
      json: true,
    })
    expect(parseOptions(["--help"])).toBe("help")
  })

  test.each([
    [["--", "wheel"], "--base"],
    [["--base", "", "--", "wheel"], "--base"],
    [["--base=--upload-pack=x", "--", "wheel"], "--base"],
    [["--base", "main"], "behind --"],
    [["--base", "main", "--"], "behind --"],
    [["--base", "main", "--", "compare"], "behind --"],
    [["--base", "main", "--rounds", "0", "--", "wheel"], "--rounds"],
    [["--base", "main", "--rounds", "many", "--", "wheel"], "--rounds"],
    [["--base", "main", "--what", "--", "wheel"], "--what"],
  ])("%j is refused, and the option is named", (args, named) => {
    expect(() => parseOptions(args)).toThrow(named)
  })
})

describe("benchmarks > compare > pairs", () => {
  test("numbers have their path; what has a size in a list is found by it, wherever it stands", () => {
    const value = {
      a: [
        { size: 10, b: 1 },
        { size: 20, b: 2 },
      ],
      c: { d: 3, e: "x", f: null },
      g: [7, 8],
    }
    expect([...numbersOf(value)]).toEqual([
      ["a.10.size", 10],
      ["a.10.b", 1],
      ["a.20.size", 20],
      ["a.20.b", 2],
      ["c.d", 3],
      ["g.0", 7],
      ["g.1", 8],
    ])
  })

  test("a ratio is the median of the rounds' own ratios, with its spread", () => {
    const round = (base: number, head: number) => ({
      base: { figures: { n: base } },
      head: { figures: { n: head } },
    })
    expect(pairUp([round(10, 20), round(100, 100), round(40, 60)])).toEqual([
      { name: "n", base: 40, head: 60, ratio: 1.5, least: 1, most: 2 },
    ])
  })

  test("what one side or one round has not, sizes, zeros and what is no figure are left out", () => {
    const full = { options: { rounds: 3 }, figures: { both: 2, gone: 1, zero: 0, list: [{ size: 5, n: 4 }] } }
    const less = {
      options: { rounds: 3 },
      figures: { both: 4, zero: 3, list: [{ size: 5, n: 2 }], added: 9 },
    }
    const pairs = pairUp([{ base: full, head: less }])
    expect(pairs.map(({ name, ratio }) => [name, ratio])).toEqual([
      ["both", 2],
      ["list.5.n", 0.5],
    ])
    expect(
      pairUp([
        { base: full, head: less },
        { base: {}, head: less },
      ]),
    ).toEqual([])
    expect(pairUp([])).toEqual([])
  })
})

describe("benchmarks > compare > a run", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url))
  const compare = (...args: ReadonlyArray<string>) => {
    const program = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), "benchmarks/main.ts"]
    return spawnSync(process.execPath, [...program, "compare", ...args], { cwd: root, encoding: "utf8" })
  }
  const wheel = ["--", "wheel", "--sizes", "100", "--rounds", "1", "--only", "wheel"]

  test("a folder against itself: all figures are paired", { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = compare("--base", root, "--rounds", "1", "--json", ...wheel)
    expect(status, stderr).toBe(0)
    const { pairs } = JSON.parse(stdout) as { pairs: ReadonlyArray<{ name: string; ratio: number }> }
    expect(pairs.map(({ name }) => name)).toContain("sizes.100.costs.wheel.mixed.bestNanos")
    for (const { ratio } of pairs) expect(ratio).toBeGreaterThan(0)
  })

  test("a commit that is none is said so, and no worktree is left", () => {
    const before = execFileSync("git", ["worktree", "list"], { cwd: root, encoding: "utf8" })
    const { status, stderr } = compare("--base", "no-such-commit", ...wheel)
    expect(status).toBe(1)
    expect(stderr).toContain("no-such-commit")
    expect(execFileSync("git", ["worktree", "list"], { cwd: root, encoding: "utf8" })).toBe(before)
  })
})
