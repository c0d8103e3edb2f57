// What is said of a chaos run with workers: how much was done, what was done to it, each check with its figure, and of a
// violation the whole history of its run.
import type { Verdict } from "../postgres/checks.ts"
import type { Story } from "./evidence.ts"
import { type FaultKind, faultKinds } from "./plan.ts"

/** Everything about one chaos run; plain data. */
export interface Report {
  readonly seed: number
  readonly seconds: number
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  readonly size: Readonly<
    Record<"acknowledged" | "runs" | "starts" | "lost" | "lostUnbegun" | "letters" | "signals", number>
  >
  /** How many starts each worker had its part in, with its runtimes: nobody stood idle. */
  readonly shares: Readonly<Record<string, number>>
  readonly checks: ReadonlyArray<Verdict>
  /** By run id, of each that a violation names. */
  readonly histories: Readonly<Record<string, ReadonlyArray<string>>>
}

const historiesMax = 5

/** Puts it together. */
export const reportOf = (story: Story, rest: Pick<Report, "seed" | "seconds" | "checks">): Report => {
  const faults: Partial<Record<FaultKind, number>> = {}
  for (const { kind } of story.incidents) faults[kind] = (faults[kind] ?? 0) + 1
  return {
    ...rest,
    faults,
    size: {
      acknowledged: story.ledger.filter(({ kind }) => kind === "ack").length,
      runs: story.runs.length,
      starts: story.effects.filter(({ kind }) => kind === "start").length,
      lost: story.attempts.filter(({ error }) => error.kind === "lost").length,
      lostUnbegun: story.runs.reduce((sum, { losses }) => sum + losses, 0),
      letters: story.letters.length,
      signals: story.aborts.length,
    },
    shares: sharesOf(story),
    histories: Object.fromEntries(
      idsIn(rest.checks.flatMap(({ violations }) => violations)).map((id) => [id, historyOf(story, id)]),
    ),
  }
}

/** As text, for people. */
export const textOf = ({ seed, seconds, faults, size, shares, checks, histories }: Report): string => {
  const total = Object.values(faults).reduce((sum, count) => sum + count, 0)
  const kinds = faultKinds.map((kind) => `${kind} ${faults[kind] ?? 0}`).join(", ")
  const bad = checks.flatMap(({ violations }) => violations).length
  const listOf = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ")
  return [
    `seed ${seed}, ${seconds.toFixed(0)} s, ${total} faults: ${kinds}`,
    listOf(size),
    `starts: ${listOf(shares)}`,
    ...checks.flatMap(({ name, figure, violations }) => [
      `${violations.length === 0 ? "ok  " : "FAIL"} ${name}: ${figure}`,
      ...violations.slice(0, 10).map((violation) => `       ${violation}`),
      ...(violations.length > 10 ? [`       and ${violations.length - 10} more`] : []),
    ]),
    ...Object.entries(histories).flatMap(([id, lines]) => [
      `history of run ${id}`,
      ...lines.map((line) => `  ${line}`),
    ]),
    `${bad} violations`,
  ].join("\n")
}

const sharesOf = ({ effects, lives }: Story): Readonly<Record<string, number>> => {
  const shares = new Map<string, number>()
  const runtimes = new Map(lives.map(({ worker, runtime }) => [worker, runtime]))
  for (const { kind, worker } of effects) {
    const name = `${worker} (${runtimes.get(worker) ?? "unknown"})`
    if (kind === "start") shares.set(name, (shares.get(name) ?? 0) + 1)
  }
  return Object.fromEntries([...shares].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const idsIn = (violations: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = violations.flatMap((text) => /\b[0-9a-f]{8}-[0-9a-f-]{27}\b/.exec(text)?.[0] ?? [])
  return [...new Set(found)].slice(0, historiesMax)
}

/** All that is known of one run, in the order of time. */
const historyOf = (story: Story, id: string): ReadonlyArray<string> => {
  const timed: Array<readonly [at: number, what: string]> = []
  for (const line of story.effects) {
    if (line.id !== id) continue
    const { kind, worker, pid, token, at } = line
    const how = line.kind === "start" ? `attempt ${line.attempt}` : line.ok ? "well" : "badly"
    timed.push([at, `${kind} in "${worker}", process ${pid}, token ${token}, ${how}`])
  }
  for (const { id: of, worker, token, at } of story.aborts)
    if (of === id) timed.push([at, `signal in "${worker}", token ${token}`])
  for (const { runId, token, endedAt, error, attempt } of story.attempts)
    if (runId === id)
      timed.push([endedAt, `attempt ${attempt}, token ${token}, recorded as ${error.kind}: ${error.message}`])
  for (const { from, to, what } of story.incidents) timed.push([from, `until ${timeOf(to)}: ${what}`])
  const row = story.runs.find((run) => run.id === id)
  const [first = 0, last = Infinity] =
    row === undefined ? [] : [row.createdAt - 20_000, row.endedAt ?? Infinity]
  return [
    row === undefined ? "no row" : JSON.stringify(row),
    ...story.ledger.filter((line) => line.id === id).map((line) => `client: ${JSON.stringify(line)}`),
    ...timed
      .filter(([at]) => at >= first && at <= last + 20_000)
      .toSorted(([a], [b]) => a - b)
      .map(([at, what]) => `${timeOf(at)}  ${what}`),
  ]
}

const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23)
