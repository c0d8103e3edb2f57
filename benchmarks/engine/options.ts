// The command line of the engine benchmark: every size has a bound, every refusal names its option.
import { slotsMax } from "../../core/engine/EngineConfig.ts"
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

/** What can be measured, in the order in which it is. */
export const figureNames = [
  "enqueue",
  "single",
  "drain",
  "latency",
  "lateness",
  "latenessMemory",
  "idle",
] as const

/** One of the things that are measured. */
export type FigureName = (typeof figureNames)[number]

const sizes = {
  runs: { fallback: 20_000, min: 10, max: 1_000_000, help: "runs that are enqueued and drained in a round" },
  slots: { fallback: 200, min: 1, max: slotsMax, help: "runs that the engine carries at once" },
  senders: { fallback: 500, min: 1, max: 10_000, help: "concurrent senders, each awaits its send" },
  single: { fallback: 1000, min: 1, max: 100_000, help: "sends of the one sender that awaits each" },
  rounds: { fallback: 3, min: 1, max: 100, help: "rounds of floor and engine, order reversed each time" },
  samples: { fallback: 500, min: 1, max: 100_000, help: "sends for enqueue-to-start, 5 ms apart" },
  pending: { fallback: 10_000, min: 1, max: 1_000_000, help: "delayed runs stored for lateness" },
  spread: { fallback: 60_000, min: 100, max: 60_000, help: "span of their due times, ms" },
  window: { fallback: 15_000, min: 100, max: 60_000, help: "those due in this first part of it count, ms" },
  "idle-pending": { fallback: 100_000, min: 1, max: 10_000_000, help: "delayed runs stored while idle" },
  "idle-span": { fallback: 10_000, min: 100, max: 600_000, help: "how long idling is measured, ms" },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp("engine: the SDK's engine over SQLite beside the bare SQL of the same writes", sizes, figureNames)

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames)
