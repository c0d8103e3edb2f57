// Behind `/v1/schedules`: what there is and what comes, schedules that programs make, and what is done to one by hand.
import * as Result from "effect/Result"
import { decodePayload, errorInfo } from "../../../core/domain/Payload.ts"
import type { Occurrence, ScheduleRow } from "../../../core/domain/Schedule.ts"
import { firstAt } from "../../../core/trigger/Occurrences.ts"
import { makeTriggerParser } from "../../../core/trigger/Dialects.ts"
import { makeParseTrigger } from "../../../core/trigger/Triggers.ts"
import { pageUsual } from "../../api/fields.ts"
import type { schedulesApi } from "../../api/schedules.ts"
import { checkSchedule } from "../../sdk/checkSchedule.ts"
import { cronPreview } from "../../sdk/cronPreview.ts"
import { loadDialects } from "../../sdk/dialects.ts"
import { bookOf, nextInstants, wordsOf } from "../../sdk/schedulePreview.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { checkMatch, etagOf } from "./etag.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"
import { requestOf } from "./scheduleRequest.ts"
import { startableOf } from "./runSends.ts"

type Api = Omit<typeof schedulesApi, "listJobs" | "getJob" | "listCalendars" | "getCalendar">

const nextUsual = 5

const timely = <A>(answer: Promise<A>): Promise<A> => inTime(answer, answerMillisMax, noAnswer)

/** The handlers. */
export const scheduleHandlers: Handlers<Api> = {
  listSchedules: async ({ query, caller, parts }) => {
    const { limit = pageUsual, cursor, ...filter } = query
    const after = placeOf("schedules", filter, cursor, () => true) ?? ""
    const rows = (await parts.store.schedules())
      .filter((row) => row.id > after && maySee(caller, row.job) && isWanted(row, filter))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    const items = await Promise.all(rows.slice(0, limit).map(viewOf))
    const last = rows.length > limit ? items.at(-1) : undefined
    return {
      status: 200,
      body: { items, cursor: last === undefined ? null : cursorOf("schedules", filter, last.id) },
    }
  },

  createSchedule: async ({ body: { id, ...body }, caller, parts }) => {
    if (!maySee(caller, id))
      throw refuse("invalidInput", `Schedules of this key are called "${caller.namespace}.something".`, {
        errors: [{ pointer: "/id", detail: "is not in the key's namespace" }],
      })
    startableOf(parts.project, caller, body.job)
    const row = await timely(parts.engine().createSchedule(id, requestOf(body))).catch((error: unknown) => {
      throw errorInfo(error).name === "DuplicateName" ? refuse("idTaken", errorInfo(error).message) : error
    })
    return {
      status: 201,
      body: await detailOf(parts, row, nextUsual),
      headers: { etag: tagOf(row), location: `/v1/schedules/${encodeURIComponent(id)}` },
      audit: { schedule: id, job: body.job },
    }
  },

  getSchedule: async ({ params, query, caller, parts }) => {
    const row = await scheduleOf(parts, caller, params.id)
    const body = await detailOf(parts, row, query.next ?? nextUsual)
    return { status: 200, body, headers: { etag: tagOf(row) } }
  },

  editSchedule: async ({ params: { id }, body, caller, headers, parts }) => {
    const before = ownOf(await scheduleOf(parts, caller, id))
    checkMatch(headers, tagOf(before))
    startableOf(parts.project, caller, body.job)
    const row = await timely(parts.engine().editSchedule(id, requestOf(body)))
    return {
      status: 200,
      body: await detailOf(parts, row, nextUsual),
      headers: { etag: tagOf(row) },
      audit: { schedule: id, job: body.job },
    }
  },

  deleteSchedule: async ({ params: { id }, caller, headers, parts }) => {
    checkMatch(headers, tagOf(ownOf(await scheduleOf(parts, caller, id))))
    await timely(parts.engine().deleteSchedule(id))
    return { status: 204, audit: { schedule: id } }
  },

  pauseSchedule: async ({ params: { id }, body, caller, parts }) => {
    await scheduleOf(parts, caller, id)
    await timely(parts.engine().pauseSchedule(id, true, body.note))
    return {
      status: 200,
      body: await viewOf(await scheduleOf(parts, caller, id)),
      audit: { schedule: id, note: body.note ?? null },
    }
  },

  resumeSchedule: async ({ params: { id }, caller, parts }) => {
    await scheduleOf(parts, caller, id)
    await timely(parts.engine().pauseSchedule(id, false))
    return { status: 200, body: await viewOf(await scheduleOf(parts, caller, id)), audit: { schedule: id } }
  },

  skipNext: async ({ params: { id }, caller, parts }) => {
    await scheduleOf(parts, caller, id)
    const at = await timely(parts.engine().skipNext(id))
    const skippedAt = at === null ? null : at.getTime()
    return { status: 200, body: { skippedAt }, audit: { schedule: id, skippedAt } }
  },

  runNow: async ({ params: { id }, caller, parts }) => {
    await scheduleOf(parts, caller, id)
    const runId = await timely(parts.engine().runNow(id)).catch((error: unknown) => {
      // Its last run is alive: the request is right, and may be another time.
      throw errorInfo(error).name === "InvalidInput" ? refuse("conflict", errorInfo(error).message) : error
    })
    return {
      status: 201,
      body: { runId },
      headers: { location: `/v1/runs/${runId}` },
      audit: { schedule: id, run: runId },
    }
  },

  backfillSchedule: async ({ params: { id }, body, caller, parts }) => {
    await scheduleOf(parts, caller, id)
    const answer = await timely(parts.engine().backfill(id, body))
    const created = answer.instants.filter(({ result }) => result === "created").length
    return { status: 200, body: answer, audit: { schedule: id, dryRun: body.dryRun === true, created } }
  },

  previewTrigger: async ({ body, query, caller, parts }) => {
    const { project, store } = parts
    startableOf(project, caller, body.job)
    const member = project.jobs.get(body.job) ?? project.flows.get(body.job)?.flow
    // `startableOf` has found it.
    if (member === undefined) throw noAnswer()
    const schedule = await checkSchedule("on", member, requestOf(body).on, project.dialects)
    const parse = makeParseTrigger(makeTriggerParser(project.dialects), await bookOf(store))
    const trigger = Result.getOrThrow(parse({ ...schedule, id: body.job }))
    const cron = schedule.trigger.kind === "cron" ? await cronPreview(schedule.trigger) : undefined
    const now = await store.now()
    const nextAt = firstAt(trigger, now, now)
    if (nextAt === null && trigger.kind !== "after")
      throw refuse("invalidInput", "No instant of it comes any more. Correct its times or its limits.", {
        errors: [{ pointer: "/on", detail: "names no instant to come" }],
      })
    const row = { createdAt: now, cursor: now - 1, pausedAt: null, nextAt }
    return {
      status: 200,
      body: {
        words: wordsOf(schedule.trigger, cron),
        next: nextInstants(row, trigger, cron, query.next ?? nextUsual),
      },
    }
  },

  listOccurrences: async ({ params: { id }, query, caller, parts }) => {
    const { limit = pageUsual, cursor } = query
    const row = (await parts.store.schedules()).find((each) => each.id === id)
    const before = placeOf("occurrences", { id }, cursor, (place) => /^\d{1,16}$/.test(place))
    const filter = { scheduleId: id, limit, ...(before === undefined ? {} : { before: Number(before) }) }
    const rows = maySee(caller, row?.job ?? id) ? await parts.store.occurrences(filter) : []
    // The ledger outlives its schedule for a while.
    if (rows.length === 0 && before === undefined && (row === undefined || !maySee(caller, row.job)))
      throw gone(id)
    const last = rows.length === limit ? rows.at(-1) : undefined
    return {
      status: 200,
      body: {
        items: rows.map(occurrenceView),
        cursor: last === undefined ? null : cursorOf("occurrences", { id }, String(last.at)),
      },
    }
  },
}

