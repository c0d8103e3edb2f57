// The http benchmark: runs that come in over HTTP, beside the floor of a bare route and the store's own rate, each in a
// process of its own and in turn; and lists of a long history. Everything listens on 127.0.0.1 and ends with it.
import { environment, load } from "../common/environment.ts"
import { measureAll } from "./measure.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { aimsOf, human, type Report } from "./report.ts"

/** Runs it; answers 0, or 2 for wrong options. Rejects when an answer was not what it should be. */
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
  const loadBefore = load()
  const from = performance.now()
  const figures = await measureAll(options, (text) => console.error(`  ${text}`))
  const report: Report = {
    benchmark: "http",
    environment: { ...environment(options.folder), loadBefore, loadAfter: load() },
    options: { ...options, only: [...options.only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    aims: aimsOf(figures),
  }
  console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
  return 0
}
