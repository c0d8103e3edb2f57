import { expect, test } from "vitest"
import { faultKinds, planOf, silenceMillis, workerCount } from "./plan.ts"

test("a seed is one sequence of faults, and another seed another", () => {
  const options = { faults: 40, seconds: 200 }
  expect(planOf({ ...options, seed: 5 })).toEqual(planOf({ ...options, seed: 5 }))
  expect(planOf({ ...options, seed: 5 })).not.toEqual(planOf({ ...options, seed: 6 }))
})

test("a plan of some length has every kind, in their time, and a short one begins with what matters most", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const plan = planOf({ seed, faults: 30, seconds: 210 })
    expect(plan).toHaveLength(30)
    expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(faultKinds))
    const times = plan.map(({ notBefore }) => notBefore)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1)).toBeLessThan(210_000)
    for (const { millis, worker } of plan) {
      expect(worker).toBeGreaterThanOrEqual(0)
      expect(worker).toBeLessThan(workerCount)
      expect(millis).toBeLessThanOrEqual(silenceMillis)
    }
    // Silence that must have consequences, in more than one way.
    const silent = plan.filter(({ kind, millis }) => kind !== "slow" && millis > 16_000)
    expect(new Set(silent.map(({ kind }) => kind)).size).toBeGreaterThan(2)
  }
  expect(planOf({ seed: 2, faults: 3, seconds: 9 }).map(({ kind }) => kind)).toEqual([
    "killWorker",
    "cut",
    "killServer",
  ])
})
