// The figures of two versions side by side: each number of the JSON documents by its path, head over base.
import { median, rounded } from "../common/statistics.ts"

/** One figure on both sides. */
export interface Pair {
  readonly name: string
  /** Medians over the rounds. */
  readonly base: number
  readonly head: number
  /** Median of the ratios head / base of the rounds, and the smallest and largest of them: their spread is the noise. */
  readonly ratio: number
  readonly least: number
  readonly most: number
}

/** Every number of a document by its path, `figures.sizes.0.size` and so on; a `size` in a list stands for its place. */
export const numbersOf = (value: unknown, path = ""): ReadonlyMap<string, number> => {
  if (typeof value === "number") return new Map([[path, value]])
  if (typeof value !== "object" || value === null) return new Map()
  const numbers = new Map<string, number>()
  for (const [key, inner] of Object.entries(value)) {
    const name = Array.isArray(value) ? labelOf(inner, key) : key
    for (const [at, number] of numbersOf(inner, path === "" ? name : `${path}.${name}`))
      numbers.set(at, number)
  }
  return numbers
}

const labelOf = (item: unknown, at: string): string => {
  const size = (item as { readonly size?: unknown } | null)?.size
  return typeof size === "number" ? String(size) : at
}

/**
 * Pairs the figures of the rounds: those which every round has on both sides, in the order of the first base. Only
 * what stands under `figures` is a figure; the size of what was measured is none, nor is one that is 0 on either side.
 */
export const pairUp = (
  rounds: ReadonlyArray<{ readonly base: unknown; readonly head: unknown }>,
): ReadonlyArray<Pair> => {
  const sides = rounds.map(({ base, head }) => ({ base: figuresOf(base), head: figuresOf(head) }))
  return [...(sides[0]?.base.keys() ?? [])].flatMap((name) => {
    const bases = sides.map(({ base }) => base.get(name) ?? 0)
    const heads = sides.map(({ head }) => head.get(name) ?? 0)
    if ([...bases, ...heads].includes(0) || name.endsWith(".size")) return []
    const ratios = heads.map((head, at) => head / (bases[at] as number))
    return [
      {
        name,
        base: rounded(median(bases)),
        head: rounded(median(heads)),
        ratio: rounded(median(ratios)),
        least: rounded(Math.min(...ratios)),
        most: rounded(Math.max(...ratios)),
      },
    ]
  })
}

const figuresOf = (document: unknown): ReadonlyMap<string, number> =>
  numbersOf((document as { readonly figures?: unknown } | null)?.figures)
