// What is asked of flow runs: what a step may read, where the steps stand, and what people do to them by hand.
import * as Result from "effect/Result"
import type { Expansion } from "../../core/domain/Flow.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { closedState } from "../../core/flow/Advance.ts"
import { targetsOf } from "../../core/flow/Edges.ts"
import { type Graph, placesOf } from "../../core/flow/Graph.ts"
import { resetOf } from "../../core/flow/Rerun.ts"
import type {
  FlowStoreDriver,
  FlowView,
  Rerun,
  RerunFrom,
  StepInputs,
  StepView,
} from "../../core/ports/StoreDriver.ts"
import { refusal } from "../../core/ports/StoreLimits.ts"
import { definitionOf } from "./Definitions.ts"
import type { Flow } from "./HeldFlows.ts"
import { wholePlan } from "./outputs.ts"
import { type Sql, wait } from "./Sql.ts"
import type { Work } from "./Work.ts"

type Mark = Parameters<FlowStoreDriver["markStep"]>[0]

interface StepRun {
  readonly id: string
  readonly step: number
}

const unreached: StepView = { state: "blocked", runId: null, reason: null }

/** What steps may read. */
export function* stepInputs(work: Work, runIds: ReadonlyArray<string>): Sql<ReadonlyArray<StepInputs>> {
  const byParent = new Map<string, Array<StepRun>>()
  const found = runIds.length === 0 ? [] : yield* wait(work.tables.flows.stepRuns(runIds))
  for (const { id, parentId, step } of found) {
    const others = byParent.get(parentId)
    if (others === undefined) byParent.set(parentId, [{ id, step }])
    else others.push({ id, step })
  }
  yield* work.flows.held.load([...byParent.keys()])
  const inputs = new Map<string, StepInputs>()
  for (const [parentId, steps] of byParent)
    for (const each of yield* inputsWithin(work, parentId, steps)) inputs.set(each.runId, each)
  return runIds.flatMap((id) => inputs.get(id) ?? [])
}

/** What steps of one flow run may read: what is the same for many of them is read once. */
function* inputsWithin(
  work: Work,
  parentId: string,
  steps: ReadonlyArray<StepRun>,
): Sql<ReadonlyArray<StepInputs>> {
  const { flows, runs } = work.tables
  const flow = yield* work.flows.held.get(parentId)
  if (flow === null) return []
  const { graph } = flow.plan
  const inGraph = steps.filter(({ step }) => step < graph.size)
  const places = [...new Set(inGraph.flatMap(({ step }) => [...targetsOf(graph.needs, step)]))]
  const found = places.length === 0 ? [] : yield* wait(flows.results(flow.id, places))
  const results = new Map(found.map((each) => [each.step, each]))
  const needs = new Map(
    places.map((place) => {
      const { state, output } = results.get(place) ?? { ...unreached, output: null }
      return [place, { id: graph.ids[place]!, state: flow.waits ? state : closedState(state), output }]
    }),
  )
  const input = flow.hasInput
    ? yield* wait(flows.inputOf(flow.id))
    : ((yield* wait(runs.read([parentId])))[0]?.run.input ?? null)
  return inGraph.map(({ id, step }) => ({
    runId: id,
    input,
    needs: Array.from(targetsOf(graph.needs, step), (place) => needs.get(place)!),
  }))
}

/** Where the steps of a run stand; `null` when it is not there or did not expand. */
export function* flowOf(work: Work, runId: string): Sql<FlowView | null> {
  const { flows, runs } = work.tables
  const [row] = yield* wait(runs.read([runId]))
  const flow = yield* work.flows.held.get(runId)
  if (row === undefined || flow === null) return null
  const { definitionId } = flow.key
  const expansion: Expansion =
    definitionId === null
      ? (yield* wholePlan(flows, flow)).expansion
      : { kind: "flow", definition: yield* definitionOf(flows, definitionId) }
  const views = Array.from({ length: flow.plan.graph.size }, (): StepView => unreached)
  for (const { step, state, runId: id, reason } of yield* wait(flows.results(flow.id, null)))
    views[step] = { state, runId: id, reason }
  const steps = flow.waits ? views : views.map((view) => ({ ...view, state: closedState(view.state) }))
  const { round, deadlineAt } = flow
  const whole = flow.hasInput ? { ...expansion, input: yield* wait(flows.inputOf(flow.id)) } : expansion
  return { run: row.run, expansion: whole, round, deadlineAt, steps }
}

