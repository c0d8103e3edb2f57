// Whole flow runs through the driver of the memory store, claimed and settled in random order, against the
// brute-force model: flows in flows and lists in them, rounds, re-runs and fail-fast. And the small parts of Advance.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import {
  type Expansion,
  flowStepMax,
  itemMax,
  type StepEnd,
  type StepPlan,
  triggerRules,
} from "../../../core/domain/Flow.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import { payloadBytesMax, utf8Length } from "../../../core/domain/Payload.ts"
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import { graphOf, mapOutput, outcome, stepsError } from "../../../core/flow/Advance.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { int, type Random, seeded } from "../trigger/samples.ts"
import { decideBy, descendantsOf, expectedOf } from "./model.ts"

type Leaf = "succeeded" | "failed" | "skipped"
/** What a run expands into, and what each of its steps does: it ends so, or expands in its turn. */
interface Node {
  readonly kind: "flow" | "map"
  readonly steps: ReadonlyArray<StepPlan>
  readonly acts: ReadonlyArray<Leaf | Node>
  readonly failFast: boolean
}

const pick = <A>(random: Random, list: ReadonlyArray<A>): A => list[int(random, 0, list.length - 1)] as A
const job = { job: "work", queue: "default", priority: 0 }

const actsOf = (random: Random, count: number, depth: number): Array<Leaf | Node> =>
  Array.from({ length: count }, () => {
    const nested = depth > 0 ? random() : 1
    if (nested < 0.12) return sample(random, depth - 1, false)
    if (nested < 0.24) return sampleMap(random, depth - 1)
    return pick(random, ["succeeded", "succeeded", "succeeded", "failed", "skipped"] as const)
  })

const sampleMap = (random: Random, depth: number): Node => {
  const count = int(random, 0, 3)
  const steps = Array.from({ length: count }, (_, at) => ({
    ...job,
    id: String(at),
    needs: [],
    attemptMax: 1,
  }))
  return { kind: "map", steps, acts: actsOf(random, count, depth), failFast: false }
}

const sample = (random: Random, depth: number, failFast: boolean): Node => {
  const size = int(random, 0, depth > 1 ? 12 : 4)
  const density = random()
  const steps = Array.from({ length: size }, (_, at): StepPlan => {
    const needs = Array.from({ length: at }, (__, before) => `s${before}`).filter(() => random() < density)
    const rule = random() < 0.25 ? undefined : pick(random, triggerRules)
    return { ...job, id: `s${at}`, needs, rule, allowFailure: random() < 0.2, attemptMax: int(random, 1, 2) }
  })
  for (let at = size - 1; at > 0; at--) {
    const other = int(random, 0, at)
    ;[steps[at], steps[other]] = [steps[other] as StepPlan, steps[at] as StepPlan]
  }
  return { kind: "flow", steps, acts: actsOf(random, size, depth), failFast }
}

const expansionOf = ({ kind, steps, failFast }: Node): Expansion => {
  if (kind === "map") {
    const items = steps.map(({ id }) => id)
    return { kind, step: { ...job, attemptMax: 1 }, items, failFast }
  }
  const output = steps[0]?.id ?? null
  const definition = { name: "sample", steps, output, failFast, timeoutMillis: null }
  return { kind, definition: { ...definition, version: JSON.stringify(definition) } }
}

/** How a step ends that does this. */
const endOfAct = (act: Leaf | Node): StepEnd =>
  typeof act === "string" ? act : expectedOf(act.steps, outcomesOf(act)).run
const outcomesOf = ({ steps, acts }: Node): Map<string, StepEnd> =>
  new Map(steps.map(({ id }, at) => [id, endOfAct(acts[at] as Leaf | Node)]))

/** The output of a step that does this and succeeds. */
const outputOf = (act: Leaf | Node, id: string): unknown => {
  if (act === "succeeded") return id
  if (typeof act === "string") return null
  const outputs = act.steps.map((step, at) => {
    const states = expectedOf(act.steps, outcomesOf(act)).states
    return states.get(step.id) === "succeeded" ? outputOf(act.acts[at] as Leaf | Node, step.id) : null
  })
  return act.kind === "map" ? outputs : (outputs[0] ?? null)
}

/** One store and what its runs are to do. */
interface World {
  readonly random: Random
  readonly store: StoreDriver
  /** By the run that expanded into it. */
  readonly nodes: Map<string, Node>
  millis: number
}

/**
 * Claims and settles in random order until nothing is left to claim. A run of job `root` expands into `node`, and
 * retries, if it may, a millisecond later.
 */
