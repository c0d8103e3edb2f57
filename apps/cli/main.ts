// The command line: finds the command, runs it, and turns what goes wrong into a clear text and an exit code.
// Data goes to stdout, messages to stderr.
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { calendarCommands } from "./calendars.ts"
import { cronCommands } from "./cron.ts"
import { deadCommands } from "./dead.ts"
import { dev } from "./dev.ts"
import { doctor } from "./doctor.ts"
import { fastForward } from "./fastForward.ts"
import { complain, exitCodes, UsageError } from "./errors.ts"
import { flowCommands } from "./flows.ts"
import { jobCommands } from "./jobs.ts"
import { migrate } from "./migrate.ts"
import { nodeCommands } from "./nodes.ts"
import type { Command } from "./open.ts"
import { operateCommands } from "./operate.ts"
import { queueCommands } from "./queues.ts"
import { runCommands } from "./runs.ts"
import { scheduleCommands } from "./schedules.ts"
import { worker } from "./worker.ts"
import { workerTest } from "./workerTest.ts"
import { version } from "./version.ts"
import { workerCommands } from "./workers.ts"
import { serve } from "./serve.ts"
import { tokenCommands } from "./tokens.ts"

/** All commands by their words. */
const commands: Readonly<Record<string, Command>> = {
  dev,
  // The same command, told apart by its flag.
  "dev --fast-forward": fastForward,
  serve,
  worker,
  ...runCommands,
  ...flowCommands,
  ...jobCommands,
  ...scheduleCommands,
  ...calendarCommands,
  ...operateCommands,
  ...deadCommands,
  ...queueCommands,
  ...nodeCommands,
  ...workerCommands,
  ...tokenCommands,
  migrate,
  doctor,
  ...cronCommands,
  "worker-test": workerTest,
}

const options = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  storage: { type: "string" },
  output: { type: "string", short: "o" },
  state: { type: "string" },
  job: { type: "string" },
  limit: { type: "string" },
  before: { type: "string" },
  schedule: { type: "string" },
  reason: { type: "string" },
  tz: { type: "string" },
  gap: { type: "string" },
  ambiguous: { type: "string" },
  n: { type: "string", short: "n" },
  from: { type: "string", multiple: true },
  to: { type: "string" },
  max: { type: "string" },
  note: { type: "string" },
  grace: { type: "string" },
  node: { type: "string" },
  order: { type: "string" },
  "dry-run": { type: "boolean" },
  "fast-forward": { type: "string" },
  "run-handlers": { type: "boolean" },
  open: { type: "boolean" },
  mermaid: { type: "boolean" },
  dot: { type: "boolean" },
  input: { type: "string" },
  "from-failed": { type: "boolean" },
  skipped: { type: "boolean" },
  "step-output": { type: "string" },
  plan: { type: "boolean" },
  json: { type: "boolean" },
  cmd: { type: "string" },
  only: { type: "string" },
  case: { type: "string" },
  verbose: { type: "boolean" },
  port: { type: "string" },
  host: { type: "string" },
  "no-workers": { type: "boolean" },
  name: { type: "string" },
  queue: { type: "string", multiple: true },
  expires: { type: "string" },
  config: { type: "string" },
  url: { type: "string" },
  "token-file": { type: "string" },
  label: { type: "string", multiple: true },
  concurrency: { type: "string" },
  prefetch: { type: "string" },
  handlers: { type: "string" },
  "give-up": { type: "string" },
} as const

// What a command does stands below a usage that is longer.
const usageMax = 48

const help = (): string => {
  const lines = Object.values(commands).map(({ usage, about }) =>
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
    const words = positionals.slice(0, 2).join(" ")
    const name = [words, positionals[0] ?? ""].find((each) => Object.hasOwn(commands, each))
    if (values.help === true || positionals.length === 0) {
      console.log(help())
      return
    }
    const command = name === undefined ? undefined : commands[name]
    if (name === undefined || command === undefined) throw new UsageError(`"${words}" is no command`)
    // Passed over, it would let a command look at, or change, another project's store than was meant.
    if (values.config !== undefined && command !== worker) {
      const next =
        command === dev || command === serve
          ? `Name the file without it: uhrwerk ${name} ${values.config}`
          : "This command reads the config of this folder; name another store with --storage"
      throw new UsageError(`--config is for uhrwerk worker only. ${next}`)
    }
    // Whoever reads has seen enough (`| head`): that ends a listing, and is no error. An engine works on.
    if (command !== dev && command !== serve && command !== worker)
      process.stdout.on("error", () => process.exit(exitCodes.ok))
    process.exitCode = await command.run(positionals.slice(name.split(" ").length), values)
  } catch (error) {
    process.exitCode = complain(error)
  }
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
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

// Also the script itself: `node apps/cli/main.ts dev`.
const script = process.argv[1]
if (script !== undefined && import.meta.url === pathToFileURL(script).href)
  await mainAndExit(process.argv.slice(2))
