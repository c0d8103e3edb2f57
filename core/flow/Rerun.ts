// A second go at a flow run that has ended (G7): some steps and everything behind them start anew, whatever their
// state; all others keep state and result, and count for those that need them.
import type { StepState } from "../domain/Flow.ts"
import { targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { Progress } from "./Progress.ts"
import type { Released } from "./Release.ts"

/** Where a re-run begins: at what failed (or ended because of a failure), at what was skipped, or at named steps. */
export type RerunFrom = "failed" | "skipped" | ReadonlyArray<number>

/** A re-run that has begun. */
export interface Rerun {
  /** The steps that start anew, in the order of declaration; empty when there is nothing to re-run. */
  readonly reset: ReadonlyArray<number>
  /** Where all steps stand now: those of `reset` judged again, with counters of what was kept. */
  readonly progress: Progress
  readonly released: Released
}

/** The steps that a re-run resets: where it begins, and all that depends on these. Ascending; linear. */
export const resetOf = (graph: Graph, states: ReadonlyArray<StepState>, from: RerunFrom): Array<number> => {
  const isReset = new Uint8Array(graph.size)
  const found: Array<number> = []
  const add = (step: number): void => {
    if (isReset[step] === 1) return
    isReset[step] = 1
    found.push(step)
  }
  if (from === "failed" || from === "skipped") {
    for (const [step, state] of states.entries()) {
      if (state === from || (from === "failed" && state === "upstream_failed")) add(step)
    }
  } else for (const step of from) add(step)
  // The list grows while it is walked.
  for (const step of found) for (const dependent of targetsOf(graph.dependents, step)) add(dependent)
  return found.sort((a, b) => a - b)
}

/**
 * Begins a re-run. A named step is judged like any other: under its rule it may end again without running. Steps
 * that have not ended are reset when they are behind one that is; their runs must be called off before.
 */
export const rerun = (graph: Graph, states: ReadonlyArray<StepState>, from: RerunFrom): Rerun => {
  const reset = resetOf(graph, states, from)
  const next = [...states]
  for (const step of reset) next[step] = "blocked"
  const progress = new Progress(graph, next)
  return { reset, progress, released: progress.begin() }
}
