// What comes next in the lists of a timing wheel: plain functions of the lists and of now, for the wheel alone.
// All answers are found in the bitmap; no list is walked.
import {
  BLOCK,
  LEVEL_2,
  level0Slot,
  level1Slot,
  level2Slot,
  SPAN,
  startOfBlock,
  startOfSpan,
} from "./Levels.ts"
import { NONE, type SlotLists, SLOTS } from "./SlotLists.ts"

/** The tick of a record in a slot's list: the one with its low 32 bits that comes next, now included. */
export const tickOf = (lists: SlotLists, index: number, now: number): number =>
  now + ((lists.dueOf(index) - (now | 0)) >>> 0)

/** The earliest tick of level 0 from `from` to the end of its block, or NONE. */
export const firstDue = (lists: SlotLists, from: number): number => {
  const start = level0Slot(from)
  const slot = lists.firstInBank(start)
  return slot === NONE ? NONE : from + (slot - start)
}

/**
 * Given that now's block is empty: the start of the next block or span that is not, or Infinity.
 *
 * With `isExact` it is the tick of the first entry where the bitmap tells it: in a block that is prepared, and where
 * an entry is alone. A driver then sleeps once for it and not once for each level.
 */
export const nextStart = (lists: SlotLists, now: number, isExact: boolean): number => {
  const nextBlock = startOfBlock(now) + BLOCK
  if (lists.isBankOccupied(level0Slot(nextBlock))) {
    const isPrepared = lists.isEmpty(level1Slot(nextBlock)) && lists.isEmpty(level2Slot(nextBlock))
    return isExact && isPrepared ? firstDue(lists, nextBlock) : nextBlock
  }
  const own = level1Slot(now)
  const block = lists.firstInBank(own)
  if (block !== NONE) {
    if (isExact && lists.isSingle(block)) return tickOf(lists, lists.next(block), now)
    return startOfBlock(now) + (block - own) * BLOCK
  }
  if (lists.isBankOccupied(level1Slot(now + SPAN))) return startOfSpan(now) + SPAN
  const span = level2Slot(now)
  const after = lists.firstOccupied(span, SLOTS)
  const next = after === NONE ? lists.firstOccupied(LEVEL_2, SLOTS) : after
  if (next === NONE) return Infinity
  if (isExact && lists.isSingle(next)) return tickOf(lists, lists.next(next), now)
  return startOfSpan(now) + ((next - span) & 4095) * SPAN
}
