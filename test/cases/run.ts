// `npm run cases -- [DIR] [--runtime bun|deno]`: every `cron-cases.json` and `dag-cases.json` below DIR (default: the
// shared cases) is checked; each failure is printed, and the last line is "N passed, M failed". Runs on Node, Bun and
// Deno, in the process zone it is given; a case that asks for another process zone gets a process of its own.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { zoneDataVersion } from "../../core/trigger/Zone.ts"
import type { Check } from "./check.ts"
import { checksOf, type CronCases } from "./checkCases.ts"
import { type FlowCases, flowChecksOf } from "./checkFlows.ts"

const script = fileURLToPath(import.meta.url)
const root = resolve(script, "../../..")
const usage = "Usage: cases [DIR] [--runtime node|bun|deno]"

interface Arguments {
  folder: string
  runtime: string | undefined
  /** Set in a process that was started for cases of one process zone: only these are run. */
  processTz: string | undefined
}

const readArguments = (words: readonly string[]): Arguments | undefined => {
  const found: Arguments = {
    folder: resolve(root, "../shared/cases"),
    runtime: undefined,
    processTz: undefined,
  }
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string
    const [name, glued] = word.split("=", 2)
    if (name === "--runtime" || name === "--process-tz") {
      const value = glued ?? words[(index += 1)]
      if (value === undefined) return undefined
      if (name === "--process-tz") found.processTz = value
      else if (["node", "bun", "deno"].includes(value)) found.runtime = value
      else return undefined
    } else if (word.startsWith("-")) return undefined
    else found.folder = resolve(word)
  }
  return found
}

/** How the cases of a file become checks, by its name. */
const readers = new Map<string, (cases: unknown) => Check[]>([
  ["cron-cases.json", (cases) => checksOf(cases as CronCases)],
  ["dag-cases.json", (cases) => flowChecksOf(cases as FlowCases)],
])

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.name === "node_modules") return []
      // A link may lead to a folder as well as to a file.
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true && !entry.isSymbolicLink())
        return filesBelow(path)
      return readers.has(entry.name) ? [path] : []
    })

const start = (command: string, before: readonly string[], rest: readonly string[], env = process.env) =>
  spawnSync(command, [...before, script, ...rest], { env, encoding: "utf8", maxBuffer: 1 << 26 })

/** The words between a runtime's name and the script. */
const before = (runtime: string): string[] => (runtime === "deno" ? ["run", "-A"] : [])
const here =
  process.versions["bun"] !== undefined ? "bun" : process.versions["deno"] !== undefined ? "deno" : "node"

const runElsewhere = (runtime: string, rest: readonly string[]): number => {
  const own = join(root, "node_modules/.bin", runtime)
  const { stdout, stderr, status, error } = start(existsSync(own) ? own : runtime, before(runtime), rest)
  process.stdout.write(stdout ?? "")
  process.stderr.write(stderr ?? "")
  if (error !== undefined) console.error(`Cannot start ${runtime}: ${error.message}`)
  return status ?? 1
}

interface Sum {
  passed: number
  failed: number
}

const runChecks = (path: string, checks: readonly Check[], sum: Sum): void => {
  for (const { id, title, run } of checks) {
    const problem = run()
    if (problem === undefined) {
      sum.passed += 1
      continue
    }
    sum.failed += 1
    console.log(`FAILED ${id} ${title} (${path})`)
    console.log(`  ${problem.what}`)
    console.log(`  expected ${JSON.stringify(problem.expected)}`)
    console.log(`  got      ${JSON.stringify(problem.got)}`)
  }
}

/** Runs a file's cases of one process zone in a process that has it, and takes over its lines and its sum. */
const runInZone = (folder: string, zone: string, sum: Sum): void => {
  const rest = [folder, "--process-tz", zone]
  const { stdout, stderr } = start(process.execPath, before(here), rest, { ...process.env, TZ: zone })
  const last = /(?:^|\n)(\d+) passed, (\d+) failed\s*$/.exec(stdout)
  if (last === null) {
    sum.failed += 1
    console.log(`FAILED the process with TZ=${zone} gave no result: ${stderr}`)
    return
  }
  process.stdout.write(stdout.slice(0, last.index === 0 ? 0 : last.index + 1))
  sum.passed += Number(last[1])
  sum.failed += Number(last[2])
}

const main = (words: readonly string[]): number => {
  const given = readArguments(words)
  if (given === undefined) {
    console.error(usage)
    return 2
  }
  const { folder, runtime, processTz } = given
  if (runtime !== undefined && runtime !== here) return runElsewhere(runtime, [folder])
  const files = existsSync(folder) ? filesBelow(folder) : []
  if (files.length === 0) {
    console.error(`There is no ${[...readers.keys()].join(" or ")} below ${folder}`)
    return 2
  }
  const sum: Sum = { passed: 0, failed: 0 }
  const zones = new Set<string>()
  for (const file of files) {
    const checks = readers.get(basename(file))?.(JSON.parse(readFileSync(file, "utf8"))) ?? []
    for (const check of checks) if (check.processTz !== undefined) zones.add(check.processTz)
    const mine = checks.filter((check) => check.processTz === processTz)
    runChecks(relative(folder, file), mine, sum)
  }
  if (processTz === undefined) {
    for (const zone of zones) runInZone(folder, zone, sum)
    const version = zoneDataVersion(process.versions) ?? "of a release that it does not tell"
    console.log(`${here} with zone data ${version}, process zone ${process.env["TZ"] ?? "of the host"}`)
  }
  console.log(`${sum.passed} passed, ${sum.failed} failed`)
  return sum.failed === 0 ? 0 : 1
}

process.exitCode = main(process.argv.slice(2))
