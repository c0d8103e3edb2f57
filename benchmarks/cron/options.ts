// The command line of the cron benchmark: every size has a bound, every refusal names its option.
import { tmpdir } from "node:os"
import { parseArgs } from "node:util"

/** What can be measured, in the order in which it is. */
export const figureNames = ["answers", "memory", "planning"] as const

/** One of the things that are measured. */
export type FigureName = (typeof figureNames)[number]

const numbers = {
  answers: { fallback: 4000, min: 10, max: 1_000_000, help: "instants that each side answers in a round" },
  rounds: { fallback: 5, min: 1, max: 100, help: "rounds of all sides, order reversed each time" },
  parsed: { fallback: 100_000, min: 100, max: 1_000_000, help: "parsed schedules whose memory is measured" },
  "parsed-peer": { fallback: 2000, min: 10, max: 20_000, help: "the same for the peers, which are heavier" },
  planned: { fallback: 100_000, min: 1, max: 1_000_000, help: "schedules that are due at one shared minute" },
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
    "cron: our cron beside croner and cron-parser, its memory, and the planning of many schedules at once",
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
