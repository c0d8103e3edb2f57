// The shared cases of flows, all of them; that each thing a case expects is compared, so that a wrong expectation
// fails; and the script over a folder with both kinds of files.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { type FlowCases, flowChecksOf } from "./checkFlows.ts"
import { runScript } from "./runScript.ts"

const file = fileURLToPath(new URL("../../../shared/cases/dag-cases.json", import.meta.url))
const present = existsSync(file)
const cases: FlowCases = present ? (JSON.parse(readFileSync(file, "utf8")) as FlowCases) : {}
if (!present) console.warn(`The shared cases of flows are skipped: ${file} does not exist`)

describe.skipIf(!present)("the shared cases of flows", () => {
  const checks = flowChecksOf(cases)

  test("all kinds are there, and none is left out", () => {
    const { validate = [], run = [], rerun = [], size = [] } = cases
    for (const kind of [validate, run, rerun, size]) expect(kind.length).toBeGreaterThan(0)
    expect(checks).toHaveLength(validate.length + run.length + rerun.length + size.length)
  })

  test.each(checks)("$id: $title", ({ run }) => {
    expect(run()).toBeUndefined()
  })
})

const node = (id: string, ...deps: ReadonlyArray<string>) => ({ id, deps })
const chain = [node("a"), node("b", "a"), node("c", "b")]

/** What is wrong with the cases, by the first words of each problem. */
const problemsOf = (given: Record<string, ReadonlyArray<object>>): Array<string | undefined> =>
  flowChecksOf(given as FlowCases).map(({ run }) => run()?.what)
const validate = (nodes: ReadonlyArray<object>, expected: object) =>
  problemsOf({ validate: [{ id: "V", nodes, expected }] })[0]

describe("a case of validation fails", () => {
  test("on other layers, another order in a layer, and on a graph that should be refused", () => {
    const layers = [["a"], ["b"], ["c"]]
    expect(validate(chain, { ok: true, layers })).toBeUndefined()
    expect(validate(chain, { ok: true, layers: [["a"], ["b", "c"]] })).toBe("layers")
    expect(validate([node("a"), node("b")], { ok: true, layers: [["b", "a"]] })).toBe("layers")
    expect(validate(chain, { ok: true })).toBe("layers")
    expect(validate(chain, { layers })).toBe("ok")
    expect(validate(chain, { error: "cycle", among: ["a"] })).toBe("graph")
    expect(validate([node("a", "a")], { ok: true, layers: [["a"]] })).toBe("graph")
  })

  test("on another kind of fault, another node, and a circle with foreign nodes", () => {
    const ring = [node("x"), node("a", "b", "x"), node("b", "a"), node("c", "b")]
    expect(validate(ring, { error: "cycle", among: ["a", "b"] })).toBeUndefined()
    expect(validate(ring, { error: "cycle", among: ["a", "c"] })).toBe("error")
    expect(validate(ring, { error: "self-dependency", node: "a" })).toBe("error")
    const missing = [node("a", "zz")]
    expect(validate(missing, { error: "missing-dependency", node: "a", missing: "zz" })).toBeUndefined()
    expect(validate(missing, { error: "missing-dependency", node: "a", missing: "yy" })).toBe("error")
    expect(validate(missing, { error: "missing-dependency", node: "b", missing: "zz" })).toBe("error")
    expect(validate([node("a"), node("a")], { error: "duplicate-node", node: "a" })).toBeUndefined()
    expect(validate([node("a"), node("a")], { error: "duplicate-node", node: "b" })).toBe("error")
    expect(validate([{ ...node("a"), rule: "never" }], { error: "unknown-rule", node: "a" })).toBeUndefined()
  })

  test("unless several faults apply: then any one may be reported", () => {
    const both = [node("a", "b"), node("b", "a"), node("c", "c"), node("d", "zz"), node("d")]
    for (const expected of [
      { error: "cycle", among: ["a", "b"] },
      { error: "self-dependency", node: "c" },
      { error: "missing-dependency", node: "d", missing: "zz" },
      { error: "duplicate-node", node: "d" },
    ]) {
      expect(validate(both, expected)).toBeUndefined()
    }
    expect(validate(both, { error: "cycle", among: ["c", "d"].slice(1) })).toBe("error")
    expect(validate(both, { error: "self-dependency", node: "a" })).toBe("error")
    expect(validate(both, { error: "unknown-rule", node: "a" })).toBe("error")
  })

  test("on an expectation, an error or a list that the README does not name", () => {
    expect(validate(chain, { ok: true, layers: [["a"], ["b"], ["c"]], width: 1 })).toBe("expected")
    expect(validate([node("a", "a")], { error: "loop" })).toBe("error")
    expect(problemsOf({ more: [] })).toEqual(["a kind of case"])
  })
})

