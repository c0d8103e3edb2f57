// `benchmarks/main.ts NAME [options]` runs one benchmark. Each folder beside this file that has a `mod.ts` is
// one; its `main` takes the rest of the command line and answers the exit code.
import { existsSync, readdirSync } from "node:fs"

/** What a benchmark's `mod.ts` exports. */
export interface Benchmark {
  readonly main: (args: ReadonlyArray<string>) => Promise<number>
}

const here = new URL("./", import.meta.url)
const names = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(new URL(`${entry.name}/mod.ts`, here)))
  .map((entry) => entry.name)
  .sort()

const run = async (name: string | undefined, args: ReadonlyArray<string>): Promise<number> => {
  if (name !== undefined && names.includes(name)) {
    const benchmark = (await import(new URL(`${name}/mod.ts`, here).href)) as Benchmark
    return benchmark.main(args)
  }
  const asked = name === undefined ? "Name a benchmark" : `There is no benchmark "${name}"`
  console.error(`${asked}. There is: ${names.join(", ")}. Options of one: NAME --help`)
  return 2
}

const [name, ...args] = process.argv.slice(2)
process.exitCode = await run(name, args)
