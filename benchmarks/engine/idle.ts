// What an engine costs that has nothing to do: a file full of runs that are due much later, and no events.
import { type Job, job as defineJob } from "../../apps/sdk/mod.ts"
import { sleep, startMeter } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { floorRows, job, openFloor, queue } from "./floor.ts"
import type { Harness } from "./harness.ts"
import type { Options } from "./options.ts"

/** The price of idling. */
export interface Idle {
  readonly pending: number
  readonly measuredMillis: number
  /** Of one core, over the whole process. */
  readonly cpuPercent: number
  readonly rssMib: number
  /** Before this engine was started: the process carries what the other measurements left. */
  readonly rssBeforeMib: number
  readonly started: number
}

const minute = 60_000

/** Half of the runs are due in 2 to 60 minutes, the other half within 30 days: none in the wheel's minute. */
export const measureIdle = async (harness: Harness, options: Options): Promise<Idle> => {
  const pending = options["idle-pending"]
  harness.progress(`idle over ${pending} delayed runs, ${options["idle-span"]} ms`)
  const file = harness.file()
  const floor = openFloor(file)
  const now = Date.now()
  // Filled by bare SQL, as filling is not what is measured; the rows are those of the engine (see agreement).
  const soon = (n: number): number => now + 2 * minute + (n * 58 * minute) / pending
  const later = (n: number): number => now + 60 * minute + (n * 30 * 24 * 60 * minute) / pending
  const dueAt = (n: number): number => Math.floor(n % 2 === 0 ? soon(n) : later(n))
  // A few at a time, or their garbage would be counted as the engine's memory.
  for (let from = 0; from < pending; from += 1000)
    floor.enqueue(floorRows(Math.min(1000, pending - from), { from, dueAt }), [1000])
  floor.close()
  collect()
  const rssBeforeMib = mib()
  const noop: Job<{ n: number }> = defineJob(job, { queue, run: async () => {} })
  let started = 0
  const engine = await harness.start(
    { jobs: [noop], storage: `sqlite:${file}`, slots: options.slots },
    (event) => {
      if (event.kind === "started") started++
    },
  )
  await sleep(Math.min(3000, options["idle-span"]))
  const meter = startMeter()
  await sleep(options["idle-span"])
  const { wallMillis, cpuMillis } = meter()
  const rssMib = mib()
  await engine.stop()
  return {
    pending,
    measuredMillis: Math.round(wallMillis),
    cpuPercent: rounded((cpuMillis / wallMillis) * 100),
    rssMib,
    rssBeforeMib,
    started,
  }
}

const mib = (): number => Math.round(process.memoryUsage().rss / 2 ** 20)

// Where the runtime offers it (`node --expose-gc`, Bun): the garbage of earlier steps is not idling.
const collect = (): void => {
  const host = globalThis as { gc?: () => void; Bun?: { gc: (now: boolean) => void } }
  host.gc?.()
  host.Bun?.gc(true)
}
