// What the change of a run brings about in other runs: those that need it are released or skipped, the steps of a
// flow run that is over are called off, and a step that ended moves its flow run, which may be a step itself, and so
// on. One loop over a list that grows: a chain may be as long as it likes, and flows as deep; a call stack may not.
import type { StepEnd } from "../../core/domain/Flow.ts"
import { type ErrorInfo, isFinal, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import * as Result from "effect/Result"
import {
  advance,
  begin,
  endOf,
  isFailFast,
  mapOutput,
  outcome,
  stepRun,
  stepsError,
  type Totals,
} from "../../core/flow/Advance.ts"
import { calledOffReason } from "../../core/ports/StoreDriver.ts"
import type { FlowRun } from "./FlowRun.ts"
import type { Entry, RunTable } from "./RunTable.ts"

/** Why a run that needs this one cannot start. */
export const endedReason = (need: Run): string => `"${need.job}" (run ${need.id}) ended ${need.state}`

/** Does all that follows from the change of one run, which the table has already. */
export const follow = (table: RunTable, first: Entry, now: number): void =>
  followAll(table, new Set([first]), now)

/** The runs of a round's first steps, of a flow run that is blocked. */
export const beginSteps = (table: RunTable, entry: Entry, flow: FlowRun, now: number): void => {
  const before = flow.totals
  flow.totals = begin(flow.plan.graph, rowsOf(table, entry, flow, now), before)
  const changed = new Set<Entry>()
  conclude(table, entry, flow, before, now, changed)
  followAll(table, changed, now)
}

/** Ends a step by hand that has not ended, and its run. */
export const endByHand = (
  table: RunTable,
  entry: Entry,
  flow: FlowRun,
  step: number,
  end: StepEnd,
  reason: string,
  now: number,
): void => {
  const changed = new Set<Entry>()
  endStep(table, entry, flow, step, end, now, changed)
  callOff(table, flow.runIdOf(step) ?? "", reason, now, changed)
  followAll(table, changed, now)
}

const followAll = (table: RunTable, changed: Set<Entry>, now: number): void => {
  for (const entry of changed) {
    const { run, flow } = entry
    if (flow !== null && run.state !== "blocked") {
      for (const id of flow.close()) callOff(table, id, calledOffReason, now, changed)
    }
    if (!isFinal(run.state)) continue
    for (const dependent of entry.dependents) {
      const after =
        run.state === "succeeded"
          ? Transition.needMet(dependent.run, now)
          : Transition.needFailed(dependent.run, endedReason(run), now)
      if (after === null) continue
      table.put(dependent, after, now)
      if (isFinal(after.state)) changed.add(dependent)
    }
    const parent = run.parentId === null ? undefined : table.entries.get(run.parentId)
    if (parent === undefined || parent.flow === null || run.step === null) continue
    const isPresent = parent.run.state === "blocked" && parent.flow.runIdOf(run.step) === run.id
    if (!isPresent || parent.flow.hasEnded(run.step)) continue
    endStep(table, parent, parent.flow, run.step, endOf(run.state), now, changed)
  }
}

const callOff = (table: RunTable, id: string, reason: string, now: number, changed: Set<Entry>): void => {
  const entry = table.entries.get(id)
  const next = entry === undefined ? null : Transition.cancelled(entry.run, reason, now)
  if (entry === undefined || next === null) return
  table.put(entry, next, now)
  changed.add(entry)
}

const endStep = (
  table: RunTable,
  entry: Entry,
  flow: FlowRun,
  step: number,
  end: StepEnd,
  now: number,
  changed: Set<Entry>,
): void => {
  const before = flow.totals
  flow.totals = advance(flow.plan.graph, rowsOf(table, entry, flow, now), before, step, end)
  conclude(table, entry, flow, before, now, changed)
}

const rowsOf = (table: RunTable, entry: Entry, flow: FlowRun, now: number) =>
  flow.rows((step) => {
    const run = stepRun(entry.run, flow.plan.expansion, step, flow.round)
    table.insert(Transition.enqueued(run, 0, now))
    return run.id
  })

/** Moves the flow run to where its steps stand: it waits for fewer, or its round is over. */
const conclude = (
  table: RunTable,
  entry: Entry,
  flow: FlowRun,
  before: Totals,
  now: number,
  changed: Set<Entry>,
): void => {
  const { expansion, graph } = flow.plan
  const result = outcome(flow.totals, before, isFailFast(expansion))
  if (result === "running") {
    const next = Transition.stepEnded(entry.run, flow.totals.open)
    if (next !== null) table.put(entry, next, now)
    return
  }
  const fail = (error: ErrorInfo, retryInMillis: number | null): void =>
    table.put(entry, Transition.stepsFailed(entry.run, error, retryInMillis, now) ?? entry.run, now, error)
  if (result === "failed") fail(stepsError(graph, flow.faulty()), flow.retryInMillis)
  else {
    const output = flowOutput(table, flow)
    if (Result.isFailure(output)) fail(output.failure, null)
    else table.put(entry, Transition.stepsSucceeded(entry.run, output.success, now) ?? entry.run, now)
  }
  changed.add(entry)
}

const flowOutput = (table: RunTable, flow: FlowRun): Result.Result<string | null, ErrorInfo> => {
  const { expansion, graph } = flow.plan
  if (expansion.kind === "map") return mapOutput(graph.ids.map((_, step) => stepOutput(table, flow, step)))
  const step = graph.places.get(expansion.definition.output ?? "")
  return Result.succeed(step === undefined ? null : stepOutput(table, flow, step))
}

/** The output of a step; `null` for one that did not succeed: neither its run nor its mark has any. */
export const stepOutput = (table: RunTable, flow: FlowRun, step: number): string | null => {
  const mark = flow.markOf(step)
  return mark === null ? (table.entries.get(flow.runIdOf(step) ?? "")?.run.output ?? null) : mark.output
}
