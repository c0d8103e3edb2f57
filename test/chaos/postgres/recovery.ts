// How soon what a killed node left behind went on: measured from the kill to the next start of each run that was lost
// with it. The promise is the lease and a second. It is a promise about a node's death, so a kill counts whose window no
// other disturbance reaches into; the others are told of, and have only to be right.
import type { Verdict } from "./checks.ts"
import type { Incident, Story } from "./evidence.ts"
import type { FaultKind } from "./plan.ts"

/** One run that was lost with a killed process and has started again. */
export interface Recovery {
  readonly runId: string
  readonly pid: number
  /** From the kill to the moment when it was taken back, by the database's clock, and to the next start. */
  readonly takenMillis: number
  readonly millis: number
  /** Whether nothing else disturbed it. */
  readonly counts: boolean
}

/** All of them, and what did not go on. */
export interface Recoveries {
  readonly kills: number
  /** Kills in whose window nothing else was. */
  readonly quietKills: number
  readonly recoveries: ReadonlyArray<Recovery>
  /** Lost, not ended, and never started again. */
  readonly stuck: ReadonlyArray<string>
  readonly barMillis: number
}

// What holds up those that are to go on with it, and for how long afterwards: a way that is free again, and a database
// that is back, with all that waited for it.
const settling: Partial<Record<FaultKind, number>> = {
  freeze: 2000,
  cut: 2000,
  delay: 2000,
  oneWay: 2000,
  database: 6000,
}

/** Finds them in the evidence. */
export const recoveriesOf = (story: Story): Recoveries => {
  const { incidents, attempts, effects, pidOf, barMillis, runs } = story
  const kills = incidents.filter(({ kind }) => kind === "kill")
  const isQuiet = ({ from }: Incident): boolean =>
    !incidents.some(({ kind, from: begin, to }) => {
      const settle = settling[kind]
      return settle !== undefined && begin < from + barMillis && to + settle > from
    })
  const killOf = new Map(kills.map((kill) => [kill.pid, { at: kill.from, isQuiet: isQuiet(kill) }]))
  const starts = Map.groupBy(
    effects.filter((line) => line.kind === "start"),
    ({ id }) => id,
  )
  const states = new Map(runs.map(({ id, state }) => [id, state]))
  const recoveries: Array<Recovery> = []
  const stuck: Array<string> = []
  for (const { runId, token, node, error, endedAt } of attempts) {
    // Of a node that nobody saw in time (the database was away), its handlers tell.
    const pid = pidOf.get(node ?? "") ?? starts.get(runId)?.find((line) => line.token === token)?.pid
    const kill = killOf.get(pid ?? null)
    if (error.kind !== "lost" || pid === undefined || kill === undefined) continue
    // Before it was killed it may have lost others, to a freeze or on its way.
    if (endedAt < kill.at) continue
    const next = starts.get(runId)?.find((line) => line.token > token)
    if (next !== undefined) {
      const { at, isQuiet: counts } = kill
      recoveries.push({ runId, pid, takenMillis: endedAt - at, millis: next.at - at, counts })
    } else if (states.get(runId) !== "dead") stuck.push(runId)
  }
  return {
    kills: kills.length,
    quietKills: kills.filter(isQuiet).length,
    recoveries,
    stuck,
    barMillis,
  }
}

/** The promise. */
export const recoveryCheck = ({ kills, quietKills, recoveries, stuck, barMillis }: Recoveries): Verdict => {
  const counted = recoveries.filter(({ counts }) => counts)
  const late = counted.filter(({ millis }) => millis > barMillis)
  const others = recoveries.length - counted.length
  return {
    name: "what a killed node carried starts again in time",
    figure:
      `${quietKills} of ${kills} kills with nothing beside them left ${counted.length} runs: ` +
      `${spreadOf(counted)}, bar ${barMillis} ms; ${others} runs of the other kills: ` +
      spreadOf(recoveries.filter((each) => !each.counts)),
    violations: [
      ...late.map(
        ({ runId, pid, millis }) => `run ${runId} of process ${pid} started ${millis} ms after the kill`,
      ),
      ...stuck.map((runId) => `run ${runId} was lost and not started again`),
    ],
  }
}

/** In words: the middle one and the longest. */
const spreadOf = (recoveries: ReadonlyArray<Recovery>): string => {
  if (recoveries.length === 0) return "none"
  const [taken, started] = (["takenMillis", "millis"] as const).map((name) => {
    const sorted = recoveries.map((each) => each[name]).toSorted((a, b) => a - b)
    return `p50 ${sorted[Math.floor((sorted.length - 1) / 2)]} ms, max ${sorted.at(-1)} ms`
  })
  return `${started} (taken back: ${taken})`
}