describe("a case of a run fails", () => {
  const failed = {
    states: { a: "success", b: "failed", c: "upstream_failed" },
    ran: ["a", "b"],
    run: "failed",
  }
  const run = (expected: object, outcome: object = { b: "failed" }, nodes: ReadonlyArray<object> = chain) =>
    problemsOf({ run: [{ id: "R", nodes, outcome, expected }] })[0]

  test("on another state, one too few or too many, other nodes that ran, another end", () => {
    expect(run(failed)).toBeUndefined()
    expect(run({ ...failed, states: { ...failed.states, c: "skipped" } })).toBe("states")
    expect(run({ ...failed, states: { a: "success", b: "failed" } })).toBe("states")
    expect(run({ ...failed, states: { ...failed.states, d: "success" } })).toBe("states")
    expect(run({ ...failed, ran: ["a", "b", "c"] })).toBe("ran")
    expect(run({ ...failed, ran: ["a", "b", "b"] })).toBe("ran")
    expect(run({ ...failed, run: "success" })).toBe("run")
    expect(run({ states: failed.states, run: "failed" })).toBe("ran")
    expect(run(failed, { b: "broken" })).toBe("it throws")
    expect(run({ ...failed, took: 1 })).toBe("expected")
  })

  test("when a node can start before the one that it must start after", () => {
    const nodes = [node("a"), node("b"), { ...node("any", "a", "b"), rule: "one_success" }]
    const states = { a: "success", b: "success", any: "success" }
    const all = { states, ran: ["a", "any", "b"], run: "success" }
    expect(run(all, {}, nodes)).toBeUndefined()
    expect(run({ ...all, startsAfter: { any: "a" } }, {}, nodes)).toBe("startsAfter")
    expect(run({ ...all, startsAfter: { any: "b" } }, {}, nodes)).toBe("startsAfter")
    const waits = [node("a"), node("b"), node("any", "a", "b")]
    expect(run({ ...all, startsAfter: { any: "b" } }, {}, waits)).toBeUndefined()
    expect(run({ ...all, startsAfter: { any: "zz" } }, {}, waits)).toBe("it throws")
  })

  test("ids may be any text, also in what is expected", () => {
    const nodes = [node("__proto__"), node("constructor", "__proto__")]
    const states = JSON.parse('{"__proto__": "failed", "constructor": "upstream_failed"}') as object
    const outcome = JSON.parse('{"__proto__": "failed"}') as object
    expect(run({ states, ran: ["__proto__"], run: "failed" }, outcome, nodes)).toBeUndefined()
    expect(run({ states, ran: ["__proto__"], run: "failed" }, {}, nodes)).toBe("states")
  })
})

