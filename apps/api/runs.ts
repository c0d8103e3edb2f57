// `/v1/runs`: sending runs, reading them, and what people do to one.
import * as Schema from "effect/Schema"
import { runStates } from "../../core/domain/Run.ts"
import { endpoint } from "./Endpoint.ts"
import { count, listOf, name, page, runId, text } from "./fields.ts"
import {
  AttemptView,
  ExplanationView,
  LogLineView,
  RunBody,
  RunDetails,
  RunLine,
  RunView,
} from "./runViews.ts"

const id = Schema.Struct({ id: runId })

const instantText = (about: string) =>
  Schema.optionalKey(
    text(
      64,
      `${about} An instant: epoch milliseconds, or ISO 8601 with a zone. By the time in the run's id.`,
    ),
  )

/** How many runs one request sends at most. */
export const batchRunsMax = 1_000

const location = { location: "Where to read it." }
const applied = { "preference-applied": "Where `Prefer` said the time." }
const reason = text(512, "For those who look later.")

/** The routes. */
export const runsApi = {
  listRuns: endpoint({
    name: "listRuns",
    method: "get",
    path: "/v1/runs",
    tag: "runs",
    role: "viewer",
    summary: "List runs, newest first",
    description:
      "By id, the highest first. Inputs, outputs and stacks are left out: a page of them may be 50 MiB; read them with the run. While pages are read, new runs come before the first page, so that each of the others is read once.",
    query: Schema.Struct({
      state: Schema.optionalKey(Schema.Literals(runStates)),
      job: Schema.optionalKey(name),
      queue: Schema.optionalKey(text(128, "Of this queue.")),
      createdAfter: instantText("Made then or later."),
      createdBefore: instantText("Made before."),
      ...page,
    }),
    success: [{ status: 200, description: "A page of runs.", schema: listOf(RunLine) }],
    problems: ["badCursor"],
  }),
  sendRun: endpoint({
    name: "sendRun",
    method: "post",
    path: "/v1/runs",
    tag: "runs",
    role: "operator",
    summary: "Send a run",
    description:
      "A run that was acknowledged is in the store. Sending it again with the same `id`, or with its `key` while it has not ended, answers the one that is there, with 200. With `Prefer: wait=30` the answer comes at the end of the run, or after so many seconds (at most 60).",
    body: RunBody,
    success: [
      { status: 201, description: "It is stored.", schema: RunView, headers: { ...location, ...applied } },
      { status: 200, description: "It was there.", schema: RunView, headers: { ...location, ...applied } },
    ],
    problems: ["invalidInput", "invalidPayload", "unknownJob", "idTaken", "overloaded"],
  }),
  sendRuns: endpoint({
    name: "sendRuns",
    method: "post",
    path: "/v1/runs/batch",
    tag: "runs",
    role: "operator",
    summary: "Send many runs, of any jobs",
    description:
      "At most 1,000, in a body of at most 1 MiB. One that is wrong refuses them all, before anything is stored; `errors` says which and where. Answered are the ids in the order of the runs. When the store fails, some may be stored: with ids of your own it is safe to send all again.",
    body: Schema.Struct({
      runs: Schema.Array(RunBody).check(Schema.isMinLength(1), Schema.isMaxLength(batchRunsMax)),
    }),
    success: [
      {
        status: 200,
        description: "What became of each.",
        schema: Schema.Struct({
          items: Schema.Array(
            Schema.Struct({
              id: runId,
              created: Schema.Boolean.annotate({
                description: "`false`: a run of this id or key was there, and this is it.",
              }),
              problem: Schema.NullOr(
                Schema.Struct({ code: Schema.Literals(["idTaken"]), detail: Schema.String }),
              ).annotate({ description: "The run of this id is another one: this run was not sent." }),
            }),
          ),
        }),
      },
    ],
    problems: ["invalidInput", "overloaded"],
  }),
  getRun: endpoint({
    name: "getRun",
    method: "get",
    path: "/v1/runs/{id}",
    tag: "runs",
    role: "viewer",
    summary: "Read a run",
    description:
      "`include` adds what needs a further look at the store: its failed attempts (the latest 50), the progress that it said last, and why it waits or how it ended. Without it this is one read by key, for programs that look often.",
    params: id,
    query: Schema.Struct({
      include: Schema.optionalKey(
        Schema.String.check(
          Schema.isPattern(/^(attempts|progress|explain)(,(attempts|progress|explain)){0,2}$/u),
        ).annotate({ description: "A list of `attempts`, `progress` and `explain`, with commas." }),
      ),
    }),
    success: [{ status: 200, description: "The run.", schema: RunDetails }],
    problems: ["notFound"],
  }),
  listAttempts: endpoint({
    name: "listAttempts",
    method: "get",
    path: "/v1/runs/{id}/attempts",
    tag: "runs",
    role: "viewer",
    summary: "List the failed attempts of a run, oldest first",
    params: id,
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of attempts.", schema: listOf(AttemptView) }],
    problems: ["notFound", "badCursor"],
  }),
  getRunLogs: endpoint({
    name: "getRunLogs",
    method: "get",
    path: "/v1/runs/{id}/logs",
    tag: "runs",
    role: "viewer",
    summary: "Read the log of a run, oldest line first",
    description:
      "What servers heard of its handlers and workers. Of one start at most 10,000 lines are kept, each cut at 4,096 characters, and 5,000 in a second of all runs of a server; a line of the log says how many are left out. Secrets are told by their names, and left out. The cursor of the last page is not `null` while the run goes on: ask again with it for what comes later.",
    params: id,
    query: Schema.Struct({
      attempt: Schema.optionalKey(count(0, 9_999, "Of this attempt only.")),
      ...page,
    }),
    success: [{ status: 200, description: "A page of lines.", schema: listOf(LogLineView) }],
    problems: ["notFound", "badCursor"],
  }),
  explainRun: endpoint({
    name: "explainRun",
    method: "get",
    path: "/v1/runs/{id}/explain",
    tag: "runs",
    role: "viewer",
    summary: "Say why a run waits, or how it ended",
    description: "As far as this server's config tells: other nodes on its store may have other jobs.",
    params: id,
    success: [{ status: 200, description: "In one sentence.", schema: ExplanationView }],
    problems: ["notFound"],
  }),
  waitRun: endpoint({
    name: "waitRun",
    method: "get",
    path: "/v1/runs/{id}/wait",
    tag: "runs",
    role: "viewer",
    summary: "Wait for the end of a run",
    description:
      "Answers the run when it has ended, and as it is when the time is over or the server stops: `endedAt` tells the two apart. The time is `timeout`, else that of `Prefer: wait=30` (seconds; more than 60 are taken as 60), else 30 s. At most 500 requests of a server wait at a time.",
    params: id,
    query: Schema.Struct({
      timeout: Schema.optionalKey(text(64, "At most `60s`: a span, or milliseconds; default `30s`.")),
    }),
    success: [
      {
        status: 200,
        description: "The run.",
        schema: RunView,
        headers: applied,
      },
    ],
    problems: ["notFound"],
  }),
  cancelRun: endpoint({
    name: "cancelRun",
    method: "post",
    path: "/v1/runs/{id}/cancel",
    tag: "runs",
    role: "operator",
    summary: "Cancel a run",
    description:
      "Ends one that has not ended, with the steps that it expanded into; what needs it is skipped. A handler that runs is told by its signal. One that was cancelled before is answered as it is.",
    params: id,
    body: Schema.Struct({ reason: Schema.optionalKey(reason) }),
    bodyOptional: true,
    success: [{ status: 200, description: "It is cancelled.", schema: RunView }],
    problems: ["notFound", "conflict"],
  }),
  retryRun: endpoint({
    name: "retryRun",
    method: "post",
    path: "/v1/runs/{id}/retry",
    tag: "runs",
    role: "operator",
    summary: "Run a failed run again",
    description:
      "Of a dead one, as `replay`. One that waits for its next attempt is refused: it starts by itself, and no store can bring that forward.",
    params: id,
    success: [
      { status: 201, description: "The new run.", schema: RunView, headers: location },
      {
        status: 200,
        description: "It was replayed before, as this run.",
        schema: RunView,
        headers: location,
      },
    ],
    problems: ["notFound", "conflict"],
  }),
  replayRun: endpoint({
    name: "replayRun",
    method: "post",
    path: "/v1/runs/{id}/replay",
    tag: "runs",
    role: "operator",
    summary: "Make a new run of a dead one",
    description:
      "With its job and input, and all its attempts. A run is replayed once: later requests answer that run.",
    params: id,
    success: [
      { status: 201, description: "The new run.", schema: RunView, headers: location },
      {
        status: 200,
        description: "It was replayed before, as this run.",
        schema: RunView,
        headers: location,
      },
    ],
    problems: ["notFound", "conflict"],
  }),
}
