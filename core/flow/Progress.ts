// A flow run in memory: the states of all steps, and the counters that follow from them. What a store keeps in rows;
// the memory store, re-runs and checks of rows use it. The counters are never more than a summary of the states, so
// a flow run can be rebuilt from its states alone.
import type { NeedCounts, StepEnd, StepState } from "../domain/Flow.ts"
import { degree, targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { release, type Released, releaseAll, type StepTable } from "./Release.ts"

/** Whether a step has ended. */
export const hasEnded = (state: StepState): state is StepEnd => state !== "blocked" && state !== "released"

/** Where all steps of one flow run stand. */
export class Progress implements StepTable {
  private readonly graph: Graph
  private readonly current: Array<StepState>
  private readonly succeeded: Int32Array
  private readonly failed: Int32Array
  private readonly skipped: Int32Array

  /** A flow run that has not begun, or one whose steps stand as given. Costs one look at each step and need. */
  constructor(graph: Graph, states?: ReadonlyArray<StepState>) {
    this.graph = graph
    this.current = states === undefined ? new Array<StepState>(graph.size).fill("blocked") : [...states]
    this.succeeded = new Int32Array(graph.size)
    this.failed = new Int32Array(graph.size)
    this.skipped = new Int32Array(graph.size)
    for (let step = 0; step < graph.size; step++) {
      const state = this.current[step]!
      if (!hasEnded(state)) continue
      const counter = this.counterOf(state)
      for (const dependent of targetsOf(graph.dependents, step)) counter[dependent]!++
    }
  }

  /** The states, by the places of the steps. */
  get states(): ReadonlyArray<StepState> {
    return this.current
  }

  /**
   * The counters of a step. Of one that was released or marked before all its needs had ended, they stand where
   * they stood then.
   */
  counts(step: number): NeedCounts {
    return {
      needs: degree(this.graph.needs, step),
      succeeded: this.succeeded[step]!,
      failed: this.failed[step]!,
      skipped: this.skipped[step]!,
    }
  }

  read(step: number): NeedCounts | null {
    return this.current[step] === "blocked" ? this.counts(step) : null
  }

  write(step: number, counts: NeedCounts, state: StepState): void {
    this.succeeded[step] = counts.succeeded
    this.failed[step] = counts.failed
    this.skipped[step] = counts.skipped
    this.current[step] = state
  }

  /** Releases whatever can be: the steps without needs of a new flow run, or what a re-run begins with. */
  begin(): Released {
    return releaseAll(this.graph, this)
  }

  /**
   * A step ends, and what needs it is released. A blocked one may be ended as well: somebody marks it. `null` when
   * it had ended before: nothing was changed, and nothing is released a second time.
   */
  finish(step: number, end: StepEnd): Released | null {
    if (hasEnded(this.current[step]!)) return null
    this.current[step] = end
    return release(this.graph, this, step, end)
  }

  private counterOf(end: StepEnd): Int32Array {
    return end === "succeeded" ? this.succeeded : end === "skipped" ? this.skipped : this.failed
  }
}