const isWanted = (
  row: ScheduleRow,
  { job, paused }: { readonly job?: string; readonly paused?: "true" | "false" },
): boolean =>
  (job === undefined || row.job === job) &&
  (paused === undefined || (row.pausedAt !== null) === (paused === "true"))

/** The schedule of an id, as far as the caller may see it; throws what is answered where there is none. */
const scheduleOf = async ({ store }: ApiParts, caller: Caller, id: string): Promise<ScheduleRow> => {
  const row = (await store.schedules()).find((each) => each.id === id)
  if (row === undefined || !maySee(caller, row.job)) throw gone(id)
  return row
}

const gone = (id: string) =>
  refuse("notFound", `There is no schedule "${id}". GET /v1/schedules lists those that there are.`)

const ownOf = (row: ScheduleRow): ScheduleRow => {
  if (!row.fromConfig) return row
  throw refuse(
    "conflict",
    `Schedule "${row.id}" is one of the config, and the next start would undo the change. Make it in the config, or pause the schedule.`,
  )
}

/** Of what it says: that it has started something is no change of it. */
const tagOf = ({ id, job, trigger, input, overlap, catchUp, createdAt }: ScheduleRow): string =>
  etagOf(id, job, JSON.stringify(trigger), input ?? "", overlap, JSON.stringify(catchUp ?? null), createdAt)

const viewOf = async (row: ScheduleRow) => {
  const { trigger, input, catchUp = null } = row
  const cron = trigger.kind === "cron" ? await cronPreview(trigger) : undefined
  return { ...row, catchUp, input: decodePayload(input) ?? null, words: wordsOf(trigger, cron) }
}

const detailOf = async ({ store }: ApiParts, row: ScheduleRow, count: number) => {
  const { trigger } = row
  const cron = trigger.kind === "cron" ? await cronPreview(trigger) : undefined
  const dialects = await loadDialects([trigger.kind === "cron" ? trigger.dialect : undefined])
  const parsed = makeParseTrigger(makeTriggerParser(dialects), await bookOf(store))(row)
  // One that cannot be read starts nothing, and the log of its engine says why.
  const next = Result.isFailure(parsed) ? [] : nextInstants(row, parsed.success, cron, count)
  return { ...(await viewOf(row)), next }
}

const occurrenceView = ({ trigger, ...row }: Occurrence) => ({
  ...row,
  trigger: trigger === null ? null : (JSON.parse(trigger) as unknown),
})
