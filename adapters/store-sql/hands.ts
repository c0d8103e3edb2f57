// The flow runs that a transaction has in hand: read once, changed in memory, and written together at its end, or
// earlier, before anything of them is read from the file.
import { sql } from "drizzle-orm"
import type { Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import { deadlineOf, stepRun, type Totals } from "../../core/flow/Advance.ts"
import { makeDefinitions, type Plan, type PlanKey } from "./definitions.ts"
import type { Session } from "./Session.ts"
import { at, prepare, prepareRows } from "./Statement.ts"
import { prepareSteps, StepRows } from "./StepRows.ts"

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
  /** Whether its run waits for its steps. */
  waits: boolean
}

/** Makes the part of a session that holds flow runs. */
export const makeHands = (session: Session) => {
  const { database, now } = session
  const definitions = makeDefinitions(database)
  const steps = prepareSteps(database)
  const load = prepare(
    database,
    sql`select e.id, e.definition_id, e.list, e.size, e.round, e.faults, e.retry_in, e.deadline_at, e.has_input, d.name, d.version,
      r.state, r.waiting_for, r.nominal_at, r.chain_id
      from expansions as e join runs as r on r.id = e.run_id left join definitions as d on d.id = e.definition_id
      where e.run_id = ${at("runId")}`,
  )
  const insert = prepare(
    database,
    sql`insert into expansions (run_id, definition_id, list, size, round, faults, retry_in, deadline_at, has_input,
      input)
      values (${at("runId")}, ${at("definitionId")}, ${at("list")}, ${at("size")}, 1, 0, ${at("retryIn")},
      ${at("deadlineAt")}, ${at("hasInput")}, ${at("input")}) returning id`,
  )
  const inputOf = prepare(database, sql`select input from expansions where id = ${at("id")}`)
  const nextRound = prepare(
    database,
    sql`update expansions set round = ${at("round")}, retry_in = ${at("retryIn")}, deadline_at = ${at("deadlineAt")}
      where id = ${at("id")}`,
  )
  const setFaults = prepare(
    database,
    sql`update expansions set faults = ${at("faults")} where id = ${at("id")}`,
  )
  const endDeadline = prepare(database, sql`update expansions set deadline_at = null where id = ${at("id")}`)
  const removeSteps = prepare(database, sql`delete from steps where expansion_id = ${at("id")}`)
  const remove = prepare(database, sql`delete from expansions where id = ${at("id")} returning definition_id`)
  const setWaiting = prepareRows(
    database,
    (values) =>
      sql`update runs set waiting_for = v.column2 from (values ${values}) as v where runs.id = v.column1`,
    ["?", "?"],
  )

  const held = new Map<string, Flow>()
  const changed = new Set<Flow>()

  const open = (fields: Omit<Flow, "rows">): Flow => {
    const { id, run, plan, round } = fields
    const startRun = (step: number): Run =>
      Transition.enqueued(stepRun(run, plan.expansion, step, round), 0, now())
    const flow = { ...fields, rows: new StepRows(steps, id, plan.graph, startRun) }
    held.set(run.id, flow)
    return flow
  }

  /** An expanded run; `undefined` for one that did not expand. */
  const get = (runId: string): Flow | undefined => {
    const known = held.get(runId)
    if (known !== undefined) return known
    const row = load.get({ runId })
    if (row === undefined) return undefined
    const key = {
      definitionId: row["definition_id"] as number | null,
      list: row["list"] as string | null,
      size: row["size"] as number,
    }
    return open({
      id: row["id"] as number,
      run: {
        id: runId,
        chainId: row["chain_id"] as string | null,
        nominalAt: row["nominal_at"] as number | null,
      },
      key,
      plan: definitions.planOf(key, row),
      round: row["round"] as number,
      retryInMillis: row["retry_in"] as number | null,
      deadlineAt: row["deadline_at"] as number | null,
      hasInput: row["has_input"] === 1,
      totals: { open: row["waiting_for"] as number, faults: row["faults"] as number },
      waits: row["state"] === "blocked",
    })
  }

  return {
    get,
    definitions,
    /** Enters a run that expands for the first time; none of its steps has a row. */
    enter: (
      run: Flow["run"],
      key: PlanKey,
      plan: Plan,
      input: string | null | undefined,
      retryInMillis: number | null,
    ): Flow => {
      const deadlineAt = deadlineOf(plan.expansion, now())
      const hasInput = input !== undefined
      const values = { runId: run.id, ...key, retryIn: retryInMillis, deadlineAt, input: input ?? null }
      const id = insert.get({ ...values, hasInput: hasInput ? 1 : 0 })?.["id"] as number
      const totals = { open: plan.graph.size, faults: 0 }
      return open({ id, run, key, plan, round: 1, retryInMillis, deadlineAt, hasInput, totals, waits: true })
    },
    /** The input that its steps read; `undefined`: that of the run. */
    inputOf: ({ id, hasInput }: Flow): string | null | undefined =>
      hasInput ? (inputOf.get({ id })?.["input"] as string | null) : undefined,
    /** A further round of a run that expands again. */
    reopen: (before: Flow, plan: Plan, retryInMillis: number | null): Flow => {
      const deadlineAt = deadlineOf(plan.expansion, now())
      const round = before.round + 1
      nextRound.run({ id: before.id, round, retryIn: retryInMillis, deadlineAt })
      return open({ ...before, plan, round, retryInMillis, deadlineAt, waits: true })
    },
    /** Takes the totals of a flow run whose rows were changed. */
    setTotals: (flow: Flow, totals: Totals): void => {
      if (totals.faults !== flow.totals.faults) setFaults.run({ id: flow.id, faults: totals.faults })
      flow.totals = totals
      changed.add(flow)
    },
    /** Its run does not wait any more. */
    leave: (flow: Flow): void => {
      flow.waits = false
      if (flow.deadlineAt !== null) endDeadline.run({ id: flow.id })
    },
    /** Removes what is kept of the steps of a run that is removed. */
    forget: (id: number): void => {
      removeSteps.run({ id })
      const definitionId = remove.get({ id })?.["definition_id"] ?? null
      if (definitionId !== null) definitions.forget(definitionId as number)
    },
    flush: (): void => {
      if (changed.size === 0) return
      const flows = [...changed]
      changed.clear()
      const taken = flows.map(({ rows }) => rows.take())
      steps.put(taken.flatMap((each) => each.steps))
      const runs = taken.flatMap((each) => each.runs)
      if (!session.insertAll(runs)) throw new Error("A step was released whose run is there already")
      setWaiting(flows.map(({ run, totals }) => [run.id, totals.open]))
    },
    reset: (): void => {
      held.clear()
      changed.clear()
    },
  }
}
