// The command line that benchmarks share: sizes with bounds, which figures, where files are made, and the form. Every
// refusal names its option.
import { tmpdir } from "node:os"
import { parseArgs } from "node:util"

/** A size that may be given. */
export interface Size {
  readonly fallback: number
  readonly min: number
  readonly max: number
  readonly help: string
}

/** A text that may be given. */
export interface Text {
  readonly fallback: string
  readonly help: string
  /** Why it cannot be this, or `undefined`. Default: any text will do. */
  readonly wrong?: (value: string) => string | undefined
}

type Texts = Readonly<Record<string, Text>>

/** Checked options. */
export type BenchOptions<Sizes extends string, Figures extends string> = Readonly<Record<Sizes, number>> & {
  readonly json: boolean
  readonly only: ReadonlySet<Figures>
  readonly folder: string
}

/** The text for `--help`. */
export const benchHelp = (
  about: string,
  sizes: Readonly<Record<string, Size>>,
  figures: ReadonlyArray<string>,
  texts: Texts = {},
): string =>
  [
    about,
    ...Object.entries(sizes).map(
      ([name, { fallback, help }]) => `  --${`${name} N`.padEnd(16)} ${help} (default ${fallback})`,
    ),
    ...Object.entries(texts).map(
      ([name, { fallback, help }]) => `  --${`${name} TEXT`.padEnd(16)} ${help} (default ${fallback})`,
    ),
    `  --only NAME        ${figures.join(", ")}; may be repeated (default: all)`,
    "  --folder PATH      where the files are made (default: the system's folder for temporary files)",
    "  --json             one JSON document",
  ].join("\n")

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const benchOptions = <Sizes extends string, Figures extends string, Own extends string = never>(
  args: ReadonlyArray<string>,
  sizes: Readonly<Record<Sizes, Size>>,
  figures: ReadonlyArray<Figures>,
  texts: Readonly<Record<Own, Text>> = {} as Readonly<Record<Own, Text>>,
): (BenchOptions<Sizes, Figures> & Readonly<Record<Own, string>>) | "help" => {
  const names = Object.keys(sizes) as unknown as ReadonlyArray<Sizes>
  const textNames = Object.keys(texts) as unknown as ReadonlyArray<Own>
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries([...names, ...textNames].map((name) => [name, { type: "string" as const }])),
      only: { type: "string", multiple: true },
      folder: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  const given = values as Readonly<Record<string, unknown>>
  if (given["help"] === true) return "help"
  const read: Partial<Record<Sizes, number>> = {}
  for (const name of names) {
    const { fallback, min, max } = sizes[name]
    const size = given[name] === undefined ? fallback : Number(given[name])
    if (!Number.isInteger(size) || size < min || size > max) {
      throw new Error(`--${name}: "${String(given[name])}" is not a whole number from ${min} to ${max}`)
    }
    read[name] = size
  }
  const said: Partial<Record<Own, string>> = {}
  for (const name of textNames) {
    const { fallback, wrong } = texts[name]
    const text = (given[name] as string | undefined) ?? fallback
    const reason = wrong?.(text)
    if (reason !== undefined) throw new Error(`--${name}: "${text}" ${reason}`)
    said[name] = text
  }
  const only = (given["only"] ?? figures) as ReadonlyArray<Figures>
  for (const name of only) {
    if (figures.includes(name)) continue
    throw new Error(`--only: "${name}" is not measured. There is: ${figures.join(", ")}`)
  }
  return {
    ...(read as Readonly<Record<Sizes, number>>),
    ...(said as Readonly<Record<Own, string>>),
    json: given["json"] === true,
    only: new Set(only),
    folder: (given["folder"] as string | undefined) ?? tmpdir(),
  }
}
