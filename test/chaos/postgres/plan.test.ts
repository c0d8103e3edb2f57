import { expect, test } from "vitest"
import { faultKinds, nodeCount, planOf } from "./plan.ts"

test("a seed is one sequence of faults, and another seed another", () => {
  const options = { faults: 40, seconds: 200 }
  expect(planOf({ ...options, seed: 5 })).toEqual(planOf({ ...options, seed: 5 }))
  expect(planOf({ ...options, seed: 5 })).not.toEqual(planOf({ ...options, seed: 6 }))
})

test("a plan of some length has every kind, in their time, and a short one begins with what matters most", () => {
  const plan = planOf({ seed: 1, faults: 30, seconds: 210 })
  expect(plan).toHaveLength(30)
  expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(faultKinds))
  const times = plan.map(({ notBefore }) => notBefore)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(times.at(-1)).toBeLessThan(210_000)
  for (const { kind, millis, node, skewMillis } of plan) {
    expect(node).toBeGreaterThanOrEqual(0)
    expect(node).toBeLessThanOrEqual(nodeCount)
    // Longer than the lease of five seconds, and not for ever.
    if (kind === "freeze") expect(millis).toBeGreaterThan(5000)
    expect(millis).toBeLessThanOrEqual(15_000)
    if (kind === "skew") expect(skewMillis).not.toBe(0)
  }
  expect(plan.filter(({ kind, millis }) => kind === "freeze" && millis === 15_000)).toHaveLength(1)
  expect(planOf({ seed: 2, faults: 2, seconds: 9 }).map(({ kind }) => kind)).toEqual(["kill", "freeze"])
})
