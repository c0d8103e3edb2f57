// `/v1/flows`, and what is a flow's of a run: its steps, to run some of them again, to end one by hand.
import * as Schema from "effect/Schema"
import { triggerRules } from "../../core/domain/Flow.ts"
import { runStates } from "../../core/domain/Run.ts"
import { endpoint } from "./Endpoint.ts"
import { count, instant, instantOrNull, json, listOf, name, page, runId, text } from "./fields.ts"

const textOrNull = Schema.NullOr(Schema.String)
const stepId = text(512, "The id of a step; of an item of a list, its place from 0 on.")
const rule = Schema.Literals(triggerRules)

/** How many are in which state; states that none is in are left out. */
const counts = Schema.Record(Schema.String, Schema.Int)

/** A flow in a list. */
export const FlowItem = Schema.Struct({
  name,
  version: Schema.String.annotate({ description: "A print of its definition." }),
  steps: Schema.Int,
  queue: Schema.String,
  schedules: Schema.Array(Schema.String).annotate({ description: "The ids of its schedules." }),
  runs: counts.annotate({ description: "Its flow runs by state, without those that are 0." }),
})

/** A step of a definition. */
export const FlowStepView = Schema.Struct({
  id: stepId,
  job: Schema.String.annotate({ description: "The job of its runs." }),
  queue: Schema.String,
  layer: Schema.Int.annotate({ description: "From 1 on: one more than that of its deepest need." }),
  needs: Schema.Array(Schema.String),
  rule,
  allowFailure: Schema.Boolean,
})

/** A flow as a graph. */
export const FlowGraph = Schema.Struct({
  name,
  version: Schema.String,
  layers: Schema.Int,
  failFast: Schema.Boolean,
  timeoutMillis: Schema.NullOr(Schema.Finite),
  nodes: Schema.Array(FlowStepView).annotate({ description: "In the order of declaration." }),
  edges: Schema.Array(Schema.Struct({ from: Schema.String, to: Schema.String })).annotate({
    description: "From a step to one that needs it.",
  }),
})

/** A step of a flow run. */
export const FlowRunStep = Schema.Struct({
  id: stepId,
  state: Schema.Literals([...runStates, "released", "failed", "upstream_failed"]).annotate({
    description: "That of its rule, or while it is under way that of its run.",
  }),
  reason: textOrNull.annotate({ description: "Why it waits, or ended as it did." }),
  runId: Schema.NullOr(runId).annotate({ description: "Its latest run." }),
  attempt: Schema.NullOr(Schema.Int),
  attemptMax: Schema.NullOr(Schema.Int),
  startedAt: instantOrNull,
  endedAt: instantOrNull,
  millis: Schema.NullOr(Schema.Finite).annotate({
    description: "How long its latest attempt took, or has taken so far; `null`: it did not run in this one.",
  }),
})

/** A flow run, with a page of its steps. */
export const FlowRunView = Schema.Struct({
  id: runId,
  job: name,
  kind: Schema.Literals(["flow", "map"]).annotate({
    description: "`map`: a list, whose items are its steps.",
  }),
  state: Schema.Literals(runStates),
  reason: textOrNull,
  version: textOrNull.annotate({ description: "The version that it began with, and stays on." }),
  round: Schema.Int.annotate({ description: "Attempts at its steps so far; 0: it has not begun." }),
  createdAt: instant,
  startedAt: instantOrNull,
  endedAt: instantOrNull,
  deadlineAt: instantOrNull,
  parentId: Schema.NullOr(runId).annotate({ description: "The flow run that it is a step of." }),
  replayOf: Schema.NullOr(runId),
  steps: Schema.Int.annotate({ description: "How many there are." }),
  counts: counts.annotate({
    description: "The steps by state; what is under way counts as `released`, whatever its run does.",
  }),
  criticalPath: Schema.NullOr(
    Schema.Struct({ steps: Schema.Array(Schema.String), millis: Schema.Finite }),
  ).annotate({
    description: "The chain whose steps took longest together; only on the first page, and not of a list.",
  }),
  items: Schema.Array(FlowRunStep).annotate({ description: "In the order of declaration." }),
  cursor: textOrNull.annotate({ description: "For the next page; `null`: there is none." }),
})

