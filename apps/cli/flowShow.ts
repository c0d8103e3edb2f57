// `uhrwerk flow show RUN`: where the steps of a flow run stand, what they wait for, and what took longest.
import type { Run } from "../../core/domain/Run.ts"
import { flowStepMax } from "../../core/domain/Flow.ts"
import { type DrawState, marks } from "../../core/flow/Draw.ts"
import { labelOf } from "../../core/flow/Labels.ts"
import { criticalPath } from "../../core/flow/Summary.ts"
import type { FlowView, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { explainRun } from "./explain.ts"
import { countsOf, countsText, findFlow, readFlow, type ShownFlow, type StepRow, whyNot } from "./flowView.ts"
import { dateOf, isTable, plain, printFields, printRows, spanOf } from "./format.ts"
import { type Command, countOf, type Flags, only, storeCommand } from "./open.ts"

const stepsShown = 100

/** The command. */
export const flowShow: Command = storeCommand(
  "flow show RUN [--open] [--limit N]",
  "every step: state, why, how long; with --open what is at work, failed or waits first",
  async (store, args, flags) => {
    const id = only(args, "flow run's id")
    const limit = countOf("--limit", flags.limit, stepsShown, flowStepMax)
    const { run, view } = await findFlow(store, id)
    const { why, next } = await explainRun(store, run, flags)
    if (view === null) return showUnbegun(run, why, flags)
    const flow = await readFlow(store, view)
    const ordered = flags.open === true ? openFirst(flow.rows) : flow.rows
    const rows = await withItems(store, ordered.slice(0, limit))
    const more = ordered.length - rows.length
    if (isTable(flags)) {
      printFields(fieldsOf(flow, why))
      if (rows.length > 0) console.log("")
      if (rows.length > 0) printRows({}, rows, columns)
      if (more > 0) console.log(`+${more} more: ${countsText(ordered.slice(limit)).replace(/^\d+: /, "")}`)
    } else printRows(flags, [{ ...valueOf(flow, why), steps: rows, more }], {})
    const hint = flags.open === true ? "" : ", or --open for those at work, failed and waiting first"
    if (more > 0) console.error(`More: --limit N, at most ${flowStepMax}${hint}`)
    if (next !== null) console.error(plain(next))
  },
)

const showUnbegun = (run: Run, why: string, flags: Flags): void => {
  if (!isTable(flags)) return printRows(flags, [{ ...run, why, steps: [], more: 0 }], {})
  printFields({ id: run.id, flow: run.job, state: run.state, why: plain(why, 2000), steps: "none yet" })
  console.error(`A flow run gets its steps when an engine begins it. ${whyNot(run.id)}`)
}

const columns = {
  "": (row: StepRow) => marks[row.state],
  step: (row: StepRow) => labelOf(row.id, 40),
  state: (row: StepRow) => row.state,
  attempt: (row: StepRow) => (row.attempt === null ? "-" : `${row.attempt}/${row.attemptMax}`),
  took: (row: StepRow) =>
    row.millis === null ? "-" : `${spanOf(row.millis)}${row.endedAt === null ? " so far" : ""}`,
  run: (row: StepRow) => row.runId ?? "-",
  reason: (row: StepRow) => row.reason ?? "",
}

const fieldsOf = ({ view, graph, rows }: ShownFlow, why: string): Readonly<Record<string, string>> => {
  const { run, expansion, round, deadlineAt } = view
  const path = criticalPath(
    graph,
    rows.map(({ millis }) => millis),
  )
  return {
    id: run.id,
    ...(expansion.kind === "flow"
      ? { flow: `${expansion.definition.name}, version ${expansion.definition.version}` }
      : { list: run.job }),
    state: run.state,
    why: plain(why, 2000),
    ...(run.parentId === null ? {} : { "part of": `run ${run.parentId}` }),
    ...(run.replayOf === null ? {} : { "re-run of": run.replayOf }),
    ...(run.scheduleId === null ? {} : { schedule: `${run.scheduleId}, for ${dateOf(run.nominalAt)}` }),
    input: plain((expansion.input === undefined ? run.input : expansion.input) ?? "-", 500),
    started: dateOf(run.startedAt),
    ...(run.endedAt === null
      ? {}
      : { ended: `${dateOf(run.endedAt)} (took ${spanOf(run.endedAt - (run.startedAt ?? run.createdAt))})` }),
    ...(deadlineAt === null || run.endedAt !== null ? {} : { "time limit": `until ${dateOf(deadlineAt)}` }),
    ...(run.output === null ? {} : { output: plain(run.output, 500) }),
    ...(round > 1 ? { round: `${round}: what had failed ran again` } : {}),
    [expansion.kind === "flow" ? "steps" : "items"]: countsText(rows),
    ...(path.steps.length === 0 || expansion.kind === "map" ? {} : { "critical path": pathText(path, rows) }),
  }
}

// The ends of a long chain say more than its first steps.
const pathMax = 10

const pathText = (path: ReturnType<typeof criticalPath>, rows: ReadonlyArray<StepRow>): string => {
  const names = path.steps.map((step) => {
    const { id, millis } = rows[step] as StepRow
    return `${labelOf(id, 40)}${millis === null ? "" : ` ${spanOf(millis)}`}`
  })
  const hidden = names.length - pathMax
  const shown =
    hidden <= 0
      ? names
      : [...names.slice(0, pathMax / 2), `... ${hidden} more ...`, ...names.slice(-pathMax / 2)]
  return `${spanOf(path.millis)}: ${shown.join(" -> ")}`
}

const valueOf = ({ view, graph, rows }: ShownFlow, why: string): object => {
  const path = criticalPath(
    graph,
    rows.map(({ millis }) => millis),
  )
  const definition = view.expansion.kind === "flow" ? view.expansion.definition : null
  return {
    ...view.run,
    why,
    flow: definition?.name ?? null,
    version: definition?.version ?? null,
    round: view.round,
    deadlineAt: view.deadlineAt,
    counts: countsOf(rows),
    criticalPath: { steps: path.steps.map((step) => rows[step]?.id), millis: path.millis },
  }
}

/** What is at work, what failed, what waits, and the rest; each in its own order. */
const openFirst = (rows: ReadonlyArray<StepRow>): ReadonlyArray<StepRow> =>
  rows.toSorted((a, b) => urgency(a.state) - urgency(b.state))

const urgency = (state: DrawState): number => {
  const place = urgent.findIndex((states) => states.includes(state))
  return place === -1 ? urgent.length : place
}

// Thousands may wait, or not run, because one failed.
const urgent: ReadonlyArray<ReadonlyArray<DrawState>> = [
  ["running", "retrying"],
  ["ready", "scheduled", "released"],
  ["failed"],
  ["blocked"],
  ["upstream_failed"],
]

/** The rows, those that have steps or items of their own with a summary of these. */
const withItems = async (
  store: StoreDriver,
  rows: ReadonlyArray<StepRow>,
): Promise<ReadonlyArray<StepRow>> => {
  const found: Array<StepRow> = []
  for (const row of rows) {
    const view = row.runId === null ? null : await store.flowOf(row.runId)
    found.push(view === null ? row : { ...row, reason: summaryOf(view, row.reason) })
  }
  return found
}

const summaryOf = (view: FlowView, reason: string | null): string => {
  const { expansion, steps } = view
  const text = countsText(steps).replace(/^\d+/, (count) =>
    expansion.kind === "flow" ? `flow ${expansion.definition.name}, ${count} steps` : `${count} items`,
  )
  return reason === null ? text : `${text}; ${reason}`
}
