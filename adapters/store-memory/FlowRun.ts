// The steps of one expanded run in memory: states and counters, the runs that the steps got, and what somebody
// marked. Rows only: what happens to runs because of them is in `follow.ts`.
import type { Expansion, FlowDefinition, StepEnd, StepState } from "../../core/domain/Flow.ts"
import { closedState, deadlineOf, type FlowRows, graphOf, type Totals } from "../../core/flow/Advance.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import { hasEnded, Progress } from "../../core/flow/Progress.ts"
import { resetOf, type RerunFrom } from "../../core/flow/Rerun.ts"
import { isFault, tallyOf } from "../../core/flow/Summary.ts"
import type { Entry } from "./RunTable.ts"

/** An expansion that was checked, with its graph. */
export interface Plan {
  readonly expansion: Expansion
  readonly graph: Graph
}

/** What somebody said when ending a step by hand. */
interface Mark {
  readonly reason: string
  readonly output: string | null
}

/** Where the steps of an expanded run stand. */
export class FlowRun {
  static #count = 0
  /** Grows with each: a run expands before the runs of its steps do. */
  readonly place = FlowRun.#count++
  readonly plan: Plan
  /** Every run that a step of it got, in any round: none is pruned before the flow run. */
  readonly runs = new Set<Entry>()
  /** The runs of steps that this one, a re-run, kept: none is pruned before it. */
  kept: ReadonlyArray<Entry> = []
  round = 0
  deadlineAt: number | null = null
  retryInMillis: number | null = null
  totals: Totals = { open: 0, faults: 0 }
  #progress: Progress
  /** The runs of steps that have one, of this round or kept. */
  readonly #runIds: Map<number, string>
  readonly #marks: Map<number, Mark>
  #isOpen = false

  constructor(plan: Plan, kept: FlowRun | null = null) {
    this.plan = plan
    this.#progress = new Progress(plan.graph, kept?.states)
    this.#runIds = new Map(kept === null ? [] : kept.#runIds)
    this.#marks = new Map(kept === null ? [] : kept.#marks)
  }

  get states(): ReadonlyArray<StepState> {
    return this.#progress.states
  }

  /** Begins a round: these steps are blocked, with counters of what is kept. */
  open(reset: ReadonlyArray<number>, retryInMillis: number | null, now: number): void {
    const { graph, expansion } = this.plan
    const states = [...this.states]
    for (const step of reset) {
      states[step] = "blocked"
      this.#runIds.delete(step)
      this.#marks.delete(step)
    }
    this.#progress = new Progress(graph, states)
    const { openCount, faultCount } = tallyOf(graph, states)
    this.totals = { open: openCount, faults: faultCount }
    this.round++
    this.deadlineAt = deadlineOf(expansion, now)
    this.retryInMillis = retryInMillis
    this.#isOpen = true
  }

  /** Ends a round whatever is open; answers the runs of steps that had not ended. Once a round. */
  close(): ReadonlyArray<string> {
    if (!this.#isOpen) return []
    this.#isOpen = false
    const { graph } = this.plan
    const called: Array<string> = []
    for (const [step, state] of this.states.entries()) {
      const id = this.#runIds.get(step)
      if (state === "released" && id !== undefined) called.push(id)
    }
    this.#progress = new Progress(graph, this.states.map(closedState))
    return called
  }

  /** What a re-run from here resets. */
  resetFrom(from: RerunFrom): ReadonlyArray<number> {
    return resetOf(this.plan.graph, this.states, from)
  }

  /** The rows for the core; `start` makes the run of a step and answers its id. */
  rows(start: (step: number) => string): FlowRows {
    const progress = this.#progress
    return {
      read: (step) => progress.read(step),
      write: (step, counts, state) => progress.write(step, counts, state),
      end: (step: number, end: StepEnd) => progress.write(step, progress.counts(step), end),
      start: (step) => this.#runIds.set(step, start(step)),
    }
  }

  hasEnded(step: number): boolean {
    return hasEnded(this.states[step] ?? "blocked")
  }

  runIdOf(step: number): string | null {
    return this.#runIds.get(step) ?? null
  }

  /** The runs of all steps that have one. */
  get runIds(): ReadonlyArray<string> {
    return [...this.#runIds.values()]
  }

  markOf(step: number): Mark | null {
    return this.#marks.get(step) ?? null
  }

  mark(step: number, mark: Mark): void {
    this.#marks.set(step, mark)
  }

  /** The steps that make the run fail. */
  faulty(): ReadonlyArray<number> {
    const { graph } = this.plan
    return [...this.states.keys()].filter((step) => {
      const state = this.states[step] ?? "blocked"
      return hasEnded(state) && isFault(graph, step, state)
    })
  }
}

/** A definition that flow runs share. */
interface Shared {
  readonly definition: FlowDefinition
  readonly graph: Graph
  userCount: number
}

/** The definitions of flows whose runs are there: kept once for a name and version, however many runs share it. */
export class Plans {
  readonly #shared = new Map<string, Shared>()

  /** Checks an expansion and changes nothing; throws a refusal. */
  check(expansion: Expansion): Plan {
    const known = expansion.kind === "flow" ? this.#shared.get(keyOf(expansion.definition)) : undefined
    return { expansion, graph: known?.graph ?? graphOf(expansion) }
  }

  /** The plan for one more flow run. A list is nobody else's. */
  take({ expansion, graph }: Plan): Plan {
    if (expansion.kind === "map") return { expansion, graph }
    const { definition } = expansion
    const key = keyOf(definition)
    const known = this.#shared.get(key) ?? { definition, graph, userCount: 0 }
    known.userCount++
    this.#shared.set(key, known)
    return { expansion: { ...expansion, definition: known.definition }, graph: known.graph }
  }

  /** One flow run less. */
  giveBack({ expansion }: Plan): void {
    if (expansion.kind === "map") return
    const key = keyOf(expansion.definition)
    const known = this.#shared.get(key)
    if (known !== undefined && --known.userCount === 0) this.#shared.delete(key)
  }
}

const keyOf = ({ name, version }: FlowDefinition): string => JSON.stringify([name, version])
