// Base against head: the same benchmark of two versions in fresh processes, in turns, and the ratio of each figure.
// The benchmark's own files are those of head on both sides, unless base is a folder: then it brings its own.
import { execFile } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { figure, table } from "../common/table.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { type Pair, pairUp } from "./pairs.ts"

const run = promisify(execFile)
const head = fileURLToPath(new URL("../..", import.meta.url))

/** Runs it; answers 0, 1 when one of the processes failed, 2 for wrong options. */
export const main = async (args: ReadonlyArray<string>): Promise<number> => {
  let options: Options | "help"
  try {
    options = parseOptions(args)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return 2
  }
  if (options === "help") {
    console.log(help())
    return 0
  }
  let base: Checkout | undefined
  try {
    base = await checkOut(options.base)
    const pairs = pairUp(await measure(base.folder, options))
    console.log(
      options.json ? JSON.stringify({ benchmark: "compare", ...options, pairs }, null, 2) : page(pairs),
    )
    return pairs.length === 0 ? 1 : 0
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return 1
  } finally {
    await base?.remove()
  }
}

interface Checkout {
  readonly folder: string
  readonly remove: () => Promise<void>
}

const checkOut = async (base: string): Promise<Checkout> => {
  if (existsSync(join(base, "benchmarks/main.ts"))) return { folder: base, remove: async () => {} }
  const temporary = mkdtempSync(join(tmpdir(), "uhrwerk-compare-"))
  const folder = join(temporary, "base")
  const git = (...args: ReadonlyArray<string>) => run("git", ["-C", head, ...args])
  const remove = async (): Promise<void> => {
    await git("worktree", "remove", "--force", folder).catch(() => {})
    rmSync(temporary, { recursive: true, force: true })
  }
  try {
    await git("worktree", "add", "--detach", folder, base)
    rmSync(join(folder, "benchmarks"), { recursive: true, force: true })
    cpSync(join(head, "benchmarks"), join(folder, "benchmarks"), { recursive: true })
    symlinkSync(realpathSync(join(head, "node_modules")), join(folder, "node_modules"))
    return { folder, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const measure = async (base: string, { rounds, command }: Options) => {
  const documents: Array<{ base: unknown; head: unknown }> = []
  for (let round = 0; round < rounds; round++) {
    const pair: { base: unknown; head: unknown } = { base: undefined, head: undefined }
    const sides = ["base", "head"] as const
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      console.error(`  round ${round + 1} of ${rounds}: ${side}`)
      pair[side] = await document(side === "base" ? base : head, command)
    }
    documents.push(pair)
  }
  return documents
}

const document = async (folder: string, command: ReadonlyArray<string>): Promise<unknown> => {
  const program = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), "benchmarks/main.ts"]
  const { stdout } = await run(process.execPath, [...program, ...command, "--json"], {
    cwd: folder,
    maxBuffer: 64 * 2 ** 20,
  })
  return JSON.parse(stdout)
}

const page = (pairs: ReadonlyArray<Pair>): string =>
  table([
    ["figure", "base", "head", "head / base", "from", "to"],
    ...pairs.map(({ name, base, head, ratio, least, most }) => [
      name,
      figure(base),
      figure(head),
      figure(ratio),
      figure(least),
      figure(most),
    ]),
  ])
