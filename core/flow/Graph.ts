// The steps of a flow as a graph: checked once, when the flow is saved, and never changed afterwards. First station
// of `flow/`: layers, release, re-run and drawings all work on it. A step is its place in the order of declaration
// from here on; ids are looked up in a Map, so that any text can be one. Linear, and without recursion.
import * as Result from "effect/Result"
import { InvalidFlow, InvalidInput } from "../domain/Errors.ts"
import { type FlowStep, type TriggerRule, triggerRules } from "../domain/Flow.ts"
import { quote } from "../domain/TimeSpan.ts"
import { type Edges, reversed, targetsOf } from "./Edges.ts"
import { type Layers, layersOf } from "./Layers.ts"

/** A checked flow. Frozen by its types; a store may keep one per version and share it between flow runs. */
export interface Graph {
  /** How many steps there are. */
  readonly size: number
  readonly ids: ReadonlyArray<string>
  /** The place of each id. */
  readonly places: ReadonlyMap<string, number>
  readonly rules: ReadonlyArray<TriggerRule>
  readonly allowFailure: ReadonlyArray<boolean>
  /** From a step to the steps that it needs, each once, in the order they were given. */
  readonly needs: Edges
  /** From a step to the steps that need it, ascending. */
  readonly dependents: Edges
  readonly layers: Layers
}

/** Most steps of one flow. */
export const stepMax = 1_000_000
/** Most needs of all steps of one flow together, repeated ones counted. */
export const needMax = 10_000_000
/** Most steps that an error names. */
export const namedMax = 20

const knownRules: ReadonlySet<unknown> = new Set(triggerRules)

/**
 * Checks the steps of a flow and makes its graph. Refused, naming the steps: an id that is no text, empty or used
 * twice, an unknown rule, a need of itself, a need that is missing, a circle, and what is over a limit.
 */
export const parseGraph = (steps: ReadonlyArray<FlowStep>): Result.Result<Graph, InvalidFlow> => {
  const places = new Map<string, number>()
  if (steps.length > stepMax) return tooMany("steps", steps.length, "steps", stepMax)
  let given = 0
  for (const [place, { id, needs, rule }] of steps.entries()) {
    const problem = checkStep(place, id, rule, places)
    if (problem !== undefined) return Result.fail(problem)
    places.set(id, place)
    given += needs.length
  }
  if (given > needMax) return tooMany("steps", given, "needs", needMax)
  return Result.flatMap(needsOf(steps, places, given), (needs) => {
    const dependents = reversed(needs)
    const layers = layersOf(needs, dependents)
    if ("openNeeds" in layers) return Result.fail(cycleError(steps, needs, layers.openNeeds))
    return Result.succeed({
      size: steps.length,
      ids: steps.map(({ id }) => id),
      places,
      rules: steps.map(({ rule }) => rule ?? "all_success"),
      allowFailure: steps.map(({ allowFailure }) => allowFailure === true),
      needs,
      dependents,
      layers,
    })
  })
}

/** The places of steps by their ids. Refused: an id that no step has. */
export const placesOf = (
  graph: Graph,
  field: string,
  ids: ReadonlyArray<string>,
): Result.Result<Array<number>, InvalidInput> => {
  const found: Array<number> = []
  for (const id of ids) {
    const place = graph.places.get(id)
    if (place === undefined) {
      const reason = `the flow has no step ${quote(id)}`
      return Result.fail(new InvalidInput({ field, reason, next: `Name one of its steps: ${known(graph)}.` }))
    }
    found.push(place)
  }
  return Result.succeed(found)
}

/** The layers as ids. */
export const layerIds = ({ ids, layers }: Graph): Array<Array<string>> =>
  Array.from({ length: layers.count }, (_, layer) =>
    Array.from(layers.order.subarray(layers.starts[layer], layers.starts[layer + 1]), (step) => ids[step]!),
  )

const known = ({ ids }: Graph): string => {
  const names = ids.slice(0, 10).map(quote).join(", ")
  return ids.length > 10 ? `${names} and ${ids.length - 10} more` : names || "it has none"
}

