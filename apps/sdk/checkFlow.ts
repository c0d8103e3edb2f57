// From a flow as people write it to what the engine is told: its graph is checked, its steps become jobs named
// `flow/step` (and `flow/step[]` for the items of a list), and its definition gets its version.
import * as Result from "effect/Result"
import { InvalidInput, type Refusal } from "../../core/domain/Errors.ts"
import { type FlowDefinition, flowStepMax, itemMax, type StepPlan } from "../../core/domain/Flow.ts"
import { type Job as CoreJob, parseName } from "../../core/domain/Job.ts"
import type { RetryOptions } from "../../core/domain/RetryPolicy.ts"
import { parseSpan, quote } from "../../core/domain/TimeSpan.ts"
import { parseGraph } from "../../core/flow/Graph.ts"
import { versioned } from "../../core/flow/Version.ts"
import { checkPlaced, checkWork } from "./checkWork.ts"
import { type Flow, isFlow, stepJobs, type StepSpec } from "./flow.ts"
import { isInputSchema, schemaWanted } from "./input.ts"
import { refuse } from "./send.ts"
import { isOnWorkers, isWork, runWanted } from "./work.ts"

/** A checked flow: the definition that its runs keep, and what the handlers of its steps go by. */
export interface CheckedFlow {
  readonly flow: Flow<any, any>
  readonly definition: FlowDefinition
  readonly steps: ReadonlyArray<CheckedStep>
  /** The flow's own job and those of its steps. */
  readonly jobs: ReadonlyArray<CoreJob>
}

/** A checked step. */
export interface CheckedStep extends StepSpec {
  readonly job: string
  /** The ids of its needs by the names under which their outputs are found. */
  readonly needs: ReadonlyMap<string, string>
  /** The job that handles the items of a list. */
  readonly items: CoreJob | null
}

/** Checks a flow. `known` are all flows of the config. */
export const checkFlow = (
  field: string,
  flow: Flow<any, any>,
  known: ReadonlySet<unknown>,
): Result.Result<CheckedFlow, Refusal> =>
  Result.gen(function* () {
    const name = yield* parseName(`${field}.name`, flow.name)
    const place = `flow "${name}"`
    const own = yield* checkWork(place, name, {
      ...flow.options,
      retry: atLeastOnce(flow.options.retry),
      timeout: undefined,
    })
    const job: CoreJob = { ...own, expands: true }
    const timeoutMillis =
      flow.options.timeout === undefined
        ? null
        : yield* parseSpan(`${place}.timeout`, flow.options.timeout, 1)
    if (flow.options.input !== undefined && !isInputSchema(flow.options.input))
      return yield* refuse(`${place}.input`, flow.options.input, schemaWanted)
    const failFast = yield* checkFlag(`${place}.failFast`, flow.options.failFast)
    yield* checkFlag(`${place}.holdOnFailure`, flow.options.holdOnFailure)
    if (flow.steps.length > flowStepMax)
      return yield* refuse(`${place}.steps`, flow.steps.length, `at most ${flowStepMax} steps`)
    const handles = new Map<unknown, StepSpec>(flow.steps.map((step) => [step.handle, step]))
    const jobs: Array<CoreJob> = [job]
    const plans: Array<StepPlan> = []
    const steps: Array<CheckedStep> = []
    for (const spec of flow.steps) {
      const checked = yield* checkStep(name, job, spec, handles, known)
      jobs.push(...checked.jobs)
      plans.push(checked.plan)
      steps.push(checked.step)
    }
    yield* Result.mapError(parseGraph(plans), (error) => error.within(place))
    const output = flow.output === undefined ? undefined : handles.get(flow.output)
    if (flow.output !== undefined && output === undefined) {
      const wanted = "nothing, or a step that the builder was given for this flow"
      return yield* refuse(`${place}.output`, flow.output, wanted)
    }
    const what = { name, steps: plans, output: output?.id ?? null, failFast, timeoutMillis }
    return { flow, definition: versioned(what), steps, jobs }
  })

// A flow has one attempt unless it says otherwise: its steps have theirs.
const atLeastOnce = (retry: RetryOptions | undefined): RetryOptions | undefined =>
  retry === undefined || (typeof retry === "object" && retry !== null) ? { max: 1, ...retry } : retry

