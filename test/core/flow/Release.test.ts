// Release, re-run and outcome against the brute-force model, over random flows in random orders of ending; what is
// released once; and large flows in time.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { type FlowStep, type StepEnd, type StepState, triggerRules } from "../../../core/domain/Flow.ts"
import { type Graph, parseGraph } from "../../../core/flow/Graph.ts"
import { freshCounts } from "../../../core/flow/Judge.ts"
import { hasEnded, Progress } from "../../../core/flow/Progress.ts"
import { release, type Released, tell } from "../../../core/flow/Release.ts"
import { rerun, resetOf } from "../../../core/flow/Rerun.ts"
import { outcomeOf, tallyOf } from "../../../core/flow/Summary.ts"
import { tooSlow } from "../../cases/check.ts"
import { build } from "../../cases/checkFlowSizes.ts"
import { drive, type Driven, firstEnds, lastEnds, type Outcomes } from "../../cases/driveFlow.ts"
import { int, type Random, seeded } from "../trigger/samples.ts"
import { decideBy, descendantsOf, type Expected, expectedOf } from "./model.ts"

const graphOf = (steps: ReadonlyArray<FlowStep>): Graph => Result.getOrThrow(parseGraph(steps))
const step = (id: string, needs: ReadonlyArray<string> = [], more: Partial<FlowStep> = {}): FlowStep => ({
  id,
  needs,
  ...more,
})
const pick = <A>(random: Random, list: ReadonlyArray<A>): A => list[int(random, 0, list.length - 1)] as A

/** A flow of up to 12 steps, declared in any order, with repeated needs, any rule, and what its steps do. */
const sample = (random: Random): { steps: Array<FlowStep>; outcomes: () => Outcomes } => {
  const size = int(random, 0, 12)
  const density = random()
  const steps = Array.from({ length: size }, (_, at) => {
    const needs = Array.from({ length: at }, (_, before) => `s${before}`).filter(() => random() < density)
    if (needs.length > 0 && random() < 0.2) needs.push(pick(random, needs))
    const rule = random() < 0.25 ? undefined : pick(random, triggerRules)
    return step(`s${at}`, needs, { rule, allowFailure: random() < 0.2 })
  })
  for (let at = size - 1; at > 0; at--) {
    const other = int(random, 0, at)
    ;[steps[at], steps[other]] = [steps[other] as FlowStep, steps[at] as FlowStep]
  }
  const outcomes = (): Outcomes =>
    new Map(
      steps.map(({ id }) => [id, pick(random, ["succeeded", "succeeded", "failed", "skipped"] as const)]),
    )
  return { steps, outcomes }
}

const compare = (graph: Graph, driven: Driven, expected: Expected): void => {
  const states = new Map(driven.progress.states.map((state, at) => [graph.ids[at], state]))
  expect(Object.fromEntries(states)).toEqual(Object.fromEntries(expected.states))
  expect(driven.ran).toHaveLength(expected.ran.size)
  expect(new Set(driven.ran.map((at) => graph.ids[at]))).toEqual(expected.ran)
  expect(driven.run).toBe(expected.run)
}

/** No step that may start is left behind, and none has started that may not. */
const checkNow = (steps: ReadonlyArray<FlowStep>, graph: Graph, states: ReadonlyArray<StepState>): void => {
  for (const [at, { needs, rule = "all_success" }] of steps.entries()) {
    const all = [...new Set(needs)].map((need) => states[graph.places.get(need) as number] as StepState)
    const ends = all.filter(hasEnded)
    const isEarly =
      (rule === "one_success" && ends.includes("succeeded")) ||
      (rule === "one_failed" && ends.some((end) => end === "failed" || end === "upstream_failed"))
    const isJudged = ends.length === all.length || isEarly
    if (isJudged === (states[at] === "blocked")) {
      throw new Error(`"${steps[at]?.id}" is ${states[at]} with needs ${all.join(", ")} under ${rule}`)
    }
    const isReleased = states[at] === "released"
    if (isReleased && ends.length === all.length) expect(decideBy(rule, ends)).toBe("run")
  }
}

