// Flows within the transactions of a session: whatever ends the run of a step moves its flow run on, and whatever ends
// a flow run calls off its open steps and moves on the flow run whose step it is. One list of what is to be done, never
// recursion.
import * as Result from "effect/Result"
import { sql } from "drizzle-orm"
import type { StepEnd, StepState } from "../../core/domain/Flow.ts"
import type { Settlement } from "../../core/domain/Outcome.ts"
import type { ErrorInfo, Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import * as Advance from "../../core/flow/Advance.ts"
import { Progress } from "../../core/flow/Progress.ts"
import { resetOf, type RerunFrom } from "../../core/flow/Rerun.ts"
import { isFault, tallyOf } from "../../core/flow/Summary.ts"
import { calledOffReason } from "../../core/ports/StoreDriver.ts"
import type { Plan } from "./definitions.ts"
import { type Flow, makeHands } from "./hands.ts"
import { makeOutputs } from "./outputs.ts"
import type { EndedRun, Session } from "./Session.ts"
import { at, prepare } from "./Statement.ts"

/** What `settle` hears of a run that expands. */
export type Expanding = Extract<Settlement, { kind: "expanded" }>

/** Flows as the operations of a store move them. */
export type Flows = ReturnType<typeof makeAdvance>

/** Makes the part of a store that moves flows, once for a session, and has that tell it what ends. */
export const makeAdvance = (session: Session) => {
  const { database, now } = session
  const hands = makeHands(session)
  const outputs = makeOutputs(database)
  const released = prepare(
    database,
    sql`select run_id from steps where expansion_id = ${at("id")} and state = 'released'`,
  )

  /** Takes what has become of a flow run's steps, and ends the run if nothing is left to do. */
  const conclude = (flow: Flow, totals: Advance.Totals): void => {
    const before = flow.totals
    hands.setTotals(flow, totals)
    const outcome = Advance.outcome(totals, before, Advance.isFailFast(flow.plan.expansion))
    if (outcome === "succeeded") succeed(flow)
    if (outcome === "failed")
      fail(flow, Advance.stepsError(flow.plan.graph, faultyOf(flow)), flow.retryInMillis)
  }

  const faultyOf = ({ rows, plan }: Flow): ReadonlyArray<number> =>
    rows.states().flatMap((state, step) => {
      const hasEnded = state !== "blocked" && state !== "released"
      return hasEnded && isFault(plan.graph, step, state) ? [step] : []
    })

  const succeed = (flow: Flow): void => {
    hands.flush()
    const output = outputs.ofFlow(flow)
    if (Result.isFailure(output)) return fail(flow, output.failure, null)
    leaveWith(flow, (run) => Transition.stepsSucceeded(run, output.success, now()), null)
  }

  const fail = (flow: Flow, error: ErrorInfo, retryInMillis: number | null): void =>
    leaveWith(flow, (run) => Transition.stepsFailed(run, error, retryInMillis, now()), error)

  const leaveWith = ({ run }: Flow, change: (run: Run) => Run | null, error: ErrorInfo | null): void => {
    const found = session.find(run.id)
    const after = found === undefined ? null : change(found.run)
    if (found !== undefined && after !== null) session.save(found.run, after, found.settledToken, error)
  }

  /** One step ends, and all that follows from it. */
  const end = (flow: Flow, step: number, how: StepEnd): void =>
    conclude(flow, Advance.advance(flow.plan.graph, flow.rows, flow.totals, step, how))

  /** Releases the first steps of a round. */
  const begin = (flow: Flow): void => conclude(flow, Advance.begin(flow.plan.graph, flow.rows, flow.totals))

  const stepEnded = ({ id, state, parentId, step }: EndedRun): void => {
    const flow = parentId === null ? undefined : hands.get(parentId)
    if (flow === undefined || !flow.waits || step === null) return
    const row = flow.rows.get(step)
    if (row.state === "released" && row.runId === id) end(flow, step, Advance.endOf(state))
  }

  const callOff = (runId: string): void => {
    const flow = hands.get(runId)
    if (flow === undefined) return
    hands.flush()
    hands.leave(flow)
    if (flow.totals.open === 0) return
    for (const row of released.all({ id: flow.id })) cancel(row["run_id"] as string, calledOffReason)
  }

  const cancel = (runId: string, reason: string): void => {
    const found = session.find(runId)
    const after = found === undefined ? null : Transition.cancelled(found.run, reason, now())
    if (found !== undefined && after !== null) session.save(found.run, after, found.settledToken, null)
  }

  // What is to be done. Doing it may add to the list by way of `save`, which must not begin a second walk of it.
  let tasks: Array<{ readonly ended: EndedRun } | { readonly left: string }> = []
  let isWalked = false
  const add = (task: (typeof tasks)[number]): void => {
    tasks.push(task)
    if (isWalked) return
    isWalked = true
    for (const each of tasks) {
      if ("left" in each) callOff(each.left)
      else stepEnded(each.ended)
    }
    tasks = []
    isWalked = false
  }
  session.hook({
    ended: (run) => add({ ended: run }),
    left: (runId) => add({ left: runId }),
    flush: hands.flush,
    reset: () => {
      hands.reset()
      tasks = []
      isWalked = false
    },
  })

  /** The plan with all items of a list. */
  const wholePlan = (flow: Flow): Plan => {
    const { expansion, graph } = flow.plan
    return expansion.kind === "flow"
      ? flow.plan
      : { graph, expansion: { ...expansion, items: outputs.items(flow) } }
  }

  /** Sets back the steps where a re-run begins, and what is behind them; `states` are those of all steps. */
  const restart = (flow: Flow, states: ReadonlyArray<StepState>, from: RerunFrom): void => {
    const { graph } = flow.plan
    const reset = resetOf(graph, states, from)
    const next = [...states]
    for (const step of reset) next[step] = "blocked"
    const { openCount, faultCount } = tallyOf(graph, next)
    hands.setTotals(flow, { open: openCount, faults: faultCount })
    flow.rows.restart(reset, new Progress(graph, next))
  }

  const roundOf = (run: Run, { expansion, retryInMillis }: Expanding): Flow => {
    const before = hands.get(run.id)
    if (before === undefined) {
      const { key, plan } = hands.definitions.enter(expansion)
      const flow = hands.enter(run, key, plan, expansion.input, retryInMillis)
      flow.rows.begin()
      return flow
    }
    const flow = hands.reopen(before, wholePlan(before), retryInMillis)
    restart(flow, flow.rows.states().map(Advance.closedState), "failed")
    return flow
  }

  return {
    ...hands,
    outputs,
    end,
    begin,
    cancel,
    restart,
    wholePlan,
    /** A run expands, or expands again: what failed starts anew. `false` when its token does not hold. */
    expand: (run: Run, settlement: Expanding): boolean => {
      if (Transition.expanded(run, settlement.token, 0) === null) return false
      const flow = roundOf(run, settlement)
      const after = Transition.expanded(run, settlement.token, flow.totals.open)
      if (after !== null) session.save(run, after, settlement.token, null)
      begin(flow)
      return true
    },
    /** Ends the round of a flow run that is over its deadline; `false` when that does not wait any more. */
    timeOut: (runId: string): boolean => {
      const flow = hands.get(runId)
      if (flow === undefined || !flow.waits) return false
      fail(flow, Advance.timeoutError(flow.totals.open, flow.plan.expansion), flow.retryInMillis)
      return true
    },
  }
}
