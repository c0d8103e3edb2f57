// Why no worker takes a run that is ready: the first thing that all of those that are connected lack, in words. Pure: it
// reads what the nodes told of their workers, and decides nothing.
import { quote } from "../domain/TimeSpan.ts"
import { type Labels, type Miss, misses } from "./LabelRule.ts"
import { type CompiledPlacement, labelsOf } from "./Placement.ts"
import type { WorkerReport } from "./WorkerReport.ts"
import type { WorkerView } from "./WorkerView.ts"

/** The answer; both without a full stop at the reason's end, and starting in lower case. */
export interface WhyWaits {
  readonly why: string
  /** What to do next, as one sentence. */
  readonly next: string
}

/** Workers that are named one by one. */
const namedMax = 3

/**
 * Why no worker takes a run of this job and queue, by the reports of all nodes that are alive and serve workers; `null` when
 * one that fits has room. `placement` is the job's, `null` where any worker will do.
 */
export const whyWaits = (
  { job, queue }: { readonly job: string; readonly queue: string },
  placement: CompiledPlacement | null,
  reports: ReadonlyArray<WorkerReport>,
): WhyWaits | null => {
  const workers = reports.flatMap((report) => report.workers)
  const leftOut = sum(reports, (report) => report.leftOut)
  const rest = leftOut === 0 ? "" : `; of ${leftOut} more workers nothing is told here`
  const answer = (why: string, next: string): WhyWaits => ({ why: `${why}${rest}`, next })
  if (reports.length === 0)
    return answer("no engine that is running serves workers", "Start one that does: uhrwerk serve")
  if (workers.length === 0)
    return answer("no worker is connected", "Start one that has a handler for it: uhrwerk worker")
  const able = workers.filter(({ jobs, unable }) => jobs.includes(job) && !unable.includes(job))
  if (able.length === 0) return answer(...withoutHandler(job, workers))
  const takers = able.filter(({ queues }) => queues === null || queues.includes(queue))
  if (takers.length === 0) {
    const [{ name, queues }] = able as [WorkerView]
    return answer(
      `no worker that has job ${quote(job)} takes runs of queue ${quote(queue)}: ${quote(name)} takes ${listed(queues ?? [])}`,
      "Start one that takes this queue, with a token that allows it, or send to another queue.",
    )
  }
  const fitting = takers.filter((view) => missesOf(placement, view).length === 0)
  if (fitting.length === 0) return answer(...withoutMatch(job, placement, takers))
  const alive = fitting.filter(({ status }) => status === "alive")
  if (alive.length === 0) {
    const each = fitting.map(({ name, status }) => `${quote(name)} is ${statusWords[status]}`)
    return answer(
      `no worker that fits takes runs now: ${named(each)}`,
      "What is connected: uhrwerk worker list",
    )
  }
  const room = ({ slots, prefetch, inHand }: WorkerView): number => slots + prefetch - inHand
  if (alive.some((view) => room(view) > 0)) return null
  const slots = sum(alive, (view) => view.slots)
  const inHand = sum(alive, (view) => view.inHand)
  const who =
    alive.length === 1 ? "the only worker that fits has" : `all ${alive.length} workers that fit have`
  return answer(
    `${who} no room: ${count(inHand, "run")} in hand, ${count(slots, "slot")}`,
    "What runs: uhrwerk run list --state running",
  )
}

const statusWords = {
  alive: "alive",
  suspect: "silent",
  draining: "about to leave",
  cut: "cut off",
} as const satisfies Record<WorkerView["status"], string>

const withoutHandler = (job: string, workers: ReadonlyArray<WorkerView>): [why: string, next: string] => {
  const names = named(workers.map(({ name }) => quote(name)))
  const isAre = workers.length === 1 ? "is" : "are"
  const announced = workers.find(({ unable }) => unable.includes(job))
  const but = announced === undefined ? "" : `; ${quote(announced.name)} announced it, and then had none`
  return [
    `no connected worker has a handler for job ${quote(job)} (connected ${isAre} ${names}${but})`,
    "Start one that has a handler of this name: uhrwerk worker",
  ]
}

const withoutMatch = (
  job: string,
  placement: CompiledPlacement | null,
  takers: ReadonlyArray<WorkerView>,
): [why: string, next: string] => {
  const text = placement?.rule?.text ?? ""
  const next = "What is connected, with labels and versions: uhrwerk worker list"
  const who = takers.length === 1 ? "the only worker" : `none of the ${takers.length} workers`
  const verb = takers.length === 1 ? " does not match" : " matches"
  // The one that lacks least; of several, the first.
  const lacks = takers.map((view) => ({ view, missed: missesOf(placement, view) }))
  const nearest = lacks.reduce((best, each) => (each.missed.length < best.missed.length ? each : best))
  const why = `${who} that ${takers.length === 1 ? "has" : "have"} job ${quote(job)}${verb} \`${text}\``
  const isVersion = nearest.missed.every(({ names }) => names.length === 1 && names[0] === "version")
  if (isVersion) {
    const asked = nearest.missed.map((each) => each.text).join(" and ")
    const versions = [...new Set(takers.map(({ version }) => quote(version)))]
    return [
      `${why}: \`${asked}\` is asked for, and there ${versions.length === 1 ? "is" : "are"} ${named(versions)}`,
      next,
    ]
  }
  const labels = labelsOf(nearest.view)
  const missed = nearest.missed.map((each) => `\`${each.text}\` (${valuesOf(each, labels)})`).join(", ")
  const comes =
    takers.length === 1 ? quote(nearest.view.name) : `${quote(nearest.view.name)} comes nearest, and`
  return [`${why}: ${comes} lacks ${missed}`, next]
}

const missesOf = (placement: CompiledPlacement | null, view: WorkerView): ReadonlyArray<Miss> =>
  placement === null || placement.rule === null ? [] : misses(placement.rule, labelsOf(view))

const valuesOf = ({ names }: Miss, labels: Labels): string =>
  names
    .map((name) => {
      if (!Object.hasOwn(labels, name)) return `no label ${name}`
      const label = labels[name]
      return `${name} is ${typeof label === "string" ? quote(label) : String(label)}`
    })
    .join(", ")

const listed = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "none" : named(names.map((name) => quote(name)))

const named = (items: ReadonlyArray<string>): string => {
  const more = items.length - namedMax
  return `${items.slice(0, namedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const sum = <A>(items: ReadonlyArray<A>, of: (item: A) => number): number =>
  items.reduce((total, item) => total + of(item), 0)
