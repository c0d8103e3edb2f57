// From figures to what is said: ratios, the bars, and a page of text or Markdown.
import type { Environment } from "../common/environment.ts"
import { rounded } from "../common/statistics.ts"
import { figure, table } from "../common/table.ts"
import type { HostCosts } from "./host.ts"
import type { Allocation } from "./memory.ts"
import type { NpmWheel } from "./npmWheel.ts"
import type { Pauses } from "./pauses.ts"
import { type Phase, phases, type Sized } from "./phases.ts"

/** All that was measured. */
export interface Figures {
  readonly sizes: ReadonlyArray<Sized>
  readonly host: ReadonlyArray<HostCosts>
  readonly npmWheel: ReadonlyArray<NpmWheel>
  readonly pauses: ReadonlyArray<Pauses>
  /** Bytes of typed storage a timer. */
  readonly memory: Readonly<Record<string, number>>
  readonly allocation: Allocation
}

/** A figure that has to be reached. */
export interface Bar {
  readonly name: string
  readonly wanted: string
  readonly value: number
  readonly verdict: "held" | "missed"
}

/** The whole document. */
export interface Report {
  readonly benchmark: "wheel"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: Figures
  readonly bars: ReadonlyArray<Bar>
  readonly troubles: ReadonlyArray<string>
}

// How much faster than the host's timers arming has to be; they differ that much.
const armWanted: Readonly<Record<string, number>> = { node: 4, bun: 1.5, deno: 8 }

/** Judges the figures that there are: a size that was not measured has no bars. */
export const barsOf = (figures: Figures, runtime = process.versions): ReadonlyArray<Bar> => {
  const bars: Array<Bar> = []
  const add = (name: string, wanted: string, value: number | undefined, held: (value: number) => boolean) => {
    if (value === undefined || Number.isNaN(value)) return
    bars.push({ name, wanted, value: rounded(value), verdict: held(value) ? "held" : "missed" })
  }
  const atLeast = (name: string, least: number, value: number | undefined) =>
    add(name, `>= ${least}`, value, (ratio) => ratio >= least)
  const atMost = (name: string, most: number, value: number | undefined) =>
    add(name, `<= ${most}`, value, (ratio) => ratio <= most)
  const ratio = (size: number, phase: Phase, other: string): number | undefined => {
    const costs = figures.sizes.find((sized) => sized.size === size)?.costs
    const [theirs, ours] = [costs?.[other], costs?.["wheel"]]
    return theirs && ours && theirs[phase].bestNanos / ours[phase].bestNanos
  }
  const floor = ratio(1_000_000, "mixed", "floor")
  atLeast("mixed, heap4 / wheel, 10^5", 1.3, ratio(100_000, "mixed", "heap4"))
  atLeast("mixed, flatqueue / wheel, 10^5", 2, ratio(100_000, "mixed", "flatqueue"))
  atLeast("mixed, heap4 / wheel, 10^6", 1.3, ratio(1_000_000, "mixed", "heap4"))
  atMost("mixed, wheel / floor, 10^6", 3, floor && 1 / floor)
  atLeast("expire, heap4 / wheel, 10^5", 2, ratio(100_000, "expire", "heap4"))
  // With fewer, the lists themselves and the last doubling weigh more.
  if (figures.sizes.some(({ size }) => size >= 1_000_000))
    atMost("bytes a timer", 24, figures.memory["wheel"])
  for (const pauses of figures.pauses) {
    atMost("idle hour, us", 50, pauses.idleHourMicros)
    if (pauses.size < 1_000_000) continue
    atMost("worst advance, uniform, ms", 1, pauses.uniformMillis)
    atMost("worst advance, burst prepared, ms", 2, pauses.burstPreparedMillis)
    atMost("worst advance, burst in slices, ms", 2, pauses.burstSliceMillis)
  }
  const arm = armWanted[runtime["bun"] ? "bun" : runtime["deno"] ? "deno" : "node"] as number
  for (const host of figures.host) {
    if (host.size < 100_000) continue
    atLeast(`arm, host / wheel, ${host.size}`, arm, host.hostArmNanos / host.wheelArmNanos)
    atLeast(`cancel, host / wheel, ${host.size}`, 5, host.hostCancelNanos / host.wheelCancelNanos)
  }
  const { armBytes, cancelBytes, fireBytes } = figures.allocation
  atMost("bytes left to the collector, an operation", 0.1, Math.max(armBytes, cancelBytes, fireBytes))
  return bars
}