const checkStep = (
  flow: string,
  own: CoreJob,
  spec: StepSpec,
  handles: ReadonlyMap<unknown, StepSpec>,
  known: ReadonlySet<unknown>,
) =>
  Result.gen(function* () {
    const { id, kind, options } = spec
    const place = `flow "${flow}": step ${quote(id)}`
    if (typeof options !== "object" || options === null)
      return yield* refuse(place, options, "an object of options")
    // What parseGraph says of an id is said there; here it must do as the name of a job.
    const [job, itemsJob] = stepJobs(flow, spec)
    if (typeof id === "string" && id !== "") yield* nameOf(`${place}.id`, itemsJob ?? job)
    const needs = yield* checkNeeds(place, options.needs ?? {}, handles)
    const allowFailure = yield* checkFlag(`${place}.allowFailure`, options.allowFailure)
    if (options.when !== undefined && typeof options.when !== "function")
      return yield* refuse(`${place}.when`, options.when, "a function that answers true or false")
    yield* checkKind(place, spec, known)
    const child = kind === "flow" ? (spec.flow as Flow<any, any>).options.retry : undefined
    const work = yield* checkWork(place, job, {
      ...options,
      ...(kind === "flow" ? { retry: atLeastOnce(options.retry ?? child), timeout: undefined } : {}),
      queue: options.queue ?? own.queue,
      priority: options.priority ?? own.priority,
    })
    const placed = kind === "flow" ? {} : yield* checkPlaced(place, options.run)
    const items = itemsJob === null ? null : { ...work, ...placed, name: itemsJob }
    // The timeout of a list is one of its items', and so is where they go.
    const first = kind === "step" ? { ...work, ...placed } : { ...work, timeoutMillis: null, expands: true }
    const plan: StepPlan = {
      id,
      needs: [...needs.values()],
      rule: options.rule,
      allowFailure,
      job,
      queue: work.queue,
      priority: work.priority,
      attemptMax: work.retry.attemptMax,
    }
    const step: CheckedStep = { ...spec, job, needs, items }
    return { plan, step, jobs: items === null ? [first] : [first, items] }
  })

const checkKind = (place: string, { kind, options, flow }: StepSpec, known: ReadonlySet<unknown>) =>
  Result.gen(function* () {
    const { run, over, max, input, output } = options
    if (output !== undefined && kind !== "flow" && !isInputSchema(output)) {
      return yield* refuse(`${place}.output`, output, schemaWanted)
    }
    if (kind !== "map" && input !== undefined && typeof input !== "function")
      return yield* refuse(`${place}.input`, input, "a function of the needs")
    if (kind === "flow") {
      if (!isFlow(flow)) return yield* refuse(`${place}.flow`, flow, 'a flow made by `flow("name", ...)`')
      if (known.has(flow)) return
      return yield* Result.fail(
        new InvalidInput({
          field: `${place}.flow`,
          reason: `flow ${quote(flow.name)} is not one of the config`,
          next: "Add it to the config's `jobs`.",
        }),
      )
    }
    if (typeof run !== "function" && !isWork(run)) return yield* refuse(`${place}.run`, run, runWanted)
    yield* checkAway(place, kind, options)
    if (kind === "step") return
    if (typeof over !== "function")
      return yield* refuse(`${place}.over`, over, "a function that answers a list")
    if (max !== undefined && !(Number.isInteger(max) && max >= 1 && max <= itemMax))
      return yield* refuse(`${place}.max`, max, `a whole number from 1 to ${itemMax}`)
    yield* checkFlag(`${place}.failFast`, options.failFast)
  })

/** What the engine cannot do for a step whose run goes straight to a worker. */
const checkAway = (place: string, kind: StepSpec["kind"], options: StepSpec["options"]) => {
  const refuseOf = (field: string, reason: string, next: string) =>
    Result.fail(new InvalidInput({ field: `${place}.${field}`, reason, next }))
  if (!isOnWorkers(options.run)) return Result.succeed(undefined)
  if (options.run["~work"].options?.broadcast === true)
    return refuseOf(
      "run",
      "a step has one run, or one for each item, and no broadcast",
      "Send a job that is a broadcast from the step's function.",
    )
  const own =
    kind === "step" ? (["when", "input"] as const).find((name) => options[name] !== undefined) : undefined
  if (own === undefined) return Result.succeed(undefined)
  return refuseOf(
    own,
    "the engine would have to call it, and a run on workers goes to one as it is",
    own === "when"
      ? "Give `when` to a step before it, which this one needs."
      : "Leave it out: the worker is given what the step's needs returned.",
  )
}

const checkNeeds = (
  place: string,
  needs: unknown,
  handles: ReadonlyMap<unknown, StepSpec>,
): Result.Result<ReadonlyMap<string, string>, InvalidInput> =>
  Result.gen(function* () {
    if (typeof needs !== "object" || needs === null || Array.isArray(needs))
      return yield* refuse(`${place}.needs`, needs, "an object of steps, such as `needs: { extract }`")
    const found = new Map<string, string>()
    for (const [key, need] of Object.entries(needs)) {
      const step = handles.get(need)
      if (step === undefined)
        return yield* refuse(`${place}.needs.${key}`, need, "a step that this flow's builder has answered")
      found.set(key, step.id)
    }
    return found
  })

const nameOf = (field: string, name: string): Result.Result<string, InvalidInput> =>
  Result.mapError(
    parseName(field, name),
    ({ reason }) =>
      new InvalidInput({
        field,
        reason: `the name of its job would be ${quote(name)}, and ${reason}`,
        next: "Give the step, or the flow, a shorter or plainer name.",
      }),
  )

const checkFlag = (field: string, value: unknown = false): Result.Result<boolean, InvalidInput> =>
  typeof value === "boolean" ? Result.succeed(value) : refuse(field, value, "true or false")
