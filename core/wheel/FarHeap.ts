// The timers that are too far ahead for the timing wheel's slots: a binary heap over typed arrays.
// The wheel pushes what lies beyond its window and pops it once the window has come near enough.
// Promises: the earliest tick first, equal ticks in the order of their pushes, exact removal: no dead entry stays.

const CAPACITY_FIRST = 16

/**
 * A min-heap of (tick, record index) whose owner always knows where each record stands.
 *
 * Every move inside the heap is told to `onMove(index, position)`, so that `remove` needs no search.
 * Push, pop and remove are O(log n) and allocate only when the heap doubles; it never shrinks.
 */
export class FarHeap {
  private readonly onMove: (index: number, position: number) => void
  private ticks = new Float64Array(CAPACITY_FIRST)
  private sequences = new Float64Array(CAPACITY_FIRST)
  private indices = new Int32Array(CAPACITY_FIRST)
  private length = 0
  private sequenceNext = 0

  constructor(onMove: (index: number, position: number) => void) {
    this.onMove = onMove
  }

  /** How many records are in the heap. */
  get size(): number {
    return this.length
  }

  /** The storage in bytes, used or not. */
  get bytes(): number {
    return this.ticks.byteLength + this.sequences.byteLength + this.indices.byteLength
  }

  /** The earliest tick in the heap; Infinity if the heap is empty. */
  get tickMin(): number {
    return this.length === 0 ? Infinity : this.ticks[0]!
  }

  /** The tick of the record at `position`, as last reported by `onMove`. */
  tickAt(position: number): number {
    return this.ticks[position]!
  }

  /** Adds a record; it comes out behind every record pushed earlier with the same tick. */
  push(tick: number, index: number): void {
    if (this.length === this.ticks.length) this.grow()
    this.siftUp(this.length++, tick, this.sequenceNext++, index)
  }

  /** Takes out the earliest record and returns its index; the heap must not be empty. */
  pop(): number {
    const index = this.indices[0]!
    this.remove(0)
    return index
  }

  /** Takes out the record at `position`, as last reported by `onMove`. */
  remove(position: number): void {
    const last = --this.length
    if (position === last) return
    const tick = this.ticks[last]!
    const sequence = this.sequences[last]!
    const index = this.indices[last]!
    // The last leaf can belong to another branch, so it may have to rise here as well as sink.
    const parent = (position - 1) >> 1
    if (position > 0 && this.isBefore(tick, sequence, parent)) this.siftUp(position, tick, sequence, index)
    else this.siftDown(position, tick, sequence, index)
  }

  private siftUp(start: number, tick: number, sequence: number, index: number): void {
    let position = start
    while (position > 0) {
      const parent = (position - 1) >> 1
      if (!this.isBefore(tick, sequence, parent)) break
      this.place(position, this.ticks[parent]!, this.sequences[parent]!, this.indices[parent]!)
      position = parent
    }
    this.place(position, tick, sequence, index)
  }

  private siftDown(start: number, tick: number, sequence: number, index: number): void {
    let position = start
    for (;;) {
      let child = 2 * position + 1
      if (child >= this.length) break
      const right = child + 1
      if (right < this.length && this.isBefore(this.ticks[right]!, this.sequences[right]!, child))
        child = right
      if (this.isBefore(tick, sequence, child)) break
      this.place(position, this.ticks[child]!, this.sequences[child]!, this.indices[child]!)
      position = child
    }
    this.place(position, tick, sequence, index)
  }

  private isBefore(tick: number, sequence: number, position: number): boolean {
    const other = this.ticks[position]!
    return tick < other || (tick === other && sequence < this.sequences[position]!)
  }

  private place(position: number, tick: number, sequence: number, index: number): void {
    this.ticks[position] = tick
    this.sequences[position] = sequence
    this.indices[position] = index
    this.onMove(index, position)
  }

  private grow(): void {
    const capacity = this.ticks.length * 2
    const ticks = new Float64Array(capacity)
    const sequences = new Float64Array(capacity)
    const indices = new Int32Array(capacity)
    ticks.set(this.ticks)
    sequences.set(this.sequences)
    indices.set(this.indices)
    this.ticks = ticks
    this.sequences = sequences
    this.indices = indices
  }
}
