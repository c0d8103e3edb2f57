// What the wheel is measured against: a d-ary heap as good as we can write one. Typed arrays, an index of where each
// timer stands, so that cancel is exact, and handles with generations like the wheel's. It grows like the wheel, by
// doubling. What it does not do is keep equal ticks in the order of arming: that would cost it 8 bytes and a
// comparison more.
import type { Contender, Visit } from "./contenders.ts"

const RECORDS = 2 ** 24

/** A heap of 2 ** `shift` children to a node, with exact cancel. */
export class Heap implements Contender {
  private readonly shift: number
  // By position in the heap.
  private ticks: Float64Array
  private ids: Int32Array
  // By timer.
  private positions: Int32Array // of a free one: the next free one
  private generations: Int32Array
  private payloads: Int32Array
  private length = 0
  private used = 0
  private free = -1

  constructor(shift: 1 | 2, capacity: number) {
    this.shift = shift
    this.ticks = new Float64Array(capacity)
    this.ids = new Int32Array(capacity)
    this.positions = new Int32Array(capacity)
    this.generations = new Int32Array(capacity).fill(1)
    this.payloads = new Int32Array(capacity)
  }

  get size(): number {
    return this.length
  }

  get bytes(): number {
    return this.ticks.length * (8 + 4 * 4)
  }

  schedule(tick: number, payload: number): number {
    let id = this.free
    if (id >= 0) this.free = this.positions[id]!
    else {
      if (this.used === this.ids.length) this.grow()
      id = this.used++
    }
    this.payloads[id] = payload
    this.siftUp(this.length++, tick, id)
    return this.generations[id]! * RECORDS + id
  }

  cancel(handle: number): boolean {
    const id = handle & (RECORDS - 1)
    if (this.generations[id]! * RECORDS + id !== handle) return false
    this.removeAt(this.positions[id]!)
    this.release(id)
    return true
  }

  advance(target: number, visit: Visit): number {
    let fired = 0
    while (this.length > 0 && this.ticks[0]! <= target) {
      const tick = this.ticks[0]!
      const id = this.ids[0]!
      this.removeAt(0)
      this.release(id)
      fired++
      visit(this.payloads[id]!, tick)
    }
    return fired
  }

  nextAt(): number {
    return this.length === 0 ? Infinity : this.ticks[0]!
  }

  private release(id: number): void {
    this.generations[id]!++
    this.positions[id] = this.free
    this.free = id
  }

  private removeAt(position: number): void {
    const last = --this.length
    if (position === last) return
    const tick = this.ticks[last]!
    const id = this.ids[last]!
    const parent = (position - 1) >> this.shift
    if (position > 0 && tick < this.ticks[parent]!) this.siftUp(position, tick, id)
    else this.siftDown(position, tick, id)
  }

  private siftUp(start: number, tick: number, id: number): void {
    const { ticks, ids, positions, shift } = this
    let position = start
    while (position > 0) {
      const parent = (position - 1) >> shift
      const above = ticks[parent]!
      if (above <= tick) break
      const moved = ids[parent]!
      ticks[position] = above
      ids[position] = moved
      positions[moved] = position
      position = parent
    }
    ticks[position] = tick
    ids[position] = id
    positions[id] = position
  }

  private siftDown(start: number, tick: number, id: number): void {
    const { ticks, ids, positions, shift, length } = this
    let position = start
    for (;;) {
      const first = (position << shift) + 1
      if (first >= length) break
      const end = Math.min(first + (1 << shift), length)
      let least = first
      let below = ticks[first]!
      for (let child = first + 1; child < end; child++) {
        const other = ticks[child]!
        if (other < below) {
          below = other
          least = child
        }
      }
      if (tick <= below) break
      const moved = ids[least]!
      ticks[position] = below
      ids[position] = moved
      positions[moved] = position
      position = least
    }
    ticks[position] = tick
    ids[position] = id
    positions[id] = position
  }

  private grow(): void {
    const capacity = this.ids.length * 2
    const copy = <A extends Float64Array | Int32Array>(from: A, to: A): A => {
      to.set(from)
      return to
    }
    this.ticks = copy(this.ticks, new Float64Array(capacity))
    this.ids = copy(this.ids, new Int32Array(capacity))
    this.positions = copy(this.positions, new Int32Array(capacity))
    this.generations = copy(this.generations, new Int32Array(capacity).fill(1))
    this.payloads = copy(this.payloads, new Int32Array(capacity))
  }
}
