// The critical path, against every path there is.
import * as Result from "effect/Result"
import { expect, test } from "vitest"
import type { FlowStep } from "../../../core/domain/Flow.ts"
import { type Graph, parseGraph } from "../../../core/flow/Graph.ts"
import { criticalPath } from "../../../core/flow/Summary.ts"
import { build } from "../../cases/checkFlowSizes.ts"
import { int, seeded } from "../trigger/samples.ts"

const graphOf = (steps: ReadonlyArray<FlowStep>): Graph => Result.getOrThrow(parseGraph(steps))
const diamond = graphOf([
  { id: "a", needs: [] },
  { id: "b", needs: ["a"] },
  { id: "c", needs: ["a"] },
  { id: "d", needs: ["b", "c"] },
])

test("the critical path is the chain that took longest, the first of equals", () => {
  expect(criticalPath(diamond, [5, 10, 20, 1])).toEqual({ steps: [0, 2, 3], millis: 26 })
  expect(criticalPath(diamond, [5, 10, 10, 1])).toEqual({ steps: [0, 1, 3], millis: 16 })
})

test("steps that did not run are on it only between two that took time", () => {
  expect(criticalPath(diamond, [5, null, null, 3])).toEqual({ steps: [0, 1, 3], millis: 8 })
  expect(criticalPath(diamond, [null, null, 7, null])).toEqual({ steps: [2], millis: 7 })
  expect(criticalPath(diamond, [null, null, null, null])).toEqual({ steps: [], millis: 0 })
  expect(criticalPath(graphOf([]), [])).toEqual({ steps: [], millis: 0 })
})

test("a clock that stepped back makes no step shorter than nothing", () => {
  expect(criticalPath(diamond, [5, -100, -100, 3]).millis).toBe(8)
})

test("no path of 1,000 random flows took longer", () => {
  const random = seeded(8)
  for (let round = 0; round < 1000; round++) {
    const steps = Array.from({ length: int(random, 1, 8) }, (_, at) => ({
      id: `s${at}`,
      needs: Array.from({ length: at }, (_, before) => `s${before}`).filter(() => random() < 0.4),
    }))
    const millis = steps.map(() => (random() < 0.2 ? null : int(random, 0, 9)))
    const took = (at: number): number => millis[at] ?? 0
    // Every chain of needs, walked one by one.
    const longest = (at: number): number =>
      took(at) + Math.max(0, ...(steps[at]?.needs ?? []).map((need) => longest(Number(need.slice(1)))))
    const found = criticalPath(graphOf(steps), millis)
    expect(found.millis).toBe(Math.max(...steps.map((_, at) => longest(at))))
    expect(found.steps.reduce((sum, at) => sum + took(at), 0)).toBe(found.millis)
    found.steps.forEach((at, index) => {
      if (index > 0) expect(steps[at]?.needs).toContain(`s${found.steps[index - 1]}`)
    })
  }
})

test("a chain of 100,000 is one path", () => {
  const graph = graphOf(build("chain", 100_000) ?? [])
  expect(criticalPath(graph, new Array<number>(100_000).fill(2))).toMatchObject({ millis: 200_000 })
})
