// `uhrwerk flow ...`: what flows there are, how they look, and starting one. `show` and what is done by hand have
// files of their own.
import * as Result from "effect/Result"
import { NotFound } from "../../core/domain/Errors.ts"
import { isRunId } from "../../core/domain/Ids.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { ascii, dot, type DrawState, mermaid } from "../../core/flow/Draw.ts"
import { type Graph, parseGraph } from "../../core/flow/Graph.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { newRuns } from "../../core/run/Enqueue.ts"
import { checkConfig, type Project } from "../sdk/config.ts"
import { checkInput } from "../sdk/input.ts"
import { graphSteps } from "../sdk/stepRows.ts"
import { UsageError } from "./errors.ts"
import { flowHands, newId, whatNext } from "./flowHands.ts"
import { flowShow } from "./flowShow.ts"
import { findBegun, readFlow } from "./flowView.ts"
import { dateOf, isTable, printAnswer, printRows } from "./format.ts"
import { type JobLine, jobLines, least, totalOf, triggerText } from "./jobs.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, countOf, type Flags, jsonOf, none, only, storeCommand } from "./open.ts"

interface FlowLine extends JobLine {
  readonly steps: number | null
  readonly version: string | null
  readonly last: Pick<Run, "id" | "state"> | null
}

/** The commands by their words. */
export const flowCommands: Readonly<Record<string, Command>> = {
  "flow list": storeCommand(
    "flow list",
    "flows with their schedules, counts and last runs",
    async (store, args, flags) => {
      none(args)
      const { flows, lines } = await jobLines(store, flags)
      const rows: Array<FlowLine> = []
      for (const line of lines) {
        if (line.kind !== "flow") continue
        const definition = flows.get(line.job)
        const [last] = await store.list({ job: line.job, limit: 1 })
        rows.push({
          ...line,
          steps: definition?.steps.length ?? null,
          version: definition?.version ?? null,
          last: last === undefined ? null : { id: last.id, state: last.state },
        })
      }
      printRows(flags, rows, {
        flow: (row: FlowLine) => row.job,
        steps: (row: FlowLine) => String(row.steps ?? "?"),
        starts: (row: FlowLine) =>
          row.schedules.map(({ trigger }) => triggerText(trigger)).join("; ") || "when sent",
        next: (row: FlowLine) => dateOf(least(row.schedules)),
        open: totalOf("blocked", "running", "scheduled", "ready", "retrying"),
        succeeded: totalOf("succeeded"),
        dead: totalOf("dead"),
        other: totalOf("cancelled", "skipped", "expired"),
        "last run": (row: FlowLine) => (row.last === null ? "-" : `${row.last.id} ${row.last.state}`),
      })
      if (rows.length === 0 && isTable(flags))
        console.error("No flows: none is in the config here, and none has run on this store.")
    },
  ),
  "flow graph": {
    usage: "flow graph NAME|RUN [--mermaid | --dot] [--limit ROWS]",
    about: "a flow of the config as a drawing, or a flow run with the states of its steps",
    run: async (args, flags) => {
      const which = only(args, "flow's name or flow run's id")
      if (flags.mermaid === true && flags.dot === true)
        throw new UsageError("Give --mermaid or --dot, not both")
      if (isRunId(which)) return graphOfRun.run(args, flags)
      const { definition } = flowOf(await projectOf(), which)
      const graph = Result.getOrThrow(parseGraph(definition.steps))
      draw(graph, flags, { flow: definition.name, version: definition.version, run: null })
      return 0
    },
  },
  "flow run": storeCommand(
    "flow run NAME [--input JSON]",
    "start a flow of the config; prints the id of its run",
    async (store, args, flags) => {
      const project = await projectOf()
      const { flow } = flowOf(project, only(args, "flow's name"))
      const field = `input of flow "${flow.name}"`
      const value = jsonOf("--input", flags.input)
      await checkInput(field, flow.options.input, value, "the flow's")
      const input = Result.getOrThrow(encodePayload(field, value))
      const rows = newRuns(project.book, newId, { job: flow.name, input })
      const [answer] = await store.enqueue(Result.getOrThrow(rows))
      const id = answer?.id ?? ""
      console.error(await whatNext(store, id))
      printAnswer(flags, { runId: id, state: answer?.state ?? null }, id)
    },
  ),
  "flow show": flowShow,
  ...flowHands,
}

const projectOf = async (): Promise<Project> => {
  if (findConfig() === undefined)
    throw new UsageError(
      "Flows are defined in the config: go to the folder with uhrwerk.config.ts, or name a flow run by its id",
    )
  return checkConfig(await loadConfig(undefined))
}

const flowOf = ({ flows, jobs }: Project, name: string) => {
  const flow = flows.get(name)
  if (flow !== undefined) return flow
  const names = [...flows.keys()].slice(0, 10).map((each) => `"${each}"`)
  const more = flows.size - names.length
  throw new NotFound({
    id: name,
    field: "flow",
    reason: jobs.has(name) ? `"${name}" is a job, and no flow` : `the config has no flow "${name}"`,
    next:
      flows.size === 0
        ? "Define one: flow(NAME, { ... }, (f) => ...)"
        : `Name one of its flows: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
  })
}

const graphOfRun = storeCommand("", "", async (store: StoreDriver, [id = ""], flags) => {
  const { view, graph, rows } = await readFlow(store, await findBegun(store, id))
  const { expansion } = view
  const definition = expansion.kind === "flow" ? expansion.definition : null
  const what = { flow: definition?.name ?? null, version: definition?.version ?? null, run: id }
  draw(
    graph,
    flags,
    what,
    rows.map(({ state }) => state),
  )
})

const rowsDrawn = 200
const rowsMost = 10_000

const draw = (graph: Graph, flags: Flags, what: object, states?: ReadonlyArray<DrawState>): void => {
  if (!isTable(flags)) return printRows(flags, [{ ...what, steps: valuesOf(graph, states) }], {})
  const rowMax = countOf("--limit", flags.limit, rowsDrawn, rowsMost)
  const widthMax = process.stdout.isTTY ? process.stdout.columns : undefined
  const lines =
    flags.mermaid === true
      ? mermaid(graph, { states })
      : flags.dot === true
        ? dot(graph, { states })
        : ascii(graph, { states, widthMax, rowMax })
  for (const line of lines) console.log(line)
}

const valuesOf = (graph: Graph, states: ReadonlyArray<DrawState> | undefined): ReadonlyArray<object> =>
  graphSteps(graph).map((step, place) => ({
    ...step,
    ...(states === undefined ? {} : { state: states[place] }),
  }))
