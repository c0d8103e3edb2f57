// The transport benchmark: what a message costs with each WebSocket server, on the runtimes that have it, beside a bare
// echo on the same. All on loopback, all servers in turn in one run.
import { environment, load } from "../common/environment.ts"
import { measureAll } from "./measure.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { human, ratiosOf, type Report } from "./report.ts"

/** Runs it; answers 0, 1 when something went wrong, 2 for wrong options. */
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
  const troubles: Array<string> = []
  const loadBefore = load()
  const from = performance.now()
  const figures = await measureAll(options, (text) => console.error(`  ${text}`), troubles)
  const report: Report = {
    benchmark: "transport",
    environment: { ...environment(options.folder), loadBefore, loadAfter: load() },
    options: { ...options, only: [...options.only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    ratios: ratiosOf(figures),
    troubles,
  }
  console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
  return troubles.length === 0 ? 0 : 1
}
