// The flow benchmark: what a flow costs that grows, through the SDK's engine over a SQLite file with its default
// durability. Files in a folder of its own that is removed at the end.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { environment, load } from "../common/environment.ts"
import { measureShapes } from "./measure.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { aimsOf, human, type Report } from "./report.ts"

/** Runs it; answers 0, 1 when something went wrong (a missed aim is no such thing), 2 for wrong options. */
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
  const folder = mkdtempSync(join(options.folder, "uhrwerk-bench-"))
  try {
    const report = await measure(folder, options)
    console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
    return report.troubles.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const measure = async (folder: string, options: Options): Promise<Report> => {
  const troubles: Array<string> = []
  const loadBefore = load()
  const from = performance.now()
  const figures = await measureShapes(folder, options, (text) => console.error(`  ${text}`), troubles)
  return {
    benchmark: "flow",
    environment: { ...environment(folder), loadBefore, loadAfter: load() },
    options: { ...options, only: [...options.only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    aims: aimsOf(figures),
    troubles,
  }
}
