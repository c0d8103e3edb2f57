// The storage of the timing wheel: fixed-size records in one typed array, in one circular list per slot.
// The wheel decides which slot a record belongs to; this file knows nothing of ticks but the 32 bits it stores.
// Promises: O(1) append, unlink and handle check, an occupancy bitmap that never disagrees with the lists, and
// no allocation except when the storage doubles. It never shrinks.
// Every `!` follows a typed-array read whose index is in range by construction.

/** How many lists there are; records 0 to SLOTS - 1 are their sentinels, so a slot is its sentinel's index. */
export const SLOTS = 8192

/** The most records that can be live at once. */
export const LIVE_MAX = 2 ** 24 - SLOTS

/** "No such record", "no such slot". */
export const NONE = -1

// A record is 4 x int32: 16 bytes, so that touching a timer costs one cache line.
const NEXT = 0 // of a far record: its position in the far heap; of a free one: the next free one
const PREV = 1 // of a far record: FAR
const DUE = 2
const GENERATION = 3 // positive: live. Zero or less: free, minus the last generation used

const RECORDS_MAX = 2 ** 24
const GENERATION_MAX = 2 ** 29 - 1 // generation * RECORDS_MAX + index stays a safe integer
const FAR = -1

/**
 * Records with generation-tagged handles, in lists of which the lowest non-empty one is found without a walk.
 *
 * 20 bytes a record, and 165 KB for the lists themselves. A handle is stale as soon as its record is released;
 * the same number comes back only when that very record has been used 2^29 - 1 times more.
 */
export class SlotLists {
  private records = new Int32Array(0)
  private payloads = new Int32Array(0)
  private readonly occupied = new Int32Array(SLOTS / 32) // a bit per slot
  private readonly summary = new Int32Array(SLOTS / 1024) // a bit per word of `occupied`
  private capacity = 0
  private used = SLOTS
  private freeHead = NONE
  private live = 0

