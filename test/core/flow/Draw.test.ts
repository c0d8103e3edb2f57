// Drawings: what a person sees of a small flow, that large ones stay within their bounds, and that no id can leave
// its label. The labels are read back by small readers of the two languages, written after their grammars; the same
// ids were drawn once by Graphviz and by Mermaid themselves, and came out equal.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { FlowStep } from "../../../core/domain/Flow.ts"
import { runStates } from "../../../core/domain/Run.ts"
import {
  ascii,
  dot,
  drawnEdgeMax,
  drawnStepMax,
  type DrawState,
  marks,
  mermaid,
} from "../../../core/flow/Draw.ts"
import { type Graph, parseGraph } from "../../../core/flow/Graph.ts"
import { clip, labelMax, labelOf, widthOf } from "../../../core/flow/Labels.ts"
import { build } from "../../cases/checkFlowSizes.ts"
import { int, seeded } from "../trigger/samples.ts"

const graphOf = (steps: ReadonlyArray<FlowStep>): Graph => Result.getOrThrow(parseGraph(steps))
const sales = graphOf([
  { id: "extract", needs: [] },
  { id: "clean", needs: ["extract"] },
  { id: "check", needs: ["extract"], allowFailure: true },
  { id: "load", needs: ["clean", "check"], rule: "all_done" },
])
const states: ReadonlyArray<DrawState> = ["succeeded", "succeeded", "failed", "running"]

// Each of them means something to a terminal, to Graphviz, to Mermaid, to HTML or to Markdown.
const hostile = [
  '"',
  "\\",
  '\\"]; x [',
  "a\\",
  "<b>x</b>",
  "<script>alert(1)</script>",
  "&amp;",
  "&quot;",
  "#35;",
  "#quot;",
  "`md`",
  "**bold**",
  "_it_",
  "a_b_c",
  "- item",
  "1. item",
  "1) x",
  "+ x",
  "# head",
  "end",
  "subgraph x",
  "a --> b",
  "%% c",
  "%%{init: {}}%%",
  ":::good",
  "@{shape: x}",
  "fa:fa-car",
  "a;b",
  "]",
  "}",
  "\\N \\G \\l",
  "[x](http://y)",
  "a\nb",
  "\t",
  "\u001b[31m",
  "\u009b31m",
  "\u202eabc",
  "\u200b",
  "\0",
  "\u00a0",
  " ",
  "\ud800",
  "\u2028",
  "__proto__",
  "constructor",
  "日本",
  "💥",
  "\ufb02\u00b035\u00b6\u00df",
  "a, b",
  "-> b",
  "$x$",
  "---",
  "___",
]
const hostiles = graphOf(
  hostile.map((id, at) => ({ id, needs: at === 0 ? [] : [hostile[at - 1] as string] })),
)
// Whatever is not a plain character, a letter or a sign of a script.
const steering = /[^\x20-\x7e\p{L}\p{M}\p{N}\p{S}\p{P}]/u

