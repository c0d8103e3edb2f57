// What bulk work takes and answers: cancelling runs, replaying and dropping dead letters, and the operations that do it.
import * as Schema from "effect/Schema"
import { bulkKinds, openStates } from "../../core/domain/BulkKind.ts"
import { instant, instantOrNull, text } from "./fields.ts"

const instantText = (about: string) =>
  Schema.optionalKey(Schema.Union([text(64, about), Schema.Finite]).annotate({ description: about }))

const created = {
  createdAfter: instantText("Made at this instant or later: epoch milliseconds, or an instant as text."),
  createdBefore: instantText("Made before it."),
}

const job = Schema.optionalKey(text(128, "The name of a job or a flow."))

/** Which runs to cancel. */
export const RunsFilter = Schema.Struct({
  state: Schema.optionalKey(
    Schema.Literals(openStates).annotate({
      description: "Default: every state in which a run has not ended.",
    }),
  ),
  job,
  queue: Schema.optionalKey(text(128, "The name of a queue.")),
  ...created,
})

/** The fingerprint of an error group. */
export const fingerprintField = text(16, "The fingerprint of an error group: 16 hex digits.")

/** Which dead letters. */
export const LettersFilter = Schema.Struct({
  job,
  fingerprint: Schema.optionalKey(fingerprintField),
  error: Schema.optionalKey(text(256, "The name of the error that ended the run.")),
  ...created,
})

/** The same for all bulk work. */
export const bulkFields = {
  dryRun: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "`true`: nothing is done; it is said what would be." }),
  ),
}

/** How fast. */
export const rateField = Schema.optionalKey(
  text(16, "At most so many in a second or a minute, from `1/m` to `10000/s`, such as `50/s`."),
)

/** A number that may be too small or too large. */
export const Total = Schema.Struct({
  value: Schema.Int,
  exact: Schema.Boolean.annotate({ description: "`false`: of a preview, there are at least so many." }),
})

/** What bulk work would do. */
export const PreviewView = Schema.Struct({
  total: Total,
  sample: Schema.Array(Schema.String).annotate({ description: "The ids of some, at most 10." }),
})

const textOrNull = Schema.NullOr(Schema.String)

/** An operation. */
export const OperationView = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(bulkKinds),
  filter: Schema.Struct({
    state: Schema.optionalKey(Schema.String),
    job: Schema.optionalKey(Schema.String),
    queue: Schema.optionalKey(Schema.String),
    fingerprint: Schema.optionalKey(Schema.String),
    error: Schema.optionalKey(Schema.String),
    createdAfter: Schema.optionalKey(instant),
    createdBefore: Schema.optionalKey(instant),
  }),
  state: Schema.Literals(["queued", "running", "succeeded", "failed", "cancelled"]).annotate({
    description: "`failed`: it has ended, and some could not be done; `error` says why.",
  }),
  cancelAsked: Schema.Boolean.annotate({ description: "Whether it ends after the page under way." }),
  total: Total.annotate({ description: "Counted at the start, and exact once it has ended by itself." }),
  done: Schema.Int,
  skipped: Schema.Int.annotate({ description: "Ended, replayed or dropped before it came to them." }),
  failed: Schema.Int,
  error: textOrNull,
  perSecond: Schema.NullOr(Schema.Finite).annotate({ description: "Its rate; `null`: none was said." }),
  startedBy: Schema.Struct({ id: textOrNull, name: Schema.String }),
  createdAt: instant,
  startedAt: instantOrNull,
  endedAt: instantOrNull,
})

/** How every route of bulk work answers. */
export const bulkSuccess = [
  {
    status: 202,
    description: "It is kept, and begins within a second.",
    schema: OperationView,
    headers: { location: "Where to read how far it is." },
  },
  { status: 200, description: "With `dryRun`: what it would do.", schema: PreviewView },
] as const

/** What its routes say of it. */
export const bulkText =
  "The filter must say something. It is frozen at the start: what comes later is not touched. A server does it page by page, the newest first; if it dies another one goes on. At most 100 are under way."