  constructor(capacity: number) {
    this.grow(SLOTS + capacity)
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

  /** Makes a live record, in no list yet; throws RangeError, and changes nothing, when all are in use. */
  acquire(payload: number): number {
    const index = this.takeFree()
    const word = (index << 2) + GENERATION
    const last = -this.records[word]!
    this.records[word] = last === GENERATION_MAX ? 1 : last + 1
    this.payloads[index] = payload
    this.live++
    return index
  }

  /** Frees a record that is in no list any more. */
  release(index: number): void {
    const record = index << 2
    this.records[record + GENERATION] = -this.records[record + GENERATION]!
    this.records[record + NEXT] = this.freeHead
    this.freeHead = index
    this.live--
  }

  handleOf(index: number): number {
    return this.records[(index << 2) + GENERATION]! * RECORDS_MAX + index
  }

  /** The live record that `handle` names, or NONE for any other number. */
  find(handle: number): number {
    const index = handle & (RECORDS_MAX - 1)
    const generation = this.records[(index << 2) + GENERATION] ?? 0
    return generation > 0 && generation * RECORDS_MAX + index === handle ? index : NONE
  }

  isLive(index: number): boolean {
    return this.records[(index << 2) + GENERATION]! > 0
  }

  payloadOf(index: number): number {
    return this.payloads[index]!
  }

  /** The low 32 bits of the record's tick, as an int32. */
  dueOf(index: number): number {
    return this.records[(index << 2) + DUE]!
  }

  setDue(index: number, tick: number): void {
    this.records[(index << 2) + DUE] = tick
  }

  /** The record's position in the far heap, or NONE if it is in a slot's list. */
  farPositionOf(index: number): number {
    return this.records[(index << 2) + PREV] === FAR ? this.records[(index << 2) + NEXT]! : NONE
  }

  setFarPosition(index: number, position: number): void {
    this.records[(index << 2) + NEXT] = position
    this.records[(index << 2) + PREV] = FAR
  }

  /** The first record of the slot's list, or the slot itself when the list is empty. */
  first(slot: number): number {
    return this.records[(slot << 2) + NEXT]!
  }

  /** The record behind this one, or its slot when it is the last. */
  next(index: number): number {
    return this.records[(index << 2) + NEXT]!
  }

  append(index: number, slot: number): void {
    const records = this.records
    const tail = records[(slot << 2) + PREV]!
    records[(index << 2) + NEXT] = slot
    records[(index << 2) + PREV] = tail
    records[(tail << 2) + NEXT] = index
    records[(slot << 2) + PREV] = index
    if (tail === slot) this.markOccupied(slot)
  }

  unlink(index: number): void {
    const records = this.records
    const next = records[(index << 2) + NEXT]!
    const prev = records[(index << 2) + PREV]!
    records[(prev << 2) + NEXT] = next
    records[(next << 2) + PREV] = prev
    // Both neighbours are the same only if both are the sentinel; so no record need store its slot.
    if (next === prev) this.markEmpty(next)
  }

  /** Makes `index` the slot's first record, those before it being appended elsewhere; `slot` itself empties it. */
  dropBefore(slot: number, index: number): void {
    this.records[(slot << 2) + NEXT] = index
    this.records[(index << 2) + PREV] = slot
    if (index === slot) this.markEmpty(slot)
  }

  /** Forgets all lists; their records stay live and must be appended anew. */
  emptySlots(): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      this.records[(slot << 2) + NEXT] = slot
      this.records[(slot << 2) + PREV] = slot
    }
    this.occupied.fill(0)
    this.summary.fill(0)
  }

  /** Whether any slot of the bank has a record; a bank is 1024 slots, and `slot` is any of them. */
  isBankOccupied(slot: number): boolean {
    return this.summary[slot >> 10] !== 0
  }

  /** The first slot with a record from `start` to the end of its bank, or NONE. */
  firstInBank(start: number): number {
    return this.firstOccupied(start, (start | 1023) + 1)
  }

  /** The first slot with a record from `start` to `end - 1`, or NONE; `end` must be a multiple of 1024. */
  firstOccupied(start: number, end: number): number {
    const word = start >> 5
    const bits = this.occupied[word]! & (-1 << (start & 31))
    if (bits !== 0) return (word << 5) + lowestBit(bits)
    // A shift is taken modulo 32: when the next word opens a bank, this mask keeps all of it.
    let mask = -1 << ((word + 1) & 31)
    for (let bank = (word + 1) >> 5; bank < end >> 10; bank++) {
      const words = this.summary[bank]! & mask
      if (words !== 0) {
        const found = (bank << 5) + lowestBit(words)
        return (found << 5) + lowestBit(this.occupied[found]!)
      }
      mask = -1
    }
    return NONE
  }

  private markOccupied(slot: number): void {
    this.occupied[slot >> 5]! |= 1 << (slot & 31)
    this.summary[slot >> 10]! |= 1 << ((slot >> 5) & 31)
  }

  private markEmpty(slot: number): void {
    const bits = this.occupied[slot >> 5]! & ~(1 << (slot & 31))
    this.occupied[slot >> 5] = bits
    if (bits === 0) this.summary[slot >> 10]! &= ~(1 << ((slot >> 5) & 31))
  }

  private takeFree(): number {
    const index = this.freeHead
    if (index !== NONE) {
      this.freeHead = this.records[(index << 2) + NEXT]!
      return index
    }
    if (this.used === this.capacity) this.grow(this.capacity * 2)
    return this.used++
  }

  private grow(wanted: number): void {
    if (this.capacity === RECORDS_MAX)
      throw new RangeError(`Cannot schedule: the wheel is full with "${this.live}" entries`)
    const capacity = Math.min(wanted, RECORDS_MAX)
    const records = new Int32Array(capacity * 4)
    const payloads = new Int32Array(capacity)
    records.set(this.records)
    payloads.set(this.payloads)
    this.records = records
    this.payloads = payloads
    this.capacity = capacity
  }
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)
