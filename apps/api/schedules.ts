// `/v1/jobs`, `/v1/schedules` and `/v1/calendars`: what there is to start, when it starts, and what became of each instant.
import * as Schema from "effect/Schema"
import { occurrenceReasons, overlaps } from "../../core/domain/Schedule.ts"
import { endpoint } from "./Endpoint.ts"
import { count, flag, instant, instantOrNull, json, listOf, name, page, text } from "./fields.ts"

const span = (about: string) =>
  Schema.Union([text(64, about), Schema.Finite]).annotate({
    description: `${about} Milliseconds, or such as \`5m\`.`,
  })
const time = (about: string) =>
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

const NextView = Schema.Struct({
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

const ScheduleDetail = Schema.Struct({
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

const JobView = Schema.Struct({
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

const CalendarView = Schema.Struct({
  name,
  fromConfig: Schema.Boolean,
  zone: Schema.String,
  rule: json,
  schedules: Schema.Array(Schema.String).annotate({ description: "Those that keep to it, or away from it." }),
})

const byId = Schema.Struct({ id: name })
const byName = Schema.Struct({ name })
const ok = <S extends Schema.Codec<any, any>>(description: string, schema: S) =>
  ({ status: 200, description, schema }) as const
const etag = { etag: "Its version, for `If-Match`." }
const preview = optional(count(1, 200, "How many instants to come; default 5."))

/** The routes. */
export const schedulesApi = {
  listJobs: endpoint({
    name: "listJobs",
    method: "get",
    path: "/v1/jobs",
    tag: "jobs",
    role: "viewer",
    summary: "List jobs and flows",
    query: Schema.Struct(page),
    success: [ok("By name.", listOf(JobView))],
    problems: ["badCursor"],
  }),
  getJob: endpoint({
    name: "getJob",
    method: "get",
    path: "/v1/jobs/{name}",
    tag: "jobs",
    role: "viewer",
    summary: "Read a job or flow",
    params: byName,
    success: [ok("The job.", JobView)],
    problems: ["notFound"],
  }),
  listSchedules: endpoint({
    name: "listSchedules",
    method: "get",
    path: "/v1/schedules",
    tag: "schedules",
    role: "viewer",
    summary: "List schedules",
    query: Schema.Struct({
      ...page,
      job: optional(name),
      paused: optional(flag("Only paused ones, or only others.")),
    }),
    success: [ok("By id.", listOf(ScheduleView))],
    problems: ["badCursor"],
  }),
  createSchedule: endpoint({
    name: "createSchedule",
    method: "post",
    path: "/v1/schedules",
    tag: "schedules",
    role: "operator",
    summary: "Make a schedule",
    description:
      "One that no config has, for a job or flow of this server. It outlives the server, and every node on the store plans it that knows its job. An id that is taken, also by a job's own schedule, is refused.",
    body: Schema.Struct({ id: name, ...ScheduleBody.fields }),
    success: [
      {
        status: 201,
        description: "It is stored.",
        schema: ScheduleDetail,
        headers: { ...etag, location: "Where to read it." },
      },
    ],
    problems: ["idTaken", "unknownJob", "invalidInput", "invalidPayload", "overloaded"],
  }),
  getSchedule: endpoint({
    name: "getSchedule",
    method: "get",
    path: "/v1/schedules/{id}",
    tag: "schedules",
    role: "viewer",
    summary: "Read a schedule, and what comes",
    params: byId,
    query: Schema.Struct({ next: preview }),
    success: [{ ...ok("The schedule.", ScheduleDetail), headers: etag }],
    problems: ["notFound"],
    conditional: true,
  }),
  editSchedule: endpoint({
    name: "editSchedule",
    method: "put",
    path: "/v1/schedules/{id}",
    tag: "schedules",
    role: "operator",
    summary: "Change a schedule",
    description:
      "All that it says is replaced; its age, its pause and its ledger stay, and its old pattern never starts again. Those of the config are changed there.",
    params: byId,
    body: ScheduleBody,
    success: [{ ...ok("It is stored.", ScheduleDetail), headers: etag }],
    problems: [
      "notFound",
      "conflict",
      "changed",
      "badHeader",
      "unknownJob",
      "invalidInput",
      "invalidPayload",
    ],
    conditional: true,
  }),
  deleteSchedule: endpoint({
    name: "deleteSchedule",
    method: "delete",
    path: "/v1/schedules/{id}",
    tag: "schedules",
    role: "operator",
    summary: "Remove a schedule",
    description: "Its runs and its ledger stay. Those of the config are removed there.",
    params: byId,
    success: [{ status: 204, description: "It is gone." }],
    problems: ["notFound", "conflict", "changed", "badHeader"],
    conditional: true,
  }),
  pauseSchedule: endpoint({
    name: "pauseSchedule",
    method: "post",
    path: "/v1/schedules/{id}/pause",
    tag: "schedules",
    role: "operator",
    summary: "Pause a schedule",
    description:
      "It starts nothing until it is resumed; what passes is recorded as paused, and not caught up.",
    params: byId,
    body: Schema.Struct({ note: optional(text(512, "Why, for people.")) }),
    bodyOptional: true,
    success: [ok("It is paused.", ScheduleView)],
    problems: ["notFound"],
  }),
  resumeSchedule: endpoint({
    name: "resumeSchedule",
    method: "post",
    path: "/v1/schedules/{id}/resume",
    tag: "schedules",
    role: "operator",
    summary: "Resume a schedule",
    params: byId,
    success: [ok("It goes on.", ScheduleView)],
    problems: ["notFound"],
  }),
  skipNext: endpoint({
    name: "skipNext",
    method: "post",
    path: "/v1/schedules/{id}/skip",
    tag: "schedules",
    role: "operator",
    summary: "Leave out the next instant",
    params: byId,
    success: [ok("Which one; `null`: it has none.", Schema.Struct({ skippedAt: instantOrNull }))],
    problems: ["notFound"],
  }),
  runNow: endpoint({
    name: "runNow",
    method: "post",
    path: "/v1/schedules/{id}/run",
    tag: "schedules",
    role: "operator",
    summary: "Start a run now",
    description:
      "Beside its instants, under its overlap: refused while its last run is alive, where that forbids it.",
    params: byId,
    success: [
      {
        status: 201,
        description: "It is stored.",
        schema: Schema.Struct({ runId: Schema.String }),
        headers: { location: "Where to read the run." },
      },
    ],
    problems: ["notFound", "conflict", "unknownJob"],
  }),
  backfillSchedule: endpoint({
    name: "backfillSchedule",
    method: "post",
    path: "/v1/schedules/{id}/backfill",
    tag: "schedules",
    role: "operator",
    summary: "Give instants of the past their runs",
    description: "Those that have a run keep it.",
    params: byId,
    body: Schema.Struct({
      from: time("From this instant on."),
      to: optional(time("Up to this one; default: now.")),
      max: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
      order: optional(Schema.Literals(["oldest", "newest"])),
      dryRun: optional(Schema.Boolean),
    }),
    success: [
      ok(
        "What became of each.",
        Schema.Struct({
          instants: Schema.Array(
            Schema.Struct({
              at: instant,
              before: Schema.NullOr(Schema.String),
              runId: Schema.NullOr(Schema.String),
              result: Schema.Literals(["created", "exists", "planned"]),
            }),
          ),
          more: Schema.Boolean,
        }),
      ),
    ],
    problems: ["notFound", "invalidInput", "unknownJob"],
  }),
  previewTrigger: endpoint({
    name: "previewTrigger",
    method: "post",
    path: "/v1/schedules/preview",
    tag: "schedules",
    role: "viewer",
    summary: "What a schedule would do",
    description: "Nothing is stored. The calendars are those of the store.",
    query: Schema.Struct({ next: preview }),
    body: ScheduleBody,
    success: [
      ok(
        "Its time in words, and what comes.",
        Schema.Struct({ words: Schema.String, next: Schema.Array(NextView) }),
      ),
    ],
    problems: ["unknownJob", "invalidInput", "invalidPayload"],
    idempotent: false,
    audited: false,
  }),
  listOccurrences: endpoint({
    name: "listOccurrences",
    method: "get",
    path: "/v1/schedules/{id}/occurrences",
    tag: "schedules",
    role: "viewer",
    summary: "What became of a schedule's instants",
    description: "The latest first. The ledger of a schedule that was removed stays for a while.",
    params: byId,
    query: Schema.Struct(page),
    success: [ok("A row for each instant, or for several that shared a fate.", listOf(OccurrenceView))],
    problems: ["notFound", "badCursor"],
  }),
  listCalendars: endpoint({
    name: "listCalendars",
    method: "get",
    path: "/v1/calendars",
    tag: "calendars",
    role: "viewer",
    summary: "List calendars",
    query: Schema.Struct(page),
    success: [ok("By name.", listOf(CalendarView))],
    problems: ["badCursor"],
  }),
  getCalendar: endpoint({
    name: "getCalendar",
    method: "get",
    path: "/v1/calendars/{name}",
    tag: "calendars",
    role: "viewer",
    summary: "Read a calendar",
    params: byName,
    success: [ok("The calendar.", CalendarView)],
    problems: ["notFound"],
  }),
}
