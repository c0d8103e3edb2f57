// What a simulation saw: counters, broken invariants and, where somebody wants to read it, the history. A violation is
// written down here the moment it is seen, so that no supervisor of the engine can swallow it.
import type { World } from "./World.ts"

/** One broken invariant. */
export interface Violation {
  /** `I1` to `I14`, as on the architecture page. */
  readonly invariant: string
  readonly what: string
  /** Milliseconds since the world began. */
  readonly at: number
}

/** What is counted of a seed. */
export interface Counters {
  /** Tasks that ran. */
  steps: number
  /** Calls that reached the store. */
  operations: number
  /** Calls that failed before, and after, they were done. */
  failedBefore: number
  ambiguous: number
  crashes: number
  freezes: number
  drains: number
  partitions: number
  clockSteps: number
  hintsLost: number
  framesLost: number
  workersGone: number
  workersDrained: number
  /** Ways to workers that were bad for a while, and connections that were cut. */
  holes: number
  lineCuts: number
  /** Attempts that workers began, that went on at another session, and that were refused. */
  begun: number
  adopted: number
  refused: number
  runs: number
  ended: number
  dead: number
  /** Outcomes that came under a token that no longer held. */
  stale: number
  reclaimed: number
  occurrences: number
  flows: number
  /** The chance that would have come next: two runs that agree in it did the same, step by step. */
  fingerprint: number
}

const zero = (): Counters => ({
  steps: 0,
  operations: 0,
  failedBefore: 0,
  ambiguous: 0,
  crashes: 0,
  freezes: 0,
  drains: 0,
  partitions: 0,
  clockSteps: 0,
  hintsLost: 0,
  framesLost: 0,
  workersGone: 0,
  workersDrained: 0,
  holes: 0,
  lineCuts: 0,
  begun: 0,
  adopted: 0,
  refused: 0,
  runs: 0,
  ended: 0,
  dead: 0,
  stale: 0,
  reclaimed: 0,
  occurrences: 0,
  flows: 0,
  fingerprint: 0,
})

// More of them say nothing new.
const violationsMax = 20
const historyMax = 200_000

/** Sees everything in one simulation. */
export class Watch {
  readonly counters = zero()
  readonly violations: Array<Violation> = []
  /** One line per event, where it is wanted. */
  readonly history: Array<string> = []
  readonly #world: World
  readonly #isWritten: boolean

  constructor(world: World, options: { readonly history: boolean }) {
    this.#world = world
    this.#isWritten = options.history
  }

  violated(invariant: string, what: string): void {
    this.tell("check", () => `VIOLATED ${invariant}: ${what}`)
    if (this.violations.length < violationsMax) {
      this.violations.push({ invariant, what, at: this.#world.elapsed })
    }
  }

  /** Adds a line to the history. */
  tell(who: string, what: () => string): void {
    if (!this.#isWritten || this.history.length >= historyMax) return
    const at = (this.#world.elapsed / 1000).toFixed(3).padStart(8)
    this.history.push(`${at} ${who.padEnd(7)} ${what()}`)
  }
}
