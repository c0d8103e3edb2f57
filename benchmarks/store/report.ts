// From what was taken to what is said: rates, ratios to the floor, what history costs; one document, and tables.
import type { Environment } from "../common/environment.ts"
import { median, rounded, type Spans } from "../common/statistics.ts"
import { figure, table } from "../common/table.ts"
import type { Drained, Lateness } from "./engine.ts"
import type { Bloat } from "./history.ts"
import type { Measured } from "./levels.ts"
import type { Calls, Round } from "./operations.ts"

/** One operation of one side; medians of the rounds. */
export interface Operation {
  readonly runsPerSecond: number
  readonly millisPerCall: number
  /** CPU of the client's process for 1,000 runs. */
  readonly cpuMillisPer1000: number
  /** Of the runs per second, to those of the floor in the same rounds; 1: as good. Absent on the floor. */
  readonly ratio?: number
  readonly millisPerCallRounds: ReadonlyArray<number>
}

/** One side: the floor, or the store over so many finished runs. */
export interface SideReport {
  readonly name: string
  readonly history: number | null
  readonly enqueue: Operation
  readonly claim: Operation
  readonly settle: Operation
  /** Claim and settle in turn until none is left. */
  readonly drain: Operation
  readonly bloat: Bloat
}

/** What the engine did over a level. */
export interface EngineReport {
  readonly history: number
  readonly drain?: Drained & { readonly runsPerSecond: number; readonly cpuMillisPer1000: number }
  readonly latency?: Spans
  readonly lateness?: Lateness
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
  readonly benchmark: "store"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
    readonly postgres: Readonly<Record<string, string>>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly filledMillis: Readonly<Record<string, number>>
  readonly figures: {
    readonly sides?: ReadonlyArray<SideReport>
    readonly engine: ReadonlyArray<EngineReport>
    /** The same while a transaction with an old snapshot is open in the database. */
    readonly held?: ReadonlyArray<SideReport>
  }
  readonly aims: ReadonlyArray<Aim>
  readonly troubles: ReadonlyArray<string>
}

/** Sums up the floor and the levels. */
export const sidesOf = (measured: ReadonlyArray<Measured>): ReadonlyArray<SideReport> => {
  const floor = measured.find(({ history }) => history === null)?.rounds ?? []
  return measured.map(({ name, history, rounds, bloat }) => {
    const of = (pick: (round: Round) => Calls): Operation => ({
      ...operationOf(rounds.map(pick)),
      ...(history === null ? {} : { ratio: ratioOf(rounds.map(pick), floor.map(pick)) }),
    })
    return {
      name,
      history,
      enqueue: of(({ enqueue }) => enqueue),
      claim: of(({ claim }) => claim),
      settle: of(({ settle }) => settle),
      drain: of(({ claim, settle }) => ({
        runs: settle.runs,
        calls: claim.calls + settle.calls,
        wallMillis: claim.wallMillis + settle.wallMillis,
        cpuMillis: claim.cpuMillis + settle.cpuMillis,
      })),
      bloat,
    }
  })
}

const operationOf = (rounds: ReadonlyArray<Calls>): Operation => {
  const perCall = rounds.map(({ wallMillis, calls }) => rounded(wallMillis / calls))
  return {
    runsPerSecond: Math.round(median(rounds.map(({ runs, wallMillis }) => (runs / wallMillis) * 1000))),
    millisPerCall: rounded(median(perCall)),
    cpuMillisPer1000: rounded(median(rounds.map(({ runs, cpuMillis }) => (cpuMillis / runs) * 1000))),
    millisPerCallRounds: perCall,
  }
}

const ratioOf = (ours: ReadonlyArray<Calls>, floor: ReadonlyArray<Calls>): number =>
  rounded(
    median(
      ours.map((our, round) => {
        const its = floor[round]
        return its === undefined ? Number.NaN : its.wallMillis / its.runs / (our.wallMillis / our.runs)
      }),
    ),
  )

