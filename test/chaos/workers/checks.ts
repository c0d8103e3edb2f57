// Judges what a chaos run with workers left behind, offline: each promise by its name, with a figure that says how much
// it was put to the test. Pure, so that a test can plant a violation in the evidence and see it found.
import { checkEach } from "../checker.ts"
import {
  acknowledged,
  holders,
  lateStartsOf,
  lostName,
  oneClaimer,
  type Verdict,
} from "../postgres/checks.ts"
import type { Incident, Story } from "./evidence.ts"
import { overlapCheck } from "./overlap.ts"
import { workerCount } from "./plan.ts"
import { requeueCheck, unexplainedCheck } from "./requeue.ts"

/** Judges everything. */
export const judge = (story: Story): ReadonlyArray<Verdict> => {
  const lateStarts = lateStartsOf(story.effects)
  const own = [
    acknowledged(story),
    holders(story),
    failures(story),
    oneClaimer(story),
    late(story),
    lateStarters(story),
    requeueCheck(story, "closed"),
    requeueCheck(story, "silent"),
    unexplainedCheck(story),
    overlapCheck(story),
    slots(story),
    quiet(story),
    memory(story),
    stops(story),
  ]
  // What a process that was held up starts late has a check of its own; the others see the starts that count.
  const effects = story.effects.filter((line) => line.kind !== "start" || !lateStarts.includes(line))
  const shared = checkEach({ ...story, effects })
    .filter(({ name }) => name !== lostName && !isOfSchedules.test(name))
    .map(({ name, problems }) => ({ name, figure: sizeOf(name, story), violations: problems }))
  return [...own, ...shared]
}

// Nothing here has a schedule or needs another run.
const isOfSchedules = /instant|schedule|occurrence|dependent/

/** What handlers that fail on purpose say: the token that they had. */
export const failureText = (what: string, token: number): string => `${what} (token ${token})`

const failures = ({ attempts }: Story): Verdict => {
  const told = attempts.flatMap(({ runId, token, error }) => {
    const named = /\(token (\d+)\)$/.exec(error.message)?.[1]
    return named === undefined ? [] : [{ runId, token, named: Number(named) }]
  })
  const bad = told.filter(({ token, named }) => token !== named)
  return {
    name: "no stale failure is accepted: each is accounted to the holder of the token",
    figure: `${told.length} failures, ${bad.length} not the holder's`,
    violations: bad.map(
      ({ runId, token, named }) =>
        `run ${runId}: the failure of token ${named} is accounted to token ${token}`,
    ),
  }
}

/** Ends of handlers that came when a newer attempt had begun already. */
const late = ({ effects, runs }: Story): Verdict => {
  const current = new Map(runs.map((run) => [run.id, run]))
  const starts = Map.groupBy(
    effects.filter((line) => line.kind === "start"),
    ({ id }) => id,
  )
  const lateEnds = effects.filter(
    (line) =>
      line.kind === "end" &&
      line.ok &&
      starts.get(line.id)?.some(({ token, at }) => token > line.token && at <= line.at),
  )
  const accepted = lateEnds.filter(({ id, token, pid }) => {
    const output = current.get(id)?.output ?? null
    if (output === null) return false
    const said = JSON.parse(output) as { readonly token: number; readonly pid: number }
    return said.token === token && said.pid === pid
  })
  return {
    name: "late outcomes are refused",
    figure: `${lateEnds.length} handlers ended well after their run had begun elsewhere, ${accepted.length} accepted`,
    violations: accepted.map(({ id, token }) => `run ${id}: the late outcome of token ${token} was accepted`),
  }
}

// How long after it an incident may still show: an assignment that was on its way.
const afterMillis = 2000

const lateStarters = ({ effects, incidents }: Story): Verdict => {
  const lateStarts = lateStartsOf(effects)
  const explains = ({ kind, worker, from, to }: Incident, line: (typeof lateStarts)[number]): boolean =>
    worker === line.worker && kind !== "killWorker" && from <= line.at && line.at <= to + afterMillis
  return {
    name: "only a worker that was held up begins what is another's by now",
    figure: `${lateStarts.length} late starts`,
    violations: lateStarts
      .filter((line) => !incidents.some((incident) => explains(incident, line)))
      .map(
        ({ id, token, worker }) =>
          `run ${id} was begun late with token ${token} by "${worker}", for no reason`,
      ),
  }
}

/** The most runs of the probe that were at work at once. */
export const mostAtOnce = ({ effects, probe }: Pick<Story, "effects" | "probe">): number => {
  const ids = new Set(probe.ids)
  const open = new Set<string>()
  let most = 0
  for (const line of effects) {
    if (!ids.has(line.id)) continue
    if (line.kind === "start") open.add(line.id)
    else open.delete(line.id)
    most = Math.max(most, open.size)
  }
  return most
}

const slots = (story: Story): Verdict => {
  const most = mostAtOnce(story)
  const { slots: all } = story.probe
  return {
    name: "every slot is there again after the faults",
    figure: `${most} of ${all} taken at once`,
    violations: most === all ? [] : [`${most} of ${all} slots could be taken at once`],
  }
}

const quiet = ({ workers, runs, probe }: Story): Verdict => {
  const alive = workers.filter(({ status }) => status === "alive")
  const running = runs.filter(({ state }) => state === "running").length
  const busy = workers.filter(({ inHand }) => inHand > 0)
  const offered = alive.reduce((sum, worker) => sum + worker.slots, 0)
  return {
    name: "everything is quiet at the end",
    figure: `${alive.length} of ${workerCount} workers alive with ${offered} slots, ${running} running, ${busy.length} with runs in hand`,
    violations: [
      ...(workers.length === workerCount && alive.length === workerCount
        ? []
        : [`${alive.length} of ${workers.length} workers are alive, there should be ${workerCount}`]),
      ...(offered === probe.slots ? [] : [`the workers offer ${offered} of ${probe.slots} slots`]),
      ...(running === 0 ? [] : [`${running} runs are running`]),
      ...busy.map(({ name, inHand }) => `"${name}" has ${inHand} runs in hand`),
    ],
  }
}

// Far above what a server of this size needs, far below what a leak of a few kilobytes a run or frame would take in the end.
const memoryMibMax = 400

const memory = ({ memory: lives }: Story): Verdict => {
  const most = Math.max(0, ...lives.map((life) => life.most))
  const growth = Math.max(0, ...lives.map(({ first, last }) => last - first))
  return {
    name: "the server's memory is bounded",
    figure: `${lives.length} processes of the server, at most ${Math.round(most)} MiB, grown by at most ${Math.round(growth)} MiB`,
    violations: [
      ...(lives.length === 0 ? ["nobody looked at it"] : []),
      ...(most <= memoryMibMax ? [] : [`a server took ${Math.round(most)} MiB`]),
    ],
  }
}

const stops = ({ badStops }: Story): Verdict => ({
  name: "a process ends when it is asked to, with 0, and never by itself",
  figure: `${badStops.length} did not`,
  violations: badStops,
})

const sizeOf = (name: string, { runs, letters, attempts, effects, counts }: Story): string => {
  if (/letter/.test(name)) return `${letters.length} letters`
  if (/early|tokens/.test(name)) return `${effects.filter(({ kind }) => kind === "start").length} starts`
  if (/error/.test(name)) return `${attempts.length} failed or lost attempts of ${runs.length} runs`
  return /counts/.test(name) ? `${counts.length} counts` : `${runs.length} runs`
}
