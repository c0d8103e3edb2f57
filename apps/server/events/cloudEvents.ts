// From what happens in an engine to what others are told: CloudEvents 1.0 in JSON, small and without secrets. What only
// matters inside (log lines, progress, refused connections) is none.
import type { EngineEvent } from "../../../core/observe/Event.ts"
import { redact, redactText } from "../../../core/observe/redact.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { decodePayload } from "../../../core/domain/Payload.ts"

/** An event before it has its id: what a batch of the journal keeps. */
export interface Draft {
  readonly type: EventType
  /** Epoch milliseconds of the server that saw it. */
  readonly at: number
  /** What it is about: the id of a run, a schedule, the name of a worker; `null`: the node. */
  readonly subject: string | null
  /** Whose it is; `null`: nobody's, and for those who see all. */
  readonly job: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** An event as others get it. */
export interface CloudEvent {
  readonly specversion: "1.0"
  /** Grows from event to event of a store; say it to go on behind it. */
  readonly id: string
  /** The node that saw it: `/nodes/ID`. */
  readonly source: string
  readonly type: string
  readonly subject?: string
  /** RFC 3339, by the clock of the node. */
  readonly time: string
  readonly datacontenttype: "application/json"
  readonly data: Readonly<Record<string, unknown>>
}

/** All types, beside `uhrwerk.gap` in streams and `uhrwerk.webhook.test`. */
export const eventTypes = [
  "uhrwerk.run.started",
  "uhrwerk.run.expanded",
  "uhrwerk.run.retrying",
  "uhrwerk.run.snoozed",
  "uhrwerk.run.released",
  "uhrwerk.run.reclaimed",
  "uhrwerk.run.cancelled",
  "uhrwerk.run.ended",
  "uhrwerk.run.dead",
  "uhrwerk.schedule.missed",
  "uhrwerk.schedule.zoneData",
  "uhrwerk.calendar.changed",
  "uhrwerk.worker.connected",
  "uhrwerk.worker.resumed",
  "uhrwerk.worker.suspect",
  "uhrwerk.worker.draining",
  "uhrwerk.worker.cut",
  "uhrwerk.worker.over",
  "uhrwerk.node.clockBack",
  "uhrwerk.node.leaseLost",
  "uhrwerk.node.outdated",
  "uhrwerk.node.trouble",
  "uhrwerk.events.lost",
] as const

/** What happened. */
export type EventType = (typeof eventTypes)[number]

/** The longest text in an event, in characters. */
export const textMax = 1_024
/** The longest output that is in an event, as JSON text in characters. */
export const outputMax = 4_096

const workerTypes: ReadonlySet<string> = new Set([
  "connected",
  "resumed",
  "suspect",
  "draining",
  "cut",
  "over",
])

/** The event that others are told, or `undefined` for one that is none of theirs. */
export const draftOf = (event: EngineEvent, at: number): Draft | undefined => {
  const node = (type: EventType, data: Draft["data"]): Draft => ({ type, at, subject: null, job: null, data })
  switch (event.kind) {
    case "started":
      return ofRun("uhrwerk.run.started", event.run, at, {
        attempt: event.run.attempt,
        latenessMillis: event.latenessMillis,
      })
    case "expanded":
      return ofRun("uhrwerk.run.expanded", event.run, at, { steps: event.steps })
    case "ended":
      return ended(event, at)
    case "reclaimed":
      return {
        type: "uhrwerk.run.reclaimed",
        at,
        subject: event.id,
        job: event.job,
        data: { job: event.job, state: event.state },
      }
    case "occurrence":
      return ofSchedule("uhrwerk.schedule.missed", event.scheduleId, at, {
        from: event.at,
        count: event.count,
        reason: event.reason,
      })
    case "zoneData": {
      const { kind: _, scheduleId, ...data } = event
      return ofSchedule("uhrwerk.schedule.zoneData", scheduleId, at, data)
    }
    case "calendar":
      return {
        ...node("uhrwerk.calendar.changed", { change: event.change, schedules: event.schedules }),
        subject: event.name,
      }
    case "clockBack":
      return node("uhrwerk.node.clockBack", { millis: event.millis, schedules: event.schedules })
    case "leaseLost":
      return node("uhrwerk.node.leaseLost", { node: event.node })
    case "outdated":
      return node("uhrwerk.node.outdated", { reason: short(event.reason) })
    case "trouble":
      return node("uhrwerk.node.trouble", { doing: short(event.doing), error: short(event.error) })
    case "worker":
      return workerTypes.has(event.what)
        ? {
            ...node(`uhrwerk.worker.${event.what}` as EventType, {
              reason: event.reason === null ? null : short(event.reason),
            }),
            subject: short(event.worker),
          }
        : undefined
    default:
      return undefined
  }
}

/** The event of a run that somebody cancelled, as it is after that. */
export const cancelledDraft = (run: Run): Draft =>
  ofRun("uhrwerk.run.cancelled", run, run.endedAt ?? run.createdAt, {
    state: run.state,
    attempt: run.attempt,
    reason: run.reason === null ? null : short(run.reason),
  })

const endTypes: Readonly<Record<string, EventType>> = {
  retrying: "uhrwerk.run.retrying",
  scheduled: "uhrwerk.run.snoozed",
  ready: "uhrwerk.run.released",
  dead: "uhrwerk.run.dead",
}

const ended = (event: Extract<EngineEvent, { kind: "ended" }>, at: number): Draft => {
  const { run, state, durationMillis, error, output, dueAt } = event
  return ofRun(endTypes[state] ?? "uhrwerk.run.ended", run, at, {
    state,
    attempt: run.attempt,
    durationMillis,
    ...(dueAt === null ? {} : { dueAt }),
    ...(error === null ? {} : { error: { name: short(error.name), message: short(error.message) } }),
    ...outputOf(output),
  })
}

/** An output of more than 4 KiB is left out, and that is said. */
const outputOf = (output: string | null): Readonly<Record<string, unknown>> => {
  if (output === null) return {}
  return output.length > outputMax ? { outputLeftOut: true } : { output: redact(decodePayload(output)) }
}

const ofRun = (type: EventType, run: Run, at: number, data: Draft["data"]): Draft => ({
  type,
  at,
  subject: run.id,
  job: run.job,
  data: {
    job: run.job,
    queue: run.queue,
    ...data,
    ...(run.scheduleId === null ? {} : { scheduleId: run.scheduleId }),
    ...(run.parentId === null ? {} : { parentId: run.parentId }),
  },
})

// A schedule is called as its job.
const ofSchedule = (type: EventType, scheduleId: string, at: number, data: Draft["data"]): Draft => ({
  type,
  at,
  subject: scheduleId,
  job: scheduleId,
  data: { scheduleId, ...data },
})

const short = (text: string): string => {
  // Cut before and after: what is redacted may be longer, and no text makes it slow.
  const safe = redactText(text.slice(0, 2 * textMax))
  return (safe.length > textMax ? `${safe.slice(0, textMax - 1)}…` : safe).toWellFormed()
}

/** With its id and its source. */
export const cloudEventOf = (draft: Draft, id: string, node: string): CloudEvent => ({
  specversion: "1.0",
  id,
  source: `/nodes/${encodeURIComponent(node)}`,
  type: draft.type,
  ...(draft.subject === null ? {} : { subject: draft.subject }),
  time: new Date(draft.at).toISOString(),
  datacontenttype: "application/json",
  data: draft.data,
})