describe("ascii", () => {
  test("shows layers, needs, rules and what may fail", () => {
    expect(ascii(sales)).toEqual([
      "1  extract",
      "2  clean    <- extract",
      "   check    <- extract  (may fail)",
      "3  load     <- clean, check  (all_done)",
    ])
    expect(ascii(graphOf([]))).toEqual(["(no steps)"])
  })

  test("marks states, and says what the marks mean", () => {
    expect(ascii(sales, { states })).toEqual([
      "1  + extract",
      "2  + clean    <- extract",
      "   x check    <- extract  (may fail)",
      "3  > load     <- clean, check  (all_done)",
      "",
      "+ succeeded, x failed, > running",
    ])
    for (const state of runStates) expect(marks[state]).toMatch(/^[!-~]$/)
  })

  test("counts what has no room: steps of a wide layer, layers of a deep flow, needs of a join", () => {
    const fan = graphOf(build("fan", 50_000) ?? [])
    const some = fan.ids.map((_, at): DrawState =>
      at === 0 ? "succeeded" : at % 2 === 0 ? "ready" : "blocked",
    )
    expect(ascii(fan, { states: some, rowMax: 10, widthMax: 60 })).toEqual([
      "1  + first",
      "2  . n1     <- first",
      "   o n2     <- first",
      "   . n3     <- first",
      "   o n4     <- first",
      "   . n5     <- first",
      "   ... 49995 more steps (24998 ready, 24997 blocked)",
      "3  . last   <- n1, n2, n3, n4, n5, n6, n7, n8, +49992 more",
      "",
      "+ succeeded, . blocked, o ready",
    ])
    const chain = ascii(graphOf(build("chain", 100_000) ?? []), { rowMax: 10 })
    expect(chain).toHaveLength(10)
    expect(chain.slice(4, 7)).toEqual([
      "     5  n5       <- n4",
      "        ... 99991 more layers: 99991 steps",
      " 99997  n99997   <- n99996",
    ])
  })

  test("a layer that misses its room by one step shows that step instead of a count", () => {
    const rows = ascii(graphOf(build("fan", 8) ?? []), { rowMax: 10 })
    expect(rows).toHaveLength(10)
    expect(rows.join("\n")).not.toContain("more")
  })

  test("no flow is wider or longer than it may be, and none steers a terminal", () => {
    const random = seeded(9)
    for (let round = 0; round < 300; round++) {
      const size = int(random, 1, 60)
      const ids = Array.from({ length: size }, (_, at) =>
        `${hostile[int(random, 0, hostile.length - 1)]}${at}`.repeat(int(random, 1, 30)),
      )
      const density = random() / 3
      const graph = graphOf(
        ids.map((id, at) => ({ id, needs: ids.slice(0, at).filter(() => random() < density) })),
      )
      const all = ids.map(
        (): DrawState => (["succeeded", "dead", "blocked"] as const)[int(random, 0, 2)] as DrawState,
      )
      const [widthMax, rowMax] = [int(random, 40, 130), int(random, 10, 50)]
      const rows = ascii(graph, { widthMax, rowMax, states: random() < 0.5 ? all : undefined })
      expect(rows.length).toBeLessThanOrEqual(rowMax)
      for (const row of rows) {
        expect([row, widthOf(row) <= widthMax]).toEqual([row, true])
        expect(row).not.toMatch(steering)
      }
    }
  })

  test("bounds of its own hold whatever is asked for", () => {
    const chain = graphOf(build("chain", 20_000) ?? [])
    expect(ascii(chain, { rowMax: 1e9 })).toHaveLength(10_000)
    expect(ascii(chain, { rowMax: -5, widthMax: -5 })).toHaveLength(10)
    expect(ascii(chain, { rowMax: Number.NaN, widthMax: Number.NaN })).toEqual(ascii(chain))
  })
})

describe("labels", () => {
  test("are the id itself where it reads plainly, and quoted where not", () => {
    expect(["load orders", "a/b:c@d-1.2", "日本", "été"].map((id) => labelOf(id))).toEqual([
      "load orders",
      "a/b:c@d-1.2",
      "日本",
      "été",
    ])
    expect(labelOf('say "hi"\n')).toBe(String.raw`"say \"hi\"\n"`)
    expect(labelOf("a\u202eb")).toBe(String.raw`"a\u{202e}b"`)
    expect(labelOf(" ")).toBe('" "')
  })

  test("no two different ids look the same", () => {
    expect(new Set(hostile.map((id) => labelOf(id))).size).toBe(hostile.length)
  })

  test("are cut with dots, by columns, and without looking at all of a huge id", () => {
    expect(labelOf("x".repeat(81))).toBe(`${"x".repeat(labelMax - 3)}...`)
    expect(labelOf("x".repeat(80))).toBe("x".repeat(80))
    expect(clip("日本語の名前", 9)).toBe("日本語...")
    expect(widthOf(labelOf("💥".repeat(500)))).toBeLessThanOrEqual(labelMax)
    expect(labelOf("x".repeat(50_000_000))).toHaveLength(labelMax)
    expect(labelOf(`a${"\u0301".repeat(100_000)}`).length).toBeLessThan(5 * labelMax)
  })
})

