// Judges what a chaos run left behind, offline: each promise by its name, with a figure that says how much it was put to
// the test. Pure, so that a test can plant a violation in the evidence and see it found.
import type { Run } from "../../../core/domain/Run.ts"
import { checkEach } from "../checker.ts"
import type { EffectLine } from "../evidence.ts"
import type { Incident, NodeLine, Output, Story } from "./evidence.ts"
import { recoveriesOf, recoveryCheck } from "./recovery.ts"

/** What became of one promise. */
export interface Verdict {
  readonly name: string
  /** How much there was to look at, and what was found. */
  readonly figure: string
  readonly violations: ReadonlyArray<string>
}

/** Judges everything. */
export const judge = (story: Story): ReadonlyArray<Verdict> => {
  const lateStarts = lateStartsOf(story.effects)
  const own = [
    acknowledged(story),
    seconds(story),
    holders(story),
    oneClaimer(story),
    late(story),
    lateStarters(story, lateStarts),
    recoveryCheck(recoveriesOf(story)),
    stops(story),
  ]
  // A process that was frozen between its claim and its start starts what has long been another's: at least once, as
  // promised, and a check of its own. The others see the starts that count.
  const effects = story.effects.filter((line) => line.kind !== "start" || !lateStarts.includes(line))
  const shared = checkEach({ ...story, effects })
    .filter(({ name }) => name !== lostName)
    .map(({ name, problems }) => ({ name, figure: sizeOf(name, story), violations: problems }))
  return [...own, ...shared]
}

/** Of the shared checks, that which has one of its own. */
export const lostName = "an acknowledged run is never lost"

/** What was acknowledged is there. */
export const acknowledged = ({ ledger, runs }: Pick<Story, "ledger" | "runs">): Verdict => {
  const known = new Set(runs.map(({ id }) => id))
  const acks = ledger.filter(({ kind }) => kind === "ack")
  const lost = acks.filter(({ id }) => !known.has(id))
  return {
    name: lostName,
    figure: `${acks.length} acknowledged, ${lost.length} lost`,
    violations: lost.map(({ id }) => `run ${id} was acknowledged and has no row`),
  }
}

// A pause may come while the last instants are not decided yet.
const openEndMillis = 4000

const seconds = ({ schedules, occurrences, pausedAt }: Story): Verdict => {
  const rowsOf = Map.groupBy(occurrences, ({ scheduleId }) => scheduleId)
  let count = 0
  const violations = schedules.flatMap(({ id, createdAt }) => {
    const rows = (rowsOf.get(id) ?? []).toSorted((a, b) => a.at - b.at)
    const found: Array<string> = []
    // A fixed rate begins with its creation, cron with the next full second.
    let next = createdAt
    for (const row of rows) {
      const { at, lastAt } = row
      if (at < next) found.push(`"${id}" has the second ${at} twice`)
      else if (at >= next + 1000)
        found.push(`"${id}" lacks ${Math.floor((at - next) / 1000)} seconds before ${at}`)
      if (lastAt - at !== (row.count - 1) * 1000)
        found.push(`"${id}" at ${at} counts ${row.count} seconds up to ${lastAt}`)
      if ((row.runId === null) === (row.reason === null))
        found.push(`"${id}" at ${at} has a run and a reason, or neither`)
      if (row.runId !== null && row.count !== 1)
        found.push(`"${id}" at ${at} has one run for ${row.count} seconds`)
      count += row.count
      next = lastAt + 1000
    }
    if (next < pausedAt - openEndMillis) found.push(`"${id}" lacks what is after ${next}`)
    return found
  })
  const none = schedules.length === 0 ? ["there is no schedule to look at"] : []
  return {
    name: "each second of each schedule has exactly one row, with a run or a reason",
    figure: `${schedules.length} schedules, ${count} seconds, ${occurrences.length} rows, ${
      occurrences.filter(({ runId }) => runId !== null).length
    } with a run`,
    violations: [...none, ...violations],
  }
}

const outputOf = ({ output }: Run): Output | null => (output === null ? null : (JSON.parse(output) as Output))

/** What a success brought names the process that held the token, and that process did it. */
export const holders = ({ runs, effects }: Pick<Story, "runs" | "effects">): Verdict => {
  const starts = new Set(effects.flatMap((line) => (line.kind === "start" ? [keyOf(line)] : [])))
  const ends = new Set(effects.flatMap((line) => (line.kind === "end" && line.ok ? [keyOf(line)] : [])))
  const succeeded = runs.filter(({ state }) => state === "succeeded")
  const violations = succeeded.flatMap((run) => {
    const output = outputOf(run)
    if (output === null) return [`run ${run.id} succeeded without an output`]
    if (output.token !== run.token)
      return [`run ${run.id} is at token ${run.token}, and keeps what token ${output.token} brought`]
    const key = keyOf({ id: run.id, ...output })
    return starts.has(key) && ends.has(key)
      ? []
      : [`run ${run.id} succeeded by process ${output.pid}, which did not do it under token ${output.token}`]
  })
  return {
    name: "no stale settlement is accepted: each success is accounted to the holder of the token",
    figure: `${succeeded.length} successes, ${violations.length} not the holder's`,
    violations,
  }
}

