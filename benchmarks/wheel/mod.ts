// The wheel benchmark: our timing wheel beside everything that could stand in its place, and what the page of its
// bars says of each figure. One process, in turns.
import { tmpdir } from "node:os"
import { environment, load } from "../common/environment.ts"
import { measureHost } from "./host.ts"
import { bytesPerTimer, measureAllocation } from "./memory.ts"
import { measureNpmWheel } from "./npmWheel.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { measurePauses } from "./pauses.ts"
import { measureSize } from "./phases.ts"
import { barsOf, type Figures, markdown, type Report, text } from "./report.ts"
import { soak } from "./soak.ts"

/** Runs it; answers 0, 1 when something went wrong (a missed bar is no such thing), 2 for wrong options. */
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
    if (options.soak > 0) {
      const done = await soak(options.soak, (steps) => console.error(`  ${steps} steps agree`))
      console.log(`${done} steps: the wheel fired what the heap fired, each at its tick`)
      return 0
    }
    const report = await measure(options)
    if (options.form === "json") console.log(JSON.stringify(report, null, 2))
    else console.log(options.form === "report" ? markdown(report) : text(report))
    return report.troubles.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  }
}

const measure = async (options: Options): Promise<Report> => {
  const loadBefore = load()
  const from = performance.now()
  const progress = (what: string): void => console.error(`  ${what}`)
  const sizes: Array<Figures["sizes"][number]> = []
  // First, while the process has met no other wheel.
  progress("allocation")
  const allocation = measureAllocation()
  for (const size of options.sizes) {
    progress(`${size} pending`)
    sizes.push(await measureSize(size, options))
  }
  // The host's own timers at 10^7 would be 5 to 14 GB on Node and Deno.
  const hostSizes = options.sizes.filter((size) => size <= 1_000_000)
  progress("timers of the host")
  const host = hostSizes.map(measureHost)
  progress("timer-wheel")
  const npmWheel = hostSizes.slice(-1).map(measureNpmWheel)
  progress("single calls")
  const pauses = hostSizes.slice(-1).map(measurePauses)
  const memory = Object.fromEntries(
    options.only.flatMap((name) => {
      const bytes = bytesPerTimer(
        name,
        options.sizes.includes(1_000_000) ? 1_000_000 : Math.max(...options.sizes),
      )
      return Number.isNaN(bytes) ? [] : [[name, bytes]]
    }),
  )
  const figures: Figures = { sizes, host, npmWheel, pauses, memory, allocation }
  return {
    benchmark: "wheel",
    environment: { ...environment(tmpdir()), loadBefore, loadAfter: load() },
    options: { ...options },
    tookMillis: Math.round(performance.now() - from),
    figures,
    bars: barsOf(figures),
    troubles: sizes.flatMap(({ size, checksums }) =>
      new Set(Object.values(checksums)).size <= 1
        ? []
        : [`With ${size} pending not all fired the same: ${JSON.stringify(checksums)}`],
    ),
  }
}
