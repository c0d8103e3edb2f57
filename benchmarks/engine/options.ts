// The command line of the engine benchmark: every size has a bound, every refusal names its option.
import { parseArgs } from "node:util"
import { tmpdir } from "node:os"
import { slotsMax } from "../../core/engine/EngineConfig.ts"

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

const numbers = {
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
export type Options = Readonly<Record<keyof typeof numbers, number>> & {
  readonly json: boolean
  readonly only: ReadonlySet<FigureName>
  readonly folder: string
}

/** The text for `--help`. */
export const help = (): string =>
  [
    "engine: the SDK's engine over SQLite beside the bare SQL of the same writes",
    ...Object.entries(numbers).map(
      ([name, { fallback, help: text }]) => `  --${`${name} N`.padEnd(16)} ${text} (default ${fallback})`,
    ),
    `  --only NAME        ${figureNames.join(", ")}; may be repeated (default: all)`,
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
  const only = (given["only"] ?? figureNames) as ReadonlyArray<FigureName>
  for (const name of only) {
    if (figureNames.includes(name)) continue
    throw new Error(`--only: "${name}" is not measured. There is: ${figureNames.join(", ")}`)
  }
  return {
    ...(sizes as Record<keyof typeof numbers, number>),
    json: given["json"] === true,
    only: new Set(only),
    folder: (given["folder"] as string | undefined) ?? tmpdir(),
  }
}