const drive = (world: World, node: Node): void => {
  const { random, store } = world
  const carried: Array<Run> = []
  for (;;) {
    const wish = { node: "n1", queues: ["default"], jobs: ["work", "root"], acknowledged: true }
    carried.push(...(store.claim({ ...wish, limit: int(random, 1, 4) }) as ReadonlyArray<Run>))
    if (carried.length === 0) return
    const settlements: Array<Settlement> = []
    for (let count = int(random, 1, carried.length); count > 0; count--) {
      const [run] = carried.splice(int(random, 0, carried.length - 1), 1) as [Run]
      settlements.push(settlementOf(world, run, node))
      // What arrives twice counts once.
      if (random() < 0.1) settlements.push(pick(random, settlements))
    }
    void store.settle(settlements)
  }
}

const settlementOf = ({ random, nodes }: World, run: Run, root: Node): Settlement => {
  const held = { id: run.id, token: run.token }
  const parent = run.parentId === null ? undefined : nodes.get(run.parentId)
  const act = parent === undefined ? root : parent.acts[run.step as number]
  if (typeof act === "object") {
    nodes.set(run.id, act)
    const retryInMillis = parent === undefined ? 1 : null
    return { ...held, kind: "expanded", expansion: expansionOf(act), retryInMillis }
  }
  const error = { name: "Error", message: "It broke", kind: "error" } as const
  if (run.attempt < run.attemptMax && random() < 0.5)
    return { ...held, kind: "failed", error, retryInMillis: 0 }
  if (act === "failed") return { ...held, kind: "failed", error, retryInMillis: null }
  if (act === "skipped") return { ...held, kind: "declined", reason: "Not today" }
  return { ...held, kind: "succeeded", output: JSON.stringify(parent?.steps[run.step as number]?.id) }
}

const viewOf = (store: StoreDriver, id: string) => {
  const view = store.flowOf(id)
  if (view === null || view instanceof Promise) throw new Error("It did not expand")
  return view
}
const runsOf = (store: StoreDriver): ReadonlyArray<Run> => {
  const found: Array<Run> = []
  for (let before: string | undefined; ;) {
    const page = store.list({ limit: 200, ...(before === undefined ? {} : { before }) }) as ReadonlyArray<Run>
    found.push(...page)
    before = page.at(-1)?.id
    if (page.length < 200) return found
  }
}

/** All runs have ended, the counts are true, and the only letters are those of `letters`. */
const checkStore = (store: StoreDriver, letters: ReadonlyArray<string>): void => {
  const runs = runsOf(store)
  expect(runs.filter(({ state }) => !isFinal(state))).toEqual([])
  const sums = new Map<string, number>()
  for (const run of runs) sums.set(`${run.job} ${run.state}`, (sums.get(`${run.job} ${run.state}`) ?? 0) + 1)
  const counts = store.counts() as Awaited<ReturnType<StoreDriver["counts"]>>
  expect(new Map(counts.map((row) => [`${row.job} ${row.state}`, row.count]))).toEqual(sums)
  const open = store.deadLetters({ limit: 200 }) as Awaited<ReturnType<StoreDriver["deadLetters"]>>
  expect(open.map((letter) => letter.runId)).toEqual(letters)
}

const begin = (seed: number, options: { failFast?: boolean; attemptMax?: number } = {}) => {
  const random = seeded(seed)
  const node = sample(random, 2, options.failFast ?? false)
  const store = memoryDriver({ now: () => world.millis })
  const world: World = { random, store, nodes: new Map(), millis: 1_800_000_000_000 }
  void store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
  void store.enqueue([newRun(1, { job: "root", attemptMax: options.attemptMax ?? 1 })])
  return { world, node, random, store }
}

/** Fails unless the steps of the run ended as the model says, each that ran with one run. */
const compare = (
  store: StoreDriver,
  id: string,
  node: Node,
  kept: ReadonlyMap<string, StepEnd> = new Map(),
): void => {
  const expected = expectedOf(node.steps, outcomesOf(node), kept)
  const { run, steps } = viewOf(store, id)
  expect(new Map(steps.map(({ state }, at) => [node.steps[at]?.id, state]))).toEqual(expected.states)
  const ran = steps.flatMap((step, at) =>
    step.runId === null || kept.has(node.steps[at]?.id ?? "") ? [] : [at],
  )
  expect(new Set(ran.map((at) => node.steps[at]?.id))).toEqual(expected.ran)
  expect(run.state).toBe(expected.run === "succeeded" ? "succeeded" : "dead")
  if (kept.size > 0 || run.state !== "succeeded") return
  const first = node.steps[0]
  const succeeded = first !== undefined && expected.states.get(first.id) === "succeeded"
  expect(JSON.parse(run.output ?? "null")).toEqual(
    succeeded ? outputOf(node.acts[0] as Leaf | Node, first.id) : null,
  )
}

/** The same steps, each of which now does something else. */
const anew = (random: Random, node: Node): Node => ({ ...node, acts: actsOf(random, node.steps.length, 1) })

