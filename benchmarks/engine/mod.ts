// The engine benchmark: the SDK's engine over a SQLite file with its default durability, beside the floor. One
// process, one thing at a time, files in a folder of its own that is removed at the end.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { environment, load } from "../common/environment.ts"
import { foreignStatements } from "./agreement.ts"
import { type Harness, makeHarness } from "./harness.ts"
import { measureIdle } from "./idle.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { aimsOf, compare, human, type Report } from "./report.ts"
import { batchesOf } from "./steps.ts"
import { measureThroughput, type Throughput } from "./throughput.ts"
import { measureLateness, measureLatency } from "./timing.ts"

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
  const harness = makeHarness(folder, (text) => console.error(`  ${text}`))
  try {
    const report = await measure(harness, folder, options)
    console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
    const wrong = [
      ...report.troubles,
      ...(report.floor?.differences ?? []),
      ...(report.floor?.foreignStatements ?? []),
    ]
    return wrong.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    await harness.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const measure = async (harness: Harness, folder: string, options: Options): Promise<Report> => {
  const { only } = options
  const loadBefore = load()
  const from = performance.now()
  const rates = only.has("enqueue") || only.has("single") || only.has("drain")
  const throughput = rates ? await measureThroughput(harness, options) : undefined
  const figures = {
    ...(throughput === undefined ? {} : ratesOf(throughput, options)),
    ...(only.has("latency") ? { latency: await measureLatency(harness, options) } : {}),
    ...(only.has("lateness") ? { lateness: await measureLateness(harness, options) } : {}),
    ...(only.has("latenessMemory")
      ? { latenessMemory: await measureLateness(harness, options, "memory") }
      : {}),
    ...(only.has("idle") ? { idle: await measureIdle(harness, options) } : {}),
  }
  const floor =
    throughput === undefined
      ? {}
      : {
          floor: {
            transactions: {
              enqueue: batchesOf(throughput.steps, "enqueue"),
              claim: batchesOf(throughput.steps, "claim"),
              settle: batchesOf(throughput.steps, "settle"),
            },
            foreignStatements: foreignStatements(),
            differences: throughput.differences,
          },
        }
  return {
    benchmark: "engine",
    environment: { ...environment(folder), sqlite: sqliteVersion(), loadBefore, loadAfter: load() },
    options: { ...options, only: [...only], folder: undefined },
    tookMillis: Math.round(performance.now() - from),
    figures,
    ...floor,
    aims: aimsOf(figures),
    troubles: harness.troubles,
  }
}

const ratesOf = (throughput: Throughput, { only }: Options): Report["figures"] => {
  const { enqueue, single, drain, startMillis, eventLoop } = throughput
  return {
    ...(only.has("enqueue") ? { enqueue: compare(enqueue) } : {}),
    ...(only.has("single") ? { single: compare(single) } : {}),
    ...(only.has("drain") ? { drain: { ...compare(drain), startMillis, eventLoop } } : {}),
  }
}

const sqliteVersion = (): string => {
  const sqlite = new DatabaseSync(":memory:")
  const version = String(sqlite.prepare("select sqlite_version() as version").get()?.["version"])
  sqlite.close()
  return version
}
