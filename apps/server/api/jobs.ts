// Behind `/v1/jobs` and `/v1/calendars`: what the store and the config know.
import * as Result from "effect/Result"
import { decodeCalendar } from "../../../core/engine/SavedCalendars.ts"
import type { CalendarRow } from "../../../core/ports/StoreDriver.ts"
import { pageUsual } from "../../api/fields.ts"
import type { schedulesApi } from "../../api/schedules.ts"
import { refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"

/** The handlers. */
export const jobHandlers: Handlers<
  Pick<typeof schedulesApi, "listJobs" | "getJob" | "listCalendars" | "getCalendar">
> = {
  listJobs: async ({ query, caller, parts }) => ({
    status: 200,
    body: page("jobs", await jobsOf(parts, caller), query),
  }),

  getJob: async ({ params, caller, parts }) => {
    const job = (await jobsOf(parts, caller)).find(({ name }) => name === params.name)
    if (job === undefined)
      throw refuse(
        "notFound",
        `There is no job or flow "${params.name}". GET /v1/jobs lists those that there are.`,
      )
    return { status: 200, body: job }
  },

  listCalendars: async ({ query, caller, parts }) => ({
    status: 200,
    body: page("calendars", await calendarsOf(parts, caller), query),
  }),

  getCalendar: async ({ params, caller, parts }) => {
    const calendar = (await calendarsOf(parts, caller)).find(({ name }) => name === params.name)
    if (calendar === undefined)
      throw refuse(
        "notFound",
        `There is no calendar "${params.name}". GET /v1/calendars lists those that there are.`,
      )
    return { status: 200, body: calendar }
  },
}

/** A page of what is sorted by name. */
const page = <A extends { readonly name: string }>(
  list: string,
  rows: ReadonlyArray<A>,
  { limit = pageUsual, cursor }: { readonly limit?: number; readonly cursor?: string },
) => {
  const after = placeOf(list, {}, cursor, () => true) ?? ""
  const left = rows.filter(({ name }) => name > after)
  const items = left.slice(0, limit)
  const last = left.length > limit ? items.at(-1) : undefined
  return { items, cursor: last === undefined ? null : cursorOf(list, {}, last.name) }
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1

/** Jobs and flows of the config, and those that the store has runs or schedules of; steps of flows are left out. */
const jobsOf = async ({ project, store }: ApiParts, caller: Caller) => {
  const [counts, schedules] = [await store.counts(), await store.schedules()]
  const own = (name: string): boolean => project.jobs.has(name) || project.flows.has(name)
  const names = new Set([...project.jobs.keys(), ...project.flows.keys()])
  // The runs of steps are those of jobs that no config lists by themselves.
  for (const { job } of [...counts, ...schedules]) if (own(job) || !job.includes("/")) names.add(job)
  return [...names]
    .filter((name) => maySee(caller, name))
    .map((name) => ({
      name,
      kind: project.flows.has(name) ? ("flow" as const) : ("job" as const),
      queue: project.book.jobs.get(name)?.queue ?? null,
      isDefined: own(name),
      needs: Object.values<{ readonly name: string }>(project.jobs.get(name)?.options.needs ?? {}).map(
        (need) => need.name,
      ),
      schedules: schedules.flatMap(({ id, job }) => (job === name ? [id] : [])).sort(),
      counts: Object.fromEntries(
        counts.flatMap(({ job, state, count }) => (job === name ? [[state, count]] : [])),
      ),
    }))
    .sort(byName)
}

const calendarsOf = async ({ store }: ApiParts, caller: Caller) => {
  const [rows, schedules] = [await store.calendars(), await store.schedules()]
  return rows
    .map((row: CalendarRow) => {
      const decoded = decodeCalendar(row)
      return {
        name: row.name,
        fromConfig: row.fromConfig,
        zone: Result.isSuccess(decoded) ? decoded.success.zone : "",
        rule: Result.isSuccess(decoded) ? decoded.success.rule : null,
        schedules: schedules
          .filter(
            ({ job, trigger }) => maySee(caller, job) && [trigger.only, trigger.except].includes(row.name),
          )
          .map(({ id }) => id)
          .sort(),
      }
    })
    .sort(byName)
}
