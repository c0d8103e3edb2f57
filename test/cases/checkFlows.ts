// Checks cases of a `dag-cases.json` against the core of flows. The README beside the file is the law: what it names
// is compared in full, and an expectation that it does not know is a failure, not something to pass over.
import * as Result from "effect/Result"
import type { InvalidFlow } from "../../core/domain/Errors.ts"
import { type FlowStep, type StepEnd, type StepState, triggerRules } from "../../core/domain/Flow.ts"
import { type Graph, layerIds, parseGraph, placesOf } from "../../core/flow/Graph.ts"
import { type Rerun, type RerunFrom, rerun } from "../../core/flow/Rerun.ts"
import { type Check, check, type Problem, problem } from "./check.ts"
import {
  type Driven,
  drive,
  endsLast,
  firstEnds,
  lastEnds,
  type Outcomes,
  type Schedule,
} from "./driveFlow.ts"
import { checkSize, type SizeCase } from "./checkFlowSizes.ts"

interface Named {
  readonly id: string
  readonly title?: string
  readonly why?: string
}
interface CaseNode {
  readonly id: string
  readonly deps: ReadonlyArray<string>
  readonly rule?: string
  readonly allowFailure?: boolean
}
interface Nodes extends Named {
  readonly nodes: ReadonlyArray<CaseNode>
}
type Fields = Readonly<Record<string, unknown>>
interface ValidateCase extends Nodes {
  readonly expected: Fields
}
interface RunCase extends Nodes {
  readonly outcome?: Fields
  readonly expected: Fields
}
interface RerunCase extends Nodes {
  readonly firstOutcome?: Fields
  readonly firstExpected: Fields
  readonly from: string | ReadonlyArray<string>
  readonly secondOutcome?: Fields
  readonly expected: Fields
}
/** What the README beside the file says it holds. */
export interface FlowCases {
  readonly validate?: ReadonlyArray<ValidateCase>
  readonly run?: ReadonlyArray<RunCase>
  readonly rerun?: ReadonlyArray<RerunCase>
  readonly size?: ReadonlyArray<SizeCase>
}

/** All checks of a file, in its order; a list of a kind that is not known is one that fails. */
export const flowChecksOf = (cases: FlowCases): Array<Check> => [
  ...(cases.validate ?? []).map((one) => check(one, () => checkValidate(one))),
  ...(cases.run ?? []).map((one) => check(one, () => checkRun(one))),
  ...(cases.rerun ?? []).map((one) => check(one, () => checkRerun(one))),
  ...(cases.size ?? []).map((one) => check(one, () => checkSize(one))),
  ...Object.keys(cases)
    .filter((key) => !["meta", "validate", "run", "rerun", "size"].includes(key))
    .map((key) => check({ id: key, title: "a list" }, () => unknownField("a kind of case", key))),
]

const unknownField = (what: string, key: unknown): Problem => ({
  what,
  expected: "one that the README names",
  got: key,
})
const onlyFields = (what: string, fields: Fields, known: ReadonlyArray<string>): Problem | undefined => {
  const key = Object.keys(fields).find((each) => !known.includes(each))
  return key === undefined ? undefined : unknownField(what, key)
}

const parse = (nodes: ReadonlyArray<CaseNode>): Result.Result<Graph, InvalidFlow> =>
  parseGraph(
    nodes.map(({ id, deps, rule, allowFailure }) => ({ id, needs: deps, rule, allowFailure }) as FlowStep),
  )
const refused = ({ message }: InvalidFlow): Problem => ({ what: "graph", expected: "valid", got: message })

// ---- validate

// Of the words for a node that is there twice, the README gives none.
const kinds = new Map<unknown, InvalidFlow["kind"]>([
  ["duplicate-node", "duplicate"],
  ["duplicate-id", "duplicate"],
  ["duplicate", "duplicate"],
  ["unknown-rule", "rule"],
  ["self-dependency", "self"],
  ["missing-dependency", "missing"],
  ["cycle", "cycle"],
])

const checkValidate = ({ nodes, expected }: ValidateCase): Problem | undefined => {
  const parsed = parse(nodes)
  if (Result.isFailure(parsed)) return checkRefusal(nodes, expected, parsed.failure)
  return (
    problem("graph", expected["error"] ?? "valid", "valid") ??
    onlyFields("expected", expected, ["ok", "layers"]) ??
    problem("ok", expected["ok"], true) ??
    problem("layers", expected["layers"], layerIds(parsed.success))
  )
}

