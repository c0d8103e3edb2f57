// The steps of a flow run, or the items of a list, as they are shown by the command line and the API: where each stands, when
// it ran, and why it waits or ended as it did.
import * as Result from "effect/Result"
import type { Expansion, FlowStep, StepState } from "../../core/domain/Flow.ts"
import type { Run } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { DrawState } from "../../core/flow/Draw.ts"
import { targetsOf } from "../../core/flow/Edges.ts"
import { type Graph, parseGraph } from "../../core/flow/Graph.ts"
import type { FlowView, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { batchMax } from "../../core/ports/StoreLimits.ts"

/** A step of a flow run, or an item of a list, as it is shown. */
export interface StepRow {
  /** Of an item: its place. */
  readonly id: string
  /** That of its rule, or while it is under way that of its run. */
  readonly state: DrawState
  readonly attempt: number | null
  readonly attemptMax: number | null
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** How long its latest attempt took, or has taken so far; `null`: it did not run in this flow run. */
  readonly millis: number | null
  readonly runId: string | null
  /** Why it waits, or ended as it did; `null`: there is no more to say. */
  readonly reason: string | null
}

/** A flow run with all that is shown of it. */
export interface ShownFlow {
  readonly view: FlowView
  readonly graph: Graph
  readonly rows: ReadonlyArray<StepRow>
}

/** The steps as a graph; the items of a list need one another never. */
export const graphOf = (expansion: Expansion): Graph => {
  const steps: ReadonlyArray<FlowStep> =
    expansion.kind === "flow"
      ? expansion.definition.steps
      : expansion.items.map((_, place) => ({ id: String(place), needs: [] }))
  return Result.getOrThrow(parseGraph(steps))
}

/** How an instant looks in a reason. */
export type TimeText = (millis: number) => string

/** Reads the runs of the steps at places from `from` up to, not including, `until`; default: of all. */
export const readSteps = async (
  store: Pick<StoreDriver, "get" | "now">,
  view: FlowView,
  timeOf: TimeText,
  from = 0,
  until = view.steps.length,
): Promise<ShownFlow> => {
  const ids = view.steps.slice(from, until).flatMap(({ runId }) => (runId === null ? [] : [runId]))
  const runs = new Map<string, Run>()
  for (let at = 0; at < ids.length; at += batchMax)
    for (const run of await store.get(ids.slice(at, at + batchMax))) runs.set(run.id, run)
  const graph = graphOf(view.expansion)
  const now = await store.now()
  const rows = view.steps
    .slice(from, until)
    .map((step, index) => rowOf({ view, graph, timeOf, now }, from + index, runs.get(step.runId ?? "")))
  return { view, graph, rows }
}

interface Facts {
  readonly view: FlowView
  readonly graph: Graph
  readonly timeOf: TimeText
  readonly now: number
}

const rowOf = (facts: Facts, place: number, run: Run | undefined): StepRow => {
  const { view, graph, now } = facts
  const { state, runId, reason } = view.steps[place] as FlowView["steps"][number]
  // A run of before that a re-run kept took its time in another flow run.
  const isKept = run !== undefined && run.parentId !== view.run.id
  const isOpen = state === "released"
  return {
    id: graph.ids[place] as string,
    state: isOpen && run !== undefined ? stateOf(run) : state,
    attempt: run?.attempt ?? null,
    attemptMax: run?.attemptMax ?? null,
    startedAt: run?.startedAt ?? null,
    endedAt: run?.endedAt ?? null,
    millis: run === undefined || isKept ? null : millisOf(run, now),
    runId,
    reason: isKept ? keptText(view, run, reason) : (reason ?? reasonOf(facts, place, run)),
  }
}

// Usually of the run that this one re-runs, which is said above all steps.
const keptText = (view: FlowView, { parentId }: Run, reason: string | null): string =>
  `kept${parentId === view.run.replayOf ? "" : ` from run ${parentId}`}${reason === null ? "" : `; ${reason}`}`

// What waits for steps of its own is under way.
const stateOf = ({ state }: Run): DrawState => (state === "blocked" ? "running" : state)

const millisOf = ({ state, startedAt, endedAt }: Run, now: number): number | null => {
  if (startedAt === null) return null
  if (endedAt !== null) return Math.max(0, endedAt - startedAt)
  return state === "running" || state === "blocked" ? Math.max(0, now - startedAt) : null
}

const reasonOf = ({ view, graph, timeOf }: Facts, place: number, run: Run | undefined): string | null => {
  const { state } = view.steps[place] as FlowView["steps"][number]
  const needs = (...states: ReadonlyArray<StepState>): string =>
    named(
      Array.from(targetsOf(graph.needs, place)).flatMap((need) =>
        states.includes(view.steps[need]?.state ?? "blocked") ? [quote(graph.ids[need])] : [],
      ),
    )
  if (run === undefined) {
    if (state === "blocked") return `waits for ${needs("blocked", "released")}`
    if (state === "upstream_failed") {
      const failed = needs("failed", "upstream_failed")
      return failed === "" ? "the flow run ended before it" : `not run, as ${failed} failed`
    }
    if (state !== "skipped") return null
    const skipped = needs("skipped")
    return `rule ${graph.rules[place]} does not hold${skipped === "" ? "" : `, as ${skipped} was skipped`}`
  }
  const error = run.error === null ? null : `${run.error.name}: ${run.error.message}`
  if (run.state === "retrying") return `again at ${timeOf(run.dueAt)}${error === null ? "" : `; ${error}`}`
  return state === "failed" ? error : null
}

/** How many steps are in which state, such as `12: 8 succeeded, 1 running, 3 blocked`. */
export const countsText = (rows: ReadonlyArray<{ readonly state: DrawState }>): string => {
  const parts = Object.entries(countsOf(rows)).map(([state, count]) => `${count} ${state}`)
  return `${rows.length}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`
}

/** How many steps are in which state. */
export const countsOf = (rows: ReadonlyArray<{ readonly state: DrawState }>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { state } of rows) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

const namedMax = 5

/** At most five of them. */
export const named = (names: ReadonlyArray<string>): string => {
  const more = names.length - namedMax
  return `${names.slice(0, namedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

/** The steps of a graph with their layers, from 1 on, and what they need. */
export const graphSteps = (graph: Graph) => {
  const { starts, order } = graph.layers
  const layers = new Int32Array(graph.size)
  for (let layer = 0; layer < graph.layers.count; layer++)
    for (const step of order.subarray(starts[layer], starts[layer + 1])) layers[step] = layer + 1
  return graph.ids.map((id, step) => ({
    id,
    layer: layers[step] ?? 0,
    needs: Array.from(targetsOf(graph.needs, step), (need) => graph.ids[need] ?? ""),
    rule: graph.rules[step] ?? "all_success",
    allowFailure: graph.allowFailure[step] === true,
  }))
}
