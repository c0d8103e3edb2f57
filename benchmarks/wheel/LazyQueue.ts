// `flatqueue` as a timer queue. It removes only what stands first, so cancelling is ours and lazy: a generation per
// timer, looked at when the entry comes up, and a rebuild once more than half of the entries are dead; without it
// they would stay until they are due.
import FlatQueue from "flatqueue"
import type { Contender, Visit } from "./contenders.ts"

const RECORDS = 2 ** 24
const DEAD_MIN = 1024

/** A queue of the package whose entries are handles. */
export class LazyQueue implements Contender {
  private queue = new FlatQueue<number>()
  private readonly generations: Array<number> = []
  private readonly payloads: Array<number> = []
  private readonly free: Array<number> = []
  private dead = 0

  get size(): number {
    return this.queue.length - this.dead
  }

  /** Unknown: the package keeps its entries in plain arrays. */
  get bytes(): number {
    return Number.NaN
  }

  schedule(tick: number, payload: number): number {
    const id = this.free.length > 0 ? this.free.pop()! : this.generations.push(1) - 1
    this.payloads[id] = payload
    const handle = this.generations[id]! * RECORDS + id
    this.queue.push(handle, tick)
    return handle
  }

  cancel(handle: number): boolean {
    if (!this.isLive(handle)) return false
    this.release(handle & (RECORDS - 1))
    this.dead++
    if (this.dead > DEAD_MIN && this.dead * 2 > this.queue.length) this.rebuild()
    return true
  }

  advance(target: number, visit: Visit): number {
    let fired = 0
    for (;;) {
      const tick = this.queue.peekValue()
      if (tick === undefined || tick > target) return fired
      const handle = this.queue.pop()!
      if (!this.isLive(handle)) {
        this.dead--
        continue
      }
      const id = handle & (RECORDS - 1)
      this.release(id)
      fired++
      visit(this.payloads[id]!, tick)
    }
  }

  nextAt(): number {
    for (;;) {
      const handle = this.queue.peek()
      if (handle === undefined) return Infinity
      if (this.isLive(handle)) return this.queue.peekValue()!
      this.queue.pop()
      this.dead--
    }
  }

  private isLive(handle: number): boolean {
    const id = handle & (RECORDS - 1)
    return this.generations[id]! * RECORDS + id === handle
  }

  private release(id: number): void {
    this.generations[id]!++
    this.free.push(id)
  }

  private rebuild(): void {
    const { ids, values, length } = this.queue
    const queue = new FlatQueue<number>()
    for (let at = 0; at < length; at++) if (this.isLive(ids[at]!)) queue.push(ids[at]!, values[at]!)
    this.queue = queue
    this.dead = 0
  }
}