const checkRefusal = (
  nodes: ReadonlyArray<CaseNode>,
  expected: Fields,
  error: InvalidFlow,
): Problem | undefined => {
  if (expected["error"] === undefined) return refused(error)
  const kind = kinds.get(expected["error"])
  if (kind === undefined) return unknownField("error", expected["error"])
  const wrong =
    onlyFields("expected", expected, ["error", "among", "node", "missing"]) ??
    problem("field, reason and next step", true, [error.field, error.reason, error.next].every(Boolean)) ??
    problem(`a fault that is there (${error.message})`, true, isThere(nodes, error))
  if (wrong !== undefined) return wrong
  const { among = error.nodes, node = error.nodes[0], missing = error.nodes[1] } = expected as Expected
  const isSame =
    error.kind === kind &&
    (kind === "cycle" ? error.nodes.every((id) => among.includes(id)) : error.nodes[0] === node) &&
    (kind !== "missing" || error.nodes[1] === missing)
  // If several faults apply, any one may be reported (G1). The one that was is there, as is shown above; so another
  // one than is expected is right if that is there as well.
  const isOther =
    kind === "cycle"
      ? error.kind !== "cycle" && among.some((id) => isInCircle(nodes, id))
      : isThere(nodes, { kind, nodes: [node, missing].filter((id) => id !== undefined) })
  return isSame || isOther
    ? undefined
    : { what: "error", expected, got: { kind: error.kind, nodes: error.nodes } }
}

interface Expected {
  readonly among?: ReadonlyArray<string>
  readonly node?: string
  readonly missing?: string
}

/** Whether following needs leads from a node back to it. */
const isInCircle = (nodes: ReadonlyArray<CaseNode>, id: string): boolean => {
  const needs = new Map(nodes.map((node) => [node.id, node.deps]))
  const reached = new Set(needs.get(id))
  for (const each of reached) for (const need of needs.get(each) ?? []) reached.add(need)
  return reached.has(id)
}

/** Whether the nodes have this fault, found without the graph of the core. */
const isThere = (
  nodes: ReadonlyArray<CaseNode>,
  { kind, nodes: named }: Pick<InvalidFlow, "kind" | "nodes">,
): boolean => {
  const [id, second] = named
  const own = nodes.filter((node) => node.id === id)
  switch (kind) {
    case "duplicate":
      return own.length > 1
    case "rule":
      return own.some(({ rule }) => rule !== undefined && !triggerRules.some((each) => each === rule))
    case "self":
      return own.some(({ deps }) => deps.includes(id as string))
    case "missing":
      return (
        own.some(({ deps }) => deps.includes(second as string)) && !nodes.some((node) => node.id === second)
      )
    case "cycle": {
      const needs = new Map(nodes.map((node) => [node.id, node.deps]))
      const isEdge = (from: string, to: string): boolean => needs.get(from)?.includes(to) === true
      const isPath = named.every((each, at) => at === 0 || isEdge(named[at - 1] as string, each))
      const isClosed = isEdge(named.at(-1) as string, id as string)
      const isFirstPart = named.length === 20 && isInCircle(nodes, id as string)
      return named.length > 0 && new Set(named).size === named.length && isPath && (isClosed || isFirstPart)
    }
    case "id":
      return nodes.some((node) => typeof node.id !== "string" || node.id === "")
    case "limit":
      return false
  }
}

// ---- run and rerun

const stateNames: Readonly<Record<string, Exclude<StepEnd, "upstream_failed">>> = {
  success: "succeeded",
  failed: "failed",
  skipped: "skipped",
}
const nameOf = (state: string): string => (state === "succeeded" ? "success" : state)

const outcomesOf = (outcome: Fields = {}): Outcomes =>
  new Map(
    Object.entries(outcome).map(([id, name]) => {
      const state = Object.hasOwn(stateNames, String(name)) ? stateNames[String(name)] : undefined
      if (state === undefined) throw new Error(`"${String(name)}" is no outcome of a step`)
      return [id, state]
    }),
  )

/** Orders in which steps that are under way may end: the result must be the same, whichever it is. */
const schedulesOf = (graph: Graph): Array<Schedule> => [
  firstEnds,
  lastEnds,
  ...Array.from({ length: Math.min(graph.size, 100) }, (_, step) => endsLast(step)),
]

