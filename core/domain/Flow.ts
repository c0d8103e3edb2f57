// A flow's steps as plain values: what is written down of a step, how it can end, and the four numbers about its
// needs from which its rule is judged. The graph that they make, and what happens in it, is in `core/flow`.

/** When a step runs, judged by the ends of the steps that it needs; the first is the default. */
export const triggerRules = [
  "all_success",
  "all_failed",
  "all_done",
  "one_success",
  "one_failed",
  "none_failed",
  "none_failed_min_one_success",
  "none_skipped",
] as const

/** One of the eight rules. */
export type TriggerRule = (typeof triggerRules)[number]

/** A step as it is written down. */
export interface FlowStep {
  /** Any text but the empty one, unique in its flow. */
  readonly id: string
  /** Ids of the steps that it depends on; repeating one changes nothing. */
  readonly needs: ReadonlyArray<string>
  /** Default `all_success`. */
  readonly rule?: TriggerRule | undefined
  /** Its failure does not make the flow run fail; to the steps that need it, it is a failure. Default `false`. */
  readonly allowFailure?: boolean | undefined
}

/** How a step ends. `skipped` and `upstream_failed` are also the ends of a step that its rule kept from running. */
export const stepEnds = ["succeeded", "failed", "skipped", "upstream_failed"] as const

/** One of the four ends. */
export type StepEnd = (typeof stepEnds)[number]

/** `blocked`: not judged yet; `released`: judged to run, and not ended. */
export type StepState = "blocked" | "released" | StepEnd

/** The needs of one step: how many there are, and how many have ended in which way. */
export interface NeedCounts {
  /** All of them, each counted once. */
  readonly needs: number
  readonly succeeded: number
  /** Failed or upstream_failed. */
  readonly failed: number
  readonly skipped: number
}

/** How the run of a step is made. */
export interface StepJob {
  readonly job: string
  readonly queue: string
  readonly priority: number
  readonly attemptMax: number
}

/** A step with how its run is made. */
export interface StepPlan extends FlowStep, StepJob {}

/** A flow as its runs keep it: a run stays on the version that it started with. */
export interface FlowDefinition {
  readonly name: string
  /** Stands for everything that is in here: another text, another version. */
  readonly version: string
  readonly steps: ReadonlyArray<StepPlan>
  /** The step whose output is the flow's; `null`: it has none. */
  readonly output: string | null
  /** With the first step that makes the flow fail, all others are called off. Otherwise what can run, runs. */
  readonly failFast: boolean
  /** The longest that one attempt at its steps may take; `null`: no limit. */
  readonly timeoutMillis: number | null
}

/** What does the work of a run instead of its handler: the steps of a flow, or one step for each item of a list. */
export type Expansion = (
  | { readonly kind: "flow"; readonly definition: FlowDefinition }
  | {
      readonly kind: "map"
      readonly step: StepJob
      /** JSON text of each item's input; at most `itemMax`. */
      readonly items: ReadonlyArray<string | null>
      readonly failFast: boolean
    }
) & {
  /**
   * JSON text that the steps read as the input of their flow (`StepInputs.input`); absent: the input of the run that
   * expanded. The run of a step has no input of its own, so a flow within a flow gets its input here.
   */
  readonly input?: string | null
}

/** Most items of one list. */
export const itemMax = 1000

/** Most steps of one flow that a store takes. */
export const flowStepMax = 20_000
