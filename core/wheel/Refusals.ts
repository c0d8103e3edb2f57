// What a timing wheel refuses, and in which words; apart from it, so that its own functions stay short enough to be
// compiled into their callers.

import { LIVE_MAX } from "./SlotLists.ts"

/** Whether a wheel can start with room for so many entries. */
export const isCapacity = (capacity: number): boolean =>
  Number.isInteger(capacity) && capacity >= 1 && capacity <= LIVE_MAX

/** A capacity that is none. */
export const badCapacity = (capacity: number): RangeError =>
  new RangeError(`Cannot make a wheel of capacity "${capacity}": not in 1 to ${LIVE_MAX}`)

/** Whether a number can be a tick. */
export const isTick = (tick: number): boolean => Number.isSafeInteger(tick) && tick >= 0

/** A tick that is none. */
export const badTick = (action: string, tick: number): RangeError =>
  new RangeError(`Cannot ${action} tick "${tick}": not a non-negative safe integer`)

/** What is wrong with the arguments of an advance. */
export const badAdvance = (target: number, limit: number, movesMax: number): RangeError => {
  if (!Number.isSafeInteger(target))
    return new RangeError(`Cannot advance to "${target}": not a safe integer`)
  const [name, value] = limit >= 0 ? ["movesMax", movesMax] : ["limit", limit]
  return new RangeError(`Cannot advance with ${name} "${value}": not a number from 0 up`)
}

/** What is wrong with the arguments of a schedule. */
export const badEntry = (tick: number, payload: number): RangeError =>
  isTick(tick)
    ? new RangeError(`Cannot schedule payload "${payload}": not an int32`)
    : badTick("schedule at", tick)

/** A call that a visit must not make. */
export const badMoment = (action: string): Error =>
  new Error(`Cannot ${action} the wheel: a visit is running`)
