// Kahn's layers: a step is one deeper than its deepest need (G3). Iterative and linear in steps and edges.
import { degree, type Edges } from "./Edges.ts"

/** Steps by depth. */
export interface Layers {
  /** How many layers there are. */
  readonly count: number
  /** The steps, layer by layer, in the order of declaration within one: needs before what needs them. */
  readonly order: Int32Array
  /** Layer `k` is `order[starts[k]]` up to, not including, `order[starts[k + 1]]`. */
  readonly starts: Int32Array
}

/** What cannot be put into layers: a step whose number of open needs stayed above 0 is in a circle or behind one. */
export interface Unlayered {
  readonly openNeeds: Int32Array
}

/** The layers of edges that are given both ways, or what a circle left open. */
export const layersOf = (needs: Edges, dependents: Edges): Layers | Unlayered => {
  const size = needs.starts.length - 1
  const openNeeds = new Int32Array(size)
  const depths = new Int32Array(size)
  const queue = new Int32Array(size)
  let length = 0
  for (let step = 0; step < size; step++) {
    openNeeds[step] = degree(needs, step)
    if (openNeeds[step] === 0) queue[length++] = step
  }
  let count = 0
  for (let head = 0; head < length; head++) {
    const step = queue[head]!
    const depth = depths[step]! + 1
    count = depth
    for (let at = dependents.starts[step]!; at < dependents.starts[step + 1]!; at++) {
      const dependent = dependents.targets[at]!
      // The queue is ascending in depth, so the last need that is taken from it is the deepest.
      depths[dependent] = depth
      if (--openNeeds[dependent]! === 0) queue[length++] = dependent
    }
  }
  return length < size ? { openNeeds } : { count, ...sorted(depths, count) }
}

// Counted, not compared: that is linear, and keeps the order of declaration.
const sorted = (depths: Int32Array, count: number): Pick<Layers, "order" | "starts"> => {
  const starts = new Int32Array(count + 1)
  for (const depth of depths) starts[depth + 1]!++
  for (let layer = 0; layer < count; layer++) starts[layer + 1]! += starts[layer]!
  const free = starts.slice(0, count)
  const order = new Int32Array(depths.length)
  for (let step = 0; step < depths.length; step++) order[free[depths[step]!]!++] = step
  return { order, starts }
}
