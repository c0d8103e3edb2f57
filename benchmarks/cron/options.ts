// The command line of the cron benchmark: every size has a bound, every refusal names its option.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

/** What can be measured, in the order in which it is. */
export const figureNames = ["answers", "memory", "planning"] as const

/** One of the things that are measured. */
export type FigureName = (typeof figureNames)[number]

const sizes = {
  answers: { fallback: 4000, min: 10, max: 1_000_000, help: "instants that each side answers in a round" },
  rounds: { fallback: 5, min: 1, max: 100, help: "rounds of all sides, order reversed each time" },
  parsed: { fallback: 100_000, min: 100, max: 1_000_000, help: "parsed schedules whose memory is measured" },
  "parsed-peer": { fallback: 2000, min: 10, max: 20_000, help: "the same for the peers, which are heavier" },
  planned: { fallback: 100_000, min: 1, max: 1_000_000, help: "schedules that are due at one shared minute" },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "cron: our cron beside croner and cron-parser, its memory, and the planning of many schedules at once",
    sizes,
    figureNames,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames)
