// Every order of events of small scenarios, with frames lost and repeated and the connection cut at each step; and
// long walks of chance through larger ones. After each step the promises of both sessions are checked, and from each
// state on the world must come to an end in which every run is done exactly once.
import { describe, expect, test } from "vitest"
import { Choice } from "../../common/random.ts"
import { act, actions, after, bugs, complete, fingerprint, makeWorld, type World } from "./World.ts"

// More than any scenario has: a scenario that grows past it is too large for every change.
const statesMax = 60_000

/** Walks through all states within the budget. */
const explore = (
  start: World,
  statesMax: number,
  check = (world: World): ReadonlyArray<string> => complete(world).problems,
): { states: number; problems: ReadonlyArray<string> } => {
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
    const problems = world.problems.length > 0 ? world.problems : check(world)
    if (problems.length > 0) return { states: seen.size, problems: [...problems, path.join(" > ")] }
    for (const action of actions(world, false))
      open.push({ world: after(world, action), path: [...path, action] })
  }
  return { states: seen.size, problems: [] }
}

const one = { slots: 1, prefetch: 0 }

describe("sessions > every order of events", () => {
  test.each([
    ["nothing goes wrong, but time passes", 1, one, { ticks: 1 }],
    ["a frame lost, of either side, and time passes", 1, one, { drops: 1, ticks: 1 }],
    ["a frame lost, another repeated", 1, one, { drops: 1, repeats: 1 }],
    ["a handler that fails once, and a cut", 1, one, { failures: 1, cuts: 1 }],
    ["a run that is cancelled, and a cut", 1, one, { cancels: 1, cuts: 1 }],
    ["a server that restarts, before or after a cut", 1, one, { restarts: 1, cuts: 1 }],
    ["a drain of either side, and a cut", 1, one, { drains: 1, cuts: 1 }],
    ["a worker that cannot resume, and a cut", 1, { ...one, resume: false }, { cuts: 1 }],
  ] as const)("%s", (_, runs, worker, budget) => {
    const { states, problems } = explore(makeWorld(runs, worker, budget), statesMax)
    expect(problems).toEqual([])
    expect(states).toBeGreaterThan(100)
  })
})

/** Within the grace nothing is given to anybody else: every run was begun once, by its first token. */
const begunOnce = (world: World): ReadonlyArray<string> => {
  const done = complete(world)
  const wrong =
    done.begun.length !== done.runs.size || [...done.runs.values()].some(({ token }) => token !== 1)
  return wrong ? [...done.problems, `begun: ${done.begun.join(", ")}`] : done.problems
}

describe("sessions > a worker that resumes in time goes on where it was", () => {
  test.each([
    ["a cut, in every place, and another one within the resume", 1, one, { cuts: 2 }],
    ["a frame repeated, and a cut", 1, one, { repeats: 1, cuts: 1 }],
    ["two runs, one waits in the worker, and a cut", 2, { slots: 1, prefetch: 1 }, { cuts: 1 }],
  ] as const)("%s", (_, runs, worker, budget) => {
    const { states, problems } = explore(makeWorld(runs, worker, budget), statesMax, begunOnce)
    expect(problems).toEqual([])
    expect(states).toBeGreaterThan(1_000)
  })
})

describe("sessions > a wrong session is noticed", () => {
  test.each([
    ["forgetsEnds", { cuts: 1 }, begunOnce],
    ["forgetsSettled", { cuts: 1 }, undefined],
    ["takesLateHello", { ticks: 2 }, undefined],
    ["sendsOnce", { drops: 1 }, undefined],
    ["acknowledgesEarly", { cuts: 1 }, undefined],
  ] as const)("%s", (bug, budget, check) => {
    const world = makeWorld(1, one, budget)
    world.bug = bug
    expect(explore(world, statesMax, check).problems).not.toEqual([])
  })

  test("each wrong session that there is", () => expect(bugs).toHaveLength(5))
})

/** One walk; answers its steps when something is wrong. */
const walk = (seed: number): ReadonlyArray<string> => {
  const choice = new Choice(seed)
  const world = makeWorld(
    choice.int(1, 4),
    { slots: choice.int(1, 2), prefetch: choice.int(0, 2), resume: !choice.percent(15) },
    {
      cuts: choice.int(0, 4),
      drops: choice.int(0, 3),
      repeats: choice.int(0, 3),
      ticks: choice.int(0, 12),
      cancels: choice.int(0, 2),
      drains: choice.int(0, 1),
      restarts: choice.int(0, 2),
      failures: choice.int(0, 2),
    },
  )
  const path: Array<string> = []
  for (let step = 0; step < 150; step++) {
    const next = actions(world, false)
    if (next.length === 0) break
    const action = choice.of(next)
    path.push(action)
    act(world, action)
    if (world.problems.length > 0) return [...world.problems, path.join(" > ")]
    if (choice.percent(5) && complete(world).problems.length > 0) break
  }
  const { problems } = complete(world)
  return problems.length === 0 ? [] : [...problems, `seed ${seed}`, path.join(" > ")]
}

describe("sessions > walks of chance", () => {
  test.each(Array.from({ length: 20 }, (_, block) => block))("block %i of 200 walks", (block) => {
    for (let seed = block * 200; seed < block * 200 + 200; seed++) expect(walk(seed)).toEqual([])
  })
})