/** The label of each step as Graphviz reads it: quotes, then escapes with a backslash, then HTML's entities. */
const dotLabels = (lines: ReadonlyArray<string>): Array<string> =>
  lines.flatMap((line) => {
    const found = /^ {2}s\d+ \[label="((?:[^"\\]|\\.)*)"(?:, fillcolor="#[0-9a-f]{6}")?\]$/.exec(line)
    if (found === null) return []
    const unescaped = (found[1] as string).replace(/\\(.)/gs, (_, char: string) => {
      if (!/["\\]/.test(char)) throw new Error(`\\${char} means something else`)
      return char
    })
    return [unescaped.replace(/&(\w+);/g, (all, name) => (name === "amp" ? "&" : `(entity ${all})`))]
  })
/** The same as Mermaid reads it: nothing but numbers of characters between two quotes. */
const mermaidLabels = (lines: ReadonlyArray<string>): Array<string> =>
  lines.flatMap((line) => {
    const found = /^ {2}s\d+\["((?:[\p{L}\p{M}\p{N} ,_.-]|#\d+;)*)"\](?::::\w+)?$/u.exec(line)
    return found === null
      ? []
      : [(found[1] as string).replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))]
  })

describe("dot and mermaid", () => {
  test("draw a small flow", () => {
    expect(mermaid(sales)).toEqual([
      "flowchart TD",
      '  s0["extract"]',
      '  s1["clean"]',
      '  s2["check #40;may fail#41;"]',
      '  s3["load #40;all_done#41;"]',
      "  s0 --> s1",
      "  s0 --> s2",
      "  s1 --> s3",
      "  s2 --> s3",
    ])
    expect(dot(sales)).toEqual([
      "digraph flow {",
      '  node [shape=box, style="rounded,filled", fillcolor="#ffffff"]',
      '  s0 [label="extract"]',
      '  s1 [label="clean"]',
      '  s2 [label="check (may fail)"]',
      '  s3 [label="load (all_done)"]',
      "  s0 -> s1",
      "  s0 -> s2",
      "  s1 -> s3",
      "  s2 -> s3",
      "}",
    ])
  })

  test("show states as marks and colours", () => {
    expect(mermaid(sales, { states })).toContain('  s2["x check #40;may fail#41;"]:::bad')
    expect(mermaid(sales, { states }).filter((line) => line.includes("classDef"))).toHaveLength(3)
    expect(dot(sales, { states })).toContain('  s3 [label="> load (all_done)", fillcolor="#cfe3ff"]')
  })

  test("every id comes back as its label, and every line is one of the language", () => {
    const labels = hostile.map((id) => labelOf(id))
    expect(dotLabels(dot(hostiles))).toEqual(labels)
    // One pair of characters is Mermaid's own, and is shown as an escape.
    expect(mermaidLabels(mermaid(hostiles))).toEqual(
      labels.map((label) => label.replace("\ufb02\u00b0", "\\u{fb02}\u00b0")),
    )
    for (const lines of [dot(hostiles), mermaid(hostiles)]) {
      expect(lines.filter((line) => /^ {2}s\d+ --?> s\d+$/.test(line))).toHaveLength(hostile.length - 1)
      for (const line of lines) expect(line).not.toMatch(steering)
    }
  })

  test("draw no more than they may, and say so", () => {
    const wide = graphOf(build("fan", 50_000) ?? [])
    expect(mermaid(wide).length).toBeLessThan(2 * drawnStepMax + 10)
    expect(mermaid(wide)).toContain('  more["48002 more steps and 98001 more edges are not drawn"]')
    expect(dot(wide)).toContain(
      '  more [label="48002 more steps and 98001 more edges are not drawn", style=dashed]',
    )
    const ids = Array.from({ length: 300 }, (_, at) => `s${at}`)
    const dense = graphOf(ids.map((id, at) => ({ id, needs: ids.slice(0, at) })))
    expect(dot(dense).filter((line) => line.includes(" -> "))).toHaveLength(drawnEdgeMax)
    expect(dot(dense).at(-2)).toContain("0 more steps and 34850 more edges are not drawn")
  })
})
