// The measured loops. This module is loaded once per contender (see `ownLoops.ts`): the code of a loop that has met one
// kind of queue only is compiled for that one, as it is in a program that uses one.
import type { Contender } from "./contenders.ts"
import type { Load } from "./load.ts"

let sum = 0
let rows = new Int32Array(0)
let count = 0
const isNoneFired = (): boolean => count === 0

const tally = (payload: number, tick: number): void => {
  sum = (sum + Math.imul(payload + 1, tick & 0xffff)) | 0
}
const collect = (payload: number, tick: number): void => {
  tally(payload, tick)
  rows[count++] = payload
}

/** Arms all rows. */
export const insert = (queue: Contender, { handles, delays, size }: Load, now: number): void => {
  for (let row = 0; row < size; row++) handles[row] = queue.schedule(now + delays[row]!, row)
}

/** Disarms all rows in random order. */
export const cancel = (queue: Contender, { handles, order, size }: Load): void => {
  let done = 0
  for (let at = 0; at < size; at++) if (queue.cancel(handles[order[at]!]!)) done++
  if (done !== size) throw new Error(`${done} of ${size} could be cancelled`)
}

/** Fires all rows, from one `nextAt` to the next; answers the tick it came to. */
export const expire = (queue: Contender, { size }: Load, now: number): number => {
  let fired = 0
  let at = now
  for (let next = queue.nextAt(); next !== Infinity; next = queue.nextAt()) {
    fired += queue.advance(next, tally)
    at = next
  }
  if (fired !== size) throw new Error(`${fired} of ${size} fired`)
  return at
}

// Cancelling and arming are loops of their own, since a program does them in different places: in one loop the
// compilers would run out of their budget for inlining, for one kind of queue sooner than for another.
const turn = 64

const disarm = (queue: Contender, { handles, order }: Load, from: number): void => {
  for (let at = from; at < from + turn; at++) queue.cancel(handles[order[at]!]!)
}

const arm = (queue: Contender, load: Load, list: Int32Array, from: number, to: number, now: number): void => {
  const { handles, mixedDelays } = load
  const mask = mixedDelays.length - 1
  for (let at = from; at < to; at++) {
    const row = list[at]!
    handles[row] = queue.schedule(now + mixedDelays[(row + now) & mask]!, row)
  }
}

const fireSome = (queue: Contender, now: number): number => {
  let at = now
  count = 0
  while (isNoneFired()) {
    at = queue.nextAt()
    queue.advance(at, collect)
  }
  return at
}

/**
 * With all rows pending: 9 of 10 times a random row is disarmed, 1 of 10 times a row fires, and each time the row is
 * armed anew. Answers the tick it came to and how often a row was armed, at least `steps` times. What fires when does
 * not depend on the order among equal ticks, so every contender does the same work.
 */
export const mixed = (
  queue: Contender,
  load: Load,
  now: number,
  steps: number,
): { at: number; armed: number } => {
  if (rows.length < load.size) rows = new Int32Array(load.size)
  let at = now
  let cancelled = 0
  let fired = 0
  for (let from = 0; cancelled + fired < steps; from += turn) {
    if (from + turn > load.size) from = 0
    disarm(queue, load, from)
    arm(queue, load, load.order, from, from + turn, at)
    cancelled += turn
    while (fired * 9 < cancelled) {
      at = fireSome(queue, at)
      arm(queue, load, rows, 0, count, at)
      fired += count
    }
  }
  return { at, armed: cancelled + fired }
}

/** What fired so far, as a number: equal for all that fired the same at the same ticks, whatever the order of equal ones. */
export const checksum = (): number => sum
