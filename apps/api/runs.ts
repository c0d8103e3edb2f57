// `/v1/runs`: sending a run and reading one.
import * as Schema from "effect/Schema"
import { runStates } from "../../core/domain/Run.ts"
import { endpoint } from "./Endpoint.ts"
import { instant, instantOrNull, json, name, runId, text } from "./fields.ts"

const instantOrSpan = (about: string) =>
  Schema.optionalKey(Schema.Union([text(64, about), Schema.Finite]).annotate({ description: about }))

/** The body of a request for a run. */
export const RunBody = Schema.Struct({
  job: text(128, "The name of a job or a flow."),
  input: Schema.optionalKey(json),
  at: instantOrSpan("When it is due: epoch milliseconds, or an instant as text."),
  delay: instantOrSpan("How long from now it is due: milliseconds, or a span such as `5m`."),
  key: Schema.optionalKey(text(512, "While a run of this job with this key has not ended, it is answered.")),
  id: Schema.optionalKey(text(36, "A UUIDv7: sent again, the run that is there is answered.")),
  priority: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))),
  queue: Schema.optionalKey(text(128, "Default: the job's.")),
  startWithin: instantOrSpan("Started later than so long after it is due, it is skipped."),
})

/** Why an attempt failed. */
export const ErrorView = Schema.Struct({
  name: Schema.String,
  message: Schema.String,
  stack: Schema.optionalKey(Schema.String),
  kind: Schema.Literals(["error", "timeout", "lost", "payload", "cancelled"]),
})

const textOrNull = Schema.NullOr(Schema.String)

/** A run. */
export const RunView = Schema.Struct({
  id: runId,
  job: name,
  state: Schema.Literals(runStates),
  reason: textOrNull.annotate({ description: "Why it waits, or ended without running." }),
  queue: Schema.String,
  priority: Schema.Int,
  attempt: Schema.Int.annotate({ description: "Attempts used so far; the running one counts." }),
  attemptMax: Schema.Int,
  losses: Schema.Int.annotate({ description: "How often it was lost before its start was acknowledged." }),
  dueAt: instant,
  expiresAt: instantOrNull,
  createdAt: instant,
  startedAt: instantOrNull,
  endedAt: instantOrNull,
  node: textOrNull,
  token: Schema.Int,
  key: textOrNull,
  scheduleId: textOrNull,
  nominalAt: instantOrNull,
  chainId: textOrNull,
  needs: Schema.Array(Schema.String),
  waitingFor: Schema.Int,
  replayOf: textOrNull,
  parentId: textOrNull,
  step: Schema.NullOr(Schema.Int),
  input: json,
  output: json,
  error: Schema.NullOr(ErrorView),
})

const id = Schema.Struct({ id: runId })

/** The routes. */
export const runsApi = {
  sendRun: endpoint({
    name: "sendRun",
    method: "post",
    path: "/v1/runs",
    tag: "runs",
    role: "operator",
    summary: "Send a run",
    description:
      "A run that was acknowledged is in the store. Sending it again with the same `id`, or with its `key` while it has not ended, answers the one that is there, with 200.",
    body: RunBody,
    success: [
      {
        status: 201,
        description: "It is stored.",
        schema: RunView,
        headers: { location: "Where to read it." },
      },
      {
        status: 200,
        description: "It was there.",
        schema: RunView,
        headers: { location: "Where to read it." },
      },
    ],
    problems: ["invalidInput", "invalidPayload", "unknownJob", "idTaken", "overloaded"],
  }),
  getRun: endpoint({
    name: "getRun",
    method: "get",
    path: "/v1/runs/{id}",
    tag: "runs",
    role: "viewer",
    summary: "Read a run",
    params: id,
    success: [{ status: 200, description: "The run.", schema: RunView }],
    problems: ["notFound"],
  }),
}
