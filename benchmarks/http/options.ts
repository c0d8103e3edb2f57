// The command line of the http benchmark: every size has a bound, every refusal names its option.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

const sizes = {
  runs: {
    fallback: 50_000,
    min: 100,
    max: 2_000_000,
    help: "runs that `enqueue` sends in batches, each round",
  },
  singles: { fallback: 5_000, min: 10, max: 1_000_000, help: "runs that it sends one by one" },
  batch: { fallback: 100, min: 1, max: 1_000, help: "runs of a batch" },
  "in-flight": { fallback: 8, min: 1, max: 256, help: "requests under way" },
  rounds: { fallback: 3, min: 1, max: 100, help: "rounds of floor, store and server in turn" },
  small: {
    fallback: 10_000,
    min: 100,
    max: 10_000_000,
    help: "runs in the store for `list`, the smaller one",
  },
  large: { fallback: 1_000_000, min: 100, max: 10_000_000, help: "the larger one" },
  samples: { fallback: 500, min: 10, max: 100_000, help: "lists of 50 that are measured of each" },
} as const

/** What can be measured. */
export const figureNames = ["enqueue", "list"] as const

/** One of them. */
export type FigureName = (typeof figureNames)[number]

/** Stores of the server that are measured. */
export const storeNames = ["memory", "sqlite"] as const
export type StoreName = (typeof storeNames)[number]

const texts = {
  store: {
    fallback: "all",
    help: "memory, sqlite, or all",
    wrong: (value: string) =>
      value === "all" || (storeNames as ReadonlyArray<string>).includes(value)
        ? undefined
        : "is none of memory, sqlite, all",
  },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName> & { readonly store: string }

/** The stores that these options name. */
export const storesOf = ({ store }: Options): ReadonlyArray<StoreName> =>
  storeNames.filter((name) => store === "all" || store === name)

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "http: runs sent over HTTP, beside a bare route and the store itself; and lists of a long history",
    sizes,
    figureNames,
    texts,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames, texts)
