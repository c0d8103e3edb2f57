// `npm run sim -- --seeds N [--from S] [--runtime bun|deno] [--jobs J] [--verbose]`: simulates N seeds and prints what they
// did; `--seed S` simulates one, the same each time. A violation prints its seed, the commit and the history, and the
// exit code is 1. Seeds are shared out to as many processes as there are cores.
import { execFileSync, spawn } from "node:child_process"
import { availableParallelism } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { commandOf, root, type RuntimeName } from "../chaos/children.ts"
import { simulate, type Simulated } from "./simulate.ts"
import type { Counters } from "./Watch.ts"

const usage = "Usage: sim [--seeds N] [--from S] [--seed S] [--runtime node|bun|deno] [--jobs J] [--verbose]"

interface Options {
  readonly from: number
  readonly seeds: number
  readonly runtime: RuntimeName
  readonly jobs: number
  readonly verbose: boolean
  /** In a process of the pool: which of the seeds are its own. */
  readonly share: number | null
}

const here: RuntimeName =
  process.versions["bun"] !== undefined ? "bun" : process.versions["deno"] !== undefined ? "deno" : "node"

const readOptions = (args: ReadonlyArray<string>): Options => {
  const text = { type: "string" } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: text,
      from: text,
      seed: text,
      runtime: text,
      jobs: text,
      share: text,
      verbose: { type: "boolean" },
    },
  })
  const whole = (
    name: "seeds" | "from" | "seed" | "jobs" | "share",
    fallback: number,
    min: number,
  ): number => {
    const value = values[name] === undefined ? fallback : Number(values[name])
    if (Number.isInteger(value) && value >= min && value <= 2 ** 31 - 1) return value
    throw new RangeError(`--${name} ${values[name]}: not a whole number from ${min} to ${2 ** 31 - 1}.`)
  }
  const { runtime = here } = values
  if (runtime !== "node" && runtime !== "bun" && runtime !== "deno")
    throw new RangeError(`--runtime ${runtime}: none of node, bun, deno.`)
  const single = values.seed !== undefined
  return {
    from: single ? whole("seed", 1, 0) : whole("from", 1, 0),
    seeds: single ? 1 : whole("seeds", 100, 1),
    runtime,
    jobs: single ? 1 : whole("jobs", availableParallelism(), 1),
    verbose: values.verbose === true,
    share: values.share === undefined ? null : whole("share", 0, 0),
  }
}

/** One line for each seed: what a process of the pool says. */
const runShare = ({ from, seeds, jobs, share }: Options): void => {
  for (let seed = from + (share ?? 0); seed < from + seeds; seed += jobs) {
    process.stdout.write(`${JSON.stringify(guarded(seed))}\n`)
  }
}

/** A simulation that breaks down has failed, and must say which seed it was. */
const guarded = (seed: number, history = false): Simulated => {
  try {
    return simulate(seed, { history })
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    const violations = [{ invariant: "none: the simulation itself broke", what, at: 0 }]
    return { seed, counters: {} as Counters, violations, history: [] }
  }
}

const runAll = async (options: Options, each: (result: Simulated) => void): Promise<void> => {
  const [command = "", ...before] = commandOf(options.runtime)
  const script = fileURLToPath(import.meta.url)
  const words = ["--from", options.from, "--seeds", options.seeds, "--jobs", options.jobs].map(String)
  const shares = Array.from({ length: options.jobs }, async (_, share) => {
    const child = spawn(command, [...before, script, ...words, "--share", String(share)], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    })
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject).on("close", resolve)
    })
    for await (const line of createInterface({ input: child.stdout })) each(JSON.parse(line) as Simulated)
    const code = await ended
    if (code !== 0) throw new Error(`A process of the pool ended with ${code}`)
  })
  await Promise.all(shares)
}

// Lines of history before a violation; --verbose prints all of them.
const historyLines = 300

// Seeds between two lines about how far it is.
const toldEvery = 1000

const commit = (): string => {
  try {
    const git = (...args: ReadonlyArray<string>) =>
      execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()
    return (
      git("rev-parse", "HEAD") +
      (git("status", "--porcelain", "--", "core", "adapters", "test/simulation") === ""
        ? ""
        : " with changes")
    )
  } catch {
    return "unknown (no git here)"
  }
}

const print = (line: string): void => console.log(line)

/** Tells of a seed that broke something: from its own replay, which has the history. */
const tellViolations = (seed: number, verbose: boolean): void => {
  const { violations, history } = guarded(seed, true)
  print(`\nSeed ${seed} at commit ${commit()} broke ${violations.length} promises; the first ones:`)
  for (const { invariant, what, at } of violations.slice(0, 5))
    print(`  ${invariant} after ${at / 1000} s: ${what}`)
  const first = history.findIndex((line) => line.includes("VIOLATED"))
  const shown = verbose ? history : history.slice(Math.max(0, first - historyLines), first + 1)
  for (const line of shown) print(line)
  print(`Again, with the whole history: npm run sim -- --seed ${seed} --verbose`)
}

const addUp = (sum: Record<string, number>, counters: Counters): void => {
  for (const [name, value] of Object.entries(counters)) {
    if (name !== "fingerprint") sum[name] = (sum[name] ?? 0) + Number(value)
  }
}

const told = (sum: Readonly<Record<string, number>>): string =>
  Object.entries(sum)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")

const main = async (args: ReadonlyArray<string>): Promise<number> => {
  const options = readOptions(args)
  if (options.share !== null) {
    runShare(options)
    return 0
  }
  const begun = performance.now()
  const sum: Record<string, number> = {}
  const broken: Array<number> = []
  let violations = 0
  let seen = 0
  await runAll(options, (result) => {
    addUp(sum, result.counters)
    if (++seen % toldEvery === 0)
      console.error(
        `${seen} seeds after ${((performance.now() - begun) / 1000).toFixed(0)} s, ${violations} violations`,
      )
    if (options.seeds === 1) print(`seed ${result.seed}: ${JSON.stringify(result.counters)}`)
    if (result.violations.length === 0) return
    violations += result.violations.length
    broken.push(result.seed)
  })
  // Silence must not look like success.
  if (seen !== options.seeds) throw new Error(`${seen} of ${options.seeds} seeds have told how they ended`)
  const seconds = (performance.now() - begun) / 1000
  if (options.seeds === 1 && options.verbose && broken.length === 0)
    for (const line of guarded(options.from, true).history) print(line)
  for (const seed of broken.toSorted((a, b) => a - b).slice(0, 3)) tellViolations(seed, options.verbose)
  print(
    `${options.runtime}: ${options.seeds} seeds from ${options.from} in ${seconds.toFixed(1)} s, ${(options.seeds / seconds).toFixed(1)} seeds/s`,
  )
  print(told(sum))
  print(
    broken.length === 0
      ? "0 violations"
      : `${violations} violations in ${broken.length} seeds: ${broken.slice(0, 20).join(", ")}`,
  )
  return broken.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
  process.exitCode = 2
}
