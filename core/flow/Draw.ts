// A flow in the languages of two drawing programs, Mermaid and Graphviz. Steps are named by number there and their
// ids are labels, so that no id can be read as a part of the language. Bounded in steps and edges.
import { targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { type DrawState, labelOf, marks, notesOf } from "./Labels.ts"

export { ascii, type AsciiOptions } from "./Ascii.ts"
export { type DrawState, marks } from "./Labels.ts"

/** How a drawing looks. */
export interface DrawOptions {
  /** States by the places of the steps; without them there are no marks and colours. */
  readonly states?: ReadonlyArray<DrawState> | undefined
}

/** Most steps in one drawing: what comes later in the order of layers is counted instead. */
export const drawnStepMax = 2000
/** Most edges in one drawing. */
export const drawnEdgeMax = 10_000

/** A Mermaid flowchart, one text per line. Mermaid itself draws no more than 500 edges unless it is told to. */
export const mermaid = (graph: Graph, options: DrawOptions = {}): Array<string> => {
  const { steps, edges, more } = drawn(graph)
  const { states } = options
  return [
    "flowchart TD",
    ...Array.from(steps, (step) => {
      const colour = states === undefined ? "" : `:::${colourOf(states[step]!)}`
      return `  s${step}["${mermaidText(textOf(graph, step, states))}"]${colour}`
    }),
    ...edges.map(([need, step]) => `  s${need} --> s${step}`),
    ...(more === "" ? [] : [`  more["${mermaidText(more)}"]`]),
    ...used(steps, states).map(
      (colour) => `  classDef ${colour} fill:${fills[colour]},color:#000000,stroke:#555555`,
    ),
  ]
}

/** A Graphviz digraph, one text per line. */
export const dot = (graph: Graph, options: DrawOptions = {}): Array<string> => {
  const { steps, edges, more } = drawn(graph)
  const { states } = options
  return [
    "digraph flow {",
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff"]',
    ...Array.from(steps, (step) => {
      const fill = states === undefined ? "" : `, fillcolor="${fills[colourOf(states[step]!)]}"`
      return `  s${step} [label="${dotText(textOf(graph, step, states))}"${fill}]`
    }),
    ...edges.map(([need, step]) => `  s${need} -> s${step}`),
    ...(more === "" ? [] : [`  more [label="${dotText(more)}", style=dashed]`]),
    "}",
  ]
}

const textOf = (graph: Graph, step: number, states: ReadonlyArray<DrawState> | undefined): string => {
  const notes = notesOf(graph, step)
  const mark = states === undefined ? "" : `${marks[states[step]!]} `
  return `${mark}${labelOf(graph.ids[step]!)}${notes === "" ? "" : ` (${notes})`}`
}

const drawn = (
  graph: Graph,
): { steps: Int32Array; edges: Array<readonly [need: number, step: number]>; more: string } => {
  const steps = graph.layers.order.subarray(0, drawnStepMax)
  const edges: Array<readonly [number, number]> = []
  // In the order of layers the needs of a drawn step are drawn as well.
  for (const step of steps) {
    for (const need of targetsOf(graph.needs, step)) if (edges.length < drawnEdgeMax) edges.push([need, step])
  }
  const hiddenSteps = graph.size - steps.length
  const hiddenEdges = graph.needs.targets.length - edges.length
  const more = `${hiddenSteps} more steps and ${hiddenEdges} more edges are not drawn`
  return { steps, edges, more: hiddenSteps + hiddenEdges === 0 ? "" : more }
}

// Mermaid reads `#` and a number as that character, after everything else has been read. Whatever could mean
// something to it, to HTML or to Markdown is written so; letters, digits and a sign within a word cannot. The pair
// that goes first is how it writes such a number for itself in between: it would read it again, after all checks.
const mermaidText = (text: string): string =>
  text
    .replaceAll("\ufb02\u00b0", "\\u{fb02}\u00b0")
    .replace(
      /(?<![\p{L}\p{N}])[-_.]|[-_.](?![\p{L}\p{N}])|[^\p{L}\p{M}\p{N} ,_.-]/gu,
      (char) => `#${char.codePointAt(0)};`,
    )

// A quoted text of Graphviz; its labels know escapes with a backslash, and HTML's entities.
const dotText = (text: string): string => text.replace(/["\\]/g, "\\$&").replaceAll("&", "&amp;")

type Colour = "waiting" | "going" | "good" | "bad" | "unmet" | "none"

const fills: Readonly<Record<Colour, string>> = {
  waiting: "#f2f2f2",
  going: "#cfe3ff",
  good: "#cdeccd",
  bad: "#f7c5c5",
  unmet: "#f9dfc0",
  none: "#e0e0e0",
}

const colourOf = (state: DrawState): Colour => {
  switch (state) {
    case "blocked":
    case "scheduled":
    case "ready":
    case "released":
      return "waiting"
    case "running":
    case "retrying":
      return "going"
    case "succeeded":
      return "good"
    case "failed":
    case "dead":
      return "bad"
    case "upstream_failed":
      return "unmet"
    case "skipped":
    case "cancelled":
    case "expired":
      return "none"
  }
}

const used = (steps: Int32Array, states: ReadonlyArray<DrawState> | undefined): Array<Colour> =>
  states === undefined ? [] : [...new Set(Array.from(steps, (step) => colourOf(states[step]!)))]
