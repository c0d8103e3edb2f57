// What a graph refuses and how it says so; its edges, layers and sizes.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { InvalidFlow } from "../../../core/domain/Errors.ts"
import type { FlowStep } from "../../../core/domain/Flow.ts"
import { targetsOf } from "../../../core/flow/Edges.ts"
import { type Graph, layerIds, needMax, parseGraph, placesOf, stepMax } from "../../../core/flow/Graph.ts"
import { tooSlow } from "../../cases/check.ts"
import { build } from "../../cases/checkFlowSizes.ts"

/** `step("b", "a")`: b needs a. */
const step = (id: string, ...needs: ReadonlyArray<string>): FlowStep => ({ id, needs })
const graphOf = (...steps: ReadonlyArray<FlowStep>): Graph => Result.getOrThrow(parseGraph(steps))
const refusal = (...steps: ReadonlyArray<FlowStep>): InvalidFlow => {
  const parsed = parseGraph(steps)
  if (Result.isSuccess(parsed)) throw new Error("The flow is not refused")
  return parsed.failure
}

describe("a refused flow", () => {
  test("an id twice", () => {
    const error = refusal(step("a"), step("b"), step("a"))
    expect(error).toMatchObject({
      _tag: "InvalidFlow",
      kind: "duplicate",
      nodes: ["a"],
      field: "steps[2].id",
    })
    expect(error.message).toBe(
      'steps[2].id: steps[0] has the id "a" already. Give each step an id of its own.',
    )
  })

  test("an empty id, or none", () => {
    for (const id of ["", undefined, null, 7]) {
      expect(refusal(step("a"), step(id as string))).toMatchObject({ kind: "id", field: "steps[1].id" })
    }
  })

  test("a rule that is none of the eight", () => {
    for (const rule of ["all_sucess", "", "__proto__", null, 1]) {
      const error = refusal(step("a"), { ...step("b", "a"), rule: rule as "all_done" })
      expect(error).toMatchObject({ kind: "rule", nodes: ["b"], field: 'step "b".rule' })
      expect(error.next).toContain("none_failed_min_one_success")
    }
  })

  test("a need of itself, and one that is missing, name both ends", () => {
    expect(refusal(step("a"), step("b", "a", "b"))).toMatchObject({ kind: "self", nodes: ["b"] })
    const error = refusal(step("a"), step("b", "a", "zz"))
    expect(error).toMatchObject({ kind: "missing", nodes: ["b", "zz"], field: 'step "b".needs' })
    expect(error.message).toBe('step "b".needs: there is no step "zz". Add that step, or correct the name.')
  })

  test("a circle shows its path, each needing the next, without its head and tail", () => {
    const error = refusal(step("a"), step("b", "a", "d"), step("c", "b"), step("d", "c"), step("e", "d"))
    expect(error).toMatchObject({ kind: "cycle", nodes: ["b", "d", "c"] })
    expect(error.reason).toBe('steps need each other in a circle: "b" -> "d" -> "c" -> "b"')
    // Also when what hangs behind the circle is declared first.
    expect(refusal(step("e", "d"), step("d", "c"), step("c", "d")).nodes.toSorted()).toEqual(["c", "d"])
  })

  test("a long circle shows its first 20 steps, and the message stays short, however long the ids are", () => {
    const name = (at: number): string => `${at}`.padEnd(100_000, "x")
    const ring = Array.from({ length: 21 }, (_, at) => step(name(at), name((at + 1) % 21)))
    const error = refusal(...ring)
    expect(error.nodes).toEqual(Array.from({ length: 20 }, (_, at) => name(at)))
    expect(error.message.length).toBeLessThan(2000)
    expect(error.message).toContain("1 more -> ")
    expect(
      refusal(...ring.slice(0, 20).map((one, at) => (at === 19 ? step(name(19), name(0)) : one))).nodes,
    ).toHaveLength(20)
  })

  test("too many steps, or needs, before any memory is taken for them", () => {
    const steps = new Array<FlowStep>(stepMax + 1)
    expect(Result.flip(parseGraph(steps))).toMatchObject({ success: { kind: "limit", field: "steps" } })
    const needs = new Array<string>(needMax / 2 + 1)
    const error = refusal({ id: "a", needs }, { id: "b", needs })
    expect(error.message).toBe("steps: 10000002 needs are more than 10000000. Split the flow into several.")
  })
})

describe("a graph", () => {
  test("has layers in the order of declaration, and each edge once", () => {
    const graph = graphOf(
      step("late", "b", "a", "b", "b"),
      step("b", "a"),
      step("alone"),
      step("a"),
      step("c", "a", "alone"),
    )
    expect(layerIds(graph)).toEqual([["alone", "a"], ["b", "c"], ["late"]])
    expect([...targetsOf(graph.needs, 0)]).toEqual([1, 3])
    expect([...targetsOf(graph.dependents, 3)]).toEqual([0, 1, 4])
    expect(graph.needs.targets).toHaveLength(5)
  })

  test("of no steps has no layers", () => {
    expect(layerIds(graphOf())).toEqual([])
  })

  test("takes any text as an id", () => {
    const ids = ["__proto__", "constructor", "toString", " ", "\n", "a,b", "\ud800", "💥", "hasOwnProperty"]
    const graph = graphOf(...ids.map((id, at) => step(id, ...ids.slice(0, at))))
    expect(layerIds(graph)).toEqual(ids.map((id) => [id]))
    expect(refusal(step("__proto__", "constructor"))).toMatchObject({ nodes: ["__proto__", "constructor"] })
    expect(refusal(step("__proto__"), step("__proto__")).kind).toBe("duplicate")
  })

  test("finds places by ids, and says which steps there are when one is unknown", () => {
    const graph = graphOf(step("a"), step("b"))
    expect(placesOf(graph, "from", ["b", "a"])).toEqual(Result.succeed([1, 0]))
    expect(Result.flip(placesOf(graph, "from", ["z"]))).toMatchObject({
      success: {
        field: "from",
        reason: 'the flow has no step "z"',
        next: 'Name one of its steps: "a", "b".',
      },
    })
  })
})

describe("size", () => {
  const shape = (name: string, nodes: number): ReadonlyArray<FlowStep> => build(name, nodes) ?? []

  test.each([
    ["chain", 100_000, 100_000],
    ["fan", 100_000, 3],
  ])("a %s of %i has %i layers, within a second", (name, nodes, layers) => {
    const steps = shape(name, nodes)
    expect(tooSlow(1000, () => graphOf(...steps))).toBeUndefined()
    expect(graphOf(...steps).layers.count).toBe(layers)
  })

  test("a chain that is declared backwards is no harder", () => {
    expect(graphOf(...shape("chain", 100_000).toReversed()).layers.order[0]).toBe(99_999)
  })

  test("a ring of 100,000 is refused within a second, with a chain before and behind it", () => {
    const ring = shape("ring", 100_000)
    const steps = [
      ...shape("chain", 1000).map(({ id, needs }) => step(`h${id}`, ...needs.map((need) => `h${need}`))),
      ...ring,
      step("tail", "n5"),
    ]
    expect(tooSlow(1000, () => refusal(...steps))).toBeUndefined()
    expect(refusal(...steps).nodes).toEqual([
      "n1",
      ...Array.from({ length: 19 }, (_, at) => `n${100_000 - at}`),
    ])
  })
})
