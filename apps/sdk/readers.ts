// What a step reads: the input of its flow run, and over each edge what the step at its other end returned, decoded by
// that one's schema. A mismatch names the edge.
import { decodePayload } from "../../core/domain/Payload.ts"
import type { StepState } from "../../core/domain/Flow.ts"
import type { StepInputs } from "../../core/ports/StoreDriver.ts"
import type { CheckedFlow, CheckedStep } from "./checkFlow.ts"
import { checkInput } from "./input.ts"
import { decodeOutput } from "./output.ts"

/** Reads for the steps of all flows. */
export interface Readers {
  readonly input: (flow: CheckedFlow, inputs: StepInputs) => Promise<unknown>
  readonly needs: (
    flow: CheckedFlow,
    step: CheckedStep,
    inputs: StepInputs,
  ) => Promise<{ readonly needs: Record<string, unknown>; readonly states: Record<string, StepState> }>
  /** The output of a flow run, as its result. */
  readonly output: (flow: CheckedFlow, kept: unknown) => Promise<unknown>
}

/** Readers of all flows of the config. */
export const makeReaders = (flows: ReadonlyMap<string, CheckedFlow>): Readers => {
  const stepsOf = new Map(
    [...flows.values()].map((flow) => [flow, new Map(flow.steps.map((step) => [step.id, step]))] as const),
  )
  const decode = async (field: string, step: CheckedStep | undefined, kept: unknown): Promise<unknown> => {
    if (step === undefined) return kept
    if (step.kind === "flow") {
      const child = flows.get((step.flow as { readonly name: string }).name)
      return child === undefined ? kept : decode(field, outputOf(child), kept)
    }
    const schema = step.options.output
    if (schema === undefined) return kept
    if (step.kind === "step" || !Array.isArray(kept)) return decodeOutput(field, schema, kept)
    return Promise.all(kept.map((item, index) => decodeOutput(`${field}, item ${index}`, schema, item)))
  }
  const outputOf = (flow: CheckedFlow): CheckedStep | undefined =>
    flow.definition.output === null ? undefined : stepsOf.get(flow)?.get(flow.definition.output)

  return {
    input: ({ flow, definition }, { input }) =>
      checkInput(
        `input of flow "${definition.name}"`,
        flow.options.input,
        decodePayload(input),
        "the flow's",
      ),
    needs: async (flow, step, inputs) => {
      const { name } = flow.definition
      const given = new Map(inputs.needs.map((need) => [need.id, need]))
      const values: Array<readonly [string, unknown]> = []
      const ends: Array<readonly [string, StepState]> = []
      for (const [key, id] of step.needs) {
        const { state, output } = given.get(id) ?? { state: "blocked" as const, output: null }
        const from = stepsOf.get(flow)?.get(id)
        const kept = state === "succeeded" ? decodePayload(output) : undefined
        // Most steps have no schema, and there is nothing to wait for.
        const value =
          state === "succeeded" &&
          from !== undefined &&
          (from.kind === "flow" || from.options.output !== undefined)
            ? await decode(`edge "${id}" -> "${step.id}" of flow "${name}"`, from, kept)
            : kept
        values.push([key, value])
        ends.push([key, state])
      }
      // Own fields, whatever the name: to assign `__proto__` would set another object's.
      const [needs, states] = [Object.fromEntries(values), Object.fromEntries(ends)]
      return { needs, states }
    },
    // The step of the output may have been skipped.
    output: async (flow, kept) =>
      kept === undefined
        ? undefined
        : decode(`output of flow "${flow.definition.name}"`, outputOf(flow), kept),
  }
}
