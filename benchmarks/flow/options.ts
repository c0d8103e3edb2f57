// The command line of the flow benchmark: every size has a bound, every refusal names its option.
import { tmpdir } from "node:os"
import { parseArgs } from "node:util"
import { flowStepMax } from "../../core/domain/Flow.ts"
import { slotsMax } from "../../core/engine/EngineConfig.ts"
import { type ShapeName, shapeNames } from "./shapes.ts"

const numbers = {
  small: { fallback: 1000, min: 2, max: flowStepMax, help: "steps of the smaller flow" },
  large: { fallback: 10_000, min: 2, max: flowStepMax, help: "steps of the larger flow" },
  rounds: { fallback: 2, min: 1, max: 100, help: "rounds of both sizes, order reversed each time" },
  slots: { fallback: 200, min: 1, max: slotsMax, help: "runs that the engine carries at once" },
} as const

/** Checked options. */
export type Options = Readonly<Record<keyof typeof numbers, number>> & {
  readonly json: boolean
  readonly only: ReadonlySet<ShapeName>
  readonly folder: string
}

/** The text for `--help`. */
export const help = (): string =>
  [
    "flow: a small and a large flow of steps that do nothing, in several shapes, on SQLite",
    ...Object.entries(numbers).map(
      ([name, { fallback, help: text }]) => `  --${`${name} N`.padEnd(16)} ${text} (default ${fallback})`,
    ),
    `  --only NAME        ${shapeNames.join(", ")}; may be repeated (default: all)`,
    "  --folder PATH      where the files are made (default: the system's folder for temporary files)",
    "  --json             one JSON document",
  ].join("\n")

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(Object.keys(numbers).map((name) => [name, { type: "string" as const }])),
      only: { type: "string", multiple: true },
      folder: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  const given = values as Readonly<Record<string, unknown>>
  if (given["help"] === true) return "help"
  const sizes: Record<string, number> = {}
  for (const [name, { fallback, min, max }] of Object.entries(numbers)) {
    const size = given[name] === undefined ? fallback : Number(given[name])
    if (!Number.isInteger(size) || size < min || size > max) {
      throw new Error(`--${name}: "${String(given[name])}" is not a whole number from ${min} to ${max}`)
    }
    sizes[name] = size
  }
  if (sizes["small"]! >= sizes["large"]!)
    throw new Error(`--small: ${sizes["small"]} is not smaller than --large, ${sizes["large"]}`)
  const only = (given["only"] ?? shapeNames) as ReadonlyArray<ShapeName>
  for (const name of only) {
    if (shapeNames.includes(name)) continue
    throw new Error(`--only: "${name}" is not measured. There is: ${shapeNames.join(", ")}`)
  }
  return {
    ...(sizes as Record<keyof typeof numbers, number>),
    json: given["json"] === true,
    only: new Set(only),
    folder: (given["folder"] as string | undefined) ?? tmpdir(),
  }
}
