// The geometry of the timing wheel: which slot a tick belongs to, seen from now, and where its block starts.
//
//   level 0: 2 banks x 1024 slots of 1 tick | level 1: 2 banks x 1024 slots of one block (2^10 ticks)
//   level 2: 4096 slots of one span (2^20 ticks), circular | beyond the window (2^32 ticks): the far heap
//
// The level depends only on whether a tick shares its block, or its span, with now. So equal ticks share one
// list, where appending keeps their order, and what a lower level holds is due before all of a higher one.
// Of the two banks one is now's; the other belongs to the next block or span.
// Ticks go up to 2^53; the slots need only the low 32 bits, and those are what the bit operators see.

export const BLOCK = 2 ** 10
export const SPAN = 2 ** 20
export const WINDOW = 2 ** 32

export const LEVEL_0 = 0
export const LEVEL_1 = 2048
export const LEVEL_2 = 4096

/** The slot of a tick in the window: not before now, and less than 4096 spans after the start of now's span. */
export const slotOf = (tick: number, now: number): number => {
  // 32 bits are enough to compare by: two spans of one window never agree in their low 12 bits.
  const difference = (tick ^ now) >>> 0
  if (difference < BLOCK) return level0Slot(tick)
  return difference < SPAN ? level1Slot(tick) : level2Slot(tick)
}

export const level0Slot = (tick: number): number => LEVEL_0 + (tick & 2047)
export const level1Slot = (tick: number): number => LEVEL_1 + ((tick >>> 10) & 2047)
export const level2Slot = (tick: number): number => LEVEL_2 + (tick >>> 20)

export const startOfBlock = (tick: number): number => tick - (tick & (BLOCK - 1))
export const startOfSpan = (tick: number): number => tick - (tick & (SPAN - 1))

/** 4096 spans after the start of now's span, and no more than there are ticks. */
export const endOfWindow = (now: number): number => Math.min(startOfSpan(now) + WINDOW, 2 ** 53)
