// Random numbers that a seed repeats, the same on every runtime, and what tests choose with them.

/** Numbers in [0, 1). */
export type Random = () => number

/** A source of them (mulberry32). */
export const randomOf = (seed: number): Random => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What a test chooses with one source. */
export class Choice {
  readonly random: Random

  constructor(seed: number) {
    this.random = randomOf(seed)
  }

  /** A whole number from `min` to `max`. */
  int(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1))
  }

  /** `true` in so many of a hundred cases. */
  percent(percent: number): boolean {
    return this.random() * 100 < percent
  }

  /** One of these, of which there must be one. */
  of<A>(items: ReadonlyArray<A>): A {
    return items[this.int(0, items.length - 1)] as A
  }

  /** Up to `max` of these, each at most once, in their order. */
  some<A>(items: ReadonlyArray<A>, max: number): ReadonlyArray<A> {
    const left = [...items.keys()]
    const wanted = this.int(0, Math.min(max, items.length))
    const taken = Array.from({ length: wanted }, () => left.splice(this.int(0, left.length - 1), 1)[0] ?? 0)
    return taken.sort((a, b) => a - b).map((place) => items[place] as A)
  }

  /** A list of `min` to `max`, each made anew. */
  list<A>(min: number, max: number, make: (place: number) => A): ReadonlyArray<A> {
    return Array.from({ length: this.int(min, max) }, (_, place) => make(place))
  }
}
