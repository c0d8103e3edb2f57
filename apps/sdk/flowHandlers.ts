// The handlers of flows, of their steps and of the items of lists: they read what the needs returned, ask the condition,
// and answer with an output or with the steps that do the work. What is wrong with a wire is the error of its reader.
import { Answer, type Handler } from "../../adapters/executor-inline/mod.ts"
import { InvalidPayload } from "../../core/domain/Errors.ts"
import { type Expansion, itemMax } from "../../core/domain/Flow.ts"
import { decodePayload, encodePayload, errorInfo, utf8Length } from "../../core/domain/Payload.ts"
import type { Job as CoreJob } from "../../core/domain/Job.ts"
import type { Run } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import { NonRetryable } from "../../core/domain/Signals.ts"
import type { Assignment } from "../../core/ports/Executor.ts"
import type { StepInputs } from "../../core/ports/StoreDriver.ts"
import * as Result from "effect/Result"
import type { CheckedFlow, CheckedStep } from "./checkFlow.ts"
import type { MakeContext } from "./handlers.ts"
import { checkInput } from "./input.ts"
import { decodeOutput, encodeOutput } from "./output.ts"
import { makeReaders, type Readers } from "./readers.ts"
import { isOnWorkers, isWork } from "./work.ts"
import type { Works } from "./works.ts"

/** Handlers for these flows, all of the config. */
export const makeFlowHandlers = (
  flows: ReadonlyMap<string, CheckedFlow>,
  contextOf: MakeContext,
  perform: Works["perform"],
): ReadonlyMap<string, Handler> => {
  const handlers = new Map<string, Handler>()
  const readers = makeReaders(flows)
  for (const flow of flows.values()) {
    handlers.set(flow.definition.name, flowHandler(flow))
    for (const step of flow.steps) {
      const around = { flow, step, flows, readers, contextOf, perform }
      // What is left to workers has none here; a list still says which items there are.
      const isAway = isOnWorkers(step.options.run)
      if (!isAway || step.kind === "map") handlers.set(step.job, stepHandler(around))
      if (step.items !== null && !isAway) handlers.set(step.items.name, itemHandler(around))
    }
  }
  return handlers
}

interface Around {
  readonly flow: CheckedFlow
  readonly step: CheckedStep
  readonly flows: ReadonlyMap<string, CheckedFlow>
  readonly readers: Readers
  readonly contextOf: MakeContext
  readonly perform: Works["perform"]
}

const flowHandler =
  ({ flow, definition }: CheckedFlow): Handler =>
  ({ run }) =>
    answering(async () => {
      const input = decodePayload(run.input)
      // An input that no step could read is refused once, and not by each of them.
      await strict(() => checkInput(`input of run ${run.id}`, flow.options.input, input, "the flow's"))
      return expand({ kind: "flow", definition }, true)
    })

const stepHandler =
  (around: Around): Handler =>
  (assignment, signal) =>
    answering(async () => {
      const { flow, step, readers, contextOf } = around
      const { options, kind } = step
      const inputs = inputsOf(assignment)
      const input = await strict(() => readers.input(flow, inputs))
      const { needs, states } = await strict(() => readers.needs(flow, step, inputs))
      if (options.when !== undefined && !(await options.when(needs, input)))
        return new Answer({ kind: "declined", reason: "Its condition does not hold" })
      if (kind === "flow") {
        const own: unknown = await options.input?.(needs, input)
        return strict(() => subFlow(around, own))
      }
      if (kind === "map") {
        const items: unknown = await options.over(needs, input)
        return strict(() => list(around, inputs, items))
      }
      const ctx = { ...contextOf(assignment, signal), input, needs, states }
      const first: unknown = options.input === undefined ? needs : await options.input(needs, input)
      const field = `output of step "${step.job}"`
      if (isWork(options.run))
        return strict(() => workOutput(around, field, step.job, assignment.run, first, signal))
      const output: unknown = await options.run(first, ctx)
      return strict(() => encodeOutput(field, options.output, output))
    })

