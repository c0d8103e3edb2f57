// The runs that a node carries: those whose handlers run, and those whose outcomes are on their way to the store.
import type { Run } from "../domain/Run.ts"
import type { Started } from "../ports/Executor.ts"

/** One attempt at a run, from its start until the store has its outcome. */
export interface Carried {
  readonly run: Run
  readonly startedAt: number
  started: Started | undefined
  takeBack: (() => void) | undefined
  /** Its handler was told that the run is not its own any more. */
  told: boolean
  over: boolean
}

/** The carried runs of a node, by id. */
export class CarriedRuns {
  readonly #all = new Map<string, Carried>()
  readonly #settling = new Set<Carried>()

  get(id: string): Carried | undefined {
    return this.#all.get(id)
  }

  /** All of them; more may be added, and any removed, while they are gone through. */
  values(): Iterable<Carried> {
    return this.#all.values()
  }

  /** In place of an earlier attempt at the same run, if that is still here. */
  add(each: Carried): void {
    const earlier = this.#all.get(each.run.id)
    if (earlier !== undefined) this.#settling.delete(earlier)
    this.#all.set(each.run.id, each)
  }

  /** Its handler has ended, and its outcome is on its way. */
  settling(each: Carried): void {
    if (this.#all.get(each.run.id) === each) this.#settling.add(each)
  }

  remove(each: Carried): void {
    this.#settling.delete(each)
    // The entry may be of a later attempt at the same run.
    if (this.#all.get(each.run.id) === each) this.#all.delete(each.run.id)
  }

  get size(): number {
    return this.#all.size
  }

  /** How many handlers run. */
  get running(): number {
    return this.#all.size - this.#settling.size
  }
}