const checkRun = ({ nodes, outcome, expected }: RunCase): Problem | undefined => {
  const parsed = parse(nodes)
  if (Result.isFailure(parsed)) return refused(parsed.failure)
  const graph = parsed.success
  const outcomes = outcomesOf(outcome)
  const unknown = onlyFields("expected", expected, ["states", "ran", "run", "startsAfter"])
  return (
    unknown ?? firstOf(schedulesOf(graph), (one) => compare("", graph, drive(graph, outcomes, one), expected))
  )
}

const checkRerun = (one: RerunCase): Problem | undefined => {
  const parsed = parse(one.nodes)
  if (Result.isFailure(parsed)) return refused(parsed.failure)
  const graph = parsed.success
  const from = fromOf(graph, one.from)
  const known = ["states", "ran", "run", "startsAfter"]
  const unknown =
    onlyFields("firstExpected", one.firstExpected, known) ??
    onlyFields("expected", one.expected, [...known, "reset"])
  return (
    unknown ??
    firstOf(schedulesOf(graph), (schedule) => {
      const first = drive(graph, outcomesOf(one.firstOutcome), schedule)
      const begun = rerun(graph, first.progress.states, from)
      return (
        compare("first run: ", graph, first, one.firstExpected) ??
        sameSet("reset", one.expected["reset"], idsOf(graph, begun.reset)) ??
        compare(
          "re-run: ",
          graph,
          drive(graph, outcomesOf(one.secondOutcome), schedule, begun),
          one.expected,
          begun,
        )
      )
    })
  )
}

/** "failed", "skipped", or the names of nodes. */
const fromOf = (graph: Graph, from: string | ReadonlyArray<string>): RerunFrom => {
  if (from === "failed" || from === "skipped") return from
  return Result.getOrThrow(placesOf(graph, "from", typeof from === "string" ? [from] : from))
}

const compare = (
  which: string,
  graph: Graph,
  driven: Driven,
  expected: Fields,
  begun?: Rerun,
): Problem | undefined => {
  const states = graph.ids.map((id, step) => [id, nameOf(driven.progress.states[step] as StepState)])
  const wanted = Object.entries((expected["states"] ?? {}) as Fields)
  return (
    sameSet(`${which}states`, wanted.map(pair), states.map(pair)) ??
    sameSet(`${which}ran`, expected["ran"], idsOf(graph, driven.ran)) ??
    problem(`${which}run`, expected["run"], nameOf(driven.run)) ??
    firstOf(Object.entries((expected["startsAfter"] ?? {}) as Fields), ([later, earlier]) =>
      firstOf([earlier].flat(), (each) => startsAfter(which, graph, driven, later, String(each), begun)),
    )
  )
}

const startsAfter = (
  which: string,
  graph: Graph,
  driven: Driven,
  later: string,
  earlier: string,
  begun: Rerun | undefined,
): Problem | undefined => {
  const [x, y] = Result.getOrThrow(placesOf(graph, "startsAfter", [later, earlier])) as [number, number]
  // Whoever never started did not start too early; what a re-run kept was final before.
  const start = driven.startedAt[x] as number
  const end = driven.endedAt[y] as number
  const isKept = begun !== undefined && !begun.reset.includes(y)
  const isRight = start === -1 || isKept || (end !== -1 && end < start)
  return isRight
    ? undefined
    : { what: `${which}startsAfter`, expected: `"${later}" after "${earlier}"`, got: { start, end } }
}

const idsOf = (graph: Graph, steps: ReadonlyArray<number>): Array<string> =>
  steps.map((step) => graph.ids[step] as string)
const pair = (entry: ReadonlyArray<unknown>): string => JSON.stringify(entry)

/** The same members as often, in whatever order: programs sort texts in more than one way. */
const sameSet = (what: string, expected: unknown, got: ReadonlyArray<string>): Problem | undefined =>
  Array.isArray(expected)
    ? problem(what, [...(expected as Array<string>)].sort(), [...got].sort())
    : { what, expected: expected ?? "a list in the case", got }

const firstOf = <A>(list: Iterable<A>, look: (each: A) => Problem | undefined): Problem | undefined => {
  for (const each of list) {
    const found = look(each)
    if (found !== undefined) return found
  }
  return undefined
}
