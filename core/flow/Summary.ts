// What a flow run came to as a whole: its outcome (G6), and the chain of steps that took longest.
import type { StepEnd, StepState } from "../domain/Flow.ts"
import { targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { hasEnded } from "./Progress.ts"

/** `running` until every step has ended. */
export type FlowOutcome = "running" | "succeeded" | "failed"

/** Whether this end of a step makes its flow run fail: failed or upstream_failed, and not allowed to. */
export const isFault = (graph: Graph, step: number, end: StepEnd): boolean =>
  (end === "failed" || end === "upstream_failed") && graph.allowFailure[step] !== true

/** The outcome from two counters, as a store keeps them with the flow run; no step at all is a success. */
export const outcomeOf = (openCount: number, faultCount: number): FlowOutcome =>
  openCount > 0 ? "running" : faultCount > 0 ? "failed" : "succeeded"

/** The two counters, from the states of all steps. */
export const tallyOf = (
  graph: Graph,
  states: ReadonlyArray<StepState>,
): { openCount: number; faultCount: number } => {
  let openCount = 0
  let faultCount = 0
  for (const [step, state] of states.entries()) {
    if (!hasEnded(state)) openCount++
    else if (isFault(graph, step, state)) faultCount++
  }
  return { openCount, faultCount }
}

/** A chain of steps, each needing the one before, and how long they took together. */
export interface CriticalPath {
  readonly steps: ReadonlyArray<number>
  readonly millis: number
}

/**
 * The chain whose steps took longest together, in milliseconds; the first of several that are equal. `millis[step]`
 * is how long a step took, `null` if it did not run: such a step is on the path only between two that took time.
 * Linear. Time that steps waited for a slot is not in it.
 */
export const criticalPath = (graph: Graph, millis: ReadonlyArray<number | null>): CriticalPath => {
  const totals = new Float64Array(graph.size)
  const before = new Int32Array(graph.size).fill(-1)
  let last = -1
  for (const step of graph.layers.order) {
    let most = 0
    for (const need of targetsOf(graph.needs, step)) {
      if (totals[need]! <= most) continue
      most = totals[need]!
      before[step] = need
    }
    // Clocks step back: a negative span is none.
    totals[step] = most + Math.max(0, millis[step] ?? 0)
    if (totals[step] > (last === -1 ? 0 : totals[last]!)) last = step
  }
  const steps: Array<number> = []
  for (let step = last; step !== -1; step = before[step]!) steps.push(step)
  return { steps: steps.reverse(), millis: last === -1 ? 0 : totals[last]! }
}
