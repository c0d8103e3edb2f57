// The command line of the store benchmark.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

/** What can be measured, in the order in which it is. */
export const figureNames = ["operations", "drain", "latency", "lateness", "held"] as const

/** One of the things that are measured. */
export type FigureName = (typeof figureNames)[number]

const sizes = {
  runs: {
    fallback: 20_000,
    min: 10,
    max: 1_000_000,
    help: "runs that are enqueued, claimed and settled in a round",
  },
  batch: {
    fallback: 500,
    min: 1,
    max: 1000,
    help: "runs in one enqueue, as many as the engine sends at most",
  },
  claim: { fallback: 200, min: 1, max: 500, help: "runs in one claim, and in one settlement" },
  slots: { fallback: 200, min: 1, max: 1000, help: "runs that the engine carries at once" },
  rounds: { fallback: 3, min: 1, max: 100, help: "rounds of floor and store, order reversed each time" },
  samples: { fallback: 200, min: 1, max: 10_000, help: "sends for enqueue-to-start, one at a time" },
  delayed: { fallback: 1000, min: 1, max: 100_000, help: "delayed runs for lateness" },
  spread: { fallback: 5000, min: 100, max: 60_000, help: "span of their due times, ms" },
} as const

const historyMax = 20_000_000

/** The sizes of history in a text such as `0,1e6,5e6`; `undefined`: it is no such text. */
export const historiesOf = (text: string): ReadonlyArray<number> | undefined => {
  const counts = text.split(",").map((each) => (each.trim() === "" ? Number.NaN : Number(each)))
  const isRight = counts.every((count) => Number.isInteger(count) && count >= 0 && count <= historyMax)
  return isRight ? [...new Set(counts)].sort((a, b) => a - b) : undefined
}

const texts = {
  store: {
    fallback: "postgres",
    help: "which store: postgres",
    wrong: (text: string) => (text === "postgres" ? undefined : "is not measured here. There is: postgres"),
  },
  history: {
    fallback: "0,1e6,5e6",
    help: "how many finished runs there are, with commas between",
    wrong: (text: string) =>
      historiesOf(text) === undefined ? `is not a list of whole numbers from 0 to ${historyMax}` : undefined,
  },
  postgres: {
    fallback: "postgres://postgres@127.0.0.1:5432/test",
    help: "the server and database",
    wrong: (text: string) =>
      URL.canParse(text) && /^postgres(ql)?:/.test(text) ? undefined : "is not an address of such a server",
  },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName> &
  Readonly<Record<keyof typeof texts, string>>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "store: the store's hot operations beside the least SQL, over a history",
    sizes,
    figureNames,
    texts,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames, texts)
