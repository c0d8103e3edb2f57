// What the routes about schedules, jobs and calendars take and answer.
import * as Schema from "effect/Schema"
import { occurrenceReasons, overlaps } from "../../core/domain/Schedule.ts"
import { instant, instantOrNull, json, name, text } from "./fields.ts"

const span = (about: string) =>
  Schema.Union([text(64, about), Schema.Finite]).annotate({
    description: `${about} Milliseconds, or such as \`5m\`.`,
  })
/** An instant, as a config may say it. */
export const time = (about: string) =>
  Schema.Union([text(64, about), Schema.Finite]).annotate({
    description: `${about} Epoch milliseconds, or an instant as text.`,
  })
const optional = Schema.optionalKey
const zone = optional(text(128, 'Whose clocks: an IANA name such as "Europe/Berlin"; default UTC.'))

/** When a schedule starts something. */
export const TriggerBody = Schema.Union([
  Schema.Struct({
    cron: text(512, "An expression with 5, 6 or 7 fields, or a nickname."),
    tz: zone,
    gap: optional(Schema.Literals(["after", "before", "skip"])),
    ambiguous: optional(Schema.Literals(["auto", "first", "last", "both"])),
  }),
  Schema.Struct({ every: span("A fixed rate."), startAt: optional(time("Slot 0; default: its creation.")) }),
  Schema.Struct({ after: span("A fixed delay from the end of the last run.") }),
  Schema.Struct({ at: time("Once.") }),
])

const options = {
  input: optional(json),
  overlap: optional(Schema.Literals(overlaps)),
  catchUp: optional(Schema.Literals(["skip", "latest", "all"])),
  catchUpWindow: optional(span("Older instants are not caught up.")),
  catchUpMax: optional(Schema.Int),
  startsAt: optional(time("No instant before this one.")),
  endsAt: optional(time("No instant after this one.")),
  countMax: optional(Schema.Int),
  only: optional(text(128, "A calendar that its instants must lie in.")),
  except: optional(text(128, "A calendar that its instants must not lie in.")),
  closed: optional(Schema.Literals(["skip", "hold", "next", "previous"])),
  jitter: optional(span("Each instant comes later by the same time below this one.")),
}

/** What a schedule says. */
export const ScheduleBody = Schema.Struct({ job: name, on: TriggerBody, ...options })

/** An instant to come. */
export const NextView = Schema.Struct({
  at: instant,
  local: Schema.String.annotate({ description: "As the clocks of its zone show it." }),
  notes: Schema.Array(Schema.String).annotate({ description: "What clock changes and calendars do to it." }),
})

/** A schedule. */
export const ScheduleView = Schema.Struct({
  id: name,
  job: name,
  words: Schema.String.annotate({ description: "When it starts, in words." }),
  trigger: json,
  input: json,
  overlap: Schema.Literals(overlaps),
  catchUp: Schema.NullOr(json),
  fromConfig: Schema.Boolean.annotate({
    description: "Whether it is one of the config, where it is changed.",
  }),
  version: Schema.Int,
  cursor: instant.annotate({ description: "All instants up to here are decided." }),
  nextAt: instantOrNull,
  waitsUntil: instantOrNull,
  pausedAt: instantOrNull,
  pausedNote: Schema.NullOr(Schema.String),
  resumedAt: instantOrNull,
  createdAt: instant,
  runCount: Schema.Int,
  lastRunId: Schema.NullOr(Schema.String),
  zoneData: Schema.NullOr(Schema.String),
})

/** A schedule, and what comes. */
export const ScheduleDetail = Schema.Struct({
  ...ScheduleView.fields,
  next: Schema.Array(NextView),
})

/** What became of an instant. */
export const OccurrenceView = Schema.Struct({
  scheduleId: name,
  at: instant,
  lastAt: instant,
  count: Schema.Int.annotate({ description: "How many instants of the pattern this row stands for." }),
  runId: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.Literals(occurrenceReasons)).annotate({ description: "Why it has no run." }),
  decidedAt: instant,
  nominalAt: instantOrNull,
  trigger: Schema.NullOr(json).annotate({ description: "The pattern that named it." }),
  zoneData: Schema.NullOr(Schema.String),
})

/** A job or a flow. */
export const JobView = Schema.Struct({
  name,
  kind: Schema.Literals(["job", "flow"]),
  queue: Schema.NullOr(Schema.String),
  isDefined: Schema.Boolean.annotate({
    description: "Whether this server's config has it; runs of others stay.",
  }),
  needs: Schema.Array(Schema.String),
  schedules: Schema.Array(Schema.String),
  counts: Schema.Record(Schema.String, Schema.Int).annotate({ description: "Its runs, by state." }),
})

/** A calendar. */
export const CalendarView = Schema.Struct({
  name,
  fromConfig: Schema.Boolean,
  zone: Schema.String,
  rule: json,
  schedules: Schema.Array(Schema.String).annotate({ description: "Those that keep to it, or away from it." }),
})
