// From what each side took to what is said: rates, spans, aims; one document, and tables for people.
import type { Environment } from "../common/environment.ts"
import { median, rounded, type Spans, spansOf } from "../common/statistics.ts"
import { figure, table } from "../common/table.ts"
import type { Measured, Work } from "./measured.ts"
import type { Rounds } from "./measure.ts"
import type { Servers } from "../common/servers.ts"
import type { SideInfo } from "./Side.ts"
import type { SideName } from "./sides.ts"

/** A rate over all rounds. */
export interface Rate {
  readonly jobs: number
  readonly perSecond: {
    readonly median: number
    readonly best: number
    readonly rounds: ReadonlyArray<number>
  }
  /** CPU of the client's process, milliseconds for 1,000 jobs, the median. */
  readonly cpuMillisPer1000: number
}

/** What one side is, and what it took. */
export interface SideReport extends SideInfo {
  readonly side: SideName
  readonly version: string
  readonly single?: Rate
  readonly inflight?: Rate
  readonly bulk?: Rate
  readonly drain?: Rate & { readonly toFirstMillis: number }
  readonly latency?: Spans
  readonly lateness?: Spans & { readonly early: number; readonly missing: number }
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
  readonly benchmark: "peers"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
    readonly servers: Servers
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: ReadonlyArray<SideReport>
  readonly aims: ReadonlyArray<Aim>
  readonly troubles: ReadonlyArray<string>
}

const rateNames = ["single", "inflight", "bulk", "drain"] as const

/** Sums up the rounds of one side. */
export const sideReport = (
  side: SideName,
  info: SideInfo,
  version: string,
  rounds: ReadonlyArray<Measured>,
): SideReport => {
  const rates = Object.fromEntries(
    rateNames.flatMap((name) => {
      const works = rounds.flatMap((round) => round[name] ?? [])
      return works.length === 0 ? [] : [[name, rateOf(works)]]
    }),
  ) as Partial<Record<(typeof rateNames)[number], Rate>>
  const toFirst = rounds.flatMap(({ drain }) => drain?.toFirstMillis ?? [])
  const latency = rounds.flatMap((round) => round.latency ?? [])
  const late = rounds.flatMap(({ lateness }) => lateness ?? [])
  const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)
  const { drain, ...others } = rates
  return {
    side,
    version,
    ...info,
    ...others,
    ...(drain === undefined ? {} : { drain: { ...drain, toFirstMillis: rounded(median(toFirst)) } }),
    ...(latency.length === 0 ? {} : { latency: spansOf(latency) }),
    ...(late.length === 0
      ? {}
      : {
          lateness: {
            ...spansOf(late.flatMap(({ millis }) => millis)),
            early: sum(late.map(({ early }) => early)),
            missing: sum(late.map(({ missing }) => missing)),
          },
        }),
  }
}

const rateOf = (works: ReadonlyArray<Work>): Rate => {
  const perSecond = works.map(({ jobs, wallMillis }) => Math.round((jobs / wallMillis) * 1000))
  return {
    jobs: works[0]?.jobs ?? 0,
    perSecond: { median: median(perSecond), best: Math.max(...perSecond), rounds: perSecond },
    cpuMillisPer1000: rounded(median(works.map(({ jobs, cpuMillis }) => (cpuMillis / jobs) * 1000))),
  }
}

/** Sums up all sides, in the order in which they were asked for. */
export const sidesOf = (
  rounds: Rounds,
  about: (side: SideName) => { readonly info: SideInfo; readonly version: string },
): ReadonlyArray<SideReport> =>
  [...rounds].map(([side, measured]) => {
    const { info, version } = about(side)
    return sideReport(side, info, version, measured)
  })

const ours: SideName = "uhrwerk-postgres"

/** Judges ours over PostgreSQL beside the best of the others over PostgreSQL; medians. */
export const aimsOf = (figures: ReadonlyArray<SideReport>): ReadonlyArray<Aim> => {
  const our = figures.find(({ side }) => side === ours)
  const peers = figures.filter(({ side, store }) => side !== ours && store === "PostgreSQL")
  if (our === undefined) return []
  const aims: Array<Aim> = []
  const add = (name: string, aim: string, value: number, met: boolean): void => {
    aims.push({ name, aim, value: rounded(value), verdict: met ? "met" : "missed" })
  }
  for (const name of ["drain", "bulk"] as const) {
    const best = Math.max(...peers.map((peer) => peer[name]?.perSecond.median ?? 0))
    const ratio = (our[name]?.perSecond.median ?? Number.NaN) / best
    if (best > 0 && !Number.isNaN(ratio))
      add(`${name}, runs/s, ours / the best PostgreSQL peer's`, ">= 1.5", ratio, ratio >= 1.5)
  }
  const latencies = peers.flatMap(({ latency }) => latency?.p50Millis ?? [])
  if (our.latency !== undefined && latencies.length > 0) {
    const ratio = our.latency.p50Millis / Math.min(...latencies)
    add("enqueue to start, p50, ours / the best PostgreSQL peer's", "<= 0.5", ratio, ratio <= 0.5)
  }
  if (our.lateness !== undefined) {
    const { p99Millis, missing, early } = our.lateness
    add("lateness of delayed jobs, p99, ms", "<= 20", p99Millis, p99Millis <= 20 && missing === 0)
    add("delayed jobs that began early", "= 0", early, early === 0)
  }
  return aims
}

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, troubles, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, loadBefore, loadAfter, servers } = environment
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const parts = [
    `uhrwerk ${uhrwerk} on ${runtime}, PostgreSQL ${servers.postgres?.["server_version"] ?? "-"}, ` +
      `Redis ${servers.redis?.["version"] ?? "-"}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s\n${servers.durability.join("\n")}`,
    table([
      ["runs/s, median", ...rateNames.flatMap((name) => [name, "ms CPU/1,000"])],
      ...figures.map((side) => [
        `${side.side} ${side.version}`,
        ...rateNames.flatMap((name) => {
          const rate = side[name]
          return rate === undefined
            ? ["-", "-"]
            : [figure(rate.perSecond.median, 0), figure(rate.cpuMillisPer1000)]
        }),
      ]),
    ]),
    table([
      ["ms", "latency p50", "p99", "lateness p50", "p99", "max", "early", "missing"],
      ...figures.map(({ side, latency, lateness }) => [
        side,
        figure(latency?.p50Millis ?? Number.NaN),
        figure(latency?.p99Millis ?? Number.NaN),
        figure(lateness?.p50Millis ?? Number.NaN),
        figure(lateness?.p99Millis ?? Number.NaN),
        figure(lateness?.maxMillis ?? Number.NaN),
        String(lateness?.early ?? "-"),
        String(lateness?.missing ?? "-"),
      ]),
    ]),
    figures
      .map(
        ({ side, keeps, settings }) =>
          `${side} keeps ${keeps}; set: ${settings.map(({ set, page }) => `${set} (${page})`).join("; ")}`,
      )
      .join("\n"),
  ]
  if (aims.length > 0)
    parts.push(
      table([
        ["aim", "wanted", "measured", ""],
        ...aims.map(({ name, aim, value, verdict }) => [name, aim, String(value), verdict]),
      ]),
    )
  if (troubles.length > 0) parts.push(`WRONG:\n${troubles.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}
