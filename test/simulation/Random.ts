// Chance from a seed: the same seed gives the same numbers on every runtime.

/** A source of random numbers. */
export interface Random {
  /** In [0, 1). */
  readonly next: () => number
  /** Whether something of this probability happens. */
  readonly chance: (probability: number) => boolean
  /** A whole number from `min` to `max`, both included. */
  readonly int: (min: number, max: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
}

/** Mulberry32: 32 bits of state are plenty for a run, and whole-number arithmetic is the same everywhere. */
export const makeRandom = (seed: number): Random => {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    chance: (probability) => next() < probability,
    int,
    pick: (from) => {
      if (from.length === 0) throw new Error("Nothing to pick from")
      return from[int(0, from.length - 1)] as (typeof from)[number]
    },
  }
}

/** A number that a text and a seed name, in [0, 1): the same for each asking, whatever was asked before. */
export const hashed = (text: string, seed: number): number => {
  let hash = seed ^ 0x811c9dc5
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 16777619)
  return makeRandom(hash).next()
}