/** Judges what history and an old snapshot cost a claim, and that nothing began early or never. */
export const aimsOf = ({ sides = [], engine }: Report["figures"]): ReadonlyArray<Aim> => {
  const aims: Array<Aim> = []
  const add = (name: string, aim: string, value: number, met: boolean): void => {
    aims.push({ name, aim, value: rounded(value), verdict: met ? "met" : "missed" })
  }
  const levels = sides.filter(({ history }) => history !== null)
  const [least, most] = [levels[0], levels.at(-1)]
  if (least !== undefined && most !== undefined && least !== most) {
    // Of the same rounds, so that a slow minute of the machine is in both.
    const ratio = median(
      most.claim.millisPerCallRounds.map(
        (millis, round) => millis / (least.claim.millisPerCallRounds[round] ?? Number.NaN),
      ),
    )
    add(`claim at ${most.history} / at ${least.history} finished runs`, "<= 1.3", ratio, ratio <= 1.3)
  }
  for (const { history, lateness } of engine) {
    if (lateness === undefined) continue
    const { p99Millis, early, missing } = lateness
    add(`lateness p99 at ${history}, ms`, "<= 20", p99Millis, p99Millis <= 20 && missing === 0)
    add(`runs started early at ${history}`, "= 0", early, early === 0)
  }
  return aims
}

const operations = ["enqueue", "claim", "settle", "drain"] as const

const sidesTable = (title: string, sides: ReadonlyArray<SideReport>): string =>
  table([
    [title, ...operations.flatMap((name) => [`${name}/s`, "ratio", "CPU"]), "claim ms", "dead rows", "MiB"],
    ...sides.map((side) => [
      side.name,
      ...operations.flatMap((name) => {
        const { runsPerSecond, ratio, cpuMillisPer1000 } = side[name]
        return [figure(runsPerSecond, 0), figure(ratio ?? 1), figure(cpuMillisPer1000)]
      }),
      figure(side.claim.millisPerCall),
      figure(side.bloat.deadRows, 0),
      figure(side.bloat.tableMib + side.bloat.indexesMib),
    ]),
  ])

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, troubles, tookMillis, filledMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, postgres, loadBefore, loadAfter } = environment
  const filled = Object.entries(filledMillis).map(
    ([history, millis]) => `${history} in ${figure(millis / 1000)} s`,
  )
  const parts = [
    `uhrwerk ${uhrwerk} on ${runtime}, PostgreSQL ${postgres["server_version"]} (fsync ${postgres["fsync"]}, ` +
      `synchronous_commit ${postgres["synchronous_commit"]}, shared_buffers ${postgres["shared_buffers"]})\n` +
      `${cores} cores, ${cpu}; load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}; ` +
      `took ${figure(tookMillis / 1000, 0)} s; history filled: ${filled.join(", ")}`,
  ]
  if (figures.sides !== undefined) parts.push(sidesTable("runs/s, ms CPU for 1,000", figures.sides))
  if (figures.held !== undefined) parts.push(sidesTable("with an old snapshot open", figures.held))
  if (figures.engine.length > 0)
    parts.push(
      table([
        [
          "engine, over history",
          "drain/s",
          "CPU",
          "latency p50 ms",
          "p99",
          "lateness p50 ms",
          "p99",
          "early",
          "missing",
        ],
        ...figures.engine.map(({ history, drain, latency, lateness }) => [
          String(history),
          figure(drain?.runsPerSecond ?? Number.NaN, 0),
          figure(drain?.cpuMillisPer1000 ?? Number.NaN),
          figure(latency?.p50Millis ?? Number.NaN),
          figure(latency?.p99Millis ?? Number.NaN),
          figure(lateness?.p50Millis ?? Number.NaN),
          figure(lateness?.p99Millis ?? Number.NaN),
          String(lateness?.early ?? "-"),
          String(lateness?.missing ?? "-"),
        ]),
      ]),
    )
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
