// What the flow commands show of a flow run: its steps with their runs, in words and numbers. Reads the store only; a
// flow run keeps the definition that it began with, so no config is needed to look at one.
import * as Result from "effect/Result"
import { NotFound } from "../../core/domain/Errors.ts"
import type { Expansion, FlowStep, StepState } from "../../core/domain/Flow.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { DrawState } from "../../core/flow/Draw.ts"
import { targetsOf } from "../../core/flow/Edges.ts"
import { type Graph, parseGraph } from "../../core/flow/Graph.ts"
import type { FlowView, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { batchMax } from "../../core/ports/StoreLimits.ts"
import { NotNow } from "./errors.ts"
import { timeOf } from "./format.ts"
import { notFound } from "./open.ts"

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

/** A run that has steps, or may get some when it begins; refuses an unknown id, and a run that has none for good. */
export const findFlow = async (
  store: StoreDriver,
  id: string,
): Promise<{ readonly run: Run; readonly view: FlowView | null }> => {
  const [run] = await store.get([id])
  if (run === undefined) throw notFound("flow run", id)
  const view = await store.flowOf(id)
  if (view !== null) return { run, view }
  if (run.parentId !== null) throw await isStep(store, run)
  if (!isFinal(run.state)) return { run, view: null }
  throw new NotFound({
    id,
    field: "flow run",
    reason: `run "${id}" has no steps: it ended before it had any, or "${run.job}" is no flow`,
    next: `Look at it as a run: uhrwerk run show ${id}`,
  })
}

/** The same for a run that must have begun. */
export const findBegun = async (store: StoreDriver, id: string): Promise<FlowView> => {
  const { run, view } = await findFlow(store, id)
  if (view !== null) return view
  throw new NotNow(`Run ${id} of "${run.job}" has no steps yet. ${whyNot(id)}`)
}

/** What to do about a run without steps. */
export const whyNot = (id: string): string => `Why it has not begun: uhrwerk run explain ${id}`

const isStep = async (store: StoreDriver, run: Run): Promise<NotFound> => {
  const parent = await store.flowOf(run.parentId ?? "")
  const name = parent === null || run.step === null ? "a step" : stepName(parent.expansion, run.step)
  return new NotFound({
    id: run.id,
    field: "flow run",
    reason: `run "${run.id}" has no steps: it is ${name} of run "${run.parentId}"`,
    next: `Look at the whole: uhrwerk flow show ${run.parentId}`,
  })
}

/** `step "load"`, or `item 3`. */
export const stepName = (expansion: Expansion, place: number): string =>
  expansion.kind === "flow"
    ? `step ${quote(expansion.definition.steps[place]?.id ?? String(place))}`
    : `item ${place}`

/** The steps as a graph; the items of a list need one another never. */
export const graphOf = (expansion: Expansion): Graph => {
  const steps: ReadonlyArray<FlowStep> =
    expansion.kind === "flow"
      ? expansion.definition.steps
      : expansion.items.map((_, place) => ({ id: String(place), needs: [] }))
  return Result.getOrThrow(parseGraph(steps))
}

/** The place of a step by its id; refuses one that the flow run does not have, and says which it has. */
export const placeOf = (runId: string, { ids, places }: Graph, step: string): number => {
  const place = places.get(step)
  if (place !== undefined) return place
  const names = ids.slice(0, 10).map(quote).join(", ")
  throw new NotFound({
    id: step,
    field: "step",
    reason: `run "${runId}" has no step ${quote(step)}`,
    next: `Name one of its steps: ${names}${ids.length > 10 ? ` and ${ids.length - 10} more` : ""}`,
  })
}

/** Reads the runs of all steps. */
export const readFlow = async (store: StoreDriver, view: FlowView): Promise<ShownFlow> => {
  const ids = view.steps.flatMap(({ runId }) => (runId === null ? [] : [runId]))
  const runs = new Map<string, Run>()
  for (let at = 0; at < ids.length; at += batchMax)
    for (const run of await store.get(ids.slice(at, at + batchMax))) runs.set(run.id, run)
  const graph = graphOf(view.expansion)
  const now = await store.now()
  const rows = view.steps.map((step, place) => rowOf(view, graph, place, runs.get(step.runId ?? ""), now))
  return { view, graph, rows }
}

const rowOf = (view: FlowView, graph: Graph, place: number, run: Run | undefined, now: number): StepRow => {
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
    reason: isKept ? keptText(view, run, reason) : (reason ?? reasonOf(view, graph, place, run)),
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

const reasonOf = (view: FlowView, graph: Graph, place: number, run: Run | undefined): string | null => {
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
