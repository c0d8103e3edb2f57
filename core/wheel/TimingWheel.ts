// The hierarchical timing wheel: every wait of a node (due runs, leases, timeouts, back-off) is one entry here.
// It knows no clock: its owner calls `advance` with the tick that has come, and sleeps until `nextAt`.
// Promises: never early, equal ticks in the order of arming, O(1) schedule and cancel, no object per entry.
// `Levels.ts` explains why three aligned levels keep that order; a far heap holds what lies beyond them.
import { FarHeap } from "./FarHeap.ts"
import {
  BLOCK,
  LEVEL_2,
  level0Slot,
  level1Slot,
  level2Slot,
  slotOf,
  SPAN,
  startOfBlock,
  startOfSpan,
  WINDOW,
} from "./Levels.ts"
import { LIVE_MAX, NONE, SlotLists, SLOTS } from "./SlotLists.ts"

/** What `advance` calls for each entry, with the tick it was due at; make it one long-lived function. */
export type Visit = (payload: number, tick: number) => void

/**
 * A priority queue of ticks with O(1) insert and O(1) exact cancel, for timers most of which never fire.
 *
 * A tick is a non-negative safe integer of any unit (epoch milliseconds fit); a payload is an int32, usually a
 * row of the owner's table. An entry takes 20 bytes, an empty wheel 165 KB; it doubles when full, never shrinks,
 * and holds at most 16 769 024 entries. About 2^32 ticks (49.7 days of milliseconds) and more ahead of now,
 * schedule and cancel are O(log n).
 */
export class TimingWheel {
  private readonly lists: SlotLists
  private readonly far: FarHeap
  private current = 0
  private windowEnd = WINDOW // 4096 spans after the start of now's span; what lies behind is far
  private firing = false

