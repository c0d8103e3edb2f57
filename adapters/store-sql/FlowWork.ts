// Flows within one transaction: whatever ends the run of a step moves its flow run on, and whatever ends a flow run
// calls off its open steps and moves on the flow run whose step it is. What follows goes on the list of `Work`, never
// recursion.
import * as Result from "effect/Result"
import type { StepEnd, StepState } from "../../core/domain/Flow.ts"
import type { Settlement } from "../../core/domain/Outcome.ts"
import type { ErrorInfo, Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import * as Advance from "../../core/flow/Advance.ts"
import { targetsOf } from "../../core/flow/Edges.ts"
import { Progress } from "../../core/flow/Progress.ts"
import { resetOf, type RerunFrom } from "../../core/flow/Rerun.ts"
import { isFault, tallyOf } from "../../core/flow/Summary.ts"
import { calledOffReason } from "../../core/ports/StoreDriver.ts"
import type { Plan } from "./Definitions.ts"
import { type Flow, HeldFlows } from "./HeldFlows.ts"
import { outputOf, wholePlan } from "./outputs.ts"
import { nothing, type Sql, wait } from "./Sql.ts"
import type { EndedRun, Work } from "./Work.ts"

/** What `settle` hears of a run that expands. */
export type Expanding = Extract<Settlement, { kind: "expanded" }>

/** The flows of one transaction. */
export class FlowWork {
  readonly held: HeldFlows
  private readonly work: Work

  constructor(work: Work) {
    this.work = work
    this.held = new HeldFlows(work)
  }

  /** Whether something of them is kept back. */
  get isChanged(): boolean {
    return this.held.isChanged
  }

  /** Writes what is kept back of them. */
  flush(): Sql<void> {
    return this.held.flush()
  }

  /** Reads ahead what the ends of these runs will touch, if they are steps or flow runs. */
  *expect(runs: ReadonlyArray<Run>): Sql<void> {
    const parents = new Set(runs.flatMap(({ parentId }) => parentId ?? []))
    const waiting = runs.filter(({ state, attempt }) => state === "blocked" && attempt > 0)
    yield* this.held.load([...new Set([...parents, ...waiting.map(({ id }) => id)])])
    for (const parentId of parents) {
      const flow = yield* this.held.get(parentId)
      if (flow === null) continue
      const steps = runs.flatMap(({ parentId: id, step }) => (id === parentId && step !== null ? [step] : []))
      const { dependents } = flow.plan.graph
      yield* flow.rows.load([...steps, ...steps.flatMap((step) => [...targetsOf(dependents, step)])])
    }
  }

  /** The run of a step has ended. */
  *stepEnded({ id, state, parentId, step }: EndedRun): Sql<void> {
    const flow = parentId === null ? null : yield* this.held.get(parentId)
    if (flow === null || !flow.waits || step === null) return
    // With what it may release, which is looked at next.
    yield* flow.rows.load(targetsOf(flow.plan.graph.dependents, step), step)
    const row = flow.rows.get(step)
    if (row.state === "released" && row.runId === id) yield* this.end(flow, step, Advance.endOf(state))
  }

  /** A run that waited for its steps does not wait any more. */
  *left(runId: string): Sql<void> {
    const flow = yield* this.held.get(runId)
    if (flow === null) return
    yield* this.held.flush()
    yield* this.held.leave(flow)
    if (flow.totals.open === 0) return
    const released = yield* wait(this.work.tables.flows.released(flow.id))
    if (released.length > 1) yield* this.work.load(released.slice(0, 100))
    for (const id of released) yield* this.cancel(id, calledOffReason)
  }

  *cancel(runId: string, reason: string): Sql<void> {
    const found = yield* this.work.find(runId)
    const after = found === undefined ? null : Transition.cancelled(found.run, reason, this.work.now())
    if (found !== undefined && after !== null)
      yield* this.work.save(found.run, after, found.settledToken, null)
  }

  /** One step, which is loaded, ends, and all that follows from it. */
  *end(flow: Flow, step: number, how: StepEnd): Sql<void> {
    const { graph } = flow.plan
    const advance = Advance.advancing(graph, flow.rows, flow.totals, step, how)
    let next = advance.next()
    while (next.done !== true) {
      yield* flow.rows.load(targetsOf(graph.dependents, next.value))
      next = advance.next()
    }
    yield* this.conclude(flow, next.value)
  }

  /** Releases the first steps of a round. */
  *begin(flow: Flow): Sql<void> {
    yield* this.conclude(flow, Advance.begin(flow.plan.graph, flow.rows, flow.totals))
  }

  /** Takes what has become of a flow run's steps, and ends the run if nothing is left to do. */
  private conclude(flow: Flow, totals: Advance.Totals): Sql<void> {
    const before = flow.totals
    this.held.setTotals(flow, totals)
    switch (Advance.outcome(totals, before, Advance.isFailFast(flow.plan.expansion))) {
      case "running":
        return nothing
      case "succeeded":
        return this.succeed(flow)
      case "failed":
        return this.failWithSteps(flow)
    }
  }

  private *failWithSteps(flow: Flow): Sql<void> {
    const error = Advance.stepsError(flow.plan.graph, yield* faultyOf(flow))
    yield* this.fail(flow, error, flow.retryInMillis)
  }

  private *succeed(flow: Flow): Sql<void> {
    // The outputs of steps are read from the rows of their runs.
    yield* this.work.flush()
    const output = yield* outputOf(this.work.tables.flows, flow)
    if (Result.isFailure(output)) return yield* this.fail(flow, output.failure, null)
    yield* this.leaveWith(
      flow,
      (run) => Transition.stepsSucceeded(run, output.success, this.work.now()),
      null,
    )
  }

  private *fail(flow: Flow, error: ErrorInfo, retryInMillis: number | null): Sql<void> {
    const change = (run: Run) => Transition.stepsFailed(run, error, retryInMillis, this.work.now())
    yield* this.leaveWith(flow, change, error)
  }

  private *leaveWith({ run }: Flow, change: (run: Run) => Run | null, error: ErrorInfo | null): Sql<void> {
    const found = yield* this.work.find(run.id)
    const after = found === undefined ? null : change(found.run)
    if (found !== undefined && after !== null)
      yield* this.work.save(found.run, after, found.settledToken, error)
  }

  /** Sets back the steps where a re-run begins, and what is behind them; `states` are those of all steps. */
  *restart(flow: Flow, states: ReadonlyArray<StepState>, from: RerunFrom): Sql<void> {
    const { graph } = flow.plan
    const reset = resetOf(graph, states, from)
    const next = [...states]
    for (const step of reset) next[step] = "blocked"
    const { openCount, faultCount } = tallyOf(graph, next)
    this.held.setTotals(flow, { open: openCount, faults: faultCount })
    yield* flow.rows.restart(reset, new Progress(graph, next))
  }

  /** A run expands, or expands again: what failed starts anew. `false` when its token does not hold. */
  *expand(run: Run, settlement: Expanding): Sql<boolean> {
    if (Transition.expanded(run, settlement.token, 0) === null) return false
    const flow = yield* this.roundOf(run, settlement)
    const after = Transition.expanded(run, settlement.token, flow.totals.open)
    if (after !== null) yield* this.work.save(run, after, settlement.token, null)
    yield* this.begin(flow)
    return true
  }

  private *roundOf(run: Run, { expansion, retryInMillis }: Expanding): Sql<Flow> {
    const { tables, definitions } = this.work
    const before = yield* this.held.get(run.id)
    if (before === null) {
      const { key, plan } = yield* definitions.enter(tables.flows, expansion)
      const flow = yield* this.held.enter(run, key, plan, expansion.input, retryInMillis)
      flow.rows.begin()
      return flow
    }
    const plan: Plan = yield* wholePlan(tables.flows, before)
    const flow = yield* this.held.reopen(before, plan, retryInMillis)
    const states = yield* flow.rows.states()
    yield* this.restart(flow, states.map(Advance.closedState), "failed")
    return flow
  }

  /** Ends the round of a flow run that is over its deadline; `false` when that does not wait any more. */
  *timeOut(runId: string): Sql<boolean> {
    const flow = yield* this.held.get(runId)
    if (flow === null || !flow.waits) return false
    const error = Advance.timeoutError(flow.totals.open, flow.plan.expansion)
    yield* this.fail(flow, error, flow.retryInMillis)
    return true
  }
}

function* faultyOf({ rows, plan }: Flow): Sql<ReadonlyArray<number>> {
  return (yield* rows.states()).flatMap((state, step) => {
    const hasEnded = state !== "blocked" && state !== "released"
    return hasEnded && isFault(plan.graph, step, state) ? [step] : []
  })
}