const itemHandler =
  (around: Around): Handler =>
  (assignment, signal) =>
    answering(async () => {
      const { flow, step, readers, contextOf } = around
      const { run } = assignment
      const { options, job } = step
      const inputs = inputsOf(assignment)
      const input = await strict(() => readers.input(flow, inputs))
      const index = run.step ?? 0
      const ctx = { ...contextOf(assignment, signal), input, index }
      const item = decodePayload(run.input)
      const field = `output of item ${index} of step "${job}"`
      if (isWork(options.run)) return strict(() => workOutput(around, field, run.job, run, item, signal))
      const output: unknown = await options.run(item, ctx)
      return strict(() => encodeOutput(field, options.output, output))
    })

/** What work that is no function came to. Its output is what a reader will see, so the schema reads it once here. */
const workOutput = async (
  { step, perform }: Around,
  field: string,
  job: string,
  run: Run,
  input: unknown,
  signal: AbortSignal,
): Promise<Answer> => {
  const answer = await perform(job, run, input, signal)
  const { outcome } = answer
  if (outcome.kind === "succeeded")
    await decodeOutput(field, step.options.output, decodePayload(outcome.output))
  return answer
}

/** The flow that a step runs, with the input that was made for it. */
const subFlow = async ({ step, flows }: Around, value: unknown): Promise<Answer> => {
  const field = `input of step "${step.job}"`
  const child = flows.get((step.flow as { readonly name: string }).name) as CheckedFlow
  await checkInput(field, child.flow.options.input, value, "the flow's")
  const input = Result.getOrThrow(encodePayload(field, value))
  return expand({ kind: "flow", definition: child.definition, input }, true)
}

/** One run for each item; a list that is too large is no better at the next attempt. */
const list = ({ flow, step }: Around, inputs: StepInputs, items: unknown): Answer => {
  const field = `step "${step.job}".over`
  const { max = itemMax, failFast = flow.definition.failFast } = step.options
  if (!Array.isArray(items)) throw badList(field, `${quote(items)} is no list`, "Answer an array.")
  if (items.length > max) {
    const more = max < itemMax ? `Raise \`max\`, to ${itemMax} at most, or give` : "Give"
    throw badList(field, `${items.length} items are more than ${max}`, `${more} each item more of the work.`)
  }
  const texts = Array.from(items, (item: unknown, index) =>
    Result.getOrThrow(encodePayload(`${field}[${index}]`, item)),
  )
  const bytes = texts.reduce((sum, text) => sum + (text === null ? 0 : utf8Length(text)), 0)
  if (bytes > listBytesMax) {
    const reason = `${bytes} bytes are more than the ${listBytesMax} allowed for all items together`
    throw badList(field, reason, "Store the data elsewhere and pass references to it.")
  }
  const { name, queue, priority, retry } = step.items as CoreJob
  const work = { job: name, queue, priority, attemptMax: retry.attemptMax }
  // Each item has had its attempts: the list gets no second one.
  return expand({ kind: "map", step: work, items: texts, failFast, input: inputs.input }, false)
}

/** The most that the items of one list may take as JSON: 4 MiB. */
const listBytesMax = 4 * 1024 * 1024

const badList = (field: string, reason: string, next: string): InvalidPayload =>
  new InvalidPayload({ field, reason, next })

const expand = (expansion: Expansion, retryable: boolean): Answer =>
  new Answer({ kind: "expanded", expansion, retryable })

const inputsOf = ({ run, step }: Assignment): StepInputs => {
  if (step !== null) return step
  throw new NonRetryable(`"${run.job}" is a step, and has runs only within runs of its flow`)
}

// What does not fit now does not fit at the next attempt either. Told apart from what a step's function throws.
class Unfit {
  readonly error: InvalidPayload

  constructor(error: InvalidPayload) {
    this.error = error
  }
}

const strict = async <A>(work: () => A | Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    throw error instanceof InvalidPayload ? new Unfit(error) : error
  }
}

const answering = async (work: () => Promise<unknown>): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    const info = errorInfo(error.error, "payload")
    return new Answer({ kind: "failed", error: info, retryable: false, retryAfterMillis: null })
  }
}
