// The edges of a graph in two typed arrays, so that 100,000 steps are three allocations and a step's neighbours lie
// side by side. Steps are numbers here: their places in the order of declaration.

/** From each step, where its edges lead: `targets[starts[step]]` up to, not including, `targets[starts[step + 1]]`. */
export interface Edges {
  /** One more than there are steps. */
  readonly starts: Int32Array
  readonly targets: Int32Array
}

/** How many edges leave a step. */
export const degree = ({ starts }: Edges, step: number): number => starts[step + 1]! - starts[step]!

/** Where the edges of a step lead, as a view, not a copy. */
export const targetsOf = ({ starts, targets }: Edges, step: number): Int32Array =>
  targets.subarray(starts[step], starts[step + 1])

/** The same edges backwards; those of one step lead to ascending steps. Linear. */
export const reversed = ({ starts, targets }: Edges): Edges => {
  const size = starts.length - 1
  const backStarts = new Int32Array(size + 1)
  for (const target of targets) backStarts[target + 1]!++
  for (let step = 0; step < size; step++) backStarts[step + 1]! += backStarts[step]!
  const backTargets = new Int32Array(targets.length)
  const free = backStarts.slice(0, size)
  for (let step = 0; step < size; step++) {
    for (let at = starts[step]!; at < starts[step + 1]!; at++) backTargets[free[targets[at]!]!++] = step
  }
  return { starts: backStarts, targets: backTargets }
}
