// The workers benchmark: runs through one server to workers over loopback, beside the echo of the same transport, in turn
// and in the same layout of processes. Everything listens on 127.0.0.1 and ends with it.
import { environment, load } from "../common/environment.ts"
import { measureAll } from "./measure.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { human, aimsOf, type Report } from "./report.ts"

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
    benchmark: "workers",
    environment: { ...environment(options.folder), loadBefore, loadAfter: load() },
    options: { ...options, only: [...options.only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    aims: aimsOf(figures),
    troubles,
  }
  console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
  return troubles.length === 0 ? 0 : 1
}
