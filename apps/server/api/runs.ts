// `/v1/runs`: reading runs, what is kept of them, and waiting for their ends. Sending them is in runSends.ts, what people
// do to one in runHands.ts.
import { highestId, isRunId, lowestId } from "../../../core/domain/Ids.ts"
import type { Run } from "../../../core/domain/Run.ts"
import {
  isLogId,
  logKind,
  logLineOf,
  logPrefix,
  progressKind,
  type ProgressNote,
  progressOf,
} from "../../../core/observe/RunRecords.ts"
import type { RunFilter } from "../../../core/ports/StoreDriver.ts"
import { pageUsual } from "../../api/fields.ts"
import type { runsApi } from "../../api/runs.ts"
import { waitMillisMax } from "../RunWaits.ts"
import type { ApiParts } from "./ApiParts.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"
import { instantOf, spanOf } from "./queryTimes.ts"
import { explanationOf } from "./runExplain.ts"
import { runHandHandlers } from "./runHands.ts"
import { runSendHandlers } from "./runSends.ts"
import { runOf } from "./runOf.ts"
import { awaitedRun, preferenceApplied, preferredSeconds } from "./runWait.ts"
import { attemptView, runLine, runView } from "./runViews.ts"

export { runOf } from "./runOf.ts"
export { startableOf } from "./runSends.ts"
export { runView } from "./runViews.ts"

// Of a run that is read; a run has a thousand at most, which are a list of their own.
const attemptsShown = 50
const jobsMax = 1_000
const waitSecondsUsual = 30

/** Behind the routes. */
export const runHandlers: Handlers<typeof runsApi> = {
  ...runSendHandlers,
  ...runHandHandlers,

  listRuns: async ({ query, caller, parts }) => {
    const { limit = pageUsual, cursor, createdAfter, createdBefore, ...filter } = query
    const from = instantOf("createdAfter", createdAfter) ?? 0
    const end = instantOf("createdBefore", createdBefore)
    const whole = [filter.state, filter.job, filter.queue, from, end]
    const place = placeOf("runs", whole, cursor, isRunId)
    const before = place ?? (end === undefined ? undefined : lowestId(end))
    const runs = await listed(parts, caller, {
      ...filter,
      ...(before === undefined ? {} : { before }),
      ...(from <= 0 ? {} : { after: highestId(from - 1) }),
      limit,
    })
    const last = runs.length === limit ? runs.at(-1) : undefined
    return {
      status: 200,
      body: {
        items: runs.map(runLine),
        cursor: last === undefined ? null : cursorOf("runs", whole, last.id),
      },
    }
  },

  getRun: async ({ params, query, caller, parts }) => {
    const run = await runOf(parts, caller, params.id)
    const include = new Set(query.include?.split(","))
    const [attempts, progress, explanation] = await Promise.all([
      include.has("attempts") ? parts.store.attempts(run.id) : undefined,
      include.has("progress") ? progressOfRun(parts, run.id) : undefined,
      include.has("explain") ? explanationOf(parts, caller, run) : undefined,
    ])
    return {
      status: 200,
      body: {
        ...runView(run),
        ...(attempts === undefined ? {} : { attempts: attempts.slice(-attemptsShown).map(attemptView) }),
        ...(progress === undefined ? {} : { progress }),
        ...(explanation === undefined ? {} : { explanation }),
      },
    }
  },

  listAttempts: async ({ params, query, caller, parts }) => {
    const { id } = await runOf(parts, caller, params.id)
    const { limit = pageUsual, cursor } = query
    // Each claim has a token of its own, and a greater one.
    const place = placeOf("attempts", id, cursor, (text) => /^\d{1,16}$/.test(text))
    const rest = (await parts.store.attempts(id)).filter(({ token }) => token > Number(place ?? -1))
    const items = rest.slice(0, limit)
    const last = rest.length > limit ? items.at(-1) : undefined
    return {
      status: 200,
      body: {
        items: items.map(attemptView),
        cursor: last === undefined ? null : cursorOf("attempts", id, String(last.token)),
      },
    }
  },

  getRunLogs: async ({ params, query, caller, parts }) => {
    const { id } = await runOf(parts, caller, params.id)
    const { limit = pageUsual, cursor, attempt } = query
    const prefix = logPrefix(id, attempt)
    const after = placeOf("logs", prefix, cursor, (place) => isLogId(place) && place.startsWith(prefix))
    const rows = await parts.store.records({
      kind: logKind,
      prefix,
      order: "ascending",
      limit,
      ...(after === undefined ? {} : { after }),
    })
    const last = rows.length === limit ? rows.at(-1) : undefined
    return {
      status: 200,
      body: {
        items: rows.map(logLineOf),
        cursor: last === undefined ? null : cursorOf("logs", prefix, last.id),
      },
    }
  },

  explainRun: async ({ params, caller, parts }) => ({
    status: 200,
    body: await explanationOf(parts, caller, await runOf(parts, caller, params.id)),
  }),

  waitRun: async ({ params, query, headers, caller, signal, parts }) => {
    const asked = spanOf("timeout", query.timeout, waitMillisMax)
    const preferred = asked === undefined ? preferredSeconds(headers) : undefined
    const millis = asked ?? (preferred ?? waitSecondsUsual) * 1_000
    const run = await awaitedRun(parts, caller, params.id, { millis, signal })
    return { status: 200, body: runView(run), headers: preferenceApplied(preferred) }
  },
}

/** A page of runs, of all that the caller may see. */
const listed = async (
  { store }: Pick<ApiParts, "store">,
  caller: Caller,
  filter: RunFilter,
): Promise<ReadonlyArray<Run>> => {
  if (filter.job !== undefined) return maySee(caller, filter.job) ? store.list(filter) : []
  if (caller.namespace === null) return store.list(filter)
  // Whatever has a run is counted there, also what is in no config any more.
  const names = new Set((await store.counts()).map(({ job }) => job))
  const jobs = [...names].filter((job) => maySee(caller, job)).sort()
  const parts: Array<Run> = []
  for (let from = 0; from < jobs.length; from += jobsMax)
    parts.push(...(await store.list({ ...filter, jobs: jobs.slice(from, from + jobsMax) })))
  return jobs.length <= jobsMax ? parts : parts.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit)
}

const progressOfRun = async (
  { store }: Pick<ApiParts, "store">,
  id: string,
): Promise<ProgressNote | null> => {
  // The id may begin no other, as all are of one length.
  const [row] = await store.records({ kind: progressKind, prefix: id, order: "ascending", limit: 1 })
  return row === undefined ? null : progressOf(row)
}
