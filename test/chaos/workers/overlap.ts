// Whether two attempts of one run were ever at work at once. Handlers here obey their signal, so the protocol promises
// that there is none, but for what nobody can keep: a process that is frozen cannot stop its handlers, and of a cut that
// only the server sees the worker learns when it has heard nothing for `suspectMillis`.
import { graceMillis, suspectMillis } from "../../../core/protocol/Limits.ts"
import type { Verdict } from "../postgres/checks.ts"
import type { Author, Incident, Story } from "./evidence.ts"
import type { EffectLine } from "../evidence.ts"

type Start = Extract<EffectLine, { kind: "start" }> & Author

/** An older attempt that was at work when the next one of its run began. */
export interface Overlap {
  readonly runId: string
  readonly token: number
  readonly worker: string
  readonly millis: number
  /** What allows it, if anything does. */
  readonly allowedBy: Incident["kind"] | null
}

// A signal that was given is obeyed in the next turns of a busy event loop, and two processes write their lines.
const obeyMillis = 500

/** All of them. */
export const overlapsOf = ({ effects, incidents, lives, bars }: Story): ReadonlyArray<Overlap> => {
  const diedAt = new Map(lives.map(({ pid, to }) => [pid, to]))
  const ends = new Map<string, number>(
    effects.flatMap((line) => (line.kind === "end" ? [[`${line.id} ${line.token}`, line.at] as const] : [])),
  )
  const slack = obeyMillis + bars.slackMillis
  const allows = (
    { kind, from, to, side, worker, pid }: Incident,
    older: Start,
    newAt: number,
    end: number,
  ) => {
    if (kind === "freeze") return pid === older.pid && from <= newAt && end <= to + slack
    if (kind !== "halfOpen" || side !== "server" || worker !== older.worker) return false
    return from <= newAt && end <= from + suspectMillis + graceMillis + slack
  }
  const starts = Map.groupBy(
    effects.filter((line) => line.kind === "start"),
    ({ id }) => id,
  )
  return [...starts.values()].flatMap((lines) =>
    lines.flatMap((older): ReadonlyArray<Overlap> => {
      const newer = lines.find(({ token, at }) => token > older.token && at >= older.at)
      if (newer === undefined) return []
      const { id, token, worker, pid } = older
      const end = ends.get(`${id} ${token}`) ?? diedAt.get(pid) ?? Infinity
      const millis = end - newer.at
      if (millis <= 0) return []
      const allowedBy = incidents.find((incident) => allows(incident, older, newer.at, end))?.kind ?? null
      return [{ runId: id, token, worker, millis, allowedBy }]
    }),
  )
}

/** The promise. */
export const overlapCheck = (story: Story): Verdict => {
  const slack = obeyMillis + story.bars.slackMillis
  const overlaps = overlapsOf(story)
  const bad = overlaps.filter(({ millis, allowedBy }) => allowedBy === null && millis > slack)
  const frozen = overlaps.filter(({ allowedBy }) => allowedBy === "freeze")
  const halfOpen = overlaps.filter(({ allowedBy }) => allowedBy === "halfOpen")
  const most = (some: ReadonlyArray<Overlap>): string =>
    `${some.length}, at most ${Math.round(Math.max(0, ...some.map(({ millis }) => millis)))} ms`
  return {
    name: "a handler that obeys its signal is over when its run begins elsewhere",
    figure:
      `${story.aborts.length} signals; overlaps: of frozen processes ${most(frozen)}; ` +
      `of cuts that only the server saw ${most(halfOpen)}; ` +
      `others ${most(overlaps.filter(({ allowedBy }) => allowedBy === null))}, bar ${slack} ms`,
    violations: bad.map(
      ({ runId, token, worker, millis }) =>
        `run ${runId}: token ${token} was at work in "${worker}" ${millis} ms beside the next attempt`,
    ),
  }
}
