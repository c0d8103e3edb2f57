// A run that expands into steps, from its first step to its end: what both stores do in it, over the rows that each
// of them keeps in its own way. Everything here happens within one transaction of the store; nothing is kept.
import * as Result from "effect/Result"
import { type Expansion, flowStepMax, itemMax, type StepEnd, type StepState } from "../domain/Flow.ts"
import { stepRunId } from "../domain/Ids.ts"
import { payloadBytesMax, utf8Length } from "../domain/Payload.ts"
import type { ErrorInfo, NewRun, Run, RunState } from "../domain/Run.ts"
import { quote } from "../domain/TimeSpan.ts"
import { refusal } from "../ports/StoreLimits.ts"
import { type Graph, parseGraph } from "./Graph.ts"
import { type Released, releaseAll, releasing, type StepTable, toTheEnd } from "./Release.ts"
import { isFault, outcomeOf } from "./Summary.ts"

/** The steps of one expanded run, as a store keeps them. */
export interface FlowRows extends StepTable {
  /** The end of a step itself; it was released, or is ended by hand. */
  readonly end: (step: number, end: StepEnd) => void
  /** Makes the run of a step that was released, and notes it in the step's row. */
  readonly start: (step: number) => void
}

/** How many steps have not ended, and how many ended in a way that makes the run fail. */
export interface Totals {
  readonly open: number
  readonly faults: number
}

/** Releases the first steps. Their rows are fresh, or as a re-run left them with `totals` to match. */
export const begin = (graph: Graph, rows: FlowRows, totals: Totals): Totals =>
  follow(graph, rows, totals, releaseAll(graph, rows))

/** One step has ended: writes that, and releases what follows from it. */
export const advance = (graph: Graph, rows: FlowRows, totals: Totals, step: number, end: StepEnd): Totals =>
  toTheEnd(advancing(graph, rows, totals, step, end))

/**
 * The same for rows that must be read first: the step's own before this is asked for, and those of its dependents
 * whenever a step is yielded, as in `releasing`.
 */
export function* advancing(
  graph: Graph,
  rows: FlowRows,
  totals: Totals,
  step: number,
  end: StepEnd,
): Generator<number, Totals, void> {
  rows.end(step, end)
  const released = yield* releasing(graph, rows, step, end)
  return follow(graph, rows, counted(graph, totals, step, end), released)
}

const follow = (graph: Graph, rows: FlowRows, totals: Totals, { run, ended }: Released): Totals => {
  for (const step of run) rows.start(step)
  return ended.reduce((sum, { step, end }) => counted(graph, sum, step, end), totals)
}

const counted = (graph: Graph, { open, faults }: Totals, step: number, end: StepEnd): Totals => ({
  open: open - 1,
  faults: faults + (isFault(graph, step, end) ? 1 : 0),
})

/**
 * What the run comes to now. With `failFast`, a fault since `before` ends it, whatever is open; those that a re-run
 * kept do not, or it could re-run nothing.
 */
export const outcome = (
  { open, faults }: Totals,
  before: Totals,
  failFast: boolean,
): "running" | "succeeded" | "failed" =>
  failFast && faults > before.faults ? "failed" : outcomeOf(open, faults)

/** How the run of a step ended, as the steps that need it see it. */
export const endOf = (state: RunState): StepEnd =>
  state === "succeeded" ? "succeeded" : state === "skipped" ? "skipped" : "failed"

/** How a step counts whose flow run was closed before it ended: called off, or never begun. */
export const closedState = (state: StepState): StepState =>
  state === "released" ? "failed" : state === "blocked" ? "upstream_failed" : state

/**
 * The graph of an expansion; items of a list need nothing of each other. Throws a refusal for too many of either, for
 * steps that make no graph, and for an output that no step has.
 */