describe("against the model", () => {
  test("10,000 random flows, in random orders of ending, with a re-run of each", () => {
    const random = seeded(5)
    const seen = new Map<string, number>()
    for (let round = 0; round < 10_000; round++) {
      const { steps, outcomes } = sample(random)
      const graph = graphOf(steps)
      const first = outcomes()
      const progress = new Progress(graph)
      const begun = { progress, released: progress.begin() }
      const driven = drive(
        graph,
        first,
        (underWay) => {
          checkNow(steps, graph, progress.states)
          return int(random, 0, underWay.length - 1)
        },
        begun,
      )
      compare(graph, driven, expectedOf(steps, first))

      const states = driven.progress.states
      const ids = graph.ids.filter(() => random() < 0.2)
      const from = pick(random, ["failed", "skipped", "named"] as const)
      const again = rerun(
        graph,
        states,
        from === "named" ? ids.map((id) => graph.places.get(id) as number) : from,
      )
      const begins = (id: string, at: number): boolean =>
        from === "named"
          ? ids.includes(id)
          : from === "failed"
            ? (states[at] as string).endsWith("failed")
            : states[at] === "skipped"
      const reset = descendantsOf(steps, graph.ids.filter(begins))
      expect(again.reset.map((at) => graph.ids[at])).toEqual(graph.ids.filter((id) => reset.has(id)))
      const kept = new Map(
        graph.ids.flatMap((id, at) => (reset.has(id) ? [] : [[id, states[at] as StepEnd] as const])),
      )
      const second = outcomes()
      const redriven = drive(graph, second, (list) => int(random, 0, list.length - 1), again)
      compare(graph, redriven, expectedOf(steps, second, kept))
      for (const state of states) seen.set(state, (seen.get(state) ?? 0) + 1)
      if (reset.size > 0 && kept.size > 0) seen.set(from, (seen.get(from) ?? 0) + 1)
    }
    // Each state, and each kind of re-run with something to keep, came often enough to mean something.
    for (const what of ["succeeded", "failed", "skipped", "upstream_failed", "named"]) {
      expect([what, (seen.get(what) ?? 0) > 500]).toEqual([what, true])
    }
  }, 60_000)

  test("steps that somebody marks, before their time or while they run, count as ended so", () => {
    const random = seeded(6)
    for (let round = 0; round < 1000; round++) {
      const { steps, outcomes } = sample(random)
      if (steps.length === 0) continue
      const graph = graphOf(steps)
      const what = outcomes()
      const progress = new Progress(graph)
      const marked = int(random, 0, graph.size - 1)
      const end = pick(random, ["succeeded", "skipped"] as const)
      const ran = new Set<number>(progress.begin().run)
      const takeAll = (released: Released | null): void => released?.run.forEach((each) => ran.add(each))
      const wasRunning = progress.states[marked] === "released"
      const wasOpen = !hasEnded(progress.states[marked] as StepState)
      takeAll(progress.finish(marked, end))
      for (;;) {
        const next = [...ran].filter((each) => progress.states[each] === "released")
        if (next.length === 0) break
        const one = pick(random, next)
        takeAll(progress.finish(one, what.get(graph.ids[one] as string) ?? "succeeded"))
      }
      const id = graph.ids[marked] as string
      const expected = expectedOf(steps, what, wasOpen ? new Map([[id, end]]) : new Map())
      expect(progress.states).toEqual(graph.ids.map((each) => expected.states.get(each)))
      if (!wasRunning && wasOpen) expect(ran.has(marked)).toBe(false)
    }
  })

  test("a flow run rebuilt from its states alone goes on as if nothing had happened", () => {
    const random = seeded(7)
    for (let round = 0; round < 1000; round++) {
      const { steps, outcomes } = sample(random)
      const graph = graphOf(steps)
      const what = outcomes()
      let progress = new Progress(graph)
      let under = progress.begin().run
      while (under.length > 0) {
        const one = under.splice(int(random, 0, under.length - 1), 1)[0] as number
        under.push(...(progress.finish(one, what.get(graph.ids[one] as string) ?? "succeeded")?.run ?? []))
        const rebuilt = new Progress(graph, progress.states)
        for (let at = 0; at < graph.size; at++) expect(rebuilt.read(at)).toEqual(progress.read(at))
        expect(rebuilt.begin()).toEqual({ run: [], ended: [] })
        progress = rebuilt
      }
      expect(progress.states).toEqual(graph.ids.map((id) => expectedOf(steps, what).states.get(id)))
    }
  })
})

