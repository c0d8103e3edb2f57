// `/v1/dead-letters`: what is kept of runs that failed for good, to read, to replay and to drop.
import * as Schema from "effect/Schema"
import {
  bulkFields,
  bulkSuccess,
  bulkText,
  fingerprintField,
  LettersFilter,
  rateField,
} from "./bulkFields.ts"
import { endpoint } from "./Endpoint.ts"
import { count, instant, instantOrNull, json, listOf, name, page, runId, text } from "./fields.ts"

const id = Schema.Struct({ id: runId })

const filter = {
  job: Schema.optionalKey(text(128, "Only letters of this job.")),
  fingerprint: Schema.optionalKey(fingerprintField),
}

const errorFields = {
  name: Schema.String,
  message: Schema.String,
  kind: Schema.Literals(["error", "timeout", "lost", "payload", "cancelled"]),
}

const lineFields = {
  runId,
  job: name,
  diedAt: instant,
  attempt: Schema.Int.annotate({ description: "Attempts used." }),
  fingerprint: Schema.String.annotate({ description: "The same for errors that differ in details only." }),
}

/** A letter in a list. */
export const LetterLine = Schema.Struct({ ...lineFields, error: Schema.Struct(errorFields) })

const ErrorWithStack = Schema.Struct({ ...errorFields, stack: Schema.optionalKey(Schema.String) })
const textOrNull = Schema.NullOr(Schema.String)

/** A letter with all that there is of it. */
export const LetterView = Schema.Struct({
  ...lineFields,
  error: ErrorWithStack,
  queue: Schema.String,
  priority: Schema.Int,
  key: textOrNull,
  createdAt: instant,
  scheduleId: textOrNull,
  input: json,
  attempts: Schema.Array(
    Schema.Struct({
      attempt: Schema.Int,
      token: Schema.Int,
      node: textOrNull,
      startedAt: instantOrNull,
      endedAt: instant,
      error: ErrorWithStack,
    }),
  ).annotate({ description: "Every failed attempt, the oldest first." }),
})

/** Letters whose errors differ in details only. */
export const LetterGroupView = Schema.Struct({
  fingerprint: Schema.String,
  pattern: Schema.String.annotate({ description: "What their errors share; `#` stands for what differs." }),
  count: Schema.Int,
  firstAt: instant,
  lastAt: instant,
  jobs: Schema.Array(name).annotate({ description: "Of which jobs, at most 10." }),
  sample: LetterLine.annotate({ description: "The newest." }),
})

/** The routes. Those with fixed words come before `{id}`, which would take them. */
export const deadApi = {
  listDeadLetters: endpoint({
    name: "listDeadLetters",
    method: "get",
    path: "/v1/dead-letters",
    tag: "dead letters",
    role: "viewer",
    summary: "List dead letters",
    description:
      "Those that were not replayed, by the id of their run, the highest first. A page of a rare error may have fewer than `limit` and a cursor all the same: go on with it.",
    query: Schema.Struct({ ...filter, ...page }),
    success: [{ status: 200, description: "A page of letters.", schema: listOf(LetterLine) }],
    problems: ["badCursor"],
  }),
  groupDeadLetters: endpoint({
    name: "groupDeadLetters",
    method: "get",
    path: "/v1/dead-letters/groups",
    tag: "dead letters",
    role: "viewer",
    summary: "Group dead letters by their error",
    description:
      "By name and message of the error, without its numbers, ids, hexadecimal digits and quoted texts. The 10,000 newest letters are looked at.",
    query: Schema.Struct({
      job: filter.job,
      limit: Schema.optionalKey(count(1, 200, "How many groups at most; default 50.")),
    }),
    success: [
      {
        status: 200,
        description: "Groups, the largest first.",
        schema: Schema.Struct({
          items: Schema.Array(LetterGroupView),
          leftOut: Schema.Int.annotate({ description: "How many smaller groups there are." }),
          letters: Schema.Int.annotate({ description: "How many letters are in all groups." }),
          exact: Schema.Boolean.annotate({ description: "`false`: there are older letters beside these." }),
        }),
      },
    ],
    problems: [],
  }),
  exportDeadLetters: endpoint({
    name: "exportDeadLetters",
    method: "get",
    path: "/v1/dead-letters/export",
    tag: "dead letters",
    role: "viewer",
    summary: "Export dead letters",
    description:
      "Whole letters, with input and attempts, a line of JSON each, the highest id first. If the store fails on the way the connection breaks, so that half of it does not look like all.",
    query: Schema.Struct(filter),
    success: [
      { status: 200, description: "The letters.", type: "application/x-ndjson", schema: Schema.String },
    ],
    problems: [],
  }),
  replayDeadLetters: endpoint({
    name: "replayDeadLetters",
    method: "post",
    path: "/v1/dead-letters/replay",
    tag: "dead letters",
    role: "operator",
    summary: "Replay all dead letters of a filter",
    description: `${bulkText} A run that it made and that fails again is not replayed again.`,
    body: Schema.Struct({ filter: LettersFilter, rate: rateField, ...bulkFields }),
    success: bulkSuccess,
    problems: ["invalidInput", "tooMany"],
  }),
  dropDeadLetters: endpoint({
    name: "dropDeadLetters",
    method: "post",
    path: "/v1/dead-letters/drop",
    tag: "dead letters",
    role: "operator",
    summary: "Drop all dead letters of a filter",
    description: `${bulkText} The dead runs stay until their age lets them go.`,
    body: Schema.Struct({ filter: LettersFilter, rate: rateField, ...bulkFields }),
    success: bulkSuccess,
    problems: ["invalidInput", "tooMany"],
  }),
  getDeadLetter: endpoint({
    name: "getDeadLetter",
    method: "get",
    path: "/v1/dead-letters/{id}",
    tag: "dead letters",
    role: "viewer",
    summary: "Read a dead letter",
    description: "By the id of its run, with all attempts.",
    params: id,
    success: [{ status: 200, description: "The letter.", schema: LetterView }],
    problems: ["notFound"],
  }),
  replayDeadLetter: endpoint({
    name: "replayDeadLetter",
    method: "post",
    path: "/v1/dead-letters/{id}/replay",
    tag: "dead letters",
    role: "operator",
    summary: "Replay a dead letter",
    description: "Makes a new run of it, once: asked again, it answers the same run, with 200.",
    params: id,
    success: [
      {
        status: 201,
        description: "The new run.",
        schema: Schema.Struct({ runId }),
        headers: { location: "Where to read it." },
      },
      {
        status: 200,
        description: "It was replayed before, as this run.",
        schema: Schema.Struct({ runId }),
        headers: { location: "Where to read it." },
      },
    ],
    problems: ["notFound"],
  }),
  dropDeadLetter: endpoint({
    name: "dropDeadLetter",
    method: "delete",
    path: "/v1/dead-letters/{id}",
    tag: "dead letters",
    role: "operator",
    summary: "Drop a dead letter",
    description: "The dead run stays until its age lets it go.",
    params: id,
    success: [{ status: 204, description: "It is dropped." }],
    problems: ["notFound"],
  }),
}
