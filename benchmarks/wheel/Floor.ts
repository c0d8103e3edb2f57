// The physical floor: the bytes that a wheel writes for each timer, linked into the same lists of the same array,
// and nothing else. No now, no levels, no bitmap, no check of a handle, no free list: which list a timer goes to is
// looked up in a table that was made before. No wheel of linked records can be faster.
import { slotOf } from "../../core/wheel/Levels.ts"
import { epoch } from "./contenders.ts"
import type { Load } from "./load.ts"

const slotCount = 8192
const words = 5
const turn = 64

/** The loops of `loops.ts`, on bare lists. */
export class Floor {
  private readonly records: Int32Array
  private readonly slots: Int32Array
  private readonly mixedSlots: Int32Array

  constructor({ size, delays, mixedDelays }: Load) {
    this.records = new Int32Array((slotCount + size) * words)
    const slotsOf = (list: Float64Array) =>
      Int32Array.from(list, (delay) => slotOf(epoch + delay, epoch) * words)
    this.slots = slotsOf(delays)
    this.mixedSlots = slotsOf(mixedDelays)
    for (let at = 0; at < slotCount * words; at += words) this.records[at] = this.records[at + 1] = at
  }

  insert({ handles, size }: Load): void {
    const { slots } = this
    for (let row = 0; row < size; row++) {
      const at = (slotCount + row) * words
      this.link(at, slots[row]!, row)
      handles[row] = at
    }
  }

  cancel({ handles, order, size }: Load): void {
    for (let each = 0; each < size; each++) this.unlink(handles[order[each]!]!)
  }

  /** Empties list after list; answers a sum of the payloads. */
  expire(): number {
    const { records } = this
    let sum = 0
    for (let slot = 0; slot < slotCount * words; slot += words) {
      while (records[slot] !== slot) {
        const at = records[slot]!
        this.unlink(at)
        sum = (sum + records[at + 4]!) | 0
      }
    }
    return sum
  }

  /** Unlinks and links `steps` times, in random order, in turns as the contenders do. */
  mixed({ handles, order, size }: Load, steps: number): void {
    const { mixedSlots } = this
    const mask = mixedSlots.length - 1
    let from = 0
    for (let step = 0; step < steps; step += turn) {
      if (from + turn > size) from = 0
      for (let each = from; each < from + turn; each++) this.unlink(handles[order[each]!]!)
      for (let each = from; each < from + turn; each++) {
        const row = order[each]!
        const at = handles[row]!
        this.link(at, mixedSlots[(row + step) & mask]!, row)
        handles[row] = at
      }
      from += turn
    }
  }

  private link(at: number, slot: number, payload: number): void {
    const { records } = this
    const tail = records[slot + 1]!
    records[at] = slot
    records[at + 1] = tail
    records[at + 2] = payload
    records[at + 3] = payload
    records[at + 4] = payload
    records[tail] = at
    records[slot + 1] = at
  }

  private unlink(at: number): void {
    const { records } = this
    const next = records[at]!
    const prev = records[at + 1]!
    records[prev] = next
    records[next + 1] = prev
  }
}
