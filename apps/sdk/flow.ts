// Flows as most people write them: steps that need one another, each with a function, joined by a builder. A flow is
// started like a job; what its steps hand on is typed, and the compiler refuses wires that do not fit.
import type { StepState, TriggerRule } from "../../core/domain/Flow.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { RetryOptions } from "../../core/domain/RetryPolicy.ts"
import type { InputSchema } from "./input.ts"
import type { RunContext, Startable, StartableOptions } from "./job.ts"
import { bindable } from "./job.ts"
import type { Work } from "./work.ts"

/** A step of the flow `Name`, as others name it in their `needs`. */
export interface Step<Output, Name extends string = string> {
  readonly flow: Name
  readonly id: string
  /** For the compiler only. */
  readonly "~output"?: Output
}

/** Steps of one flow, by the names under which their outputs are found. */
export type StepNeeds<Name extends string = string> = Readonly<Record<string, Step<any, Name>>>

/** What the needed steps returned. Under a rule that may run without a need's success, that one may be `undefined`. */
export type Outputs<Needs, Rule> = {
  readonly [K in keyof Needs]: Needs[K] extends Step<infer Output, any>
    ? [Rule] extends ["all_success"]
      ? Output
      : Output | undefined
    : never
}

/** What a step's function is given beside its first argument. */
export interface StepContext<Input, Needs, Rule> extends Omit<RunContext, "needs"> {
  /** The input of the flow run. */
  readonly input: Input
  /** What the needed steps returned. */
  readonly needs: Outputs<Needs, Rule>
  /** How each need ended; with `one_success` and `one_failed` some may not have. */
  readonly states: { readonly [K in keyof Needs]: StepState }
}

/** What the function for one item of a list is given beside the item. */
export interface ItemContext<Input> extends Omit<RunContext, "needs"> {
  /** The input of the flow run. */
  readonly input: Input
  /** The item's place in the list, from 0. */
  readonly index: number
}

type Now<A> = A | Promise<A>

/** What every kind of step may say. */
export interface StepBase<Input, Needs, Rule> {
  /** The steps that it needs. */
  readonly needs?: Needs
  /** Which ends of its needs let it run; default `all_success`. */
  readonly rule?: Rule
  /** Asked when it is to run; `false`: it is skipped. Runs in the worker, as a part of the step. */
  readonly when?: (needs: Outputs<Needs, Rule>, input: Input) => Now<boolean>
  /** Its failure does not make the flow fail; to the steps that need it, it is a failure. Default `false`. */
  readonly allowFailure?: boolean
}

/** How the work of a step is done. */
export interface WorkOptions {
  /** Default: three attempts, as for jobs. */
  readonly retry?: RetryOptions
  /** How long an attempt may take; default: no limit. */
  readonly timeout?: TimeSpan
  /** Default: the flow's. */
  readonly queue?: string
  /** Default: the flow's. */
  readonly priority?: number
}

/** A step whose function reads what its needs returned. */
export interface StepOptions<Input, Output, Needs, Rule> extends StepBase<Input, Needs, Rule>, WorkOptions {
  readonly input?: undefined
  /** Checks what it returns, and again what each step that needs it reads. */
  readonly output?: InputSchema<Output>
  /** What it returns is kept: plain data, at most 256 KiB as JSON. */
  readonly run:
    | ((needs: Outputs<Needs, Rule>, ctx: StepContext<Input, Needs, Rule>) => Now<Output>)
    | Work<Output, Outputs<Needs, Rule>>
}

/** A step whose function takes an argument of its own, made of the needs: a function that knows of no flow. */
export interface StepWithInput<Input, Output, Needs, Rule, Own>
  extends StepBase<Input, Needs, Rule>, WorkOptions {
  readonly input: (needs: Outputs<Needs, Rule>, input: Input) => Now<Own>
  readonly output?: InputSchema<Output>
  readonly run: ((input: Own, ctx: StepContext<Input, Needs, Rule>) => Now<Output>) | Work<Output, Own>
}

/** A step that runs its function once for each item of a list, as runs of their own. */
export interface MapOptions<Input, Item, Output, Needs, Rule>
  extends StepBase<Input, Needs, Rule>, WorkOptions {
  /** The list; plain data, at most 256 KiB an item and 4 MiB in all. */
  readonly over: (needs: Outputs<Needs, Rule>, input: Input) => Now<ReadonlyArray<Item>>
  /** More items are an error, which is not retried; 1 to 1,000, default 1,000. */
  readonly max?: number
  /** With the first item that fails for good the others are called off; default: the flow's. */
  readonly failFast?: boolean
  /** Checks what the function returns for one item. */
  readonly output?: InputSchema<Output>
  readonly run: ((item: Item, ctx: ItemContext<Input>) => Now<Output>) | Work<Output, Item>
}

/** A flow as a step of another one. */
export interface SubFlowOptions<Input, Needs, Rule> extends StepBase<Input, Needs, Rule> {
  /** Default: that of the flow itself. A further attempt runs what failed again. */
  readonly retry?: RetryOptions
}