/** No two starts have the same token. */
export const oneClaimer = ({ effects }: Pick<Story, "effects">): Verdict => {
  const starts = effects.filter((line) => line.kind === "start")
  const byToken = Map.groupBy(starts, ({ id, token }) => `${id} ${token}`)
  const twice = [...byToken].filter(([, lines]) => lines.length > 1)
  return {
    name: "a token is given once: no two starts have the same",
    figure: `${starts.length} starts, ${byToken.size} tokens`,
    violations: twice.map(
      ([key, lines]) =>
        `run ${key} was started ${lines.length} times, by ${lines.map(({ pid }) => pid).join()}`,
    ),
  }
}

/** Ends of handlers that came after their run had been taken from them. */
const late = (story: Story): Verdict => {
  const { effects, attempts, refused, runs, incidents } = story
  const lost = new Map(
    attempts
      .filter(({ error }) => error.kind === "lost")
      .map(({ runId, token, endedAt }) => [`${runId} ${token}`, endedAt]),
  )
  const lateEnds = effects.filter(
    (line) => line.kind === "end" && line.ok && (lost.get(`${line.id} ${line.token}`) ?? Infinity) <= line.at,
  )
  const current = new Map(runs.map((run) => [run.id, run]))
  const accepted = lateEnds.filter(({ id, token, pid }) => {
    const run = current.get(id)
    const output = run === undefined ? null : outputOf(run)
    return output !== null && output.token === token && output.pid === pid
  })
  const frozen = new Set(incidents.flatMap(({ kind, pid }) => (kind === "freeze" ? [pid] : [])))
  const ofFrozen = (lines: ReadonlyArray<{ readonly pid: number }>): number =>
    lines.filter(({ pid }) => frozen.has(pid)).length
  const freezes = incidents.filter(({ kind }) => kind === "freeze").length
  // With few there may have been nothing in hand.
  const isUnproven = freezes >= freezesToProve && ofFrozen(refused) === 0
  return {
    name: "late settlements are refused",
    figure:
      `${lateEnds.length} handlers ended after their run was another's (${ofFrozen(lateEnds)} in frozen processes); ` +
      `${refused.length} of such outcomes were sent and refused (${ofFrozen(refused)} by frozen ones), ` +
      `${accepted.length} accepted`,
    violations: [
      ...accepted.map(({ id, token }) => `run ${id}: the late outcome of token ${token} was accepted`),
      ...(isUnproven ? [`${freezes} freezes, and no late settlement that could have been refused`] : []),
    ],
  }
}

const freezesToProve = 4

/** Starts under a token when a newer one had been started already. */
export const lateStartsOf = <Line extends NodeLine>(
  effects: ReadonlyArray<Line>,
): ReadonlyArray<Line & Extract<EffectLine, { kind: "start" }>> => {
  const newest = new Map<string, number>()
  return effects.filter((line): line is Line & Extract<EffectLine, { kind: "start" }> => {
    if (line.kind !== "start") return false
    const isLate = line.token < (newest.get(line.id) ?? 0)
    if (!isLate) newest.set(line.id, line.token)
    return isLate
  })
}

// How long after it an incident may still show: an answer that was on its way, and the lease that ended of it.
const afterMillis = 10_000

const lateStarters = ({ incidents }: Story, lateStarts: ReadonlyArray<NodeLine>): Verdict => {
  const explains = ({ kind, pid, from, to }: Incident, line: NodeLine): boolean =>
    (kind === "database" || (pid === line.pid && kind !== "kill")) &&
    from <= line.at &&
    line.at <= to + afterMillis
  return {
    name: "only a node that was held up starts what is another's by now",
    figure: `${lateStarts.length} late starts`,
    violations: lateStarts
      .filter((line) => !incidents.some((incident) => explains(incident, line)))
      .map(
        ({ id, token, pid }) =>
          `run ${id} was started late with token ${token} by process ${pid}, for no reason`,
      ),
  }
}

const stops = ({ badStops }: Story): Verdict => ({
  name: "a node ends when it is asked to, with 0, and never by itself",
  figure: `${badStops.length} did not`,
  violations: badStops,
})

const keyOf = ({ id, token, pid }: { readonly id: string } & Output): string => `${id} ${token} ${pid}`

const sizeOf = (name: string, { runs, schedules, letters, attempts, effects, counts }: Story): string => {
  if (/letter/.test(name)) return `${letters.length} letters`
  if (/early|tokens/.test(name)) return `${effects.filter(({ kind }) => kind === "start").length} starts`
  if (/error/.test(name)) return `${attempts.length} failed or lost attempts of ${runs.length} runs`
  if (/counts/.test(name)) return `${counts.length} counts`
  if (/instant/.test(name))
    return `${schedules.filter(({ trigger }) => trigger.kind === "every").length} fixed rates`
  if (/overlap/.test(name))
    return `${schedules.filter(({ overlap }) => overlap !== "allow").length} schedules`
  return `${runs.length} runs`
}