const keptOf = (
  store: StoreDriver,
  id: string,
  node: Node,
  reset: ReadonlySet<string>,
): Map<string, StepEnd> => {
  const states = viewOf(store, id).steps.map(
    ({ state }, at) => [node.steps[at]?.id, state] as [string, StepEnd],
  )
  return new Map(states.filter(([step]) => !reset.has(step)))
}

/** What a re-run from here does again (G7). */
const resetBy = (
  store: StoreDriver,
  id: string,
  node: Node,
  from: "failed" | "skipped" | ReadonlyArray<string>,
): Set<string> => {
  const { steps } = viewOf(store, id)
  const isFirst = (at: number, name: string): boolean => {
    const state = steps[at]?.state
    if (from === "skipped") return state === "skipped"
    if (from === "failed") return state === "failed" || state === "upstream_failed"
    return from.includes(name)
  }
  const first = node.steps.filter((step, at) => isFirst(at, step.id))
  return descendantsOf(
    node.steps,
    first.map((step) => step.id),
  )
}

/** These ends, and those of steps that do not run because of them. */
const following = (node: Node, given: ReadonlyMap<string, StepEnd>): Map<string, StepEnd> => {
  const states = new Map(given)
  for (let before = -1; before !== states.size;) {
    before = states.size
    for (const { id, needs, rule = "all_success" } of node.steps) {
      if (states.has(id) || !needs.every((need) => states.has(need))) continue
      const decision = decideBy(
        rule,
        needs.map((need) => states.get(need) as StepEnd),
      )
      if (decision !== "run") states.set(id, decision)
    }
  }
  return states
}

describe("Advance > flow runs through the memory store, against the model", () => {
  test("800 random flows: states, who ran, the end and the output", { timeout: 60_000 }, () => {
    const ends = { succeeded: 0, dead: 0 }
    for (let seed = 1; seed <= 800; seed++) {
      const { world, node, store } = begin(seed)
      drive(world, node)
      compare(store, runId(1), node)
      const { state } = viewOf(store, runId(1)).run
      ends[state as keyof typeof ends]++
      checkStore(store, state === "dead" ? [runId(1)] : [])
    }
    expect(Math.min(ends.succeeded, ends.dead)).toBeGreaterThan(100)
  })

  test(
    "600 random flows with a second round: what failed is done again, the rest is kept",
    {
      timeout: 60_000,
    },
    () => {
      let roundCount = 0
      for (let seed = 1001; seed <= 1600; seed++) {
        const { world, node, random, store } = begin(seed, { attemptMax: 2 })
        drive(world, node)
        if (expectedOf(node.steps, outcomesOf(node)).run === "succeeded") {
          compare(store, runId(1), node)
          continue
        }
        roundCount++
        expect(viewOf(store, runId(1)).run.state).toBe("retrying")
        const kept = keptOf(store, runId(1), node, resetBy(store, runId(1), node, "failed"))
        const second = anew(random, node)
        world.millis++
        drive(world, second)
        const { run, round } = viewOf(store, runId(1))
        expect(round).toBe(2)
        compare(store, runId(1), second, kept)
        checkStore(store, run.state === "dead" ? [runId(1)] : [])
      }
      expect(roundCount).toBeGreaterThan(100)
    },
  )

  test("300 random re-runs, from what failed, what was skipped and named steps", { timeout: 60_000 }, () => {
    let rerunCount = 0
    for (let seed = 2001; seed <= 2300; seed++) {
      const { world, node, random, store } = begin(seed)
      drive(world, node)
      const named = node.steps.filter(() => random() < 0.2).map(({ id }) => id)
      const from = pick(random, ["failed", "skipped", named] as const)
      const reset = resetBy(store, runId(1), node, from)
      const kept = keptOf(store, runId(1), node, reset)
      const answer = store.rerunFlow(runId(1), runId(2), from)
      expect(answer).toEqual(
        reset.size === 0 ? { result: "nothing", runId: null } : { result: "created", runId: runId(2) },
      )
      if (reset.size === 0) continue
      rerunCount++
      const second = anew(random, node)
      world.nodes.set(runId(2), second)
      drive(world, second)
      compare(store, runId(2), second, kept)
      checkStore(store, viewOf(store, runId(2)).run.state === "dead" ? [runId(2)] : [])
    }
    expect(rerunCount).toBeGreaterThan(100)
  })

  test(
    "300 random flows with fail-fast: the first fault ends all, and nothing before it does",
    {
      timeout: 60_000,
    },
    () => {
      let calledOffCount = 0
      for (let seed = 3001; seed <= 3300; seed++) {
        const { world, node, store } = begin(seed, { failFast: true })
        drive(world, node)
        const { run, steps } = viewOf(store, runId(1))
        const ran = store.get(steps.flatMap((step) => step.runId ?? [])) as ReadonlyArray<Run>
        const own = ran.filter(({ state }) => state !== "cancelled")
        // What ended by itself is given; what follows from that alone is the model's.
        const outcomes = outcomesOf(node)
        const states = following(
          node,
          new Map(
            own
              .map(({ step }) => node.steps[step as number] as StepPlan)
              .map(({ id }) => [id, outcomes.get(id) as StepEnd]),
          ),
        )
        const isFault = ({ id, allowFailure }: StepPlan): boolean =>
          allowFailure !== true && ["failed", "upstream_failed"].includes(states.get(id) ?? "")
        expect(run.state).toBe(node.steps.some(isFault) ? "dead" : "succeeded")
        for (const [at, { state, runId: id }] of steps.entries()) {
          const closed = id === null ? "upstream_failed" : "failed"
          expect(state).toBe(states.get(node.steps[at]?.id ?? "") ?? closed)
        }
        if (run.state === "succeeded") compare(store, runId(1), node)
        if (own.length < ran.length) calledOffCount++
        checkStore(store, run.state === "dead" ? [runId(1)] : [])
      }
      expect(calledOffCount).toBeGreaterThan(50)
    },
  )
})

