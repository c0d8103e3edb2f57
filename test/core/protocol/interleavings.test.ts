// Every order of events of small scenarios, with frames lost and repeated and the connection cut at each step; and
// long walks of chance through larger ones. After each step the promises of both sessions are checked, and from each
// state on the world must come to an end in which every run is done exactly once.
import { describe, expect, test } from "vitest"
import { Choice } from "../../common/random.ts"
import { act, actions, after, complete, fingerprint, makeWorld, type World } from "./World.ts"

/** Walks through all states within the budget. */
const explore = (start: World, statesMax: number): { states: number; problems: ReadonlyArray<string> } => {
  const seen = new Set<string>()
  const open: Array<{ readonly world: World; readonly path: ReadonlyArray<string> }> = [
    { world: start, path: [] },
  ]
  while (open.length > 0) {
    const { world, path } = open.pop() as (typeof open)[number]
    const key = fingerprint(world)
    if (seen.has(key)) continue
    seen.add(key)
    if (seen.size > statesMax) return { states: seen.size, problems: ["more states than expected"] }
    const problems = world.problems.length > 0 ? world.problems : complete(world).problems
    if (problems.length > 0) return { states: seen.size, problems: [...problems, path.join(" > ")] }
    for (const action of actions(world, false))
      open.push({ world: after(world, action), path: [...path, action] })
  }
  return { states: seen.size, problems: [] }
}

const statesMax = 400_000

describe("sessions > every order of events", () => {
  test.each([
    ["one run, one cut", 1, { slots: 1, prefetch: 0 }, { cuts: 1, ticks: 2 }],
    ["one run, one frame lost", 1, { slots: 1, prefetch: 0 }, { drops: 1, ticks: 3 }],
  ] as const)("%s", (_, runs, worker, budget) => {
    const started = performance.now()
    const { states, problems } = explore(makeWorld(runs, worker, budget), statesMax)
    console.log(states, Math.round(performance.now() - started))
    expect(problems).toEqual([])
    expect(states).toBeGreaterThan(10)
  })
})

describe("sessions > walks of chance", () => {
  test.skip("x", () => {
    const choice = new Choice(1)
    const world = makeWorld(3, { slots: 2, prefetch: 1 }, {})
    act(world, choice.of(actions(world, false)))
  })
})
