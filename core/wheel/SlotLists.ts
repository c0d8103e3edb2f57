// The storage of the timing wheel: fixed-size records in one typed array, in one circular list per slot.
// The wheel decides which slot a record belongs to; this file knows nothing of ticks but the 32 bits it stores.
// Promises: O(1) append, unlink and handle check, an occupancy bitmap that never disagrees with the lists, and
// no allocation except when the storage doubles. It never shrinks.
// Every `!` follows a typed-array read whose index is in range by construction. What runs for each timer is short
// enough for the compilers to put it into the caller's loop: a tick or handle that does not fit 31 bits would
// otherwise be an object on V8's heap each time it is passed.
import type { Arena } from "./Arena.ts"

/** How many lists there are; records 0 to SLOTS - 1 are their sentinels, so a slot is its sentinel's index. */
export const SLOTS = 8192

/** The most records that can be live at once. */
export const LIVE_MAX = 2 ** 24 - SLOTS

/** "No such record", "no such slot". */
export const NONE = -1

// A record is 5 x int32, all of a timer in 20 bytes: what is touched together lies together, and three of four
// records lie in one cache line. (16 bytes and the payload elsewhere are two lines, 32 bytes are more memory.)
const WORDS = 5
const NEXT = 0 // of a far record: its position in the far heap; of a free one: the next free one
const PREV = 1 // of a far record: FAR
const DUE = 2
const GENERATION = 3 // positive: live. Zero or less: free, minus the last generation used
const PAYLOAD = 4

const RECORDS_MAX = 2 ** 24
const GENERATION_MAX = 2 ** 28 // generation * RECORDS_MAX + index stays a safe integer
const FAR = -1
const SUMMARY = SLOTS / 32 // where the bits for the words of the bitmap begin

/**
 * Records with generation-tagged handles, in lists of which the lowest non-empty one is found without a walk.
 *
 * 20 bytes a record, and 165 KB for the lists themselves. A handle is stale as soon as its record is released;
 * the same number comes back only when that very record has been used 2^28 times more.
 */
export class SlotLists {
  private readonly arena: Arena
  private records: Int32Array
  private readonly occupied = new Int32Array(SUMMARY + SLOTS / 1024) // a bit per slot, then a bit per word of these
  private capacity: number
  private used = SLOTS
  private freeHead = NONE
  private live = 0

  constructor(capacity: number, arena: Arena) {
    this.arena = arena
    this.capacity = SLOTS + capacity
    this.records = arena(this.capacity * WORDS)
    this.emptySlots()
  }

  /** How many records are live. */
  get size(): number {
    return this.live
  }

  /** One more than the highest index a record was ever made at; the first is SLOTS. */
  get end(): number {
    return this.used
  }

  /** The storage in bytes, used or not. */
  get bytes(): number {
    return this.records.byteLength + this.occupied.byteLength
  }

  /**
   * Makes a live record at the end of a slot's list and returns its handle; throws RangeError, and changes nothing,
   * when all records are in use. It is `acquire` and `append` in one, since most timers never need more than this.
   */
  add(payload: number, due: number, slot: number): number {
    if (this.freeHead === NONE) this.extend()
    const { records, freeHead: index } = this
    const at = index * WORDS
    const end = slot * WORDS
    const generation = (-records[at + GENERATION]! & (GENERATION_MAX - 1)) + 1
    const tail = records[end + PREV]!
    this.freeHead = records[at + NEXT]!
    this.live++
    records[at + NEXT] = slot
    records[at + PREV] = tail
    records[at + DUE] = due
    records[at + GENERATION] = generation
    records[at + PAYLOAD] = payload
    records[tail * WORDS + NEXT] = index
    records[end + PREV] = index
    if (tail === slot) this.markOccupied(slot)
    return generation * RECORDS_MAX + index
  }

  /** Makes a live record that is in no list yet; fails as `add` does. */
  acquire(payload: number): number {
    if (this.freeHead === NONE) this.extend()
    const { records, freeHead: index } = this
    const at = index * WORDS
    this.freeHead = records[at + NEXT]!
    this.live++
    records[at + GENERATION] = (-records[at + GENERATION]! & (GENERATION_MAX - 1)) + 1
    records[at + PAYLOAD] = payload
    return index
  }

  /** Takes a record out of its list and frees it: `unlink` and `release` in one. Its payload can still be read. */
  drop(index: number): void {
    const { records } = this
    const at = index * WORDS
    const next = records[at + NEXT]!
    const prev = records[at + PREV]!
    records[prev * WORDS + NEXT] = next
    records[next * WORDS + PREV] = prev
    records[at + GENERATION] = -records[at + GENERATION]!
    records[at + NEXT] = this.freeHead
    this.freeHead = index
    this.live--
    if (next === prev) this.markEmpty(next)
  }

  /** Frees a record that is in no list any more. */
  release(index: number): void {
    const { records } = this
    const at = index * WORDS
    records[at + GENERATION] = -records[at + GENERATION]!
    records[at + NEXT] = this.freeHead
    this.freeHead = index
    this.live--
  }

  handleOf(index: number): number {
    return this.records[index * WORDS + GENERATION]! * RECORDS_MAX + index
  }

