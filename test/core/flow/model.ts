// Flows by brute force, for tests: no counters, no edges, no queue. States are written down until looking at every
// step once more changes nothing. Shares no code with the core, and follows G4 to G7 word by word.
import type { FlowStep, StepEnd, TriggerRule } from "../../../core/domain/Flow.ts"

/** What a step whose needs ended so is to do (G4, G5). */
export const decideBy = (
  rule: TriggerRule,
  ends: ReadonlyArray<StepEnd>,
): "run" | "skipped" | "upstream_failed" => {
  const isF = (end: StepEnd): boolean => end === "failed" || end === "upstream_failed"
  const isS = (end: StepEnd): boolean => end === "skipped"
  const isK = (end: StepEnd): boolean => end === "succeeded"
  if (ends.length === 0) return "run"
  const table: Readonly<
    Record<TriggerRule, ReadonlyArray<readonly [boolean, "run" | "skipped" | "upstream_failed"]>>
  > = {
    all_success: [
      [ends.some(isF), "upstream_failed"],
      [ends.some(isS), "skipped"],
      [true, "run"],
    ],
    all_failed: [
      [ends.every(isF), "run"],
      [true, "skipped"],
    ],
    all_done: [[true, "run"]],
    one_success: [
      [ends.some(isK), "run"],
      [ends.some(isF), "upstream_failed"],
      [true, "skipped"],
    ],
    one_failed: [
      [ends.some(isF), "run"],
      [true, "skipped"],
    ],
    none_failed: [
      [ends.some(isF), "upstream_failed"],
      [true, "run"],
    ],
    none_failed_min_one_success: [
      [ends.some(isF), "upstream_failed"],
      [ends.some(isK), "run"],
      [true, "skipped"],
    ],
    none_skipped: [
      [ends.some(isS), "skipped"],
      [true, "run"],
    ],
  }
  const found = table[rule].find(([holds]) => holds)
  if (found === undefined) throw new Error("No line of the rule holds")
  return found[1]
}

/** The end of a flow run: each step's state, and who ran. */
export interface Expected {
  readonly states: Map<string, StepEnd>
  readonly ran: Set<string>
  readonly run: "succeeded" | "failed"
}

/** What comes out, when `kept` states stand from the start and the rest is open. */
export const expectedOf = (
  steps: ReadonlyArray<FlowStep>,
  outcomes: ReadonlyMap<string, StepEnd>,
  kept: ReadonlyMap<string, StepEnd> = new Map(),
): Expected => {
  const states = new Map(kept)
  const ran = new Set<string>()
  for (let before = -1; before !== states.size;) {
    before = states.size
    for (const { id, needs, rule } of steps) {
      if (states.has(id) || !needs.every((need) => states.has(need))) continue
      const decision = decideBy(
        rule ?? "all_success",
        [...new Set(needs)].map((need) => states.get(need) as StepEnd),
      )
      if (decision === "run") ran.add(id)
      states.set(id, decision === "run" ? (outcomes.get(id) ?? "succeeded") : decision)
    }
  }
  const isFault = ({ id, allowFailure }: FlowStep): boolean =>
    allowFailure !== true && ["failed", "upstream_failed"].includes(states.get(id) as string)
  return { states, ran, run: steps.some(isFault) ? "failed" : "succeeded" }
}

/** These steps and all that depend on them, at whatever distance. */
export const descendantsOf = (steps: ReadonlyArray<FlowStep>, from: Iterable<string>): Set<string> => {
  const found = new Set(from)
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const { id, needs } of steps) if (needs.some((need) => found.has(need))) found.add(id)
  }
  return found
}
