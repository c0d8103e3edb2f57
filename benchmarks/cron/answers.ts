// What an instant costs: all sides in one process, in turn, the order reversed each round, the best round counts.
// All answer the same sequence, over a clock change, and the sequences are compared: a side that is quick and wrong
// would be no measure.
import { rounded } from "../common/statistics.ts"
import type { Options } from "./options.ts"
import { parsers, type SideName, sideNames, type WalkName, walkNames, walksOf } from "./sides.ts"

/** A figure for each side. */
export type BySide = Readonly<Record<SideName, number>>

/** Nanoseconds of one operation, by side, and how often ours goes into a peer's. */
export interface Cost {
  readonly operation: WalkName | "parse"
  readonly text: string
  readonly nanos: BySide
  readonly ratio: Readonly<Record<Exclude<SideName, "ours">, number>>
}

/** The zone that is asked about, and the texts. */
export const zone = "Europe/Berlin"
/** Texts that the aims name. */
export const texts = ["*/5 * * * *", "0 9 * * 1-5"] as const

// Nine days before the clocks go forward: the sequences lead over it.
const from = Date.UTC(2026, 2, 20)

// Ours is so quick that one sequence would be too short for the clock.
const repeats: BySide = { ours: 20, croner: 1, cronParser: 1 }

/** Measures all operations over all texts; what differs is added to `differences`. */
export const measureAnswers = (
  options: Options,
  progress: (text: string) => void,
  differences: Array<string>,
): ReadonlyArray<Cost> =>
  texts.flatMap((text) => [
    ...walkNames.map((operation) => {
      progress(`${operation} of "${text}"`)
      return measureWalk(operation, text, options, differences)
    }),
    measureParse(text, options),
  ])

const measureWalk = (
  operation: WalkName,
  text: string,
  { answers, rounds }: Options,
  differences: Array<string>,
): Cost => {
  const walks = mapSides((side) => walksOf[side](text, zone)[operation])
  const expected = walks.ours(from, answers)
  for (const side of sideNames) {
    const found = walks[side](from, answers)
    const at = expected.findIndex((instant, index) => instant !== found[index])
    if (at >= 0 || found.length !== expected.length)
      differences.push(
        `${operation} of "${text}": answer ${at} of ${side} is ${iso(found[at])}, ours ${iso(expected[at])}`,
      )
  }
  // Each round ours answers the sequence several times; all sides have answered it once by now.
  const nanos = bestOf(rounds, answers, (side) => walks[side](from, answers))
  return { operation, text, nanos, ratio: ratioOf(nanos) }
}

const measureParse = (text: string, { answers, rounds }: Options): Cost => {
  const count = Math.max(1, Math.floor(answers / 4))
  const nanos = bestOf(rounds, count, (side) => {
    const parse = parsers[side]
    let last: unknown
    for (let each = 0; each < count; each++) last = parse(text, zone)
    return last
  })
  return { operation: "parse", text, nanos, ratio: ratioOf(nanos) }
}

const bestOf = (rounds: number, count: number, work: (side: SideName) => unknown): BySide => {
  const best: Record<SideName, number> = { ours: Infinity, croner: Infinity, cronParser: Infinity }
  // One round more, which only warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? sideNames : sideNames.toReversed()) {
      const began = performance.now()
      for (let again = 0; again < repeats[side]; again++) work(side)
      const nanos = ((performance.now() - began) * 1e6) / (count * repeats[side])
      if (round > 0) best[side] = Math.min(best[side], nanos)
    }
  }
  return mapSides((side) => rounded(best[side]))
}

const ratioOf = ({ ours, croner, cronParser }: BySide): Cost["ratio"] => ({
  croner: rounded(croner / ours),
  cronParser: rounded(cronParser / ours),
})

const mapSides = <A>(make: (side: SideName) => A): Record<SideName, A> => ({
  ours: make("ours"),
  croner: make("croner"),
  cronParser: make("cronParser"),
})

const iso = (instant: number | undefined): string =>
  instant === undefined ? "none" : new Date(instant).toISOString()
