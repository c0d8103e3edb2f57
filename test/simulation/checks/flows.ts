// I6, call by call: a dependent starts when all its needs have succeeded and is skipped when one never will; the run of
// a step is made when its rule holds, once a round; what the store counts is what is there; a flow run ends as its
// steps say, and none of them outlives it.
import type { StepEnd } from "../../../core/domain/Flow.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import { isFinal, type Run, type RunState } from "../../../core/domain/Run.ts"
import type { Call, Change } from "../Ground.ts"
import type { Check, Scene } from "./Check.ts"
import { FlowModel, type From } from "./FlowModel.ts"

type Mark = { runId: string; step: string; end: "succeeded" | "skipped"; output: string | null }

/** The checks. */
export const flowChecks = ({ watch, ground: { table } }: Scene): Check => {
  const models = new Map<string, FlowModel>()
  const dependents = new Map<string, Array<string>>()
  const violated = (run: Run, what: string): void => watch.violated("I6", `${run.job} ${run.id} ${what}`)
  const runOf = (id: string): Run | undefined => table.entries.get(id)?.run

  /** Chains: what needs a run that has just ended. */
  const checkDependents = (need: Run): void => {
    for (const id of dependents.get(need.id) ?? []) {
      const run = runOf(id)
      if (run?.state === "blocked") checkWaiting(run)
      if (run?.state === "skipped" && run.attempt === 0) checkSkipped(run)
    }
  }
  const checkWaiting = (run: Run): void => {
    const states = [...new Set(run.needs)].map((id) => runOf(id)?.state)
    const open = states.filter((state) => state !== "succeeded").length
    if (open === 0) violated(run, "is blocked, and all its needs have succeeded")
    if (states.some((state) => state !== "succeeded" && isFinal(state ?? "dead")))
      violated(run, "is blocked, and one of its needs will never succeed")
    if (open !== run.waitingFor) violated(run, `waits for ${open} runs, and counts ${run.waitingFor}`)
  }
  const checkReleased = (run: Run): void => {
    if (run.state !== "ready" && run.state !== "scheduled") return
    const missing = run.needs.filter((id) => runOf(id)?.state !== "succeeded")
    if (missing.length > 0) violated(run, `was released, and ${missing.join()} did not succeed`)
  }
  const checkSkipped = (run: Run): void => {
    const isBroken = run.needs.some((id) => {
      const state = runOf(id)?.state ?? "dead"
      return isFinal(state) && state !== "succeeded"
    })
    if (!isBroken) violated(run, "was skipped, and its needs may succeed still")
  }

  const begin = (call: Call, run: Run): void => {
    const known = models.get(run.id)
    if (known !== undefined) return known.open(call.now)
    const expansion = (call.args[0] as ReadonlyArray<Settlement>)
      .map((each) => (each.kind === "expanded" && each.id === run.id ? each.expansion : null))
      .find((each) => each !== null)
    if (expansion === undefined || expansion === null)
      return violated(run, `waits for steps after ${call.operation}`)
    const model = new FlowModel(expansion)
    models.set(run.id, model)
    watch.counters.flows++
    model.open(call.now)
  }

  const beginAgain = (call: Call, run: Run): void => {
    const [oldId, , from] = call.args as [string, string, From]
    const old = models.get(oldId)
    if (old === undefined || old.isOpen) return violated(run, `re-runs ${oldId}, which did not end as a flow`)
    watch.counters.flows++
    models.set(run.id, old.again(from, call.now))
  }

  const close = (call: Call, model: FlowModel, run: Run): void => {
    const { openCount, hasFault, hasNewFault, expansion, deadlineAt } = model
    const failFast = expansion.kind === "flow" ? expansion.definition.failFast : expansion.failFast
    model.wasCutShort = openCount > 0
    if (run.state === "succeeded") {
      if (openCount > 0) violated(run, `succeeded with ${openCount} steps open`)
      if (hasFault) violated(run, "succeeded, and a step of it failed")
      const output = outputOf(model)
      if (run.output !== output) violated(run, `has the output ${run.output} instead of ${output}`)
    } else if (run.state === "dead" || run.state === "retrying") {
      const isOver = openCount === 0 && hasFault
      const isLate =
        deadlineAt !== null && deadlineAt <= call.now && ["claim", "promote"].includes(call.operation)
      if (!isOver && !(failFast && hasNewFault) && !isLate)
        violated(run, `failed with ${openCount} steps open and ${hasFault ? "a" : "no"} fault`)
    } else if (run.state !== "cancelled") violated(run, `became ${run.state} while it waited for steps`)
    model.close()
  }

  const outputOf = ({ expansion, marks, runs, steps }: FlowModel): string | null => {
    const of = (id: string): string | null =>
      marks.has(id) ? (marks.get(id) ?? null) : (runOf(runs.get(id) ?? "")?.output ?? null)
    if (expansion.kind === "map") return `[${steps.map(({ id }) => of(id) ?? "null").join(",")}]`
    return expansion.definition.output === null ? null : of(expansion.definition.output)
  }

  const checkStep = (run: Run, { before }: Change, touched: Set<string>): void => {
    const model = models.get(run.parentId ?? "")
    if (model === undefined || run.step === null) return violated(run, "is a step of no flow run")
    const step = model.steps[run.step]
    if (step === undefined) return violated(run, `is step ${run.step} of ${model.steps.length}`)
    if (before === null) {
      const problem = model.start(step.id, run.id)
      if (problem !== null) violated(run, `was made for step "${step.id}" ${problem}`)
      const { expansion } = model
      const plan = expansion.kind === "flow" ? expansion.definition.steps[run.step] : expansion.step
      const input = expansion.kind === "flow" ? null : (expansion.items[run.step] ?? null)
      if (run.job !== plan?.job || run.attemptMax !== plan.attemptMax || run.input !== input)
        violated(run, `is not what step "${step.id}" plans`)
    }
    if (isFinal(run.state)) model.end(step.id, run.id, endOf(run.state))
    if (before === null || isFinal(run.state)) touched.add(run.parentId ?? "")
  }

  /** What the store keeps of a flow run is what comes out by looking at everything. */
  const recount = (id: string): void => {
    const entry = table.entries.get(id)
    const model = models.get(id)
    if (entry === undefined || model === undefined || entry.flow === null) return
    const { run, flow } = entry
    const states = model.states()
    for (const [place, { id: step }] of model.steps.entries()) {
      const state = states.get(step)
      if (flow.states[place] !== state)
        violated(run, `has step "${step}" as ${flow.states[place]}, which is ${state} by its needs`)
      const made = model.runs.get(step)
      if (state === "released" && made === undefined) violated(run, `never started step "${step}"`)
      const child = made === undefined ? undefined : runOf(made)
      if (run.state !== "blocked" && child !== undefined && !isFinal(child.state))
        violated(run, `is ${run.state}, and its step "${step}" is ${child.state}`)
    }
    if (run.state !== "blocked") return
    const { openCount, expansion } = model
    if (openCount === 0) violated(run, "waits for steps, which have all ended")
    if (run.waitingFor !== openCount)
      violated(run, `waits for ${openCount} steps, and counts ${run.waitingFor}`)
    const failFast = expansion.kind === "flow" ? expansion.definition.failFast : expansion.failFast
    if (failFast && model.hasNewFault) violated(run, "goes on, and a step failed that ends it")
  }

  /** Once more, by the other model, and only of those whose steps all had their say. */
  const checkOutcome = (id: string, model: FlowModel): void => {
    const entry = table.entries.get(id)
    if (entry === undefined || entry.flow === null) return
    const { run, flow } = entry
    if (model.isOpen || model.wasCutShort || (run.state !== "succeeded" && run.state !== "dead")) return
    const expected = model.expected()
    if (expected.run !== (run.state === "succeeded" ? "succeeded" : "failed"))
      violated(run, `is ${run.state}, and its steps say ${expected.run}`)
    for (const [place, { id: step }] of model.steps.entries())
      if (flow.states[place] !== expected.states.get(step))
        violated(run, `ended with "${step}" as ${flow.states[place]} instead of ${expected.states.get(step)}`)
  }

  return {
    saw: (call, answer) => {
      const touched = new Set<string>()
      if (call.operation === "markStep" && answer === "marked") {
        const { runId, step, end, output } = call.args[0] as Mark
        models.get(runId)?.mark(step, end, output)
        touched.add(runId)
      }
      for (const change of call.changes) {
        const { before, after } = change
        if (before === null) {
          for (const need of after.needs) dependents.set(need, [...(dependents.get(need) ?? []), after.id])
        }
        if (after.parentId !== null) checkStep(after, change, touched)
        if (before?.state === "blocked" && before.attempt === 0) checkReleased(after)
        const isExpanded = after.state === "blocked" && after.attempt > 0
        if (isExpanded && before?.state === "running") begin(call, after)
        if (isExpanded && before === null) beginAgain(call, after)
        const model = models.get(after.id)
        if (model === undefined) continue
        touched.add(after.id)
        if (before?.state === "blocked" && after.state !== "blocked") close(call, model, after)
      }
      for (const { before, after } of call.changes) {
        if (isFinal(after.state)) checkDependents(after)
        if (before === null && after.state === "blocked" && after.attempt === 0) checkWaiting(after)
      }
      for (const id of touched) recount(id)
    },
    end: () => {
      for (const [id, model] of models) checkOutcome(id, model)
    },
  }
}

const endOf = (state: RunState): StepEnd => (state === "succeeded" || state === "skipped" ? state : "failed")
