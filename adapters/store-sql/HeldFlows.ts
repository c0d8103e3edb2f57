// The flow runs that a transaction has in hand: read once, changed in memory, and written together at its end, or
// earlier, before anything of them is read from the database.
import type { Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { deadlineOf, stepRun, type Totals } from "../../core/flow/Advance.ts"
import type { Plan, PlanKey } from "./Definitions.ts"
import { done, nothing, type Sql, wait, waitAll } from "./Sql.ts"
import { StepRows } from "./StepRows.ts"
import type { ExpansionRow } from "./Tables.ts"
import type { Work } from "./Work.ts"

/** An expanded run within a transaction. */
export interface Flow {
  /** Of its expansion. */
  readonly id: number
  readonly run: Pick<Run, "id" | "chainId" | "nominalAt">
  readonly key: PlanKey
  readonly plan: Plan
  readonly round: number
  readonly retryInMillis: number | null
  readonly deadlineAt: number | null
  /** Whether its steps read an input of the expansion's own, and not that of the run. */
  readonly hasInput: boolean
  readonly rows: StepRows
  totals: Totals
  /** As its row says. */
  storedFaults: number
  /** Whether its run waits for its steps. */
  waits: boolean
}

/** The flow runs of one transaction. */
export class HeldFlows {
  private readonly work: Work
  /** `null`: that run did not expand. */
  private readonly held = new Map<string, Flow | null>()
  private readonly changed = new Set<Flow>()

  constructor(work: Work) {
    this.work = work
  }

  /** Reads flow runs that will be asked for. */
  *load(runIds: ReadonlyArray<string>): Sql<void> {
    const missing = runIds.filter((id) => !this.held.has(id))
    if (missing.length === 0) return
    const { tables, definitions } = this.work
    for (const id of missing) this.held.set(id, null)
    for (const row of yield* wait(tables.flows.expansions(missing)))
      this.hold(row, yield* definitions.planOf(tables.flows, row))
  }

  /** An expanded run; `null` for one that did not expand. */
  get(runId: string): Sql<Flow | null> {
    const known = this.held.get(runId)
    return known === undefined ? this.getOne(runId) : done(known)
  }

  private *getOne(runId: string): Sql<Flow | null> {
    const { tables, definitions } = this.work
    const [row] = yield* wait(tables.flows.expansions([runId]))
    const flow = row === undefined ? null : this.hold(row, yield* definitions.planOf(tables.flows, row))
    this.held.set(runId, flow)
    return flow
  }

  private hold(row: ExpansionRow, plan: Plan): Flow {
    const { id, runId, definitionId, list, size, round, faults, retryInMillis, deadlineAt, hasInput } = row
    // What this transaction has done to the run may not be in its row yet.
    const { state, waitingFor } = this.work.known(runId)?.run ?? row.run
    return this.open({
      id,
      run: { id: runId, chainId: row.run.chainId, nominalAt: row.run.nominalAt },
      key: { definitionId, list, size },
      plan,
      round,
      retryInMillis,
      deadlineAt,
      hasInput,
      totals: { open: waitingFor, faults },
      storedFaults: faults,
      waits: state === "blocked",
    })
  }

  private open(fields: Omit<Flow, "rows">): Flow {
    const { id, run, plan, round } = fields
    const { tables } = this.work
    const startRun = (step: number): Run =>
      Transition.enqueued(stepRun(run, plan.expansion, step, round), 0, tables.now())
    const flow = { ...fields, rows: new StepRows(tables.flows, id, plan.graph, startRun) }
    this.held.set(run.id, flow)
    return flow
  }

  /** Enters a run that expands for the first time; none of its steps has a row. */
  *enter(
    run: Flow["run"],
    key: PlanKey,
    plan: Plan,
    input: string | null | undefined,
    retryInMillis: number | null,
  ): Sql<Flow> {
    const { tables } = this.work
    const deadlineAt = deadlineOf(plan.expansion, tables.now())
    const row = { runId: run.id, ...key, retryInMillis, deadlineAt }
    const id = yield* wait(tables.flows.insert({ ...row, input }))
    const totals = { open: plan.graph.size, faults: 0 }
    const hasInput = input !== undefined
    return this.open({
      id,
      run,
      key,
      plan,
      round: 1,
      retryInMillis,
      deadlineAt,
      hasInput,
      totals,
      storedFaults: 0,
      waits: true,
    })
  }

  /** A further round of a run that expands again. */
  *reopen(before: Flow, plan: Plan, retryInMillis: number | null): Sql<Flow> {
    const { tables } = this.work
    const deadlineAt = deadlineOf(plan.expansion, tables.now())
    const round = before.round + 1
    yield* wait(tables.flows.nextRound({ id: before.id, round, retryInMillis, deadlineAt }))
    return this.open({ ...before, plan, round, retryInMillis, deadlineAt, waits: true })
  }

  /** Takes the totals of a flow run whose rows were changed. */
  setTotals(flow: Flow, totals: Totals): void {
    flow.totals = totals
    this.changed.add(flow)
    this.work.setWaiting(flow.run.id, totals.open)
  }

  /** Its run does not wait any more. */
  *leave(flow: Flow): Sql<void> {
    flow.waits = false
    if (flow.deadlineAt !== null) yield* wait(this.work.tables.flows.endDeadline(flow.id))
  }

  /** Whether something is kept back. */
  get isChanged(): boolean {
    return this.changed.size > 0
  }

  /** Writes what is kept back: rows of steps, the runs of those that were released, and totals. */
  flush(): Sql<void> {
    return this.changed.size === 0 ? nothing : this.write()
  }

  private *write(): Sql<void> {
    const { tables } = this.work
    const flows = [...this.changed]
    this.changed.clear()
    const taken = flows.map(({ rows }) => rows.take())
    const steps = taken.flatMap((each) => each.steps)
    const runs = taken.flatMap((each) => each.runs)
    const totals = flows.map((flow) => {
      const { id, run, storedFaults } = flow
      const { open, faults } = flow.totals
      flow.storedFaults = faults
      return { id, runId: run.id, open, faults: faults === storedFaults ? null : faults }
    })
    const stored = runs.length === 0 ? 0 : tables.runs.insertNew(runs)
    yield* waitAll([
      stored,
      steps.length === 0 ? undefined : tables.flows.putSteps(steps),
      tables.flows.setTotals(totals),
    ])
    if ((yield* wait(stored)) < runs.length) throw new Error("A step was released whose run is there already")
    for (const { job, state } of runs) this.work.count(job, null, state)
  }
}
