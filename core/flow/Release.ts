// What the end of a step sets free. The rows of one flow run are handed in as a table, typed arrays here
// (`Progress`), rows within the transaction of `settle` in a store. An end costs one read and one write for each
// step that needs it (G8). Each step is released once: only a blocked one is judged, and judging it ends that.
// Whoever calls must see to the other half: that a step ends once (its token, in the same transaction).
import type { NeedCounts, StepEnd, StepState } from "../domain/Flow.ts"
import { targetsOf } from "./Edges.ts"
import type { Graph } from "./Graph.ts"
import { counted, judge, stateAfter } from "./Judge.ts"

/** The steps of one flow run, by their places in the graph. */
export interface StepTable {
  /** The counters of a step that is blocked; `null` when it is not, and nothing is to be done about it. */
  read(step: number): NeedCounts | null
  /** Writes both. `released`: it may run; `skipped` and `upstream_failed`: it has ended and will not run. */
  write(step: number, counts: NeedCounts, state: Exclude<StepState, "succeeded" | "failed">): void
}

/** A step that ended without running. */
export interface Ended {
  readonly step: number
  readonly end: "skipped" | "upstream_failed"
}

/** What was set free; it is in the table already. */
export interface Released {
  /** To run, in the order of declaration. */
  readonly run: Array<number>
  /** Needs before what needs them. */
  readonly ended: Array<Ended>
}

/**
 * Tells the end of one step to those that need it, and the ends that follow from it to those that need these, until
 * nothing follows. A loop, as chains can be long.
 */
export const release = (graph: Graph, table: StepTable, step: number, end: StepEnd): Released =>
  toTheEnd(releasing(graph, table, step, end))

/**
 * The same for a table that must be filled first: yields each step whose end is told next, before the rows of those
 * that need it are looked at. Nothing else is looked at.
 */
export function* releasing(
  graph: Graph,
  table: StepTable,
  step: number,
  end: StepEnd,
): Generator<number, Released, void> {
  const released: Released = { run: [], ended: [] }
  yield step
  tell(graph, table, step, end, released)
  // The list grows while it is walked.
  for (const next of released.ended) {
    yield next.step
    tell(graph, table, next.step, next.end, released)
  }
  released.run.sort((a, b) => a - b)
  return released
}

/**
 * Judges every step that is blocked, and what follows. Starts a flow run and a re-run; on one that a crash left
 * behind, it finds what was not released. Costs one look at each step.
 */
export const releaseAll = (graph: Graph, table: StepTable): Released => {
  const released: Released = { run: [], ended: [] }
  for (let step = 0; step < graph.size; step++) {
    const counts = table.read(step)
    if (counts !== null) decide(graph, table, step, counts, released)
  }
  for (const next of released.ended) tell(graph, table, next.step, next.end, released)
  released.run.sort((a, b) => a - b)
  return released
}

/** What a generator comes to that is asked for nothing between. */
export const toTheEnd = <A>(steps: Generator<number, A, void>): A => {
  let next = steps.next()
  while (next.done !== true) next = steps.next()
  return next.value
}

/**
 * Tells one end to the direct dependents only, and adds what it sets free. For a store that bounds its transactions:
 * it must keep what it finds in `ended` until it has told that too.
 */
export const tell = (
  graph: Graph,
  table: StepTable,
  step: number,
  end: StepEnd,
  released: Released,
): void => {
  for (const dependent of targetsOf(graph.dependents, step)) {
    const counts = table.read(dependent)
    if (counts === null) continue
    const after = counted(counts, end)
    if (!decide(graph, table, dependent, after, released)) table.write(dependent, after, "blocked")
  }
}

/** Whether the step was judged; one that waits is left as it is. */
const decide = (
  graph: Graph,
  table: StepTable,
  step: number,
  counts: NeedCounts,
  released: Released,
): boolean => {
  const decision = judge(graph.rules[step]!, counts)
  if (decision === "wait") return false
  table.write(step, counts, stateAfter(decision))
  if (decision === "run") released.run.push(step)
  else released.ended.push({ step, end: decision })
  return true
}
