// The command line of the workers benchmark: every size has a bound, every refusal names its option.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

const sizes = {
  runs: {
    fallback: 20_000,
    min: 10,
    max: 1_000_000,
    help: "runs of `throughput`, each no more than its messages",
  },
  "in-flight": {
    fallback: 256,
    min: 16,
    max: 1_000,
    help: "slots of all workers together, and echoes under way",
  },
  rounds: {
    fallback: 3,
    min: 1,
    max: 100,
    help: "rounds of floor and server in turn, order reversed each time",
  },
  samples: { fallback: 300, min: 10, max: 100_000, help: "runs of `latency`, one at a time" },
  rate: { fallback: 500, min: 1, max: 20_000, help: "runs a second of `latency` under load" },
  "load-span": { fallback: 10_000, min: 100, max: 600_000, help: "how long the load lasts, ms" },
  idle: { fallback: 1_000, min: 1, max: 5_000, help: "workers of `idle`" },
  "idle-span": { fallback: 30_000, min: 100, max: 600_000, help: "how long idling is measured, ms" },
} as const

/** What can be measured. */
export const figureNames = ["throughput", "latency", "idle"] as const

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
    "workers: runs through one server to workers over loopback, beside the echo of the same transport",
    sizes,
    figureNames,
    texts,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames, texts)
