// What comes next in the lists of a timing wheel: plain functions of the lists and of now, for the wheel alone.
// All is found in the bitmap; no list is walked. What is called for each timer passes no tick: see `SlotLists`.
import { BLOCK, LEVEL_1, LEVEL_2, level0Slot, level1Slot, level2Slot, SPAN } from "./Levels.ts"
import { NONE, type SlotLists, SLOTS } from "./SlotLists.ts"

/** The tick of a record in a slot's list: the one with its low 32 bits that comes next, now included. */
export const tickOf = (lists: SlotLists, index: number, now: number): number =>
  now + ((lists.dueOf(index) - (now | 0)) >>> 0)

/**
 * Given that now's block is empty: a slot of the next block or span that is not, or NONE. It is of level 0 if that
 * block is prepared, in part at least, and of level 1 or 2 otherwise. Of now it takes the low 32 bits.
 */
export const nextOccupied = (lists: SlotLists, now: number): number => {
  const prepared = level0Slot(now + BLOCK) & -BLOCK
  if (lists.isBankOccupied(prepared)) return lists.firstInBank(prepared)
  const block = lists.firstInBank(level1Slot(now))
  if (block !== NONE) return block
  const span = level1Slot(now + SPAN) & -BLOCK
  if (lists.isBankOccupied(span)) return lists.firstInBank(span)
  const after = lists.firstOccupied(level2Slot(now), SLOTS)
  return after === NONE ? lists.firstOccupied(LEVEL_2, SLOTS) : after
}

/**
 * How far from now the start of the block or span is for which `nextOccupied` found a slot: there `advance` has to go.
 * Of now it takes the low 32 bits.
 */
export const distanceTo = (slot: number, now: number): number => {
  if (slot >= LEVEL_2) return ((slot - level2Slot(now)) & 4095) * SPAN - (now & (SPAN - 1))
  if (slot < LEVEL_1) return BLOCK - (now & (BLOCK - 1))
  const own = level1Slot(now)
  if (((slot ^ own) & BLOCK) === 0) return (slot - own) * BLOCK - (now & (BLOCK - 1))
  // The other bank is the next span's; what its level-2 list still has may be due before the bank's.
  return SPAN - (now & (SPAN - 1))
}

/**
 * The tick of that start, or of the earliest entry where the bitmap tells it: in a block that is prepared, and where
 * an entry is alone. A driver then sleeps once for it and not once for each level.
 */
export const soonestIn = (lists: SlotLists, slot: number, now: number): number => {
  const start = now + distanceTo(slot, now | 0)
  if (slot < LEVEL_1) {
    const isPrepared = lists.isEmpty(level1Slot(start)) && lists.isEmpty(level2Slot(start))
    return isPrepared ? start + (slot & (BLOCK - 1)) : start
  }
  const isWhole = slot >= LEVEL_2 || (start & (SPAN - 1)) !== 0
  return isWhole && lists.isSingle(slot) ? tickOf(lists, lists.next(slot), now) : start
}