describe("release", () => {
  const diamond = graphOf([step("a"), step("b", ["a"]), step("c", ["a"]), step("d", ["b", "c"])])

  test("answers what runs in the order of declaration, and what ended with needs first", () => {
    const graph = graphOf([
      step("clean", ["deep"], { rule: "all_done" }),
      step("deep", ["mid"]),
      step("mid", ["a"]),
      step("tell", ["a"], { rule: "one_failed" }),
      step("a"),
    ])
    const progress = new Progress(graph)
    expect(progress.begin()).toEqual({ run: [4], ended: [] })
    expect(progress.finish(4, "failed")).toEqual({
      run: [0, 3],
      ended: [
        { step: 2, end: "upstream_failed" },
        { step: 1, end: "upstream_failed" },
      ],
    })
  })

  test("a step that has ended releases nothing again, and keeps its state", () => {
    const progress = new Progress(diamond)
    expect(progress.begin().run).toEqual([0])
    expect(progress.finish(0, "succeeded")?.run).toEqual([1, 2])
    expect(progress.finish(0, "failed")).toBeNull()
    expect(progress.states[0]).toBe("succeeded")
    expect(progress.finish(1, "succeeded")?.run).toEqual([])
    expect(progress.finish(1, "succeeded")).toBeNull()
    expect(progress.finish(2, "succeeded")?.run).toEqual([3])
  })

  test("a join that started early is not released by the needs that end later", () => {
    const graph = graphOf([
      step("a"),
      step("b"),
      step("c"),
      step("any", ["a", "b", "c"], { rule: "one_success" }),
    ])
    const progress = new Progress(graph)
    progress.begin()
    expect(progress.finish(1, "succeeded")?.run).toEqual([3])
    expect(progress.finish(0, "succeeded")).toEqual({ run: [], ended: [] })
    expect(progress.finish(3, "succeeded")).toEqual({ run: [], ended: [] })
    expect(progress.finish(2, "failed")).toEqual({ run: [], ended: [] })
    expect(progress.states).toEqual(["succeeded", "succeeded", "failed", "succeeded"])
  })

  test("reads and writes one row for each direct dependent, and keeps the counters of those that wait", () => {
    const rows = new Map([1, 2, 3].map((at) => [at, freshCounts(at === 3 ? 2 : 1)]))
    const touched: Array<string> = []
    const table = {
      read: (at: number) => {
        touched.push(`read ${at}`)
        return rows.get(at) ?? null
      },
      write: (at: number, counts: ReturnType<typeof freshCounts>, state: string) => {
        touched.push(`${state} ${at}`)
        if (state === "blocked") rows.set(at, counts)
        else rows.delete(at)
      },
    }
    expect(release(diamond, table, 0, "succeeded").run).toEqual([1, 2])
    expect(release(diamond, table, 1, "succeeded").run).toEqual([])
    expect(rows.get(3)).toEqual({ needs: 2, succeeded: 1, failed: 0, skipped: 0 })
    expect(touched).toEqual(["read 1", "released 1", "read 2", "released 2", "read 3", "blocked 3"])
  })

  test("told one end at a time, a store can stop anywhere and go on", () => {
    const chain = graphOf(build("chain", 50) ?? [])
    const progress = new Progress(chain)
    const whole = new Progress(chain)
    const released: Released = { run: [], ended: [] }
    tell(chain, progress, 0, "failed", released)
    expect(released.ended).toEqual([{ step: 1, end: "upstream_failed" }])
    for (const { step: ended, end } of released.ended) tell(chain, progress, ended, end, released)
    expect(released).toEqual(release(chain, whole, 0, "failed"))
    expect(progress.states).toEqual(whole.states)
  })

  test("begin finds what a crash left unreleased", () => {
    const states: Array<StepState> = ["succeeded", "succeeded", "succeeded", "blocked"]
    expect(new Progress(diamond, states).begin()).toEqual({ run: [3], ended: [] })
  })
})