/** Adds the steps of the flow `Name`. Each call answers the step, for the `needs` of later ones. */
export interface FlowBuilder<Input, Name extends string = string> {
  /** A function, run once. Its first argument is what its needs returned, or what `input` makes of that. */
  step<Output, const Needs extends StepNeeds<Name> = {}, const Rule extends TriggerRule = "all_success">(
    id: string,
    options: StepOptions<Input, Output, Needs, Rule>,
  ): Step<Output, Name>
  step<Output, Own, const Needs extends StepNeeds<Name> = {}, const Rule extends TriggerRule = "all_success">(
    id: string,
    options: StepWithInput<Input, Output, Needs, Rule, Own>,
  ): Step<Output, Name>
  /** A function, run for each item of a list; its output is the list of what they returned, in their order. */
  map<Item, Output, const Needs extends StepNeeds<Name> = {}, const Rule extends TriggerRule = "all_success">(
    id: string,
    options: MapOptions<Input, Item, Output, Needs, Rule>,
  ): Step<ReadonlyArray<Output>, Name>
  /** Another flow of the config; its output is that flow's. */
  flow<Output, const Needs extends StepNeeds<Name> = {}, const Rule extends TriggerRule = "all_success">(
    id: string,
    flow: Flow<void, Output>,
    options?: SubFlowOptions<Input, Needs, Rule>,
  ): Step<Output, Name>
  flow<Own, Output, const Needs extends StepNeeds<Name> = {}, const Rule extends TriggerRule = "all_success">(
    id: string,
    flow: Flow<Own, Output>,
    options: SubFlowOptions<Input, Needs, Rule> & {
      /** The input of that flow. */
      readonly input: (needs: Outputs<Needs, Rule>, input: Input) => Now<NoInfer<Own>>
    },
  ): Step<Output, Name>
}

/** How a flow is defined. */
export interface FlowOptions<Input> extends StartableOptions<Input> {
  /** Attempts at the whole; default one. A further attempt runs what failed again, and keeps the rest. */
  readonly retry?: RetryOptions
  /** How long one attempt at all its steps may take; default: no limit. */
  readonly timeout?: TimeSpan
  /** With the first step that makes the flow fail, all others are called off. Default `false`: what can run, runs. */
  readonly failFast?: boolean
  /**
   * After a failure the next occurrence of its schedules waits until somebody decides: re-runs, replays or drops the
   * run that failed. Default `false`. Needs overlap `queueOne` (then the default), `queueAll` or `skip`.
   */
  readonly holdOnFailure?: boolean
}

/** A defined flow. */
export interface Flow<Input = unknown, Output = unknown> extends Startable<Input, Output> {
  readonly options: FlowOptions<Input>
  /** As they were written; checked when the config is loaded. */
  readonly steps: ReadonlyArray<StepSpec>
  /** The step whose output is the flow's. */
  readonly output: unknown
}

/** A step as the builder took it down. */
export interface StepSpec {
  readonly kind: "step" | "map" | "flow"
  readonly id: string
  /** What `f.step` answered for it. */
  readonly handle: Step<unknown>
  /** The flow that a step of kind `flow` runs. */
  readonly flow: unknown
  /** Not looked at before the config is loaded. */
  readonly options: any
}

/**
 * Defines a flow. The steps are added in the builder, which answers the step whose output is the flow's, or nothing;
 * of a flow run in which that step did not succeed, the output is `undefined`. Ids of steps together with the flow's
 * name and a slash are names of jobs, and as long at most. Checked when the config is loaded.
 */
export const flow = <const Name extends string, Input = void, Output = void>(
  name: Name,
  options: FlowOptions<Input>,
  build: (f: FlowBuilder<Input, Name>) => Step<Output, NoInfer<Name>> | void,
): Flow<Input, Output> => {
  const steps: Array<StepSpec> = []
  let complete = false
  const add =
    (kind: StepSpec["kind"]) =>
    (id: string, ...rest: ReadonlyArray<unknown>): Step<any, Name> => {
      if (complete) {
        throw new InvalidInput({
          field: `flow ${quote(name)}`,
          reason: `step ${quote(id)} is added after its builder has returned`,
          next: "Add all steps in the builder, which cannot wait for anything.",
        })
      }
      const handle = { flow: name, id }
      const [child, given] = kind === "flow" ? rest : [undefined, ...rest]
      steps.push({ kind, id, handle, flow: child, options: given === undefined ? {} : given })
      return handle
    }
  const output = build({ step: add("step"), map: add("map"), flow: add("flow") } as FlowBuilder<Input, Name>)
  complete = true
  return bindable<Flow<Input, Output>>({ name, options, steps, output }, `flow "${name}"`)
}

/** The jobs of a step: its own, and for a list that of its items. */
export const stepJobs = (
  flow: string,
  { id, kind }: StepSpec,
): readonly [own: string, items: string | null] => [
  `${flow}/${id}`,
  kind === "map" ? `${flow}/${id}[]` : null,
]

/** Names of all jobs of a member of the config. */
export const jobNames = (member: Startable<any, any>): ReadonlyArray<string> =>
  isFlow(member)
    ? [
        member.name,
        ...member.steps.flatMap((step) => stepJobs(member.name, step).filter((name) => name !== null)),
      ]
    : [member.name]

/** Whether a member of the config is a flow. */
export const isFlow = (value: unknown): value is Flow<any, any> =>
  typeof value === "object" && value !== null && Array.isArray((value as { steps?: unknown }).steps)