type Rows = ReadonlyArray<ReadonlyArray<string>>

const costRows = ({ costs }: Sized): Rows => {
  const wheel = costs["wheel"] as Sized["costs"][string]
  return [
    ["ns an operation (ratio to the wheel; CPU)", ...phases],
    ...Object.entries(costs).map(([name, cost]) => [
      name,
      ...phases.map((phase) => {
        const { bestNanos, cpuNanos } = cost[phase]
        return `${figure(bestNanos, 0)} (${figure(bestNanos / wheel[phase].bestNanos)}; ${figure(cpuNanos, 0)})`
      }),
    ]),
  ]
}

const sections = ({ figures, bars }: Report): ReadonlyArray<readonly [string, Rows]> => [
  ...figures.sizes.map((sized) => [`${figure(sized.size, 0)} pending`, costRows(sized)] as const),
  [
    "Timers of the host",
    [
      ["ns a timer", "host arm", "wheel arm", "ratio", "host cancel", "wheel cancel", "ratio"],
      ...figures.host.map((host) => [
        figure(host.size, 0),
        figure(host.hostArmNanos, 0),
        figure(host.wheelArmNanos, 0),
        figure(host.hostArmNanos / host.wheelArmNanos),
        figure(host.hostCancelNanos, 0),
        figure(host.wheelCancelNanos, 0),
        figure(host.hostCancelNanos / host.wheelCancelNanos),
      ]),
    ],
  ],
  [
    "timer-wheel (npm)",
    [
      ["pending", "arm ns", "cancel ns", "fired of armed"],
      ...figures.npmWheel.map(({ size, armNanos, cancelNanos, fired, armed }) => [
        figure(size, 0),
        figure(armNanos, 0),
        figure(cancelNanos, 0),
        `${fired} of ${armed}`,
      ]),
    ],
  ],
  [
    "Worst single call",
    [
      [
        "pending",
        "idle hour us",
        "uniform ms",
        "burst ms",
        "prepare ms",
        "burst in slices ms",
        "grow by copy ms",
        "in place ms",
      ],
      ...figures.pauses.map((pauses) => [
        figure(pauses.size, 0),
        figure(pauses.idleHourMicros),
        figure(pauses.uniformMillis),
        figure(pauses.burstPreparedMillis),
        figure(pauses.burstPrepareMillis),
        figure(pauses.burstSliceMillis),
        figure(pauses.growByCopyMillis),
        figure(pauses.growInPlaceMillis),
      ]),
    ],
  ],
  [
    "Memory",
    [
      ["", "bytes"],
      ...Object.entries(figures.memory).map(([name, bytes]) => [`${name}, a timer`, figure(bytes)]),
      ...Object.entries(figures.allocation).map(([name, bytes]) => [
        `to the collector: ${name}`,
        figure(bytes),
      ]),
    ],
  ],
  [
    "Bars",
    [
      ["bar", "wanted", "measured", ""],
      ...bars.map(({ name, wanted, value, verdict }) => [name, wanted, figure(value), verdict]),
    ],
  ],
]

const head = ({ environment, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, loadBefore, loadAfter } = environment
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  return `uhrwerk ${uhrwerk} on ${runtime}; ${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`
}

const troubles = (report: Report): ReadonlyArray<string> =>
  report.troubles.length === 0 ? [] : [`WRONG:\n${report.troubles.join("\n")}`]

/** The document as text for a terminal. */
export const text = (report: Report): string =>
  [
    head(report),
    ...sections(report).map(([title, rows]) => `${title}\n${table(rows)}`),
    ...troubles(report),
  ].join("\n\n")

/** The document as a page of Markdown. */
export const markdown = (report: Report): string => {
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`
  const page = (rows: Rows): string => {
    const [first = [], ...rest] = rows
    return [line(first), line(first.map((_, at) => (at === 0 ? "---" : "--:"))), ...rest.map(line)].join("\n")
  }
  return [
    "# The timing wheel, measured",
    head(report),
    ...sections(report).map(([title, rows]) => `## ${title}\n\n${page(rows)}`),
    ...troubles(report),
  ].join("\n\n")
}
