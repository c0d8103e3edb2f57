// From figures to what is said: aims, one document, and tables for people.
import type { Environment } from "../common/environment.ts"
import { figure, table } from "../common/table.ts"
import type { Figures } from "./measure.ts"

/** A figure that has to be reached. */
export interface Aim {
  readonly name: string
  readonly aim: string
  readonly value: number
  readonly verdict: "met" | "missed"
}

/** The whole document. */
export interface Report {
  readonly benchmark: "workers"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: Figures
  readonly aims: ReadonlyArray<Aim>
  readonly troubles: ReadonlyArray<string>
}

const ratioMin = 1 / 3
const idlePercentMax = 5

/** What was to be reached, beside what was measured. Bare workers count: the others load the machine themselves. */
export const aimsOf = ({ throughput = [], idle }: Figures): ReadonlyArray<Aim> => [
  ...throughput.flatMap(({ store, workers, connections, ratio }): ReadonlyArray<Aim> =>
    store === null || workers !== "bare" || ratio === null
      ? []
      : [
          {
            name: `messages/s over ${store} to ${connections} connections, to the echo's`,
            aim: "at least 0.333",
            value: ratio,
            verdict: ratio >= ratioMin ? "met" : "missed",
          },
        ],
  ),
  ...(idle === undefined
    ? []
    : [
        {
          name: `server CPU with ${idle.workers} idle workers, % of a core`,
          aim: `below ${idlePercentMax}`,
          value: idle.serverCpuPercent,
          verdict: idle.serverCpuPercent < idlePercentMax ? ("met" as const) : ("missed" as const),
        },
      ]),
]

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, troubles, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, loadBefore, loadAfter } = environment
  const { throughput, latency, idle } = figures
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const parts = [
    `uhrwerk ${uhrwerk}; started by ${runtime}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`,
  ]
  if (throughput !== undefined)
    parts.push(
      table([
        [
          "throughput",
          "connections",
          "runs/s",
          "messages/s",
          "frames/s",
          "of the echo",
          "by CPU",
          "server CPU us",
          "load CPU us",
        ],
        ...throughput.map((each) => [
          each.name,
          String(each.connections),
          each.store === null ? "-" : figure(each.perSecond, 0),
          figure(each.messagesPerSecond, 0),
          figure(each.framesPerSecond ?? Number.NaN, 0),
          figure(each.ratio ?? Number.NaN, 3),
          figure(each.cpuRatio ?? Number.NaN, 3),
          figure(each.serverCpuMicros, 1),
          figure(each.loadCpuMicros, 1),
        ]),
      ]) + "\nCPU: of each process, for one run, or one echo, which is two messages where a run has four.",
    )
  if (latency !== undefined)
    parts.push(
      table([
        ["send to start, ms", "load", "count", "p50", "p99", "max"],
        ...latency.map(({ store, load, count, p50Millis, p99Millis, maxMillis }) => [
          store,
          load,
          String(count),
          figure(p50Millis, 2),
          figure(p99Millis, 2),
          figure(maxMillis, 2),
        ]),
      ]),
    )
  if (idle !== undefined)
    parts.push(
      table([
        ["idle workers", "server CPU %", "without workers", "load CPU %", "RSS KiB each", "heap KiB each"],
        [
          String(idle.workers),
          figure(idle.serverCpuPercent, 2),
          figure(idle.aloneCpuPercent, 2),
          figure(idle.loadCpuPercent, 2),
          figure(idle.rssKibPerWorker, 1),
          figure(idle.heapKibPerWorker, 1),
        ],
      ]),
    )
  if (aims.length > 0)
    parts.push(
      table([
        ["aim", "wanted", "measured", ""],
        ...aims.map(({ name, aim, value, verdict }) => [name, aim, figure(value, 3), verdict]),
      ]),
    )
  if (troubles.length > 0) parts.push(`WRONG:\n${troubles.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}