describe("re-run", () => {
  const steps = [
    step("a"),
    step("b", ["a"]),
    step("fix", ["b"], { rule: "one_failed" }),
    step("end", ["b", "fix"], { rule: "all_done" }),
    step("other", ["a"]),
  ]
  const graph = graphOf(steps)
  const failed: ReadonlyArray<StepState> = ["succeeded", "failed", "succeeded", "succeeded", "succeeded"]

  test("of nothing that failed is empty and releases nothing", () => {
    const again = rerun(graph, new Array<StepState>(5).fill("succeeded"), "failed")
    expect(again.reset).toEqual([])
    expect(again.released).toEqual({ run: [], ended: [] })
  })

  test("from failed takes along what hangs behind, also what had succeeded", () => {
    const again = rerun(graph, failed, "failed")
    expect(again.reset).toEqual([1, 2, 3])
    expect(again.released).toEqual({ run: [1], ended: [] })
    expect(again.progress.states).toEqual(["succeeded", "released", "blocked", "blocked", "succeeded"])
  })

  test("from a named step judges it by its kept needs, and the given states are not touched", () => {
    const again = rerun(graph, failed, [3])
    expect(again.released.run).toEqual([3])
    expect(again.progress.counts(3)).toEqual({ needs: 2, succeeded: 1, failed: 1, skipped: 0 })
    expect(failed[3]).toBe("succeeded")
  })

  test("a named step whose needs failed ends again without running", () => {
    const two = graphOf([step("a"), step("b", ["a"]), step("c", ["b"])])
    const again = rerun(two, ["failed", "upstream_failed", "upstream_failed"], [1])
    expect(again.released.run).toEqual([])
    expect(again.progress.states).toEqual(["failed", "upstream_failed", "upstream_failed"])
  })

  test("from failed finds what ended because of a failure, also when that step was marked since", () => {
    const two = graphOf([step("a"), step("b", ["a"])])
    const again = rerun(two, ["succeeded", "upstream_failed"], "failed")
    expect(again.reset).toEqual([1])
    expect(again.released.run).toEqual([1])
  })

  test("from skipped leaves what failed", () => {
    const states: ReadonlyArray<StepState> = ["succeeded", "failed", "skipped", "succeeded", "skipped"]
    expect(resetOf(graph, states, "skipped")).toEqual([2, 3, 4])
  })
})

describe("the outcome of the whole", () => {
  const graph = graphOf([step("a"), step("b", ["a"], { allowFailure: true })])
  const whole = (...states: ReadonlyArray<StepState>): string => {
    const { openCount, faultCount } = tallyOf(graph, states)
    return outcomeOf(openCount, faultCount)
  }

  test("is open until every step has ended, then as G6 says", () => {
    expect(whole("failed", "released")).toBe("running")
    expect(whole("succeeded", "blocked")).toBe("running")
    expect(whole("succeeded", "failed")).toBe("succeeded")
    expect(whole("succeeded", "upstream_failed")).toBe("succeeded")
    expect(whole("failed", "upstream_failed")).toBe("failed")
    expect(whole("upstream_failed", "skipped")).toBe("failed")
    expect(whole("skipped", "skipped")).toBe("succeeded")
    expect(outcomeOf(0, 0)).toBe("succeeded")
  })
})

describe("size", () => {
  test.each(["chain", "fan"])(
    "a %s of 100,000 runs to the end, fails to the end and re-runs, each within a second",
    (shape) => {
      const graph = graphOf(build(shape, 100_000) ?? [])
      const failing: Outcomes = new Map([[graph.ids[0] as string, "failed"]])
      const whole = (): void => expect(drive(graph, new Map(), firstEnds).run).toBe("succeeded")
      const failed = (): void => expect(drive(graph, failing, lastEnds).ran).toHaveLength(1)
      const { states } = drive(graph, failing, lastEnds).progress
      const again = (): void => {
        const begun = rerun(graph, states, "failed")
        expect(begun.reset).toHaveLength(graph.size)
        expect(drive(graph, new Map(), lastEnds, begun).run).toBe("succeeded")
      }
      for (const work of [whole, failed, again]) expect(tooSlow(1000, work)).toBeUndefined()
    },
  )
})
