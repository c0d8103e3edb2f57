// Large flows: built by their shape, so that all facts about them are known, checked and run to the end, in time.
// The text of `expect` is for people; what it claims is compared with what the shape gives.
import * as Result from "effect/Result"
import type { FlowStep } from "../../core/domain/Flow.ts"
import { degree } from "../../core/flow/Edges.ts"
import { type Graph, parseGraph } from "../../core/flow/Graph.ts"
import { Progress } from "../../core/flow/Progress.ts"
import { release, type StepTable } from "../../core/flow/Release.ts"
import { type Problem, problem, tooSlow } from "./check.ts"
import { drive, lastEnds } from "./driveFlow.ts"

/** A case of this kind, as the README has it. */
export interface SizeCase {
  readonly id: string
  readonly title?: string
  readonly build: { readonly shape: string; readonly nodes: number }
  readonly expect: string
  readonly limitMs: number
}

/** The steps of a shape: `chain` n1 <- n2 <- ..., `ring` the chain closed, `fan` one, n, one. */
export const build = (shape: string, nodes: number): Array<FlowStep> | undefined => {
  const name = (index: number): string => `n${index + 1}`
  switch (shape) {
    case "chain":
    case "ring": {
      const first = shape === "ring" ? [name(nodes - 1)] : []
      return Array.from({ length: nodes }, (_, index) => ({
        id: name(index),
        needs: index === 0 ? first : [name(index - 1)],
      }))
    }
    case "fan": {
      const middle = Array.from({ length: nodes }, (_, index) => ({ id: name(index), needs: ["first"] }))
      return [{ id: "first", needs: [] }, ...middle, { id: "last", needs: middle.map(({ id }) => id) }]
    }
  }
  return undefined
}

/** Checks one. */
export const checkSize = ({ build: { shape, nodes }, expect, limitMs }: SizeCase): Problem | undefined => {
  const steps = build(shape, nodes)
  if (steps === undefined) return { what: "shape", expected: "chain, ring or fan", got: shape }
  const isValid = shape !== "ring"
  const claim = /\bcycle\b/.test(expect) ? false : /^valid\b/.test(expect) ? true : undefined
  const parsed = parseGraph(steps)
  return (
    problem("expect", claim, isValid) ??
    problem("valid", isValid, Result.isSuccess(parsed)) ??
    tooSlow(limitMs, () => Result.getOrElse(parseGraph(steps), ({ message }) => message)) ??
    (Result.isFailure(parsed)
      ? checkRing(parsed.failure, nodes, expect)
      : checkWhole(parsed.success, shape, nodes, expect, limitMs))
  )
}

const checkRing = (
  error: { readonly kind: string; readonly nodes: ReadonlyArray<string>; readonly message: string },
  nodes: number,
  expect: string,
): Problem | undefined => {
  const namesMax = Number(/at most (\d+) names/.exec(expect)?.[1] ?? 20)
  const named = new Set(error.message.match(/\bn\d+\b/g))
  return (
    problem("kind", nodes === 1 ? "self" : "cycle", error.kind) ??
    problem("names", Math.min(nodes, 20), error.nodes.length) ??
    problem("names in the message", true, named.size > 0 && named.size <= namesMax) ??
    problem("length of the message, at most 2,000", true, error.message.length <= 2000)
  )
}

const checkWhole = (
  graph: Graph,
  shape: string,
  nodes: number,
  expect: string,
  limitMs: number,
): Problem | undefined => {
  const sizes = Array.from(
    { length: graph.layers.count },
    (_, layer) => graph.layers.starts[layer + 1]! - graph.layers.starts[layer]!,
  )
  const claimed = /([\d ,_]*\d)\s+layers?\b/.exec(expect)?.[1]?.replace(/\D/g, "")
  const run = (): string => drive(graph, new Map(), lastEnds).run
  return (
    problem("layers", shape === "chain" ? nodes : 3, sizes.length) ??
    problem(
      "steps of the layers",
      true,
      sizes.every((size, layer) => size === (shape === "fan" && layer === 1 ? nodes : 1)),
    ) ??
    problem("layers that are expected", Number(claimed ?? sizes.length), sizes.length) ??
    problem("run", "succeeded", run()) ??
    tooSlow(limitMs, run) ??
    checkCosts(graph)
  )
}

/** Ends every step once, by hand, and counts what that reads and writes: never more than the step's dependents. */
const checkCosts = (graph: Graph): Problem | undefined => {
  const progress = new Progress(graph)
  let touched = 0
  const table: StepTable = {
    read: (step) => {
      touched++
      return progress.read(step)
    },
    write: (step, counts, state) => progress.write(step, counts, state),
  }
  progress.begin()
  for (const step of graph.layers.order) {
    touched = 0
    release(graph, table, step, "succeeded")
    const cost = degree(graph.dependents, step)
    if (touched > cost) return { what: `cost of "${graph.ids[step]}"`, expected: cost, got: touched }
  }
  return undefined
}
