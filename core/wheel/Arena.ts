// Where the records of a timing wheel live. Core makes plain arrays; a host that has memory which grows in place
// hands its own arena in (`adapters/arena-wasm`).

/**
 * Answers an array of at least `words` int32 that begins with everything the last one held, the rest zero.
 *
 * The wheel calls it once at the start and then whenever it doubles; it never asks for less than before, and it
 * forgets the last array. It may throw RangeError when there is no such memory; then the wheel stays as it was.
 */
export type Arena = (words: number) => Int32Array

/** An arena that makes a new array and copies: about 1 ms for each 2 MB of records. */
export const makeCopyingArena = (): Arena => {
  let last = new Int32Array(0)
  return (words) => {
    const next = new Int32Array(words)
    next.set(last)
    last = next
    return next
  }
}
