// The cron benchmark: our cron beside croner and cron-parser, what a parsed schedule weighs, and what it costs the
// engine to plan very many schedules of one minute. Files in a folder of its own that is removed at the end.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { environment, load } from "../common/environment.ts"
import { measureAnswers } from "./answers.ts"
import { measureMemory } from "./memory.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { measurePlanning } from "./planning.ts"
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
    return report.troubles.length + report.differences.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const measure = async (folder: string, options: Options): Promise<Report> => {
  const { only } = options
  const progress = (text: string): void => console.error(`  ${text}`)
  const differences: Array<string> = []
  const troubles: Array<string> = []
  const loadBefore = load()
  const from = performance.now()
  const figures: Report["figures"] = {
    ...(only.has("answers") ? { answers: measureAnswers(options, progress, differences) } : {}),
    ...(only.has("memory") ? { memory: await measureMemory(options, progress) } : {}),
    ...(only.has("planning")
      ? { planning: await measurePlanning(`${folder}/planning.db`, options, progress, troubles) }
      : {}),
  }
  const { planning } = figures
  if (planning !== undefined) {
    const { schedules, exact, runs, occurrences, started } = planning
    if (exact !== schedules || runs !== schedules || occurrences !== schedules || started !== 0)
      troubles.push(
        `of ${schedules} schedules ${exact} have one occurrence and run; there are ${occurrences} occurrences and ${runs} runs, ${started} started`,
      )
  }
  return {
    benchmark: "cron",
    environment: { ...environment(folder), peers: peers(), loadBefore, loadAfter: load() },
    options: { ...options, only: [...only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    aims: aimsOf(figures),
    differences,
    troubles,
  }
}

const peers = (): Readonly<Record<string, string>> => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { readonly dependencies: Record<string, string>; readonly devDependencies: Record<string, string> }
  return {
    croner: dependencies["croner"] ?? "unknown",
    "cron-parser": devDependencies["cron-parser"] ?? "unknown",
  }
}