describe("Advance > limits and errors", () => {
  const steps = (count: number): Array<StepPlan> =>
    Array.from({ length: count }, (_, at) => ({ ...job, id: `s${at}`, needs: [], attemptMax: 1 }))
  const flow = (count: number, output: string | null = null): Expansion => ({
    kind: "flow",
    definition: {
      name: "f",
      version: "1",
      steps: steps(count),
      output,
      failFast: false,
      timeoutMillis: null,
    },
  })
  const list = (count: number): Expansion => ({
    kind: "map",
    step: { ...job, attemptMax: 1 },
    items: Array.from({ length: count }, () => null),
    failFast: false,
  })

  test("graphOf refuses one step and one item too many, and an output that is none, as refusals", () => {
    expect(graphOf(flow(flowStepMax)).size).toBe(flowStepMax)
    expect(graphOf(list(itemMax)).size).toBe(itemMax)
    for (const [expansion, field] of [
      [flow(flowStepMax + 1), "steps"],
      [list(itemMax + 1), "items"],
      [flow(1, "s1"), "output"],
    ] as const) {
      const refused = Result.try({ try: () => graphOf(expansion), catch: (error) => error as Error })
      expect(Result.isFailure(refused)).toBe(true)
      if (Result.isFailure(refused)) {
        expect(refused.failure).toMatchObject({ name: "RangeError", outcomeUnknown: false })
        expect(refused.failure.message.startsWith(`${field}: `)).toBe(true)
      }
    }
  })

  test("mapOutput joins up to the limit of a payload in UTF-8, not one byte more", () => {
    expect(mapOutput([])).toEqual(Result.succeed("[]"))
    expect(mapOutput(["1"])).toEqual(Result.succeed("[1]"))
    expect(mapOutput([null, '"ü"', "{}"])).toEqual(Result.succeed('[null,"ü",{}]'))
    // `["` + characters of two bytes + `",1]`
    const fits = `"${"ü".repeat((payloadBytesMax - 6) / 2)}"`
    const output = Result.getOrThrow(mapOutput([fits, "1"]))
    expect(utf8Length(output)).toBe(payloadBytesMax)
    const over = mapOutput([fits, "12"])
    expect(Result.isFailure(over) && over.failure.kind).toBe("payload")
  })

  test("outcome: open steps keep it running, unless a fault is new and it fails fast", () => {
    const none = { open: 5, faults: 0 }
    expect(outcome({ open: 1, faults: 1 }, none, false)).toBe("running")
    expect(outcome({ open: 1, faults: 1 }, none, true)).toBe("failed")
    expect(outcome({ open: 1, faults: 1 }, { open: 2, faults: 1 }, true)).toBe("running")
    expect(outcome({ open: 0, faults: 1 }, { open: 1, faults: 1 }, true)).toBe("failed")
    expect(outcome({ open: 0, faults: 0 }, none, true)).toBe("succeeded")
  })

  test("stepsError names the first five steps, and never takes more than 1,000 characters", () => {
    const graph = graphOf(flow(9))
    expect(stepsError(graph, [0, 3]).message).toBe('2 of 9 steps failed: "s0", "s3"')
    expect(stepsError(graph, [0, 1, 2, 3, 4, 5, 6]).message).toBe(
      '7 of 9 steps failed: "s0", "s1", "s2", "s3", "s4" and 2 more',
    )
    const long = { ...graph, ids: graph.ids.map(() => "x".repeat(5_000)) }
    expect(stepsError(long, [0]).message).toHaveLength(1_000)
  })
})
