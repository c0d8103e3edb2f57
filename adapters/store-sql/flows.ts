// What is asked of flow runs: what a step may read, where the steps stand, and what people do to them by hand.
import * as Result from "effect/Result"
import { sql } from "drizzle-orm"
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
import { checkBatch, refusal } from "../../core/ports/StoreLimits.ts"
import type { Flows } from "./advance.ts"
import type { Flow } from "./hands.ts"
import type { Session } from "./Session.ts"
import { at, prepare } from "./Statement.ts"

type Mark = Parameters<FlowStoreDriver["markStep"]>[0]

interface StepRun {
  readonly runId: string
  readonly step: number
}

const unreached: StepView = { state: "blocked", runId: null, reason: null }

/** The part of a store that answers for flows; `flows` moves them. */
export const makeFlows = (session: Session, flows: Flows) => {
  const { database, now } = session
  const stepRuns = prepare(
    database,
    sql`select id, parent_id, step from runs where id in (select value from json_each(${at("ids")}))
      and parent_id is not null and step is not null`,
  )
  const replayedBy = prepare(database, sql`select replayed_by from dead_letters where run_id = ${at("id")}`)
  const markReplayed = prepare(
    database,
    sql`update dead_letters set replayed_by = ${at("newId")} where run_id = ${at("id")}`,
  )
  // The steps of a run that has ended, as they read from then on.
  const copySteps = prepare(
    database,
    sql`insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept, reason, output)
      select ${at("to")}, step, case state when 'released' then 'failed' when 'blocked' then 'upstream_failed' else state end,
      succeeded, failed, skipped, run_id, run_id is not null, reason, output from steps where expansion_id = ${at("from")}`,
  )
  const setWords = prepare(
    database,
    sql`update steps set reason = ${at("reason")}, output = ${at("output")}
      where expansion_id = ${at("id")} and step = ${at("step")}`,
  )

  /** What steps of one flow run may read: what is the same for many of them is read once. */
  const inputsWithin = (parentId: string, steps: ReadonlyArray<StepRun>): ReadonlyArray<StepInputs> => {
    const flow = flows.get(parentId)
    const parent = session.find(parentId)?.run
    if (flow === undefined || parent === undefined) return []
    const { graph } = flow.plan
    const inGraph = steps.filter(({ step }) => step < graph.size)
    const places = [...new Set(inGraph.flatMap(({ step }) => [...targetsOf(graph.needs, step)]))]
    const results = new Map(flows.outputs.results(flow, places).map((each) => [each.step, each]))
    const needs = new Map(
      places.map((place) => {
        const { state, output } = results.get(place) ?? { ...unreached, output: null }
        return [place, { id: graph.ids[place]!, state: flow.waits ? state : closedState(state), output }]
      }),
    )
    const own = flows.inputOf(flow)
    const input = own === undefined ? parent.input : own
    return inGraph.map(({ runId, step }) => ({
      runId,
      input,
      needs: Array.from(targetsOf(graph.needs, step), (place) => needs.get(place)!),
    }))
  }

  const inputsOf = (runIds: ReadonlyArray<string>): ReadonlyArray<StepInputs> => {
    const steps = new Map<string, Array<StepRun>>()
    for (const row of stepRuns.all({ ids: JSON.stringify(runIds) })) {
      const parentId = row["parent_id"] as string
      const step = { runId: row["id"] as string, step: row["step"] as number }
      const others = steps.get(parentId)
      if (others === undefined) steps.set(parentId, [step])
      else others.push(step)
    }
    const inputs = new Map(
      [...steps]
        .flatMap(([parentId, each]) => inputsWithin(parentId, each))
        .map((each) => [each.runId, each]),
    )
    return runIds.flatMap((id) => inputs.get(id) ?? [])
  }

  const viewOf = (runId: string): FlowView | null => {
    const run = session.find(runId)?.run
    const flow = flows.get(runId)
    if (run === undefined || flow === undefined) return null
    const { definitionId } = flow.key
    const expansion: Expansion =
      definitionId === null
        ? flows.wholePlan(flow).expansion
        : { kind: "flow", definition: flows.definitions.definitionOf(definitionId) }
    const views = Array.from({ length: flow.plan.graph.size }, (): StepView => unreached)
    for (const { step, state, runId, reason } of flows.outputs.results(flow))
      views[step] = { state, runId, reason }
    const steps = flow.waits ? views : views.map((view) => ({ ...view, state: closedState(view.state) }))
    const input = flows.inputOf(flow)
    const whole = input === undefined ? expansion : { ...expansion, input }
    return { run, expansion: whole, round: flow.round, deadlineAt: flow.deadlineAt, steps }
  }

  const rerunFlow = (runId: string, newId: string, from: RerunFrom): Rerun => {
    const old = session.find(runId)?.run
    const before = flows.get(runId)
    if (old === undefined || before === undefined) return { result: "unknown", runId: null }
    if (old.parentId !== null) {
      throw refusal(`runId: run "${runId}" is a step; re-run its flow run "${old.parentId}"`)
    }
    const places = typeof from === "string" ? from : placesIn(before.plan.graph, from)
    if (!isFinal(old.state)) return { result: "running", runId: null }
    const done = doneBy(old, newId)
    if (done !== null) return { result: "exists", runId: done }
    const states = before.rows.states().map(closedState)
    if (resetOf(before.plan.graph, states, places).length === 0) return { result: "nothing", runId: null }

    const run = Transition.rerun(old, newId, now())
    // The policy's delays were for the old run: this one is a single attempt.
    const flow = flows.enter(run, before.key, flows.wholePlan(before), flows.inputOf(before), null)
    copySteps.run({ from: before.id, to: flow.id })
    flow.rows.states()
    flows.restart(flow, states, places)
    session.insert({ ...run, waitingFor: flow.totals.open })
    markReplayed.run({ id: runId, newId })
    flows.begin(flow)
    return { result: "created", runId: newId }
  }

  /** The run that does the work of an ended one again, if there is one; refuses an id that is taken. */
  const doneBy = (old: Run, newId: string): string | null => {
    const taken = session.find(newId)?.run
    if (taken?.replayOf === old.id) return newId
    const replayed = (replayedBy.get({ id: old.id })?.["replayed_by"] ?? null) as string | null
    if (replayed === null && taken !== undefined) throw refusal(`newId: run "${newId}" is there already`)
    return replayed
  }

  const markStep = ({ runId, step, end, reason, output }: Mark): "marked" | "ended" | "unknown" => {
    const flow = flows.get(runId)
    const place = flow?.plan.graph.places.get(step)
    if (flow === undefined || place === undefined) return "unknown"
    const row = flow.rows.get(place)
    if (!flow.waits || (row.state !== "blocked" && row.state !== "released")) return "ended"
    markEnded(flow, place, { end, reason, output })
    if (row.runId !== null) flows.cancel(row.runId, reason)
    return "marked"
  }

  const markEnded = (
    flow: Flow,
    step: number,
    { end, reason, output }: Pick<Mark, "end" | "reason" | "output">,
  ): void => {
    // The words come first: with this step the flow run may end, and its output be read.
    flow.rows.end(step, end)
    flows.setTotals(flow, flow.totals)
    session.flush()
    setWords.run({ id: flow.id, step, reason, output: end === "succeeded" ? output : null })
    flows.end(flow, step, end)
  }

  return {
    stepInputs: (runIds: ReadonlyArray<string>): ReadonlyArray<StepInputs> => {
      checkBatch("runIds", runIds)
      return session.transaction(() => inputsOf(runIds), true)
    },
    flowOf: (runId: string): FlowView | null => session.transaction(() => viewOf(runId), true),
    rerunFlow: (runId: string, newId: string, from: RerunFrom): Rerun =>
      session.transaction(() => rerunFlow(runId, newId, from)),
    markStep: (mark: Mark): "marked" | "ended" | "unknown" => session.transaction(() => markStep(mark)),
  }
}

const placesIn = (graph: Graph, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const places = placesOf(graph, "from", ids)
  if (Result.isFailure(places)) throw refusal(places.failure.message)
  return places.success
}
