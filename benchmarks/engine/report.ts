// From what was spent to what is said: rates, ratios, aims; as one document, and as a table for people.
import type { Spent } from "../common/meter.ts"
import type { Environment } from "../common/environment.ts"
import { median, rounded, type Spans } from "../common/statistics.ts"
import { figure, table } from "../common/table.ts"
import type { Idle } from "./idle.ts"
import { type Batches } from "./steps.ts"
import type { Lateness } from "./timing.ts"
import type { Rounds, Throughput } from "./throughput.ts"

/** A rate of one side over all rounds. */
export interface Rate {
  readonly perSecond: {
    readonly median: number
    readonly best: number
    readonly rounds: ReadonlyArray<number>
  }
  readonly cpuMicrosPerRun: {
    readonly median: number
    readonly best: number
    readonly rounds: ReadonlyArray<number>
  }
}

/** Both sides; a ratio of 1 means as fast as the floor, 0.5 half as fast. Ratios are of medians. */
export interface Comparison {
  readonly runs: number
  readonly floor: Rate
  readonly engine: Rate
  readonly ratio: { readonly wall: number; readonly wallRounds: ReadonlyArray<number>; readonly cpu: number }
}

/** A figure that has to be reached. */
export interface Aim {
  readonly name: string
  readonly aim: string
  readonly value: number
  readonly verdict: "met" | "missed"
}

