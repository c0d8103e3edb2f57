// The hierarchical timing wheel: every wait of a node (due runs, leases, timeouts, back-off) is one entry here.
// It knows no clock: its owner calls `advance` with the tick that has come, and sleeps until `nextAt`.
// Promises: never early, equal ticks in the order of arming, O(1) schedule and cancel, no object per entry.
// `Levels.ts` explains why three aligned levels keep that order; a far heap holds what lies beyond them.
import { type Arena, makeCopyingArena } from "./Arena.ts"
import { FarHeap } from "./FarHeap.ts"
import {
  BLOCK,
  endOfWindow,
  LEVEL_2,
  level0Slot,
  level1Slot,
  level2Slot,
  slotOf,
  SPAN,
  startOfSpan,
} from "./Levels.ts"
import { badAdvance, badCapacity, badEntry, badMoment, badTick, isCapacity, isTick } from "./Refusals.ts"
import { distanceTo, nextOccupied, soonestIn, tickOf } from "./Search.ts"
import { NONE, SlotLists, SLOTS } from "./SlotLists.ts"

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
  private windowEnd = 0 // what is armed for this tick or later is far
  private firing = false

  /**
   * Makes an empty wheel at `now` (default 0), with room for `capacity` entries (default 1024) until it grows, in
   * memory from `arena` (default: arrays that are copied when they grow). Throws RangeError for a bad tick or capacity.
   */
  constructor(options: { now?: number; capacity?: number; arena?: Arena } = {}) {
    const { now = 0, capacity = 1024, arena = makeCopyingArena() } = options
    if (!isTick(now)) throw badTick("start at", now)
    if (!isCapacity(capacity)) throw badCapacity(capacity)
    const lists = new SlotLists(capacity, arena)
    this.lists = lists
    this.far = new FarHeap((index, position) => lists.setFarPosition(index, position))
    this.current = now
    this.windowEnd = endOfWindow(now)
  }

  /** The size of its storage in bytes, used or not. */
  get bytes(): number {
    return this.lists.bytes + this.far.bytes
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
    // Nearly all entries pass this one condition; what is refused, overdue or far is told apart elsewhere.
    if (
      tick > this.current &&
      tick < this.windowEnd &&
      Math.floor(tick) === tick &&
      (payload | 0) === payload
    ) {
      return this.lists.add(payload, tick, slotOf(tick, this.current))
    }
    return this.scheduleOther(tick, payload)
  }

  /** Disarms an entry: true once, then false; false too for a handle that fired or was never given out. */
  cancel(handle: number): boolean {
    const { lists } = this
    const index = lists.find(handle)
    if (index === NONE) return false
    if (lists.isFar(index)) this.dropFar(index)
    else lists.drop(index)
    return true
  }

  /**
   * Moves an entry to another tick and keeps its handle; it queues behind the entries already armed for that tick.
   *
   * False, and nothing happens, where `cancel` would say false. The rules for `tick` are those of `schedule`.
   */
  reschedule(handle: number, tick: number): boolean {
    if (!isTick(tick)) throw badTick("reschedule to", tick)
    const index = this.lists.find(handle)
    if (index === NONE) return false
    if (this.lists.isFar(index)) this.far.remove(this.lists.farPositionOf(index))
    else this.lists.unlink(index)
    this.file(index, tick)
    return true
  }

  /**
   * Fires what is due at or before `target`, by tick and then by order of arming, and returns how many entries fired.
   *
   * At most `limit` do, and at most `movesMax` entries are moved to a lower level on the way; both default to no
   * limit. When one is used up, now may still be short of `target`, and the next call goes on; otherwise now is
   * `target`. An entry is released before its visit, so a throw from `visit` loses that one only. A visit may
   * schedule, cancel and reschedule anything, but not advance or rebase. A target before now does nothing. Throws
   * RangeError for a target that is not a safe integer and for limits that are negative or NaN.
   */
  advance(target: number, visit: Visit, limit: number = Infinity, movesMax: number = Infinity): number {
    if (!Number.isSafeInteger(target) || !(limit >= 0) || !(movesMax >= 0)) {
      throw badAdvance(target, limit, movesMax)
    }
    if (this.firing) throw badMoment("advance")
    if (target < this.current) return 0
    const { lists } = this
    const firedMax = Math.min(limit, UNLIMITED)
    let fired = 0
    let movesLeft = Math.min(movesMax, UNLIMITED)
    for (;;) {
      const own = level0Slot(this.current)
      const slot = lists.firstInBank(own)
      if (slot !== NONE) {
        const tick = this.current + (slot - own)
        if (tick > target) break
        if (fired >= firedMax) return fired
        this.current = tick
        fired += this.fireSlot(slot, visit, firedMax - fired)
        // The usual end for who follows `nextAt`: no visit can have armed anything for this tick.
        if (tick === target) return fired
      } else {
        const list = nextOccupied(lists, this.current | 0)
        const start =
          list === NONE ? startOfSpan(this.far.tickMin) : this.current + distanceTo(list, this.current | 0)
        if (start > target) break
        if (fired >= firedMax || movesLeft <= 0) return fired
        // From the tick before it, what is in the way is what `prepare` moves.
        this.current = start - 1
        movesLeft -= this.clearWay(movesLeft)
        if (movesLeft > 0) this.current = start
      }
    }
    this.current = target
    this.widen(movesLeft)
    return fired
  }

  /**
   * Does, in idle time, up to `budget` of the moves that entering the next block and span will need.
   *
   * Returns how many it did; zero means that nothing is left. No order and no tick changes, only how many moves a
   * later `advance` has to do.
   */
  prepare(budget: number): number {
    let moved = this.widen(budget)
    moved += this.moveDown(level1Slot(this.current + BLOCK), budget - moved)
    return moved + this.moveDown(level2Slot(this.current + SPAN), budget - moved)
  }

  /**
   * The tick to sleep until: never later than the earliest entry's, and Infinity only if empty. It is exact within
   * now's block and where an entry is alone in its block or span; otherwise it may be the start of these.
   */
  nextAt(): number {
    const { lists, current } = this
    const own = level0Slot(current)
    const due = lists.firstInBank(own)
    if (due !== NONE) return current + (due - own)
    const slot = nextOccupied(lists, current | 0)
    return slot === NONE ? this.far.tickMin : soonestIn(lists, slot, current)
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
    this.forEach((_payload, _tick, handle) => this.cancel(handle))
  }

  /**
   * Sets now back to `newNow` after a clock has stepped back; every entry keeps its tick, its order and its handle.
   *
   * O(entries). An entry that was overdue when armed keeps the tick it got then. Throws RangeError for a bad tick
   * and for one after now, since the way forward is `advance`. Not allowed inside a visit.
   */
  rebase(newNow: number): void {
    if (!isTick(newNow)) throw badTick("rebase to", newNow)
    if (this.firing) throw badMoment("rebase")
    if (newNow > this.current) throw new RangeError(`Cannot rebase to "${newNow}": now is "${this.current}"`)
    // The far heap stays as it is: from an earlier now its ticks are farther still, and no slot holds any of them.
    const indices = new Int32Array(this.lists.size - this.far.size)
    const ticks = new Float64Array(indices.length)
    let length = 0
    // Lower levels first: of equal ticks that `prepare` has parted, the older ones are further down.
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let index = this.lists.next(slot); index !== slot; index = this.lists.next(index)) {
        indices[length] = index
        ticks[length++] = this.tickOf(index)
      }
    }
    this.lists.emptySlots()
    this.current = newNow
    this.windowEnd = Math.min(endOfWindow(newNow), this.far.tickMin)
    indices.forEach((index, i) => this.file(index, ticks[i] as number))
  }

  private scheduleOther(tick: number, payload: number): number {
    if (!isTick(tick) || (payload | 0) !== payload) throw badEntry(tick, payload)
    const index = this.lists.acquire(payload)
    this.file(index, tick)
    return this.lists.handleOf(index)
  }

  private dropFar(index: number): void {
    this.far.remove(this.lists.farPositionOf(index))
    this.lists.release(index)
  }

  private file(index: number, tick: number): void {
    const due = tick > this.current ? tick : this.current + (this.firing ? 1 : 0)
    if (due >= this.windowEnd) return this.far.push(due, index)
    this.lists.setDue(index, due)
    this.lists.append(index, slotOf(due, this.current))
  }

  private tickOf(index: number): number {
    if (this.lists.isFar(index)) return this.far.tickAt(this.lists.farPositionOf(index))
    return tickOf(this.lists, index, this.current)
  }

  /** Does up to `budget` of the moves that must come before the tick after now, which opens a block. */
  private clearWay(budget: number): number {
    const start = this.current + 1
    if (startOfSpan(start) !== start) return this.moveDown(level1Slot(start), budget)
    let moved = this.widen(budget)
    // The higher level first: what it brings must line up behind the older entries of the level below.
    moved += this.moveDown(level2Slot(start), budget - moved)
    return moved + this.moveDown(level1Slot(start), budget - moved)
  }

  /**
   * Lets the window reach as far as now allows, and files up to `budget` entries from the far heap; returns how many.
   *
   * While the heap holds some that the window has come near to, the window ends at the earliest of them: what is
   * armed for its tick or later queues in the heap, behind the older ones.
   */
  private widen(budget: number): number {
    const end = endOfWindow(this.current)
    let moved = 0
    while (moved < budget && this.far.tickMin < end) {
      const tick = this.far.tickMin
      const index = this.far.pop()
      this.lists.setDue(index, tick)
      this.lists.append(index, slotOf(tick, this.current))
      moved++
    }
    this.windowEnd = Math.min(end, this.far.tickMin)
    return moved
  }

  /** Moves up to `budget` entries, oldest first, from a slot of level 1 or 2 to the level below; returns how many. */
  private moveDown(slot: number, budget: number): number {
    const lists = this.lists
    let index = lists.next(slot)
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

  private fireSlot(slot: number, visit: Visit, limit: number): number {
    const { lists, current } = this
    let fired = 0
    this.firing = true
    try {
      // The head is read anew each time: the visit before may have cancelled it.
      while (fired < limit && lists.next(slot) !== slot) {
        const index = lists.next(slot)
        lists.drop(index)
        fired++
        visit(lists.payloadOf(index), current)
      }
    } finally {
      this.firing = false
    }
    return fired
  }
}

// "No limit" as a small integer: an infinite one would be an object on V8's heap for each call.
const UNLIMITED = 2 ** 31 - 1
