// The command line: finds the command, runs it, and turns what goes wrong into a clear text and an exit code.
// Data goes to stdout, messages to stderr.
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { exitCodes, UsageError } from "./exits.ts"
import { checkFlags, flagTypes } from "./flags.ts"
import { groups } from "./groups.ts"
import { commandTable } from "./help.gen.ts"
import { version } from "./version.ts"

// They go on until they are stopped, whoever reads what they say.
const lasting: ReadonlySet<string> = new Set(["dev", "serve", "worker"])

// What a command does stands below a usage that is longer.
const usageMax = 48

/** The help for all commands, or for those whose words begin so. */
const help = (words: ReadonlyArray<string>): string => {
  const first = words.length === 0 ? undefined : words[0]
  const rows = commandTable.filter(([name]) => first === undefined || name.split(" ")[0] === first)
  const exact = rows.filter(([name]) => name === words.join(" "))
  const lines = (exact.length > 0 ? exact : rows).map(([, usage, about]) =>
    usage.length > usageMax
      ? `  uhrwerk ${usage}\n  ${"".padEnd("uhrwerk ".length + usageMax)}  ${about}`
      : `  uhrwerk ${usage.padEnd(usageMax)}  ${about}`,
  )
  return [
    "Usage: uhrwerk COMMAND [options]",
    "",
    ...lines,
    "",
    "Options:",
    "  --storage STORAGE        which store to look at, sqlite:FILE or postgres://HOST/DATABASE; default: $UHRWERK_STORAGE,",
    "                           the config's, or sqlite:uhrwerk.db",
    "  -o, --output FORMAT      table (default), json or ndjson; doctor also takes --json",
    "  --watch                  for commands that look: again every two seconds",
    "  --input, --step-output   JSON, or @FILE with JSON in it",
    "  --tz ZONE                whose clocks a cron expression means: an IANA name; default UTC, never this machine's",
    "  --gap, --ambiguous       what becomes of its times that a clock change skips or repeats, as in `cron()`",
    "  --run-handlers           with --fast-forward: run the jobs' code, and all that it does outside",
    "  -h, --help   -v, --version",
    "",
    `Exit codes: ${Object.entries(exitCodes)
      .map(([name, code]) => `${code} ${name}`)
      .join(", ")}, 130 stopped at once.`,
  ].join("\n")
}

/** Runs one command line; sets the process's exit code. */
export const main = async (args: ReadonlyArray<string>): Promise<void> => {
  try {
    const { values, positionals } = parse(args)
    if (values.version === true) return console.log(version)
    if (values.help === true || positionals.length === 0) return console.log(help(positionals))
    const words = positionals.slice(0, 2).join(" ")
    const [first = ""] = positionals
    const commands = Object.hasOwn(groups, first) ? await groups[first]?.() : undefined
    const name = [words, first].find((each) => commands !== undefined && Object.hasOwn(commands, each))
    const command = name === undefined ? undefined : commands?.[name]
    if (name === undefined || command === undefined) throw new UsageError(noCommand(words, first))
    // Passed over, it would let a command look at, or change, another project's store than was meant.
    if (values.config !== undefined && name !== "worker") {
      const next =
        name === "dev" || name === "serve"
          ? `Name the file without it: uhrwerk ${name} ${values.config}`
          : "This command reads the config of this folder; name another store with --storage"
      throw new UsageError(`--config is for uhrwerk worker only. ${next}`)
    }
    checkFlags(name, usageOf(name, command.usage), values)
    // Whoever reads has seen enough (`| head`): that ends a listing, and is no error. An engine works on.
    if (!lasting.has(name)) process.stdout.on("error", () => process.exit(exitCodes.ok))
    const run = () => command.run(positionals.slice(name.split(" ").length), values)
    process.exitCode =
      values.watch === true ? await (await import("./watch.ts")).watch(name, run) : await run()
  } catch (error) {
    const { complain } = await import("./errors.ts")
    process.exitCode = complain(error)
  }
}

// `dev` has a form of its own for `--fast-forward`.
const usageOf = (name: string, usage: string): string =>
  [usage, ...commandTable.filter(([each]) => each.startsWith(`${name} --`)).map(([, each]) => each)].join(" ")

const noCommand = (words: string, first: string): string => {
  const near = commandTable.filter(([name]) => name.split(" ")[0] === first).map(([name]) => name)
  return near.length === 0
    ? `"${words}" is no command`
    : `"${words}" is no command; there are ${near.join(", ")}`
}

/** Runs one command line and ends the process: a config may have left timers and files open. */
export const mainAndExit = async (args: ReadonlyArray<string>): Promise<never> => {
  await main(args)
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write("", () => resolve()))
  process.exit()
}

const parse = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({ args: [...args], options: flagTypes, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

// Also the script itself: `node apps/cli/main.ts dev`.
const script = process.argv[1]
if (script !== undefined && import.meta.url === pathToFileURL(script).href)
  await mainAndExit(process.argv.slice(2))
