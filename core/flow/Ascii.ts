// A flow as text for a terminal: a row for each step, layer by layer, with what it needs. Bounded in width and rows,
// however large the flow is, and made of ASCII but for the letters of the ids.
import { degree, targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { clip, type DrawState, labelOf, marks, notesOf, widthOf } from "./Labels.ts"

/** How a drawing looks. */
export interface AsciiOptions {
  /** States by the places of the steps; without them there are no marks. */
  readonly states?: ReadonlyArray<DrawState> | undefined
  /** Columns, 40 to 1,000; default 100. */
  readonly widthMax?: number | undefined
  /** Rows, 10 to 10,000; default 60. Steps and layers that do not fit are counted instead. */
  readonly rowMax?: number | undefined
}

/**
 * The flow, one text per row:
 *
 *     1  + extract
 *     2  + clean    <- extract
 *        x check    <- extract
 *     3  - load     <- clean, check  (none_skipped)
 */
export const ascii = (graph: Graph, options: AsciiOptions = {}): Array<string> => {
  const width = clamp(options.widthMax, 100, 40, 1000)
  const { states } = options
  const legend = states === undefined ? [] : ["", legendOf(states, width)]
  const rowMax = clamp(options.rowMax, 60, 10, 10_000) - legend.length
  if (graph.size === 0) return ["(no steps)"]
  const rows = planRows(graph, rowMax)
  const layerWidth = String(graph.layers.count).length
  const idMax = Math.floor(width * 0.4)
  const labels = new Map<number, string>()
  for (const row of rows) if (row.kind === "step") labels.set(row.step, labelOf(graph.ids[row.step]!, idMax))
  const idWidth = Math.max(0, ...[...labels.values()].map(widthOf))
  const lines = rows.map((row) => {
    const layer = (row.kind !== "layers" && row.isFirst ? String(row.layer + 1) : "").padStart(layerWidth)
    if (row.kind === "layers")
      return `${"".padStart(layerWidth)}  ... ${row.layers} more layers: ${counted(row.steps, states)}`
    if (row.kind === "rest") return `${layer}  ... ${counted(row.steps, states, row.isFirst ? "" : "more ")}`
    const mark = states === undefined ? "" : `${marks[states[row.step]!]} `
    const label = labels.get(row.step)!
    const head = `${layer}  ${mark}${label}`
    const tail = needsText(graph, row.step, width - layerWidth - mark.length - idWidth - 4)
    return tail === "" ? head : `${head}${"".padEnd(idWidth - widthOf(label))}  ${tail}`
  })
  return [...lines.map((line) => clip(line, width)), ...legend]
}

type Row =
  | { readonly kind: "step"; readonly layer: number; readonly isFirst: boolean; readonly step: number }
  /** Steps of a layer that have no row of their own. */
  | { readonly kind: "rest"; readonly layer: number; readonly isFirst: boolean; readonly steps: Int32Array }
  /** Layers that have no row of their own. */
  | { readonly kind: "layers"; readonly layers: number; readonly steps: Int32Array }

const planRows = ({ layers }: Graph, rowMax: number): Array<Row> => {
  const { count, starts, order } = layers
  const sizes = Array.from({ length: count }, (_, layer) => starts[layer + 1]! - starts[layer]!)
  const perLayer = count > rowMax ? 0 : rowsPerLayer(sizes, rowMax)
  const rowsOf = (layer: number): Array<Row> => {
    const steps = order.subarray(starts[layer], starts[layer + 1])
    // A row that says "1 more" could as well be that step.
    const shown = steps.length <= perLayer + 1 ? steps.length : perLayer
    const rows = Array.from(steps.subarray(0, shown), (step, index): Row => ({
      kind: "step",
      layer,
      isFirst: index === 0,
      step,
    }))
    const rest = steps.subarray(shown)
    return rest.length === 0 ? rows : [...rows, { kind: "rest", layer, isFirst: shown === 0, steps: rest }]
  }
  const between = (first: number, end: number): Array<Row> =>
    Array.from({ length: end - first }, (_, index) => rowsOf(first + index)).flat()
  if (count <= rowMax) return between(0, count)
  const first = Math.ceil((rowMax - 1) / 2)
  const end = count - Math.floor((rowMax - 1) / 2)
  const hidden = order.subarray(starts[first], starts[end])
  return [
    ...between(0, first),
    { kind: "layers", layers: end - first, steps: hidden },
    ...between(end, count),
  ]
}

/** The most rows that every layer can have so that all fit; a larger layer has one more, for the rest of it. */
const rowsPerLayer = (sizes: ReadonlyArray<number>, rowMax: number): number => {
  let low = 0
  let high = rowMax
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(sizes.map((size) => Math.min(size, middle + 1))) <= rowMax) low = middle
    else high = middle - 1
  }
  return low
}

/** `<- clean, check, +3 more  (all_done)`, within `room` columns as far as it goes. */
const needsText = (graph: Graph, step: number, room: number): string => {
  const notes = notesOf(graph, step)
  const note = notes === "" ? "" : `(${notes})`
  const total = degree(graph.needs, step)
  if (total === 0) return note
  const left = room - (note === "" ? 0 : note.length + 2)
  let text = "<- "
  let shown = 0
  for (const need of targetsOf(graph.needs, step)) {
    const next = `${shown === 0 ? "" : ", "}${labelOf(graph.ids[need]!, 30)}`
    const more = shown + 1 < total ? `, +${total - shown - 1} more`.length : 0
    if (shown > 0 && widthOf(text) + widthOf(next) + more > left) break
    text += next
    shown++
  }
  if (shown < total) text += `, +${total - shown} more`
  return note === "" ? text : `${text}  ${note}`
}

/** `120 steps`, or with states `120 steps (100 succeeded, 20 blocked)`. */
const counted = (steps: Int32Array, states: ReadonlyArray<DrawState> | undefined, more = ""): string => {
  const total = `${steps.length} ${more}${steps.length === 1 ? "step" : "steps"}`
  if (states === undefined) return total
  const counts = new Map<DrawState, number>()
  for (const step of steps) counts.set(states[step]!, (counts.get(states[step]!) ?? 0) + 1)
  return `${total} (${[...counts].map(([state, count]) => `${count} ${state}`).join(", ")})`
}

const legendOf = (states: ReadonlyArray<DrawState>, width: number): string =>
  clip([...new Set(states)].map((state) => `${marks[state]} ${state}`).join(", "), width)

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)
const clamp = (value: number | undefined, usual: number, min: number, max: number): number =>
  value === undefined || Number.isNaN(value) ? usual : Math.min(max, Math.max(min, Math.floor(value)))