export const graphOf = (expansion: Expansion): Graph => {
  if (expansion.kind === "map") {
    const { items } = expansion
    if (items.length > itemMax) throw refusal(`items: ${items.length} are more than ${itemMax}`)
    return Result.getOrThrow(parseGraph(items.map((_, index) => ({ id: String(index), needs: [] }))))
  }
  const { steps, output } = expansion.definition
  if (steps.length > flowStepMax) throw refusal(`steps: ${steps.length} are more than ${flowStepMax}`)
  const parsed = parseGraph(steps)
  if (Result.isFailure(parsed)) throw refusal(parsed.failure.message)
  if (output !== null && !parsed.success.places.has(output)) {
    throw refusal(`output: the flow has no step ${quote(output)}`)
  }
  return parsed.success
}

/** Whether the first fault ends an expanded run. */
export const isFailFast = (expansion: Expansion): boolean =>
  expansion.kind === "flow" ? expansion.definition.failFast : expansion.failFast

/** When a round that begins now is over. */
export const deadlineOf = (expansion: Expansion, now: number): number | null => {
  const timeoutMillis = expansion.kind === "flow" ? expansion.definition.timeoutMillis : null
  return timeoutMillis === null ? null : now + timeoutMillis
}

/** The run of a step. */
export const stepRun = (
  parent: Pick<Run, "id" | "chainId" | "nominalAt">,
  expansion: Expansion,
  step: number,
  round: number,
): NewRun => {
  const { job, queue, priority, attemptMax } =
    expansion.kind === "flow" ? expansion.definition.steps[step]! : expansion.step
  return {
    id: stepRunId(parent.id, step, round),
    job,
    queue,
    // The steps of a flow read its input and what they need; an item is all that its run gets.
    input: expansion.kind === "flow" ? null : (expansion.items[step] ?? null),
    dueAt: null,
    delayMillis: 0,
    priority,
    attemptMax,
    key: null,
    startWithinMillis: null,
    scheduleId: null,
    nominalAt: parent.nominalAt,
    // All runs of one flow run, at any depth, are one chain.
    chainId: parent.chainId ?? parent.id,
    needs: [],
    replayOf: null,
    parentId: parent.id,
    step,
  }
}

/**
 * The output of a list that was mapped: the array of its items' outputs in order, `null` for none. Fails when it is
 * larger than a payload may be; another attempt would not change that.
 */
export const mapOutput = (outputs: ReadonlyArray<string | null>): Result.Result<string, ErrorInfo> => {
  const texts = outputs.map((output) => output ?? "null")
  // Two brackets, and a comma between any two: known before anything is joined.
  const bytes = texts.reduce((sum, text) => sum + utf8Length(text) + 1, 1 + (texts.length === 0 ? 1 : 0))
  if (bytes <= payloadBytesMax) return Result.succeed(`[${texts.join(",")}]`)
  const message = `The outputs of ${texts.length} items are ${bytes} bytes together, more than the ${payloadBytesMax} allowed`
  return Result.fail({ name: "InvalidPayload", message, kind: "payload" })
}

/** Why a run failed whose steps did not end in time. */
export const timeoutError = (open: number, expansion: Expansion): ErrorInfo => {
  const limit = expansion.kind === "flow" ? `${expansion.definition.timeoutMillis} ms` : "time"
  const message = `${open} steps had not ended after the ${limit} allowed`
  return { name: "StepsTimeout", message, kind: "timeout" }
}

/** Why a run whose steps ended badly failed: the first of them by name. */
export const stepsError = (graph: Graph, faulty: ReadonlyArray<number>): ErrorInfo => {
  const named = faulty.slice(0, 5).map((step) => `"${graph.ids[step]}"`)
  const more = faulty.length > named.length ? ` and ${faulty.length - named.length} more` : ""
  const message = `${faulty.length} of ${graph.size} steps failed: ${named.join(", ")}${more}`
  return { name: "StepsFailed", message: message.slice(0, 1000), kind: "error" }
}
