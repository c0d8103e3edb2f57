// The command line of the comparison: `--base REF|FOLDER [--rounds N] -- NAME [options of NAME]`.
import { parseArgs } from "node:util"

/** Checked options. */
export interface Options {
  /** A folder with a checkout, or a commit of this repository by any name. */
  readonly base: string
  readonly rounds: number
  /** The benchmark and its own options. */
  readonly command: ReadonlyArray<string>
  readonly json: boolean
}

const roundsMax = 100

/** The text for `--help`. */
export const help = (): string =>
  [
    "compare: one benchmark on another version and on this one, in fresh processes, the order reversed each round",
    "  --base REF|FOLDER  the other version: a commit, branch or tag, or the folder of a checkout",
    `  --rounds N         rounds (default 3, at most ${roundsMax})`,
    "  --json             one JSON document",
    "  -- NAME ...        the benchmark, and its own options",
  ].join("\n")

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" => {
  const end = args.indexOf("--")
  const { values } = parseArgs({
    args: end < 0 ? [...args] : args.slice(0, end),
    options: {
      base: { type: "string" },
      rounds: { type: "string", default: "3" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  if (values.help) return "help"
  const command = end < 0 ? [] : args.slice(end + 1).filter((arg) => arg !== "--json")
  if (values.base === undefined || values.base === "") {
    throw new Error("--base: name what to compare with, a commit or the folder of a checkout")
  }
  // What begins with a dash would be an option of git.
  if (values.base.startsWith("-"))
    throw new Error(`--base: "${values.base}" is neither a commit nor a folder`)
  if (command[0] === undefined || command[0] === "compare") {
    throw new Error("Name a benchmark behind --, such as: compare --base main -- wheel")
  }
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > roundsMax) {
    throw new Error(`--rounds: "${values.rounds}" is not a whole number from 1 to ${roundsMax}`)
  }
  return { base: values.base, rounds, command, json: values.json }
}
