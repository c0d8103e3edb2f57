// The eight rules, over all counters of up to five needs, against G5 told in lists of ends.
import { describe, expect, test } from "vitest"
import { type NeedCounts, type StepEnd, type TriggerRule, triggerRules } from "../../../core/domain/Flow.ts"
import { counted, foregone, freshCounts, judge, needsLeft } from "../../../core/flow/Judge.ts"
import { decideBy } from "./model.ts"

/** All counters of up to `max` needs. */
const all = (max: number): Array<NeedCounts> => {
  const found: Array<NeedCounts> = []
  for (let needs = 0; needs <= max; needs++)
    for (let succeeded = 0; succeeded <= needs; succeeded++)
      for (let failed = 0; succeeded + failed <= needs; failed++)
        for (let skipped = 0; succeeded + failed + skipped <= needs; skipped++)
          found.push({ needs, succeeded, failed, skipped })
  return found
}
const endsOf = ({ succeeded, failed, skipped }: NeedCounts): Array<StepEnd> => [
  ...new Array<StepEnd>(succeeded).fill("succeeded"),
  ...Array.from({ length: failed }, (_, at): StepEnd => (at % 2 === 0 ? "failed" : "upstream_failed")),
  ...new Array<StepEnd>(skipped).fill("skipped"),
]
/** Everything that the open needs may still come to. */
const completions = (counts: NeedCounts): Array<NeedCounts> =>
  needsLeft(counts) === 0
    ? [counts]
    : (["succeeded", "failed", "skipped"] as const).flatMap((end) => completions(counted(counts, end)))

describe.each(triggerRules)("%s", (rule: TriggerRule) => {
  test("is judged as the rule says when all needs have ended", () => {
    for (const counts of all(5).filter((each) => needsLeft(each) === 0)) {
      expect([counts, judge(rule, counts)]).toEqual([counts, decideBy(rule, endsOf(counts))])
    }
  })

  test("waits for all needs, unless it is one that starts early and nothing can change that", () => {
    for (const counts of all(5).filter((each) => needsLeft(each) > 0)) {
      const isEarly =
        (rule === "one_success" && counts.succeeded > 0) || (rule === "one_failed" && counts.failed > 0)
      expect([counts, judge(rule, counts)]).toEqual([counts, isEarly ? "run" : "wait"])
    }
  })

  test("is foregone exactly when all that may still come leads to the same", () => {
    for (const counts of all(5)) {
      const ends = new Set(completions(counts).map((each) => judge(rule, each)))
      expect([counts, foregone(rule, counts)]).toEqual([counts, ends.size === 1 ? [...ends][0] : null])
    }
  })

  test("runs without needs", () => {
    expect(judge(rule, freshCounts(0))).toBe("run")
  })
})
