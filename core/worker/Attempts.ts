// The attempts that workers carry for this node, from their assignment until the store has their outcome.
import type { Run } from "../domain/Run.ts"
import { keyOf } from "../protocol/Shapes.ts"
import type { Seat } from "./Seat.ts"

/** One attempt in the hands of a worker. */
export interface Attempt {
  readonly run: Run
  /** Whose it is now: a worker that comes back may have a new seat. */
  seat: Seat
  /** When the worker said that it began, in monotonic milliseconds; `null`: not yet. */
  startedAt: number | null
  /** Takes back the timer of its limit of time. */
  takeBack: (() => void) | undefined
  /** The worker was told to stop. */
  told: boolean
  /** Its outcome is on its way to the store. */
  settling: boolean
  /** That outcome is not the worker's: it was handed back, or is lost. */
  decided: boolean
  /** It was begun under an earlier server, which told of its start. */
  readonly adopted: boolean
}

/** All of them, by run and token. */
export class Attempts {
  readonly #all = new Map<string, Attempt>()

  get(key: { readonly run: string; readonly token: number }): Attempt | undefined {
    return this.#all.get(keyOf(key))
  }

  of({ id, token }: Run): Attempt | undefined {
    return this.#all.get(keyOf({ run: id, token }))
  }

  add(attempt: Attempt): void {
    const { id, token } = attempt.run
    this.#all.set(keyOf({ run: id, token }), attempt)
  }

  remove(attempt: Attempt): void {
    const { id, token } = attempt.run
    const key = keyOf({ run: id, token })
    attempt.takeBack?.()
    if (this.#all.get(key) === attempt) this.#all.delete(key)
  }

  /** More may be added, and any removed, while they are gone through. */
  values(): Iterable<Attempt> {
    return this.#all.values()
  }

  get size(): number {
    return this.#all.size
  }
}
