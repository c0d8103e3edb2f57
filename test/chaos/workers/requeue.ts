// How soon what a worker had begun was taken back after its socket was closed, or after it had fallen silent: measured
// from what was done to it to the row of the lost attempt. The promise is about workers of a server that is well, so a
// fault counts into whose window no fault of the server reaches; the others have only to be right.
import type { Verdict } from "../postgres/checks.ts"
import type { Incident, Story } from "./evidence.ts"
import { isOfServer } from "./plan.ts"

/** What a fault is to the server. */
export type Cause = "closed" | "silent"

/** One attempt that was under way when a fault met its worker. */
export interface Requeue {
  readonly cause: Cause
  readonly runId: string
  readonly token: number
  readonly kind: Incident["kind"]
  /** From the fault to the row of the loss; `null`: there is none. */
  readonly takenMillis: number | null
  /** From the fault to the next start of the run; `null`: none came. */
  readonly startedMillis: number | null
  /** Whether the server was well meanwhile. */
  readonly counts: boolean
}

// A cut that is over sooner is one that the worker may come back from with its runs in hand.
const cutMillisMin = 1200
// Silence that is over sooner may have no consequence.
const silentMillisMin = 16_500
// Before this a start may not have been acknowledged: then it costs no attempt, and leaves no row.
const acknowledgedMillis = 250
/** How long after a fault of the server its workers may take to come back to it. */
export const comingBackMillis = 10_000

/** What the server must notice of it, if anything. */
export const causeOf = ({ kind, from, to, way, side }: Incident): Cause | null => {
  const millis = to - from
  if (kind === "killWorker") return "closed"
  if (kind === "cut") return millis >= cutMillisMin ? "closed" : null
  if (kind === "halfOpen") return side === "server" ? "closed" : null
  const isUnheard = kind === "freeze" || kind === "blackHole" || (kind === "oneWay" && way === "toServer")
  return isUnheard && millis >= silentMillisMin ? "silent" : null
}

/** All attempts that a fault took from a worker. */
export const requeuesOf = ({ incidents, effects, attempts, runs, bars }: Story): ReadonlyArray<Requeue> => {
  const lost = new Map<string, number>(
    attempts
      .filter(({ error }) => error.kind === "lost")
      .map(({ runId, token, endedAt }) => [`${runId} ${token}`, endedAt] as const),
  )
  const ends = new Map<string, number>(
    effects.flatMap((line) => (line.kind === "end" ? [[`${line.id} ${line.token}`, line.at] as const] : [])),
  )
  const starts = effects.filter((line) => line.kind === "start")
  const startsOf = Map.groupBy(starts, ({ id }) => id)
  const rows = new Map(runs.map((run) => [run.id, run]))
  return incidents.flatMap((incident) => {
    const cause = causeOf(incident)
    if (cause === null) return []
    const { kind, from, pid } = incident
    const bar = cause === "closed" ? bars.closedMillis : bars.silentMillis
    const counts = !incidents.some(
      (other) =>
        isOfServer(other.kind) && other.from < from + bar + 1000 && other.to + comingBackMillis > from,
    )
    return starts.flatMap((line): ReadonlyArray<Requeue> => {
      const key = `${line.id} ${line.token}`
      const wasUnderWay =
        line.pid === pid && line.at < from - acknowledgedMillis && (ends.get(key) ?? Infinity) > from
      const lostAt = lost.get(key)
      // What an earlier fault had taken already, or the server's own decision, is not of this one.
      if (!wasUnderWay || (lostAt !== undefined && lostAt < from)) return []
      const row = rows.get(line.id)
      if (row?.endedAt != null && row.endedAt < from) return []
      const next = startsOf.get(line.id)?.find(({ token }) => token > line.token)
      return [
        {
          cause,
          runId: line.id,
          token: line.token,
          kind,
          takenMillis: lostAt === undefined ? null : lostAt - from,
          startedMillis: next === undefined ? null : next.at - from,
          counts,
        },
      ]
    })
  })
}

/** The promise for one cause. */
export const requeueCheck = (story: Story, cause: Cause): Verdict => {
  const { closedMillis, silentMillis, slackMillis } = story.bars
  const bar = (cause === "closed" ? closedMillis : silentMillis) + slackMillis
  const all = requeuesOf(story).filter((each) => each.cause === cause)
  const counted = all.filter(({ counts }) => counts)
  const faults = story.incidents.filter((incident) => causeOf(incident) === cause).length
  const what = cause === "closed" ? "a closed socket" : "silence"
  return {
    name: `what a worker had begun is taken back in time after ${what}`,
    figure:
      `${faults} faults, ${counted.length} attempts: ${spreadOf(counted)}, bar ${bar} ms; ` +
      `${all.length - counted.length} beside a fault of the server: ${spreadOf(all.filter((each) => !each.counts))}`,
    violations: counted.flatMap(({ runId, token, kind, takenMillis }) => {
      if (takenMillis === null) return [`run ${runId}, token ${token}, was not taken back after a ${kind}`]
      return takenMillis > bar
        ? [`run ${runId}, token ${token}, was taken back ${takenMillis} ms after a ${kind}`]
        : []
    }),
  }
}

/** In words: the middle one and the longest, to the row of the loss and to the next start. */
const spreadOf = (requeues: ReadonlyArray<Requeue>): string => {
  if (requeues.length === 0) return "none"
  const [taken, started] = (["takenMillis", "startedMillis"] as const).map((name) => {
    const sorted = requeues.flatMap((each) => each[name] ?? []).toSorted((a, b) => a - b)
    if (sorted.length === 0) return "never"
    return `p50 ${sorted[Math.floor((sorted.length - 1) / 2)]} ms, max ${sorted.at(-1)} ms`
  })
  return `taken back ${taken} (started again ${started})`
}

/** Nothing is taken from a worker that nothing was done to. */
export const unexplainedCheck = ({ attempts, effects, incidents }: Story): Verdict => {
  const authors = new Map<string, { readonly worker: string }>(
    effects.flatMap((line) => (line.kind === "start" ? [[`${line.id} ${line.token}`, line]] : [])),
  )
  // A silence shows after 15 s, and a server that was lost within its lease and the time of its start.
  const showsMillis = 20_000
  const losses = attempts.filter(({ error }) => error.kind === "lost")
  const unexplained = losses.filter(({ runId, token, endedAt }) => {
    const worker = authors.get(`${runId} ${token}`)?.worker
    return !incidents.some(
      (incident) =>
        (isOfServer(incident.kind) || worker === undefined || incident.worker === worker) &&
        incident.from <= endedAt &&
        endedAt <= incident.to + showsMillis,
    )
  })
  return {
    name: "nothing is taken from a worker that nothing was done to",
    figure: `${losses.length} lost attempts, ${unexplained.length} without a reason`,
    violations: unexplained.map(
      ({ runId, token, error }) => `run ${runId}, token ${token}, was lost for no reason: ${error.message}`,
    ),
  }
}
