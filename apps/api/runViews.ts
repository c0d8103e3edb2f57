// What requests for runs take and answer.
import * as Schema from "effect/Schema"
import { runStates } from "../../core/domain/Run.ts"
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
}).annotate({ identifier: "RunBody" })

const errorFields = {
  name: Schema.String,
  message: Schema.String,
  kind: Schema.Literals(["error", "timeout", "lost", "payload", "cancelled"]),
}

/** Why an attempt failed; secrets that it says by name are left out. */
export const ErrorView = Schema.Struct({ ...errorFields, stack: Schema.optionalKey(Schema.String) }).annotate(
  { identifier: "ErrorView" },
)

const textOrNull = Schema.NullOr(Schema.String)

const lineFields = {
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
}

/** A run in a list. */
export const RunLine = Schema.Struct({
  ...lineFields,
  error: Schema.NullOr(Schema.Struct(errorFields)),
}).annotate({ identifier: "RunLine" })

const runFields = { ...lineFields, input: json, output: json, error: Schema.NullOr(ErrorView) }

/** A run. */
export const RunView = Schema.Struct(runFields).annotate({ identifier: "RunView" })

/** A failed attempt. */
export const AttemptView = Schema.Struct({
  attempt: Schema.Int.annotate({ description: "Counted from 1." }),
  token: Schema.Int,
  node: textOrNull,
  startedAt: instantOrNull,
  endedAt: instant,
  error: ErrorView,
}).annotate({ identifier: "AttemptView" })

/** How far a run said last that it is. */
export const ProgressView = Schema.Struct({
  attempt: Schema.Int,
  at: instant,
  percent: Schema.NullOr(Schema.Finite).annotate({ description: "0 to 100; `null`: it cannot tell." }),
  note: textOrNull,
}).annotate({ identifier: "ProgressView" })

/** Why a run waits, or how it ended. */
export const ExplanationView = Schema.Struct({
  why: Schema.String.annotate({ description: "A sentence without a full stop; times in UTC." }),
  next: textOrNull.annotate({
    description: "What to do: a command or a sentence; `null`: all goes its way.",
  }),
}).annotate({ identifier: "ExplanationView" })

/** A run with what was asked for beside it. */
export const RunDetails = Schema.Struct({
  ...runFields,
  attempts: Schema.optionalKey(Schema.Array(AttemptView)),
  progress: Schema.optionalKey(Schema.NullOr(ProgressView)),
  explanation: Schema.optionalKey(ExplanationView),
}).annotate({ identifier: "RunDetails" })

/** A line of a log. */
export const LogLineView = Schema.Struct({
  attempt: Schema.Int,
  seq: Schema.Int.annotate({ description: "Grows within the attempt." }),
  at: instant,
  line: Schema.String,
  leftOut: Schema.Int.annotate({ description: "In place of so many lines that were too many; else 0." }),
}).annotate({ identifier: "LogLineView" })
