// Whether a step runs: the eight rules (G5) as pure functions of four numbers about its needs. A store keeps these
// numbers in the step's row, so judging looks at no other row, however many needs there are.
import type { NeedCounts, StepEnd, StepState, TriggerRule } from "../domain/Flow.ts"

/** What becomes of a step: it runs, or it ends without running. */
export type Decision = "run" | "skipped" | "upstream_failed"

/** The counters of a step of which no need has ended. */
export const freshCounts = (needs: number): NeedCounts => ({ needs, succeeded: 0, failed: 0, skipped: 0 })

/** How many needs have not ended. */
export const needsLeft = ({ needs, succeeded, failed, skipped }: NeedCounts): number =>
  needs - succeeded - failed - skipped

/** The counters after one more need has ended. */
export const counted = (counts: NeedCounts, end: StepEnd): NeedCounts => {
  switch (end) {
    case "succeeded":
      return { ...counts, succeeded: counts.succeeded + 1 }
    case "skipped":
      return { ...counts, skipped: counts.skipped + 1 }
    case "failed":
    case "upstream_failed":
      return { ...counts, failed: counts.failed + 1 }
  }
}

/**
 * What a step is to do now. It is judged when all its needs have ended; `one_success` and `one_failed` run as soon
 * as nothing can change that any more (G4). A step without needs runs, whatever its rule.
 */
export const judge = (rule: TriggerRule, counts: NeedCounts): Decision | "wait" =>
  needsLeft(counts) === 0 || rule === "one_success" || rule === "one_failed"
    ? (foregone(rule, counts) ?? "wait")
    : "wait"

/**
 * What the step will do whatever its open needs come to; `null` while that can still change. Earlier than `judge`:
 * one failed need decides `all_success`, and the step waits for the others all the same.
 */
export const foregone = (rule: TriggerRule, counts: NeedCounts): Decision | null => {
  const { needs, succeeded, failed, skipped } = counts
  const isOpen = needsLeft(counts) > 0
  if (needs === 0) return "run"
  switch (rule) {
    case "all_success":
      if (failed > 0) return "upstream_failed"
      return isOpen ? null : skipped > 0 ? "skipped" : "run"
    case "all_failed":
      if (succeeded + skipped > 0) return "skipped"
      return isOpen ? null : "run"
    case "all_done":
      return "run"
    case "one_success":
      if (succeeded > 0) return "run"
      return isOpen ? null : failed > 0 ? "upstream_failed" : "skipped"
    case "one_failed":
      if (failed > 0) return "run"
      return isOpen ? null : "skipped"
    case "none_failed":
      if (failed > 0) return "upstream_failed"
      return isOpen ? null : "run"
    case "none_failed_min_one_success":
      if (failed > 0) return "upstream_failed"
      return isOpen ? null : succeeded > 0 ? "run" : "skipped"
    case "none_skipped":
      if (skipped > 0) return "skipped"
      return isOpen ? null : "run"
  }
}

/** The state that a judged step takes. */
export const stateAfter = (decision: Decision | "wait"): Exclude<StepState, "succeeded" | "failed"> =>
  decision === "wait" ? "blocked" : decision === "run" ? "released" : decision
