// Who is measured: each as a priority queue of ticks with the calls of our wheel.
import { makeWasmArena } from "../../adapters/arena-wasm/mod.ts"
import { TimingWheel } from "../../core/wheel/TimingWheel.ts"
import { Heap } from "./Heap.ts"
import { LazyQueue } from "./LazyQueue.ts"

/** What is called for each timer that fires. */
export type Visit = (payload: number, tick: number) => void

/** A timer queue; the words are those of `TimingWheel`. */
export interface Contender {
  readonly size: number
  /** Bytes of its typed arrays; NaN where it has none. */
  readonly bytes: number
  schedule(tick: number, payload: number): number
  cancel(handle: number): boolean
  advance(target: number, visit: Visit): number
  nextAt(): number
}

/** The tick at which everything starts: milliseconds of today, which no small integer holds. */
export const epoch = 1_800_000_000_000

/** The makers by name, ours first. */
export const contenders: Readonly<Record<string, (capacity: number) => Contender>> = {
  wheel: (capacity) => new TimingWheel({ now: epoch, capacity, arena: makeWasmArena() }),
  heap2: (capacity) => new Heap(1, capacity),
  heap4: (capacity) => new Heap(2, capacity),
  flatqueue: () => new LazyQueue(),
}
