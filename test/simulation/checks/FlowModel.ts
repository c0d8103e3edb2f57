// One flow run by brute force: what its steps come to is worked out anew from the ends of their runs each time it is
// asked for. It shares nothing with the core but the words: the rules are those of the flow tests' own model.
import type { Expansion, FlowStep, StepEnd, StepState } from "../../../core/domain/Flow.ts"
import { decideBy, descendantsOf, expectedOf } from "../../core/flow/model.ts"

/** Where a re-run begins. */
export type From = "failed" | "skipped" | ReadonlyArray<string>

const isFailure = (state: StepState | undefined): boolean => state === "failed" || state === "upstream_failed"
const isEnd = (state: StepState | undefined): state is StepEnd =>
  state !== undefined && state !== "blocked" && state !== "released"

/** The steps of an expansion; the items of a list need nothing. */
export const stepsOf = (expansion: Expansion): ReadonlyArray<FlowStep> =>
  expansion.kind === "flow"
    ? expansion.definition.steps
    : expansion.items.map((_, place): FlowStep => ({ id: String(place), needs: [] }))

/** One flow run, round after round. */
export class FlowModel {
  readonly expansion: Expansion
  readonly steps: ReadonlyArray<FlowStep>
  /** The run that each step has, of this round or of the one that it was kept from. */
  readonly runs = new Map<string, string>()
  /** What people said a step's output is. */
  readonly marks = new Map<string, string | null>()
  isOpen = false
  deadlineAt: number | null = null
  /** Ends that stood when this round began, and those that people gave since. */
  readonly #given = new Map<string, StepEnd>()
  /** Ends of runs of this round. */
  readonly #outcomes = new Map<string, StepEnd>()
  /** Runs of this round: none is made twice. */
  readonly #made = new Set<string>()
  #faultsKept = 0
  #closed: ReadonlyMap<string, StepState> | undefined

  constructor(expansion: Expansion) {
    this.expansion = expansion
    this.steps = stepsOf(expansion)
  }

  /** A round begins: what failed, and all behind it, is open again. */
  open(now: number): void {
    const before = this.states()
    const failed = this.steps.filter(({ id }) => isFailure(before.get(id))).map(({ id }) => id)
    this.#begin(before, failed, now)
  }

  /** A re-run of this one. */
  again(from: From, now: number): FlowModel {
    const before = this.states()
    const isFrom = (id: string): boolean => {
      if (from === "failed") return isFailure(before.get(id))
      return from === "skipped" ? before.get(id) === "skipped" : from.includes(id)
    }
    const next = new FlowModel(this.expansion)
    for (const [id, run] of this.runs) next.runs.set(id, run)
    for (const [id, output] of this.marks) next.marks.set(id, output)
    const begins = this.steps.filter(({ id }) => isFrom(id)).map(({ id }) => id)
    next.#begin(before, begins, now)
    return next
  }

  /** The run of a step is made; the answer says what is wrong with that. */
  start(id: string, run: string): string | null {
    const state = this.states().get(id)
    const isTwice = this.#made.has(id)
    this.#made.add(id)
    this.runs.set(id, run)
    if (!this.isOpen) return "after its flow run had ended"
    if (isTwice) return "a second time in one round"
    return state === "released" ? null : `while it is ${state} by its rule`
  }

  /** The run of a step has ended. */
  end(id: string, run: string, end: StepEnd): void {
    if (this.isOpen && this.runs.get(id) === run && !this.#given.has(id)) this.#outcomes.set(id, end)
  }

  /** Somebody ends a step by hand. */
  mark(id: string, end: StepEnd, output: string | null): void {
    this.marks.set(id, end === "succeeded" ? output : null)
    this.#outcomes.delete(id)
    this.#given.set(id, end)
  }

  /** The round is over, whatever is open. */
  close(): void {
    const states = this.states()
    this.#closed = new Map(
      [...states].map(([id, state]): readonly [string, StepState] => [
        id,
        state === "released" ? "failed" : state === "blocked" ? "upstream_failed" : state,
      ]),
    )
    this.isOpen = false
  }

  /** Where all steps stand: looked at again and again until nothing more follows. */
  states(): ReadonlyMap<string, StepState> {
    if (this.#closed !== undefined) return this.#closed
    const states = new Map<string, StepState>()
    for (const { id } of this.steps) {
      const end = this.#given.get(id) ?? this.#outcomes.get(id)
      if (end !== undefined) states.set(id, end)
    }
    if (!this.isOpen) {
      for (const { id } of this.steps) if (!states.has(id)) states.set(id, "blocked")
      return states
    }
    for (let before = -1; before !== states.size;) {
      before = states.size
      for (const step of this.steps) {
        const decision = states.has(step.id) ? null : decide(step, states)
        if (decision !== null) states.set(step.id, decision === "run" ? "released" : decision)
      }
    }
    for (const { id } of this.steps) if (!states.has(id)) states.set(id, "blocked")
    return states
  }

  get openCount(): number {
    return [...this.states().values()].filter((state) => !isEnd(state)).length
  }

  /** Whether a step ended in this round in a way that makes the flow run fail. */
  get hasFault(): boolean {
    return this.#faults(this.states()) > 0
  }

  get hasNewFault(): boolean {
    return this.#faults(this.states()) > this.#faultsKept
  }

  /** What the flow tests' model says of this round, when all its steps have ended by themselves. */
  expected() {
    return expectedOf(this.steps, this.#outcomes, this.#given)
  }

  /** Whether each step of this round has an end of its own, or one by its rule. */
  wasCutShort = false

  #faults(states: ReadonlyMap<string, StepState>): number {
    return this.steps.filter(({ id, allowFailure }) => allowFailure !== true && isFailure(states.get(id)))
      .length
  }

  #begin(before: ReadonlyMap<string, StepState>, begins: ReadonlyArray<string>, now: number): void {
    const reset = descendantsOf(this.steps, begins)
    this.#closed = undefined
    this.#given.clear()
    this.#outcomes.clear()
    this.#made.clear()
    for (const { id } of this.steps) {
      const state = before.get(id)
      if (!reset.has(id) && isEnd(state)) this.#given.set(id, state)
      else {
        this.runs.delete(id)
        this.marks.delete(id)
      }
    }
    this.#faultsKept = this.#faults(this.#given)
    this.isOpen = true
    this.wasCutShort = false
    const timeoutMillis = this.expansion.kind === "flow" ? this.expansion.definition.timeoutMillis : null
    this.deadlineAt = timeoutMillis === null ? null : now + timeoutMillis
  }
}

/** What becomes of a step now; `null`: it waits. Two rules need not wait for every need (G4). */
const decide = (
  { rule = "all_success", needs }: FlowStep,
  states: ReadonlyMap<string, StepState>,
): "run" | "skipped" | "upstream_failed" | null => {
  const known = [...new Set(needs)].map((need) => states.get(need))
  const ends = known.filter(isEnd)
  if (ends.length === known.length) return decideBy(rule, ends)
  const isEarly =
    (rule === "one_success" && ends.includes("succeeded")) || (rule === "one_failed" && ends.some(isFailure))
  return isEarly ? "run" : null
}
