// The command line of the transport benchmark: every size has a bound, every refusal names its option.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

const sizes = {
  messages: { fallback: 50_000, min: 10, max: 10_000_000, help: "messages of `echo`, there and back" },
  connections: { fallback: 20, min: 1, max: 900, help: "connections of `echo` and `http`" },
  window: { fallback: 20, min: 1, max: 1_000, help: "messages in flight on each connection of `echo`" },
  single: { fallback: 3_000, min: 10, max: 1_000_000, help: "round trips of `single`, one after the other" },
  requests: { fallback: 5_000, min: 10, max: 1_000_000, help: "requests of `http`" },
  rounds: { fallback: 3, min: 1, max: 100, help: "rounds of all servers, order reversed each time" },
} as const

/** What can be measured. */
export const figureNames = ["echo", "single", "http"] as const

/** One of them. */
export type FigureName = (typeof figureNames)[number]

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "transport: servers over ws, Bun.serve and Deno.serve that echo, ours and bare ones, in turn",
    sizes,
    figureNames,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames)