describe("a case of a re-run fails", () => {
  const good = {
    id: "R",
    nodes: chain,
    firstOutcome: { b: "failed" },
    firstExpected: {
      states: { a: "success", b: "failed", c: "upstream_failed" },
      ran: ["a", "b"],
      run: "failed",
    },
    from: "failed",
    secondOutcome: {},
    expected: {
      states: { a: "success", b: "success", c: "success" },
      ran: ["b", "c"],
      run: "success",
      reset: ["b", "c"],
    },
  }
  const rerun = (change: object) => problemsOf({ rerun: [{ ...good, ...change }] })[0]

  test("on a wrong first run, reset, second run, or an unknown node", () => {
    expect(rerun({})).toBeUndefined()
    expect(rerun({ firstOutcome: {} })).toBe("first run: states")
    expect(rerun({ expected: { ...good.expected, reset: ["b"] } })).toBe("reset")
    expect(rerun({ expected: { ...good.expected, reset: undefined } })).toBe("reset")
    expect(rerun({ expected: { ...good.expected, ran: ["a", "b", "c"] } })).toBe("re-run: ran")
    expect(rerun({ secondOutcome: { c: "skipped" } })).toBe("re-run: states")
    expect(rerun({ from: ["zz"] })).toBe("it throws")
    expect(rerun({ expected: { ...good.expected, kept: [] } })).toBe("expected")
  })

  test("from named nodes", () => {
    expect(rerun({ from: ["b"] })).toBeUndefined()
    expect(rerun({ from: "b" })).toBeUndefined()
    expect(rerun({ from: ["a"] })).toBe("reset")
    const ran = ["a", "b", "c"]
    expect(rerun({ from: ["a"], expected: { ...good.expected, reset: ran, ran } })).toBeUndefined()
  })
})

describe("a case of size fails", () => {
  const size = (shape: string, nodes: number, expect: string, limitMs = 1000) =>
    problemsOf({ size: [{ id: "S", build: { shape, nodes }, expect, limitMs }] })[0]

  test("on another verdict, another number of layers, too little time, an unknown shape", () => {
    expect(size("chain", 1000, "valid; 1 000 layers; no stack overflow")).toBeUndefined()
    expect(size("chain", 1000, "valid; 999 layers")).toBe("layers that are expected")
    expect(size("chain", 1000, "cycle error")).toBe("expect")
    expect(size("ring", 1000, "cycle error, bounded message length (at most 20 names)")).toBeUndefined()
    expect(size("ring", 1000, "cycle error, at most 19 names")).toBe("names in the message")
    expect(size("ring", 1000, "valid")).toBe("expect")
    expect(
      size("fan", 1000, "valid; 3 layers; finishing one middle node costs constant time"),
    ).toBeUndefined()
    expect(size("fan", 1000, "valid", 0)).toBe("time")
    expect(size("star", 10, "valid")).toBe("shape")
  })
})

describe("the script", () => {
  const folder = mkdtempSync(join(tmpdir(), "flow-cases-"))
  afterAll(() => rmSync(folder, { recursive: true }))

  test("runs both files below a folder, tells failures, and ends in the sum of both", async () => {
    const expected = { ok: true, layers: [["a"], ["b"], ["c"]] }
    const right = { id: "A", title: "right", nodes: chain, expected }
    const wrong = { id: "B", title: "wrong", nodes: chain, expected: { error: "cycle", among: [] } }
    const cron = { id: "C", expr: "0 0 * *", tz: "UTC", reason: "four fields", why: "too few" }
    writeFileSync(join(folder, "dag-cases.json"), JSON.stringify({ meta: {}, validate: [right, wrong] }))
    expect((await runScript([folder])).lines.at(-1)).toBe("1 passed, 1 failed")
    writeFileSync(join(folder, "cron-cases.json"), JSON.stringify({ invalid: [cron] }))
    const { lines, code } = await runScript([folder])
    expect(lines.join("\n")).toContain(
      ["FAILED B wrong (dag-cases.json)", "  graph", '  expected "cycle"', '  got      "valid"'].join("\n"),
    )
    expect(lines.at(-1)).toBe("2 passed, 1 failed")
    expect(code).toBe(1)
  }, 60_000)
})