/** Makes a new run of a flow run that has ended. */
export function* rerunFlow(work: Work, runId: string, newId: string, from: RerunFrom): Sql<Rerun> {
  const { flows, runs } = work.tables
  yield* wait(runs.lock([runId]))
  const old = (yield* work.find(runId))?.run
  const before = yield* work.flows.held.get(runId)
  if (old === undefined || before === null) return { result: "unknown", runId: null }
  if (old.parentId !== null) {
    throw refusal(`runId: run "${runId}" is a step; re-run its flow run "${old.parentId}"`)
  }
  const places = typeof from === "string" ? from : placesIn(before.plan.graph, from)
  if (!isFinal(old.state)) return { result: "running", runId: null }
  const done = yield* doneBy(work, old, newId)
  if (done !== null) return { result: "exists", runId: done }
  const states = (yield* before.rows.states()).map(closedState)
  if (resetOf(before.plan.graph, states, places).length === 0) return { result: "nothing", runId: null }

  const run = Transition.rerun(old, newId, work.now())
  const plan = yield* wholePlan(flows, before)
  const input = before.hasInput ? yield* wait(flows.inputOf(before.id)) : undefined
  // The policy's delays were for the old run: this one is a single attempt.
  const flow = yield* work.flows.held.enter(run, before.key, plan, input, null)
  yield* wait(flows.copySteps(before.id, flow.id))
  yield* flow.rows.states()
  yield* work.flows.restart(flow, states, places)
  yield* work.insert({ ...run, waitingFor: flow.totals.open })
  yield* wait(runs.markReplayed(runId, newId))
  yield* work.flows.begin(flow)
  return { result: "created", runId: newId }
}

/** The run that does the work of an ended one again, if there is one; refuses an id that is taken. */
function* doneBy(work: Work, old: Run, newId: string): Sql<string | null> {
  const taken = (yield* work.find(newId))?.run
  if (taken?.replayOf === old.id) return newId
  const replayedBy = (yield* wait(work.tables.runs.replayedBy(old.id))) ?? null
  if (replayedBy === null && taken !== undefined) throw refusal(`newId: run "${newId}" is there already`)
  return replayedBy
}

/** Ends a step by hand that has not ended. */
export function* markStep(work: Work, mark: Mark): Sql<"marked" | "ended" | "unknown"> {
  yield* wait(work.tables.runs.lock([mark.runId]))
  const flow = yield* work.flows.held.get(mark.runId)
  const place = flow?.plan.graph.places.get(mark.step)
  if (flow === null || place === undefined) return "unknown"
  yield* flow.rows.load([place])
  const row = flow.rows.get(place)
  if (!flow.waits || (row.state !== "blocked" && row.state !== "released")) return "ended"
  yield* markEnded(work, flow, place, mark)
  if (row.runId !== null) yield* work.flows.cancel(row.runId, mark.reason)
  return "marked"
}

function* markEnded(work: Work, flow: Flow, step: number, { end, reason, output }: Mark): Sql<void> {
  // The words come first: with this step the flow run may end, and its output be read.
  flow.rows.end(step, end)
  work.flows.held.setTotals(flow, flow.totals)
  yield* work.flush()
  const own = end === "succeeded" ? output : null
  yield* wait(work.tables.flows.setWords(flow.id, step, reason, own))
  yield* work.flows.end(flow, step, end)
}

const placesIn = (graph: Graph, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const places = placesOf(graph, "from", ids)
  if (Result.isFailure(places)) throw refusal(places.failure.message)
  return places.success
}
