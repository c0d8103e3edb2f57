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
