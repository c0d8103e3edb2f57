// Runs that expand into steps, in the memory store: the beginning of a round, and the operations of flows. What
// happens when a step ends is in `follow.ts`, where every change of a run passes.
import { isFinal, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import * as Result from "effect/Result"
import { targetsOf } from "../../core/flow/Edges.ts"
import { placesOf } from "../../core/flow/Graph.ts"
import type { FlowStoreDriver, FlowView, Rerun, RerunFrom, StepInputs } from "../../core/ports/StoreDriver.ts"
import { checkBatch, refusal } from "../../core/ports/StoreLimits.ts"
import { FlowRun, type Plan } from "./FlowRun.ts"
import { beginSteps, endByHand, stepOutput } from "./follow.ts"
import type { Entry, RunTable } from "./RunTable.ts"

/** Begins a round of a run: the first, or one that re-runs what failed. `false` when its token does not hold. */
export const expand = (
  table: RunTable,
  entry: Entry,
  token: number,
  plan: Plan,
  retryInMillis: number | null,
  now: number,
): boolean => {
  const next = Transition.expanded(entry.run, token, 0)
  if (next === null) return false
  // A later round keeps to what the first began with, whatever the handler says now.
  const flow = (entry.flow ??= new FlowRun(table.plans.take(plan)))
  flow.open(flow.resetFrom("failed"), retryInMillis, now)
  table.put(entry, next, now)
  beginSteps(table, entry, flow, now)
  return true
}

/** The operations of flows. */
export const makeFlows = (table: RunTable, clock: () => number) => ({
  stepInputs: (runIds: ReadonlyArray<string>): ReadonlyArray<StepInputs> => {
    checkBatch("runIds", runIds)
    return runIds.flatMap((id) => inputsOf(table, id) ?? [])
  },

  flowOf: (runId: string): FlowView | null => {
    const entry = table.entries.get(runId)
    if (entry === undefined || entry.flow === null) return null
    const { run, flow } = entry
    const steps = flow.states.map((state, step) => {
      const id = flow.runIdOf(step)
      const reason = flow.markOf(step)?.reason ?? table.entries.get(id ?? "")?.run.reason ?? null
      return { state, runId: id, reason }
    })
    const deadlineAt = run.state === "blocked" ? flow.deadlineAt : null
    return { run, expansion: flow.plan.expansion, round: flow.round, deadlineAt, steps }
  },

  rerunFlow: (runId: string, newId: string, from: RerunFrom): Rerun => {
    const entry = table.entries.get(runId)
    if (entry === undefined || entry.flow === null) return { result: "unknown", runId: null }
    const { run, flow } = entry
    if (run.parentId !== null) {
      throw refusal(`runId: run "${runId}" is a step of run "${run.parentId}": re-run that one`)
    }
    const places =
      typeof from === "string" ? from : Result.getOrElse(placesOf(flow.plan.graph, "from", from), raise)
    if (!isFinal(run.state)) return { result: "running", runId: null }
    const doneBy = redoneBy(table, run, newId)
    if (doneBy !== null) return { result: "exists", runId: doneBy }
    const reset = flow.resetFrom(places)
    if (reset.length === 0) return { result: "nothing", runId: null }
    makeRerun(table, entry, flow, newId, reset, clock())
    return { result: "created", runId: newId }
  },

  markStep: ({ runId, step, end, reason, output }: Parameters<FlowStoreDriver["markStep"]>[0]) => {
    const entry = table.entries.get(runId)
    const place = entry?.flow?.plan.graph.places.get(step)
    if (entry === undefined || entry.flow === null || place === undefined) return "unknown"
    if (entry.run.state !== "blocked" || entry.flow.hasEnded(place)) return "ended"
    entry.flow.mark(place, { reason, output: end === "succeeded" ? output : null })
    endByHand(table, entry, entry.flow, place, end, reason, clock())
    return "marked"
  },
})

const inputsOf = (table: RunTable, runId: string): StepInputs | null => {
  const run = table.entries.get(runId)?.run
  const parent = table.entries.get(run?.parentId ?? "")
  if (!run || run.step === null || parent === undefined || parent.flow === null) return null
  const { flow } = parent
  const { ids, needs } = flow.plan.graph
  if (run.step >= ids.length) return null
  const named = Array.from(targetsOf(needs, run.step), (need) => ({
    id: ids[need] ?? "",
    state: flow.states[need] ?? "blocked",
    output: stepOutput(table, flow, need),
  }))
  const { input = parent.run.input } = flow.plan.expansion
  return { runId, input, needs: named }
}

/** The run that does the work of this one again already. */
const redoneBy = (table: RunTable, run: Run, newId: string): string | null => {
  const there = table.entries.get(newId)
  if (there?.run.replayOf === run.id) return newId
  const replayedBy = table.letters.get(run.id)?.replayedBy ?? null
  if (replayedBy === null && there !== undefined) throw refusal(`newId: run "${newId}" is there already`)
  return replayedBy
}

const makeRerun = (
  table: RunTable,
  old: Entry,
  kept: FlowRun,
  newId: string,
  reset: ReadonlyArray<number>,
  now: number,
): void => {
  const flow = new FlowRun(table.plans.take(kept.plan), kept)
  // One attempt: the delays of the policy were for the old one.
  flow.open(reset, null, now)
  table.keep(flow)
  const letter = table.letters.get(old.run.id)
  if (letter !== undefined) table.markReplayed(letter, newId)
  const entry = table.insert(Transition.rerun(old.run, newId, now), flow)
  beginSteps(table, entry, flow, now)
}

const raise = (error: Error): never => {
  throw refusal(error.message)
}
