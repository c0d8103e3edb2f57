// What is armed: delays from 1 ms to 30 days, each order of magnitude as often as any other, as time-outs, retries
// and schedules together have. Seeded, so that every contender and every run has the same.

const daysMillis = 86_400_000
const delayMax = 30 * daysMillis
const mixedLength = 2 ** 16

/** Rows with their delays in milliseconds, the order in which they are cancelled, and place for their handles. */
export interface Load {
  readonly size: number
  readonly delays: Float64Array
  readonly mixedDelays: Float64Array
  readonly order: Int32Array
  readonly handles: Float64Array
}

/** Random numbers from 0 to below 1, the same for the same seed. */
export const seeded = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A load of this many rows. */
export const makeLoad = (size: number): Load => {
  const random = seeded(size)
  const delay = (): number => Math.floor(delayMax ** random())
  const order = Int32Array.from({ length: size }, (_, row) => row)
  for (let at = size - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const row = order[at]!
    order[at] = order[other]!
    order[other] = row
  }
  return {
    size,
    delays: Float64Array.from({ length: size }, delay),
    mixedDelays: Float64Array.from({ length: mixedLength }, delay),
    order,
    handles: new Float64Array(size),
  }
}
