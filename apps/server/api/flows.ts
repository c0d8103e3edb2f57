// `/v1/flows`, and what is a flow's of a run: its steps, to run some of them again, to end one by hand.
import * as Result from "effect/Result"
import type { RunState } from "../../../core/domain/Run.ts"
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import { dot, mermaid } from "../../../core/flow/Draw.ts"
import { parseGraph } from "../../../core/flow/Graph.ts"
import { criticalPath } from "../../../core/flow/Summary.ts"
import type { FlowView } from "../../../core/ports/StoreDriver.ts"
import type { flowsApi } from "../../api/flows.ts"
import { countsOf, graphSteps, readSteps } from "../../sdk/stepRows.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { type Handlers, maySee } from "./Handler.ts"
import { pageByName } from "./pageByName.ts"
import { runOf } from "./runs.ts"

const stepsUsual = 200

/** Behind the routes. */
export const flowHandlers: Handlers<typeof flowsApi> = {
  listFlows: async ({ query, caller, parts }) => {
    const { flows, book } = parts.project
    const seen = [...flows.values()].filter(({ flow }) => maySee(caller, flow.name))
    const { items, cursor } = pageByName("flows", seen, ({ flow }) => flow.name, query)
    const [schedules, counts] = await Promise.all([parts.store.schedules(), parts.store.counts()])
    return {
      status: 200,
      body: {
        items: items.map(({ flow: { name }, definition }) => ({
          name,
          version: definition.version,
          steps: definition.steps.length,
          queue: book.jobs.get(name)?.queue ?? "default",
          schedules: schedules.filter(({ job }) => job === name).map(({ id }) => id),
          runs: Object.fromEntries(
            counts
              .filter(({ job }) => job === name)
              .map(({ state, count }): readonly [RunState, number] => [state, count]),
          ),
        })),
        cursor,
      },
    }
  },

  getFlow: async ({ params, query, caller, parts }) => {
    const found = maySee(caller, params.name) ? parts.project.flows.get(params.name) : undefined
    if (found === undefined)
      throw refuse(
        "notFound",
        "The config of this server has no such flow. Those that it has: GET /v1/flows.",
      )
    const { definition } = found
    const graph = Result.getOrThrow(parseGraph(definition.steps))
    if (query.format === "mermaid" || query.format === "dot") {
      const lines = query.format === "dot" ? dot(graph) : mermaid(graph)
      return {
        status: 200,
        stream: `${lines.join("\n")}\n`,
        headers: { "content-type": "text/plain; charset=utf-8" },
      }
    }
    const nodes = graphSteps(graph).map((step, place) => ({
      ...step,
      job: definition.steps[place]?.job ?? "",
      queue: definition.steps[place]?.queue ?? "",
    }))
    return {
      status: 200,
      body: {
        name: definition.name,
        version: definition.version,
        layers: graph.layers.count,
        failFast: definition.failFast,
        timeoutMillis: definition.timeoutMillis,
        nodes,
        edges: nodes.flatMap(({ id, needs }) => needs.map((from) => ({ from, to: id }))),
      },
    }
  },

  getFlowRun: async ({ params, query, caller, parts }) => {
    const run = await runOf(parts, caller, params.id)
    const view = await viewOf(parts, run)
    const list = `flow ${run.id}`
    const from = Number(placeOf(list, null, query.cursor, isNumber) ?? 0)
    const until = from + (query.limit ?? stepsUsual)
    const count = view?.steps.length ?? 0
    // Its critical path needs all of them.
    const isWhole = from === 0 && view?.expansion.kind === "flow"
    const shown =
      view === null ? null : await readSteps(parts.store, view, timeOf, from, isWhole ? count : until)
    const path = isWhole && shown !== null ? pathOf(shown.graph, shown.rows) : null
    return {
      status: 200,
      body: {
        id: run.id,
        job: run.job,
        kind: view?.expansion.kind ?? "flow",
        state: run.state,
        reason: run.reason,
        version: view?.expansion.kind === "flow" ? view.expansion.definition.version : null,
        round: view?.round ?? 0,
        createdAt: run.createdAt,
        startedAt: run.startedAt,
        endedAt: run.endedAt,
        deadlineAt: view?.deadlineAt ?? null,
        parentId: run.parentId,
        replayOf: run.replayOf,
        steps: count,
        counts: countsOf(view?.steps ?? []),
        criticalPath: path,
        items: shown?.rows.slice(0, until - from) ?? [],
        cursor: until < count ? cursorOf(list, null, String(until)) : null,
      },
    }
  },

  rerunFlow: async ({ params, body, caller, parts }) => {
    const run = await runOf(parts, caller, params.id)
    await flowRunOf(parts, run)
    if (run.parentId !== null)
      throw refuse(
        "conflict",
        `Run ${run.id} is a part of flow run ${run.parentId}, which is the one to run again: POST /v1/runs/${run.parentId}/rerun, with the step in "from".`,
      )
    const again = parts.engine().rerun(run.id, body.from ?? "failed")
    const id = await inTime(again.catch(asConflict), answerMillisMax, noAnswer)
    return {
      status: 200,
      body: { id, replayOf: run.id },
      headers: { location: `/v1/runs/${id}` },
      audit: { run: id, replayOf: run.id, job: run.job, from: body.from ?? "failed" },
    }
  },

  markStep: async ({ params, body, caller, parts }) => {
    const run = await runOf(parts, caller, params.id)
    await flowRunOf(parts, run)
    const { step, ...end } = body
    const marked = parts.engine().markStep(run.id, step, end)
    await inTime(marked.catch(asConflict), answerMillisMax, noAnswer)
    return {
      status: 200,
      body: { id: run.id, step, state: body.as },
      audit: { run: run.id, job: run.job, step, as: body.as, reason: body.reason },
    }
  },
}

const timeOf = (millis: number): string => new Date(millis).toISOString()

const isNumber = (place: string): boolean => /^\d{1,7}$/.test(place)

const pathOf = (
  graph: Parameters<typeof criticalPath>[0],
  rows: ReadonlyArray<{ readonly id: string; readonly millis: number | null }>,
) => {
  const { steps, millis } = criticalPath(
    graph,
    rows.map((row) => row.millis),
  )
  return { steps: steps.map((step) => rows[step]?.id ?? ""), millis }
}

/** `null`: it has not begun. Throws for a run that has no steps for good. */
const viewOf = async ({ store, project }: ApiParts, run: Run): Promise<FlowView | null> => {
  const view = await store.flowOf(run.id)
  if (view !== null) return view
  if (project.flows.has(run.job) && !isFinal(run.state)) return null
  throw refuse(
    "notFound",
    `Run ${run.id} has no steps: it ended before it had any, or "${run.job}" is no flow. Read it as a run: GET /v1/runs/${run.id}.`,
  )
}

const flowRunOf = async (parts: ApiParts, run: Run): Promise<FlowView> => {
  const view = await viewOf(parts, run)
  if (view !== null) return view
  throw refuse("conflict", `Run ${run.id} of "${run.job}" has not begun, and so it has no steps yet.`)
}

// That a flow run is not in the state for it is no fault of what was sent.
const asConflict = (error: unknown): never => {
  const { field, message } = error as { readonly field?: unknown; readonly message?: string }
  if (typeof field === "string" && field.startsWith("run ")) throw refuse("conflict", message ?? "")
  throw error
}
