// What the flow commands show of a flow run: its steps with their runs, in words and numbers. Reads the store only; a
// flow run keeps the definition that it began with, so no config is needed to look at one.
import { NotFound } from "../../core/domain/Errors.ts"
import type { Expansion } from "../../core/domain/Flow.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import type { FlowView, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { readSteps, type ShownFlow } from "../sdk/stepRows.ts"
import { NotNow } from "./errors.ts"
import { timeOf } from "./format.ts"
import { notFound } from "./open.ts"

export { countsOf, countsText, graphOf, named, type ShownFlow, type StepRow } from "../sdk/stepRows.ts"

/** Reads the runs of all steps. */
export const readFlow = (store: StoreDriver, view: FlowView): Promise<ShownFlow> =>
  readSteps(store, view, timeOf)

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