const checkStep = (
  place: number,
  id: unknown,
  rule: unknown,
  places: ReadonlyMap<unknown, number>,
): InvalidFlow | undefined => {
  if (typeof id !== "string" || id === "") {
    return new InvalidFlow({
      kind: "id",
      nodes: [],
      field: `steps[${place}].id`,
      reason: `${quote(id)} is not an id`,
      next: "Give each step a text that is not empty.",
    })
  }
  const first = places.get(id)
  if (first !== undefined) {
    return new InvalidFlow({
      kind: "duplicate",
      nodes: [id],
      field: `steps[${place}].id`,
      reason: `steps[${first}] has the id ${quote(id)} already`,
      next: "Give each step an id of its own.",
    })
  }
  if (rule === undefined || knownRules.has(rule)) return undefined
  return new InvalidFlow({
    kind: "rule",
    nodes: [id],
    field: `step ${quote(id)}.rule`,
    reason: `${quote(rule)} is not a rule`,
    next: `Use one of ${triggerRules.join(", ")}.`,
  })
}

const needsOf = (
  steps: ReadonlyArray<FlowStep>,
  places: ReadonlyMap<string, number>,
  given: number,
): Result.Result<Edges, InvalidFlow> => {
  const starts = new Int32Array(steps.length + 1)
  const targets = new Int32Array(given)
  // The step that named a need last: told apart without a set for each step.
  const namedBy = new Int32Array(steps.length).fill(-1)
  let end = 0
  for (const [step, { id, needs }] of steps.entries()) {
    for (const need of needs) {
      const place = places.get(need)
      if (place === undefined) return Result.fail(missing(id, need))
      if (place === step) return Result.fail(selfNeed(id))
      if (namedBy[place] === step) continue
      namedBy[place] = step
      targets[end++] = place
    }
    starts[step + 1] = end
  }
  return Result.succeed({ starts, targets: end === given ? targets : targets.slice(0, end) })
}

const missing = (id: string, need: string): InvalidFlow =>
  new InvalidFlow({
    kind: "missing",
    nodes: [id, need],
    field: `step ${quote(id)}.needs`,
    reason: `there is no step ${quote(need)}`,
    next: "Add that step, or correct the name.",
  })

const selfNeed = (id: string): InvalidFlow =>
  new InvalidFlow({
    kind: "self",
    nodes: [id],
    field: `step ${quote(id)}.needs`,
    reason: `step ${quote(id)} needs itself`,
    next: "Remove this need.",
  })

// Every step that is left needs another one that is left, so following any such need must come back.
const cycleError = (steps: ReadonlyArray<FlowStep>, needs: Edges, openNeeds: Int32Array): InvalidFlow => {
  const path: Array<number> = []
  const seenAt = new Int32Array(steps.length).fill(-1)
  let step = openNeeds.findIndex((open) => open > 0)
  while (seenAt[step] === -1) {
    seenAt[step] = path.length
    path.push(step)
    step = targetsOf(needs, step).find((need) => openNeeds[need]! > 0)!
  }
  const cycle = path.slice(seenAt[step])
  const nodes = cycle.slice(0, namedMax).map((each) => steps[each]!.id)
  const more = cycle.length - nodes.length
  const rest = more > 0 ? `${more} more -> ` : ""
  const names = nodes.map(quote)
  return new InvalidFlow({
    kind: "cycle",
    nodes,
    field: `step ${names[0]}.needs`,
    reason: `steps need each other in a circle: ${names.join(" -> ")} -> ${rest}${names[0]}`,
    next: "Remove one of these needs.",
  })
}

const tooMany = (
  field: string,
  count: number,
  what: string,
  max: number,
): Result.Result<never, InvalidFlow> =>
  Result.fail(
    new InvalidFlow({
      kind: "limit",
      nodes: [],
      field,
      reason: `${count} ${what} are more than ${max}`,
      next: "Split the flow into several.",
    }),
  )