/** What to run again. */
export const RerunBody = Schema.Struct({
  from: Schema.optionalKey(
    Schema.Union([
      Schema.Literals(["failed", "skipped"]),
      Schema.Array(stepId).check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
    ]).annotate({
      description: "Where it begins: what failed (default), what was skipped, or steps by their ids.",
    }),
  ),
})

/** How a step is ended by hand. */
export const MarkBody = Schema.Struct({
  step: stepId,
  as: Schema.Literals(["succeeded", "skipped"]),
  reason: text(512, "Why, for those who look later."),
  output: Schema.optionalKey(json).annotate({
    description: "What the steps that need it read; only with `succeeded`.",
  }),
})

const id = Schema.Struct({ id: runId })

/** The routes. */
export const flowsApi = {
  listFlows: endpoint({
    name: "listFlows",
    method: "get",
    path: "/v1/flows",
    tag: "flows",
    role: "viewer",
    summary: "List flows",
    description: "The flows of this server's config, by name.",
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of flows.", schema: listOf(FlowItem) }],
    problems: ["badCursor"],
  }),
  getFlow: endpoint({
    name: "getFlow",
    method: "get",
    path: "/v1/flows/{name}",
    tag: "flows",
    role: "viewer",
    summary: "Read a flow as a graph",
    params: Schema.Struct({ name }),
    query: Schema.Struct({
      format: Schema.optionalKey(
        Schema.Literals(["json", "mermaid", "dot"]).annotate({
          description:
            "`mermaid` and `dot`: a drawing as text, of at most 2,000 steps and 10,000 edges; what is beyond is counted. Default `json`.",
        }),
      ),
    }),
    success: [
      { status: 200, description: "The flow.", schema: FlowGraph },
      {
        status: 200,
        description: "The drawing, with `format`.",
        schema: Schema.String,
        type: "text/plain",
      },
    ],
    problems: ["notFound"],
  }),
  getFlowRun: endpoint({
    name: "getFlowRun",
    method: "get",
    path: "/v1/runs/{id}/flow",
    tag: "flows",
    role: "viewer",
    summary: "Read a flow run",
    description: "Where each of its steps stands, or each item of a list. One that has not begun has none.",
    params: id,
    query: Schema.Struct({
      ...page,
      limit: Schema.optionalKey(count(1, 1000, "How many steps at most; default 200.")),
    }),
    success: [{ status: 200, description: "The flow run with a page of its steps.", schema: FlowRunView }],
    problems: ["notFound", "badCursor"],
  }),
  rerunFlow: endpoint({
    name: "rerunFlow",
    method: "post",
    path: "/v1/runs/{id}/rerun",
    tag: "flows",
    role: "operator",
    summary: "Run steps of a flow run again",
    description:
      "Makes a new run of a flow run that has ended: where it begins, and all that is behind it, starts anew; the other steps keep state and output. Where its work is done again already, that run is answered.",
    params: id,
    body: RerunBody,
    bodyOptional: true,
    success: [
      {
        status: 200,
        description: "The run that does the work again.",
        schema: Schema.Struct({ id: runId, replayOf: runId }),
        headers: { location: "Where to read it." },
      },
    ],
    problems: ["notFound", "conflict", "invalidInput"],
  }),
  markStep: endpoint({
    name: "markStep",
    method: "post",
    path: "/v1/runs/{id}/mark",
    tag: "flows",
    role: "operator",
    summary: "End a step by hand",
    description: "Ends a step that has not ended, and cancels its run. What needs it goes on.",
    params: id,
    body: MarkBody,
    success: [
      {
        status: 200,
        description: "It is done.",
        schema: Schema.Struct({ id: runId, step: stepId, state: Schema.Literals(["succeeded", "skipped"]) }),
      },
    ],
    problems: ["notFound", "conflict", "invalidInput", "invalidPayload"],
  }),
}
