// What people ask of flow runs: where their steps stand, to run some of them again, to end one by hand.
import * as Result from "effect/Result"
import type * as Effect from "effect/Effect"
import { InvalidInput, NotFound } from "../../core/domain/Errors.ts"
import type { StepState, TriggerRule } from "../../core/domain/Flow.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { FlowOperations } from "../../core/engine/FlowOperations.ts"
import type { FlowView, RerunFrom } from "../../core/ports/StoreDriver.ts"
import { refuse } from "./send.ts"

/** A flow run, or a list that is mapped, and where its steps stand. */
export interface FlowRun {
  readonly run: Run
  /** Which version of the flow it began with, and stays on; `null` for a list. */
  readonly version: string | null
  /** Attempts at its steps so far. */
  readonly round: number
  /** When this attempt is over; `null`: no limit. */
  readonly deadlineAt: Date | null
  readonly steps: ReadonlyArray<{
    /** Of an item of a list: its place. */
    readonly id: string
    readonly needs: ReadonlyArray<string>
    readonly rule: TriggerRule
    readonly allowFailure: boolean
    readonly state: StepState
    /** Its latest run. */
    readonly runId: string | null
    readonly reason: string | null
  }>
}

/** How a step is ended by hand. */
export interface StepEndOptions {
  readonly as: "succeeded" | "skipped"
  /** Why, 1 to 512 characters; kept with the step. */
  readonly reason: string
  /** What the steps that need it read; only with `succeeded`. */
  readonly output?: unknown
}

/** What can be asked of flow runs. */
export interface FlowCalls {
  /** Where the steps of a flow run stand; `undefined` when there is no such run, or it has no steps. */
  readonly flow: (runId: string) => Promise<FlowRun | undefined>
  /**
   * Makes a new run of a flow run that has ended; answers its id. What failed (default) or was skipped starts anew, or
   * the steps of these ids, and all that is behind them; the others keep state and output.
   */
  readonly rerun: (runId: string, from?: RerunFrom) => Promise<string>
  /** Ends a step that has not ended, and cancels its run. What needs it is released. */
  readonly markStep: (runId: string, step: string, end: StepEndOptions) => Promise<void>
}

/** Over a running engine. */
export const makeFlowCalls = (
  core: FlowOperations,
  perform: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
): FlowCalls => ({
  flow: async (runId) => {
    const view = await perform(core.flow(runId))
    return view === null ? undefined : describe(view)
  },
  rerun: async (runId, from = "failed") => {
    if (from !== "failed" && from !== "skipped") {
      const ids: ReadonlyArray<unknown> = Array.isArray(from) ? from : []
      if (ids.length === 0 || ids.some((id) => typeof id !== "string"))
        return refused("from", from, '"failed", "skipped" or a list of ids of steps')
      await expectSteps("from", core, perform, runId, from)
    }
    const { result, runId: newId } = await perform(core.rerun(runId, from))
    if (newId !== null) return newId
    if (result === "running") throw notNow(runId, "it has not ended", "Wait for its end, or cancel it.")
    if (result === "nothing")
      throw notNow(runId, `none of its steps would start anew`, "Name the steps to begin with.")
    throw noFlowRun(runId)
  },
  markStep: async (runId, step, { as, reason, output }) => {
    if (as !== "succeeded" && as !== "skipped") return refused("as", as, '"succeeded" or "skipped"')
    if (typeof reason !== "string" || reason === "" || reason.length > 512)
      return refused("reason", reason, "a text of 1 to 512 characters")
    if (as === "skipped" && output !== undefined)
      return refused("output", output, "left out for a step that is skipped")
    await expectSteps("step", core, perform, runId, [step])
    const text = Result.getOrThrow(encodePayload("output", output))
    const answer = await perform(core.markStep({ runId, step, end: as, reason, output: text }))
    if (answer === "unknown") throw noFlowRun(runId)
    if (answer === "ended")
      throw notNow(runId, `step ${quote(step)}, or the run itself, has ended`, "Re-run it from that step.")
  },
})

const expectSteps = async (
  field: string,
  core: FlowOperations,
  perform: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  runId: string,
  ids: ReadonlyArray<string>,
): Promise<void> => {
  const view = await perform(core.flow(runId))
  if (view === null) throw noFlowRun(runId)
  const known = new Set(describe(view).steps.map(({ id }) => id))
  const missing = ids.find((id) => !known.has(id))
  if (missing === undefined) return
  const names = [...known].slice(0, 10).map(quote).join(", ")
  throw new InvalidInput({
    field,
    reason: `run ${runId} has no step ${quote(missing)}`,
    next: `Name one of its steps: ${names}${known.size > 10 ? ` and ${known.size - 10} more` : ""}.`,
  })
}

const describe = ({ run, expansion, round, deadlineAt, steps }: FlowView): FlowRun => ({
  run,
  version: expansion.kind === "flow" ? expansion.definition.version : null,
  round,
  deadlineAt: deadlineAt === null ? null : new Date(deadlineAt),
  steps: steps.map((view, place) => {
    const plan = expansion.kind === "flow" ? expansion.definition.steps[place] : undefined
    return {
      id: plan?.id ?? String(place),
      needs: plan?.needs ?? [],
      rule: plan?.rule ?? "all_success",
      allowFailure: plan?.allowFailure === true,
      ...view,
    }
  }),
})

const refused = (field: string, value: unknown, wanted: string): never =>
  Result.getOrThrow(refuse(field, value, wanted))

const notNow = (runId: string, reason: string, next: string): InvalidInput =>
  new InvalidInput({ field: `run ${runId}`, reason, next })

const noFlowRun = (id: string): NotFound =>
  new NotFound({
    id,
    field: "flow run",
    reason: `there is no flow run "${id}"`,
    next: "Check the id; old runs are removed, and a run without steps is none.",
  })
