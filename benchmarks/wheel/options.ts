// The command line of the wheel benchmark: every size has a bound, every refusal names its option.
import { parseArgs } from "node:util"
import { contenders } from "./contenders.ts"

/** The most steps of a soak. */
const soakMax = 10_000_000_000
const sizeMax = 10_000_000

/** Checked options. */
export interface Options {
  readonly sizes: ReadonlyArray<number>
  readonly rounds: number
  readonly only: ReadonlyArray<string>
  /** Steps of the soak; 0: none, and the measurements are made. */
  readonly soak: number
  readonly form: "text" | "json" | "report"
}

/** The text for `--help`. */
export const help = (): string =>
  [
    "wheel: the timing wheel beside heaps, npm packages, the host's timers and the bare writes to memory",
    `  --sizes N,N      how many timers are pending, 100 to ${sizeMax} each (default 1000,100000,1000000)`,
    "  --rounds N       rounds, the order reversed each time; the best counts (default 5)",
    `  --only NAME,NAME ${Object.keys(contenders).join(", ")} (default: all)`,
    `  --soak N         no measurement: N steps of the wheel against a heap, at most ${soakMax}`,
    "  --json           one JSON document",
    "  --report         a page of Markdown",
  ].join("\n")

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sizes: { type: "string", default: "1000,100000,1000000" },
      rounds: { type: "string", default: "5" },
      only: { type: "string", default: Object.keys(contenders).join(",") },
      soak: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  if (values.help) return "help"
  const only = values.only.split(",")
  for (const name of only) {
    if (Object.hasOwn(contenders, name)) continue
    throw new Error(`--only: "${name}" is not measured. There is: ${Object.keys(contenders).join(", ")}`)
  }
  if (!only.includes("wheel")) throw new Error("--only: all ratios are to the wheel; add wheel")
  return {
    sizes: values.sizes.split(",").map((size) => whole("--sizes", size, 100, sizeMax)),
    rounds: whole("--rounds", values.rounds, 1, 100),
    only,
    soak: whole("--soak", values.soak, 0, soakMax),
    form: values.report ? "report" : values.json ? "json" : "text",
  }
}

const whole = (name: string, text: string, min: number, max: number): number => {
  const value = Number(text)
  if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value
  throw new Error(`${name}: "${text}" is not a whole number from ${min} to ${max}`)
}