  /** The live record that `handle` names, or NONE for any other number. */
  find(handle: number): number {
    const index = handle & (RECORDS_MAX - 1)
    // Undefined behind the end of the storage, and then equal to nothing.
    const generation = this.records[index * WORDS + GENERATION]!
    return generation > 0 && generation * RECORDS_MAX + index === handle ? index : NONE
  }

  isLive(index: number): boolean {
    return this.records[index * WORDS + GENERATION]! > 0
  }

  payloadOf(index: number): number {
    return this.records[index * WORDS + PAYLOAD]!
  }

  /** The low 32 bits of the record's tick, as an int32. */
  dueOf(index: number): number {
    return this.records[index * WORDS + DUE]!
  }

  setDue(index: number, tick: number): void {
    this.records[index * WORDS + DUE] = tick
  }

  isFar(index: number): boolean {
    return this.records[index * WORDS + PREV] === FAR
  }

  /** A far record's position in the far heap. */
  farPositionOf(index: number): number {
    return this.records[index * WORDS + NEXT]!
  }

  setFarPosition(index: number, position: number): void {
    const at = index * WORDS
    this.records[at + NEXT] = position
    this.records[at + PREV] = FAR
  }

  /** The record behind this one, or its slot when it is the last; of a slot the first, or itself when it is empty. */
  next(index: number): number {
    return this.records[index * WORDS + NEXT]!
  }

  isEmpty(slot: number): boolean {
    return this.next(slot) === slot
  }

  /** Whether the slot's list is a single record. */
  isSingle(slot: number): boolean {
    const first = this.next(slot)
    return first !== slot && this.next(first) === slot
  }

  append(index: number, slot: number): void {
    const { records } = this
    const at = index * WORDS
    const end = slot * WORDS
    const tail = records[end + PREV]!
    records[at + NEXT] = slot
    records[at + PREV] = tail
    records[tail * WORDS + NEXT] = index
    records[end + PREV] = index
    if (tail === slot) this.markOccupied(slot)
  }

  unlink(index: number): void {
    const { records } = this
    const next = records[index * WORDS + NEXT]!
    const prev = records[index * WORDS + PREV]!
    records[prev * WORDS + NEXT] = next
    records[next * WORDS + PREV] = prev
    // Both neighbours are the same only if both are the sentinel; so no record need store its slot.
    if (next === prev) this.markEmpty(next)
  }

  /** Makes `index` the slot's first record, those before it being appended elsewhere; `slot` itself empties it. */
  dropBefore(slot: number, index: number): void {
    this.records[slot * WORDS + NEXT] = index
    this.records[index * WORDS + PREV] = slot
    if (index === slot) this.markEmpty(slot)
  }

  /** Forgets all lists; their records stay live and must be appended anew. */
  emptySlots(): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      this.records[slot * WORDS + NEXT] = slot
      this.records[slot * WORDS + PREV] = slot
    }
    this.occupied.fill(0)
  }

  /** Whether any slot of the bank has a record; a bank is 1024 slots, and `slot` is any of them. */
  isBankOccupied(slot: number): boolean {
    return this.occupied[SUMMARY + (slot >> 10)] !== 0
  }

  /** The first slot with a record from `start` to the end of its bank, or NONE. */
  firstInBank(start: number): number {
    return this.firstOccupied(start, (start | 1023) + 1)
  }

  /** The first slot with a record from `start` to `end - 1`, or NONE; `end` must be a multiple of 1024. */
  firstOccupied(start: number, end: number): number {
    const { occupied } = this
    const word = start >> 5
    const bits = occupied[word]! & (-1 << (start & 31))
    if (bits !== 0) return (word << 5) + lowestBit(bits)
    // A shift is taken modulo 32: when the next word opens a bank, this mask keeps all of it.
    let mask = -1 << ((word + 1) & 31)
    for (let bank = (word + 1) >> 5; bank < end >> 10; bank++) {
      const words = occupied[SUMMARY + bank]! & mask
      if (words !== 0) {
        const found = (bank << 5) + lowestBit(words)
        return (found << 5) + lowestBit(occupied[found]!)
      }
      mask = -1
    }
    return NONE
  }

  private markOccupied(slot: number): void {
    const { occupied } = this
    occupied[slot >> 5]! |= 1 << (slot & 31)
    occupied[SUMMARY + (slot >> 10)]! |= 1 << ((slot >> 5) & 31)
  }

  private markEmpty(slot: number): void {
    const { occupied } = this
    const bits = occupied[slot >> 5]! & ~(1 << (slot & 31))
    occupied[slot >> 5] = bits
    if (bits === 0) occupied[SUMMARY + (slot >> 10)]! &= ~(1 << ((slot >> 5) & 31))
  }

  /** Makes a record that was never used, and it the free one. */
  private extend(): void {
    if (this.used === this.capacity) {
      if (this.capacity === RECORDS_MAX)
        throw new RangeError(`Cannot schedule: the wheel is full with "${this.live}" entries`)
      const capacity = Math.min(this.capacity * 2, RECORDS_MAX)
      this.records = this.arena(capacity * WORDS)
      this.capacity = capacity
    }
    this.freeHead = this.used++
    this.records[this.freeHead * WORDS + NEXT] = NONE
  }
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)
