// The simulation in the suite: seeds that once failed, a few fresh ones, and the promise that a seed is one story. The
// thousands are simulated by `npm run sim`, which CI calls as well.
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { commandOf, root, runtimes } from "../chaos/children.ts"
import { regressions } from "./regressions.ts"
import { simulate } from "./simulate.ts"

const seeds = Array.from({ length: 40 }, (_, index) => index + 1)

test.for(seeds)("seed %i breaks no promise", (seed) => {
  expect(simulate(seed).violations).toEqual([])
})

test.for([...regressions])(
  "seed $seed, which once broke a promise, does so no more: $story",
  ({ seed, swarm = { workers: 0 } }) => {
    expect(simulate(seed, { swarm }).violations).toEqual([])
  },
)

test("a seed is one story: the same lines, the same counters, each time", () => {
  const first = simulate(11, { history: true })
  expect(first.history.length).toBeGreaterThan(100)
  expect(simulate(11, { history: true })).toEqual(first)
  expect(simulate(12).counters).not.toEqual(first.counters)
})

test("a seed does the same whether its history is written or not", () => {
  expect(simulate(5, { history: true }).counters).toEqual(simulate(5).counters)
})

test("a seed has the same counters on every runtime", () => {
  const script = fileURLToPath(new URL("./main.ts", import.meta.url))
  const lines = runtimes.map((runtime) => {
    const [command = "", ...before] = commandOf(runtime)
    const text = execFileSync(command, [...before, script, "--seed", "3", "--runtime", runtime], {
      cwd: root,
      encoding: "utf8",
    })
    return text.split("\n")[0]
  })
  expect(lines[0]).toMatch(/^seed 3: \{"steps":\d{3,}/)
  expect(new Set(lines).size).toBe(1)
})

test("the storm is one: over these seeds each kind of fault has happened, and work was done", () => {
  const sum: Record<string, number> = {}
  for (const seed of seeds)
    for (const [name, value] of Object.entries(simulate(seed).counters)) sum[name] = (sum[name] ?? 0) + value
  expect(Object.entries(sum).filter(([, value]) => value === 0)).toEqual([])
})
