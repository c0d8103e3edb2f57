// The command line of the flow benchmark: every size has a bound, every refusal names its option.
import { flowStepMax } from "../../core/domain/Flow.ts"
import { slotsMax } from "../../core/engine/EngineConfig.ts"
import { type ShapeName, shapeNames } from "./shapes.ts"
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"

const sizes = {
  small: { fallback: 1000, min: 2, max: flowStepMax, help: "steps of the smaller flow" },
  large: { fallback: 10_000, min: 2, max: flowStepMax, help: "steps of the larger flow" },
  rounds: { fallback: 2, min: 1, max: 100, help: "rounds of both sizes, order reversed each time" },
  slots: { fallback: 200, min: 1, max: slotsMax, help: "runs that the engine carries at once" },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, ShapeName>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "flow: a small and a large flow of steps that do nothing, in several shapes, on SQLite",
    sizes,
    shapeNames,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" => {
  const options = benchOptions(args, sizes, shapeNames)
  if (options !== "help" && options.small >= options.large)
    throw new Error(`--small: ${options.small} is not smaller than --large, ${options.large}`)
  return options
}