  /** Makes an empty wheel at `now` (default 0), with room for `capacity` entries (default 1024) until it grows. */
  constructor(options: { now?: number; capacity?: number } = {}) {
    const { now = 0, capacity = 1024 } = options
    checkTick("start at", now)
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > LIVE_MAX) {
      throw new RangeError(`Cannot make a wheel of capacity "${capacity}": not in 1 to ${LIVE_MAX}`)
    }
    const lists = new SlotLists(capacity)
    this.lists = lists
    this.far = new FarHeap((index, position) => lists.setFarPosition(index, position))
    this.setNow(now)
  }

  /** How many entries are armed. */
  get size(): number {
    return this.lists.size
  }

  /** The tick the wheel has reached; inside a visit, the tick of the entry visited. */
  get now(): number {
    return this.current
  }

  /**
   * Arms an entry and returns its handle, a positive safe integer that no other armed entry has.
   *
   * A tick at or before now fires at the next `advance`, as of now; inside a visit it becomes the tick after now,
   * so that no tick can feed itself for ever. Throws RangeError, and changes nothing, for a bad tick or payload
   * and when the wheel is full.
   */
  schedule(tick: number, payload: number): number {
    checkTick("schedule at", tick)
    if ((payload | 0) !== payload) throw new RangeError(`Cannot schedule payload "${payload}": not an int32`)
    const index = this.lists.acquire(payload)
    this.file(index, this.clampToNow(tick))
    return this.lists.handleOf(index)
  }

  /** Disarms an entry: true once, then false; false too for a handle that fired or was never given out. */
  cancel(handle: number): boolean {
    const index = this.lists.find(handle)
    if (index === NONE) return false
    this.drop(index)
    return true
  }

  /**
   * Moves an entry to another tick and keeps its handle; it queues behind the entries already armed for that tick.
   *
   * False, and nothing happens, where `cancel` would say false. The rules for `tick` are those of `schedule`.
   */
  reschedule(handle: number, tick: number): boolean {
    checkTick("reschedule to", tick)
    const index = this.lists.find(handle)
    if (index === NONE) return false
    this.takeOut(index)
    this.file(index, this.clampToNow(tick))
    return true
  }

  /**
   * Fires what is due at or before `target`, by tick and then by order of arming, and returns how many entries fired.
   *
   * At most `limit` do; when that many did, now may still be short of `target`, otherwise it is `target`. An entry
   * is released before its visit, so a throw from `visit` loses that one only and the next call goes on behind it.
   * A visit may schedule, cancel and reschedule anything, but not advance or rebase. A target before now does
   * nothing. Throws RangeError for a target that is not a safe integer and a limit that is negative or NaN.
   */
  advance(target: number, visit: Visit, limit: number = Infinity): number {
    if (!Number.isSafeInteger(target))
      throw new RangeError(`Cannot advance to "${target}": not a safe integer`)
    if (!(limit >= 0)) throw new RangeError(`Cannot advance with limit "${limit}": not a number from 0 up`)
    this.checkIdle("advance")
    if (target < this.current) return 0
    let fired = 0
    for (;;) {
      const due = this.nextInBlock()
      const next = due !== NONE ? due : this.nextBlock()
      if (next > target) break
      if (fired >= limit) return fired
      if (due === NONE) this.enter(next)
      else fired += this.fireSlot(due, visit, limit - fired)
    }
    this.setNow(target)
    return fired
  }

  /**
   * Does, in idle time, up to `budget` of the moves that entering the next block and span will need.
   *
   * Returns how many it did; zero means that nothing is left. No order and no tick changes, only how long a later
   * `advance` may take.
   */
  prepare(budget: number): number {
    const moved = this.moveDown(level1Slot(this.current + BLOCK), budget)
    return moved + this.moveDown(level2Slot(this.current + SPAN), budget - moved)
  }

  /** The tick to sleep until: the earliest entry's, or the start of its block or span; Infinity only if empty. */
  nextAt(): number {
    const due = this.nextInBlock()
    return due !== NONE ? due : this.nextBlock()
  }

  /** Calls `f` for every entry, in no order; `f` may cancel, and what it arms may be met or not. */
  forEach(f: (payload: number, tick: number, handle: number) => void): void {
    const lists = this.lists
    for (let index = SLOTS; index < lists.end; index++) {
      if (lists.isLive(index)) f(lists.payloadOf(index), this.tickOf(index), lists.handleOf(index))
    }
  }

  /** Disarms every entry; now stays, and no handle given out before is valid any more. */
  clear(): void {
    for (let index = SLOTS; index < this.lists.end; index++) if (this.lists.isLive(index)) this.drop(index)
  }

  /**
   * Sets now back to `newNow` after a clock has stepped back; every entry keeps its tick, its order and its handle.
   *
   * O(entries). An entry that was overdue when armed keeps the tick it got then. Throws RangeError for a bad tick
   * and for one after now, since the way forward is `advance`. Not allowed inside a visit.
   */
  rebase(newNow: number): void {
    checkTick("rebase to", newNow)
    this.checkIdle("rebase")
    if (newNow > this.current) throw new RangeError(`Cannot rebase to "${newNow}": now is "${this.current}"`)
    // The far heap stays as it is: from an earlier now its ticks are farther still, and no slot holds any of them.
    const indices = new Int32Array(this.lists.size - this.far.size)
    const ticks = new Float64Array(indices.length)
    let length = 0
    // Lower levels first: of equal ticks that `prepare` has parted, the older ones are further down.
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let index = this.lists.first(slot); index !== slot; index = this.lists.next(index)) {
        indices[length] = index
        ticks[length++] = this.tickOf(index)
      }
    }
    this.lists.emptySlots()
    this.setNow(newNow)
    indices.forEach((index, i) => this.file(index, ticks[i] as number))
  }

  private clampToNow(tick: number): number {
    if (tick > this.current) return tick
    return this.firing ? this.current + 1 : this.current
  }

  private file(index: number, tick: number): void {
    if (tick >= this.windowEnd) return this.far.push(tick, index)
    this.lists.setDue(index, tick)
    this.lists.append(index, slotOf(tick, this.current))
  }

  private takeOut(index: number): void {
    const position = this.lists.farPositionOf(index)
    if (position === NONE) this.lists.unlink(index)
    else this.far.remove(position)
  }

  private drop(index: number): void {
    this.takeOut(index)
    this.lists.release(index)
  }

  private tickOf(index: number): number {
    const position = this.lists.farPositionOf(index)
    if (position !== NONE) return this.far.tickAt(position)
    return this.current + ((this.lists.dueOf(index) - (this.current | 0)) >>> 0)
  }

  /** The earliest tick in now's block, or NONE. */
  private nextInBlock(): number {
    const own = level0Slot(this.current)
    const slot = this.lists.firstInBank(own)
    return slot === NONE ? NONE : this.current + (slot - own)
  }

  /** Given that now's block is empty: the start of the next block or span that is not, or Infinity. */
  private nextBlock(): number {
    const { current, lists } = this
    if (lists.isBankOccupied(level0Slot(current + BLOCK))) return startOfBlock(current) + BLOCK
    const block = level1Slot(current)
    const nextInSpan = lists.firstInBank(block)
    if (nextInSpan !== NONE) return startOfBlock(current) + (nextInSpan - block) * BLOCK
    if (lists.isBankOccupied(level1Slot(current + SPAN))) return startOfSpan(current) + SPAN
    const span = level2Slot(current)
    let nextSpan = lists.firstOccupied(span, SLOTS)
    if (nextSpan === NONE) nextSpan = lists.firstOccupied(LEVEL_2, SLOTS)
    if (nextSpan !== NONE) return startOfSpan(current) + ((nextSpan - span) & 4095) * SPAN
    return this.far.size > 0 ? startOfSpan(this.far.tickMin) : Infinity
  }

  private enter(start: number): void {
    this.setNow(start)
    // The higher level first: what it brings must line up behind the older entries of the level below.
    this.moveDown(level2Slot(start), Infinity)
    this.moveDown(level1Slot(start), Infinity)
  }

  private setNow(tick: number): void {
    this.current = tick
    this.windowEnd = startOfSpan(tick) + WINDOW
    // At once, before anything can be armed in a slot for a tick that the heap holds older entries of.
    while (this.far.tickMin < this.windowEnd) {
      const next = this.far.tickMin
      this.file(this.far.pop(), next)
    }
  }

  /** Moves up to `budget` entries, oldest first, from a slot of level 1 or 2 to the level below; returns how many. */
  private moveDown(slot: number, budget: number): number {
    const lists = this.lists
    let index = lists.first(slot)
    if (index === slot) return 0
    let moved = 0
    while (index !== slot && moved < budget) {
      const next = lists.next(index)
      const due = lists.dueOf(index)
      lists.append(index, slot < LEVEL_2 ? level0Slot(due) : level1Slot(due))
      index = next
      moved++
    }
    lists.dropBefore(slot, index)
    return moved
  }

  private fireSlot(tick: number, visit: Visit, limit: number): number {
    const lists = this.lists
    const slot = level0Slot(tick)
    let fired = 0
    this.current = tick
    this.firing = true
    try {
      // The head is read anew each time: the visit before may have cancelled it.
      while (fired < limit && lists.first(slot) !== slot) {
        const index = lists.first(slot)
        this.drop(index)
        fired++
        visit(lists.payloadOf(index), tick)
      }
    } finally {
      this.firing = false
    }
    return fired
  }

  private checkIdle(action: string): void {
    if (this.firing) throw new Error(`Cannot ${action} the wheel: a visit is running`)
  }
}

const checkTick = (action: string, tick: number): void => {
  if (!Number.isSafeInteger(tick) || tick < 0) {
    throw new RangeError(`Cannot ${action} tick "${tick}": not a non-negative safe integer`)
  }
}
