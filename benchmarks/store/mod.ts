// The store benchmark: the hot operations of the PostgreSQL store beside the least SQL of the same durable work, over a
// history of finished runs and beside a transaction that is held open; and the engine over it. Schemas of its own,
// which are dropped at the end.
import { environment, load } from "../common/environment.ts"
import { rounded } from "../common/statistics.ts"
import { makeHarness } from "../engine/harness.ts"
import { askPostgres } from "../common/servers.ts"
import { measureDrain, measureLateness, measureLatency } from "./engine.ts"
import { dropLevels, fillLevels, measureLevels, schemaPrefix, whileHeld } from "./levels.ts"
import { help, historiesOf, type Options, parseOptions } from "./options.ts"
import { aimsOf, type EngineReport, human, type Report, sidesOf } from "./report.ts"

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
  try {
    const report = await measure(options, (text) => console.error(`  ${text}`))
    console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
    return report.troubles.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    await dropLevels(options.postgres).catch((error: unknown) => console.error(error))
  }
}

const measure = async (options: Options, progress: (text: string) => void): Promise<Report> => {
  const { only } = options
  const server = await askPostgres(options.postgres)
  const loadBefore = load()
  const from = performance.now()
  const levels = await fillLevels(options.postgres, historiesOf(options.history) ?? [], progress)
  const floor = (name: string): string => `${schemaPrefix}_${name}`

  const sides = only.has("operations")
    ? sidesOf(await measureLevels(options.postgres, levels, floor("floor"), options, progress))
    : undefined
  const harness = makeHarness(options.folder, progress)
  const engine: Array<EngineReport> = []
  try {
    for (const [history, { schema }] of levels) {
      if (!only.has("drain") && !only.has("latency") && !only.has("lateness")) break
      progress(`engine over a history of ${history} runs`)
      const drain = only.has("drain") ? await measureDrain(harness, schema, options) : undefined
      const latency = only.has("latency") ? await measureLatency(harness, schema, options) : undefined
      const lateness = only.has("lateness") ? await measureLateness(harness, schema, options) : undefined
      engine.push({
        history,
        ...(drain === undefined
          ? {}
          : {
              drain: {
                ...drain,
                runsPerSecond: Math.round((drain.runs / drain.wallMillis) * 1000),
                cpuMillisPer1000: rounded((drain.cpuMillis / drain.runs) * 1000),
              },
            }),
        ...(latency === undefined ? {} : { latency }),
        ...(lateness === undefined ? {} : { lateness }),
      })
    }
  } finally {
    await harness.close()
  }
  // Last, as what it keeps from being cleared away stays until it is over. Fresh tables, and the largest history.
  const held = only.has("held")
    ? await whileHeld(options.postgres, async () => {
        progress("with a transaction held open")
        const largest = [...levels].at(-1)
        const fresh = [0, { schema: floor("held") }] as const
        const some = new Map(largest === undefined || largest[0] === 0 ? [fresh] : [fresh, largest])
        return sidesOf(await measureLevels(options.postgres, some, floor("held_floor"), options, progress))
      })
    : undefined
  const figures = {
    ...(sides === undefined ? {} : { sides }),
    engine,
    ...(held === undefined ? {} : { held }),
  }
  return {
    benchmark: "store",
    environment: { ...environment(options.folder), loadBefore, loadAfter: load(), postgres: server },
    options: { ...options, only: [...only], folder: undefined, postgres: undefined },
    tookMillis: Math.round(performance.now() - from),
    filledMillis: Object.fromEntries(
      [...levels].map(([history, { filledMillis }]) => [history, filledMillis]),
    ),
    figures,
    aims: aimsOf(figures),
    troubles: harness.troubles,
  }
}