/** The whole document. */
export interface Report {
  readonly benchmark: "engine"
  readonly environment: Environment & {
    readonly sqlite: string
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: {
    readonly enqueue?: Comparison
    readonly single?: Comparison
    readonly drain?: Comparison & {
      readonly startMillis: ReadonlyArray<number>
      readonly eventLoop: Throughput["eventLoop"]
    }
    readonly latency?: Spans
    readonly lateness?: Lateness
    readonly latenessMemory?: Lateness
    readonly idle?: Idle
  }
  readonly floor?: {
    /** The engine's transactions in the warm-up, which the floor repeats in this order and size. */
    readonly transactions: Readonly<Record<"enqueue" | "claim" | "settle", Batches>>
    /** Statements of the floor that the store does not prepare in the same words: none, or the floor is outdated. */
    readonly foreignStatements: ReadonlyArray<string>
    /** How the rows of both sides differ: in nothing, or the figures compare different work. */
    readonly differences: ReadonlyArray<string>
  }
  readonly aims: ReadonlyArray<Aim>
  readonly troubles: ReadonlyArray<string>
}

/** Rates and ratios of the rounds. */
export const compare = ({ runs, floor, engine }: Rounds): Comparison => {
  const sides = { floor: rateOf(runs, floor), engine: rateOf(runs, engine) }
  return {
    runs,
    ...sides,
    ratio: {
      wall: rounded(sides.engine.perSecond.median / sides.floor.perSecond.median),
      wallRounds: sides.engine.perSecond.rounds.map((rate, round) =>
        rounded(rate / (sides.floor.perSecond.rounds[round] ?? Number.NaN)),
      ),
      cpu: rounded(sides.floor.cpuMicrosPerRun.median / sides.engine.cpuMicrosPerRun.median),
    },
  }
}

const rateOf = (runs: number, spent: ReadonlyArray<Spent>): Rate => {
  const perSecond = spent.map(({ wallMillis }) => Math.round((runs / wallMillis) * 1000))
  const cpu = spent.map(({ cpuMillis }) => rounded((cpuMillis * 1000) / runs))
  return {
    perSecond: { median: median(perSecond), best: Math.max(...perSecond), rounds: perSecond },
    cpuMicrosPerRun: { median: rounded(median(cpu)), best: Math.min(...cpu), rounds: cpu },
  }
}

/** Judges the figures that there are. */
export const aimsOf = ({ drain, lateness, latenessMemory, idle }: Report["figures"]): ReadonlyArray<Aim> => {
  const aims: Array<Aim> = []
  const add = (name: string, aim: string, value: number, met: boolean): void => {
    aims.push({ name, aim, value, verdict: met ? "met" : "missed" })
  }
  if (drain !== undefined) {
    add("drain, engine / floor, wall", ">= 0.5", drain.ratio.wall, drain.ratio.wall >= 0.5)
  }
  for (const [store, figures, most] of [
    ["SQLite", lateness, 15],
    ["memory", latenessMemory, 5],
  ] as const) {
    if (figures === undefined) continue
    const { early, p99Millis, missing } = figures
    add(`runs started early, ${store}`, "= 0", early, early === 0)
    add(`lateness p99 on ${store}, ms`, `<= ${most}`, p99Millis, p99Millis <= most && missing === 0)
  }
  if (idle !== undefined) add("idle CPU, % of a core", "< 1", idle.cpuPercent, idle.cpuPercent < 1)
  return aims
}

/** The document as text for a terminal. */
export const human = ({ environment, figures, floor, aims, troubles, tookMillis }: Report): string => {
  const { drain, latency, lateness, latenessMemory, idle } = figures
  const { runtime, uhrwerk, sqlite, cpu, cores, fileSystem, loadBefore, loadAfter } = environment
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const parts = [
    `uhrwerk ${uhrwerk} on ${runtime}, SQLite ${sqlite} (WAL, synchronous=FULL) on ${fileSystem}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`,
  ]
  const rates = (["enqueue", "single", "drain"] as const).flatMap((name) => {
    const each = figures[name]
    return each === undefined ? [] : [rateLine(name, each)]
  })
  if (rates.length > 0) parts.push(table([rateHead, ...rates]))
  const spans = [
    ...(latency === undefined ? [] : [spanLine("enqueue to start", latency)]),
    ...(lateness === undefined ? [] : [spanLine("lateness of delayed runs", lateness)]),
    ...(latenessMemory === undefined ? [] : [spanLine("the same, memory store", latenessMemory)]),
    ...(drain === undefined ? [] : [spanLine("event loop delay in a drain", drain.eventLoop)]),
  ]
  if (spans.length > 0) parts.push(table([["", "samples", "p50 ms", "p99 ms", "max ms"], ...spans]))
  const notes: Array<string> = []
  if (drain !== undefined)
    notes.push(
      `drain: ${drain.runs} no-op runs; start() to the first run ${figure(median(drain.startMillis))} ms`,
    )
  for (const each of [lateness, latenessMemory]) {
    if (each === undefined) continue
    const { pending, due, early, missing } = each
    notes.push(`lateness: ${pending} pending, ${due} due in the window, ${early} early, ${missing} missing`)
  }
  if (idle !== undefined) {
    const { pending, measuredMillis, cpuPercent, rssMib, rssBeforeMib } = idle
    notes.push(
      `idle: ${pending} pending, ${figure(cpuPercent)} % CPU over ${figure(measuredMillis / 1000, 1)} s, ` +
        `RSS ${rssMib} MiB (${rssBeforeMib} MiB before the engine)`,
    )
  }
  if (floor !== undefined) {
    const { enqueue, claim, settle } = floor.transactions
    notes.push(
      `floor: transactions as the engine's, on average ${enqueue.rowsOnAverage} enqueued, ` +
        `${claim.rowsOnAverage} claimed, ${settle.rowsOnAverage} settled; rows ${floor.differences.length === 0 ? "equal" : "DIFFERENT"}, ` +
        `statements ${floor.foreignStatements.length === 0 ? "equal" : `DIFFERENT: ${floor.foreignStatements.join(", ")}`}`,
    )
  }
  parts.push(notes.join("\n"))
  if (aims.length > 0)
    parts.push(
      table([
        ["aim", "wanted", "measured", ""],
        ...aims.map(({ name, aim, value, verdict }) => [name, aim, String(value), verdict]),
      ]),
    )
  const wrong = [...(floor?.differences ?? []), ...troubles]
  if (wrong.length > 0) parts.push(`WRONG:\n${wrong.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}

const rateHead = [
  "runs/s",
  "floor",
  "best",
  "engine",
  "best",
  "ratio",
  "floor us CPU/run",
  "engine us CPU/run",
  "CPU ratio",
]

const rateLine = (name: string, { floor, engine, ratio }: Comparison): ReadonlyArray<string> => [
  name,
  figure(floor.perSecond.median, 0),
  figure(floor.perSecond.best, 0),
  figure(engine.perSecond.median, 0),
  figure(engine.perSecond.best, 0),
  figure(ratio.wall, 2),
  figure(floor.cpuMicrosPerRun.median),
  figure(engine.cpuMicrosPerRun.median),
  figure(ratio.cpu, 2),
]

const spanLine = (name: string, spans: Omit<Spans, "count"> & { readonly count?: number }) => [
  name,
  spans.count === undefined ? "" : String(spans.count),
  figure(spans.p50Millis),
  figure(spans.p99Millis),
  figure(spans.maxMillis),
]
