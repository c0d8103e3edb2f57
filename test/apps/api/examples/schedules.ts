// Examples for the routes of jobs, schedules and calendars.
import * as Schema from "effect/Schema"
import { calendar, cron, every, job } from "uhrwerk"
import type { schedulesApi } from "../../../../apps/api/schedules.ts"
import type { Examples, Stage } from "./Example.ts"

const workdays = calendar("sched.workdays", { zone: "UTC", weekdays: ["mon", "tue", "wed", "thu", "fri"] })
// Never in the life of a test.
const rare = cron("0 0 1 1 *", { only: workdays })

export const config = {
  jobs: [
    job("sched.digest", {
      input: Schema.toStandardSchemaV1(Schema.Struct({ to: Schema.String })),
      on: cron("0 0 1 1 *", { only: workdays, input: { to: "ada@example.org" } }),
      run: () => {},
    }),
    job("sched.past", { on: every("1h"), run: () => {} }),
    // Its run is alive until the engine stops.
    job("sched.endless", {
      on: rare,
      run: (_: void, ctx) =>
        new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve())),
    }),
  ],
  calendars: [workdays],
}

let made = 0
const body = {
  job: "sched.digest",
  on: { every: "24h", startAt: "2099-01-01T00:00:00Z" },
  input: { to: "ada@example.org" },
}
const create = async ({ ask }: Stage): Promise<string> => {
  const id = `sched.own.${++made}`
  await ask("POST", "/v1/schedules", { id, ...body })
  return id
}
const ofOwn = async (stage: Stage) => ({ params: { id: await create(stage) } })
const ofOwnWithBody = async (stage: Stage) => ({ ...(await ofOwn(stage)), body })
/** A schedule of another server's config, whose job this one does not know. */
const ofForeign = async ({ store }: Stage) => {
  const now = await store.now()
  await store.putSchedules([
    {
      id: "sched.foreign",
      job: "sched.novel",
      trigger: { kind: "every", periodMillis: 1_000, startAt: now - 5_000 },
      input: null,
      overlap: "allow",
      fromConfig: false,
      cursor: now,
      nextAt: null,
      zoneData: null,
      createdAt: now - 10_000,
    },
  ])
  return { params: { id: "sched.foreign" } }
}
const ofConfig = { params: { id: "sched.digest" } }
const none = { params: { id: "sched.none" } }
const notFound = { gives: "notFound", ask: none } as const
const badCursor = { gives: "badCursor", ask: { query: { cursor: "of another list" } } } as const
const wrongTime = { ...body, on: { cron: "61 * * * *" } }
const wrongJob = { ...body, job: "sched.novel" }
const wrongInput = { ...body, input: { to: 7 } }
const fresh = (more: object) => () => ({ body: { id: `sched.own.${++made}`, ...body, ...more } })

export const examples: Examples<typeof schedulesApi> = {
  listJobs: [{ gives: 200, ask: {} }, badCursor],
  getJob: [
    { gives: 200, ask: { params: { name: "sched.digest" } } },
    { gives: "notFound", ask: { params: { name: "sched.none" } } },
  ],
  listSchedules: [{ gives: 200, ask: { query: { paused: false, job: "sched.digest" } } }, badCursor],
  createSchedule: [
    { gives: 201, ask: fresh({}) },
    { gives: "idTaken", ask: async (stage) => ({ body: { id: await create(stage), ...body } }) },
    { gives: "unknownJob", ask: fresh(wrongJob) },
    { gives: "invalidInput", ask: fresh(wrongTime) },
    { gives: "invalidPayload", ask: fresh(wrongInput) },
  ],
  getSchedule: [{ gives: 200, ask: { ...ofConfig, query: { next: 3 } } }, notFound],
  editSchedule: [
    { gives: 200, ask: ofOwnWithBody },
    { gives: "notFound", ask: { ...none, body } },
    { gives: "conflict", ask: { ...ofConfig, body } },
    { gives: "unknownJob", ask: async (stage) => ({ ...(await ofOwn(stage)), body: wrongJob }) },
    { gives: "invalidInput", ask: async (stage) => ({ ...(await ofOwn(stage)), body: wrongTime }) },
    { gives: "invalidPayload", ask: async (stage) => ({ ...(await ofOwn(stage)), body: wrongInput }) },
  ],
  deleteSchedule: [{ gives: 204, ask: ofOwn }, notFound, { gives: "conflict", ask: ofConfig }],
  pauseSchedule: [
    { gives: 200, ask: async (stage) => ({ ...(await ofOwn(stage)), body: { note: "moving" } }) },
    notFound,
  ],
  resumeSchedule: [{ gives: 200, ask: ofOwn }, notFound],
  skipNext: [{ gives: 200, ask: ofOwn }, notFound],
  runNow: [
    { gives: 201, ask: ofOwn },
    { gives: "unknownJob", ask: ofForeign },
    notFound,
    {
      gives: "conflict",
      ask: async ({ ask, engine }) => {
        const running = await engine.runs({ job: "sched.endless", state: "running" })
        if (running.length === 0) await ask("POST", "/v1/schedules/sched.endless/run")
        return { params: { id: "sched.endless" } }
      },
    },
  ],
  backfillSchedule: [
    { gives: 200, ask: () => ({ ...ofConfig, body: { from: Date.now() - 3_600_000, dryRun: true } }) },
    { gives: "notFound", ask: { ...none, body: { from: 0 } } },
    { gives: "invalidInput", ask: { ...ofConfig, body: { from: "never" } } },
    {
      gives: "unknownJob",
      ask: async (stage) => ({ ...(await ofForeign(stage)), body: { from: 0, max: 1 } }),
    },
  ],
  previewTrigger: [
    { gives: 200, ask: { body, query: { next: 2 } } },
    { gives: "unknownJob", ask: { body: wrongJob } },
    { gives: "invalidInput", ask: { body: wrongTime } },
    { gives: "invalidPayload", ask: { body: wrongInput } },
  ],
  listOccurrences: [
    { gives: 200, ask: { params: { id: "sched.past" } } },
    notFound,
    { gives: "badCursor", ask: { ...ofConfig, query: { cursor: "of another list" } } },
  ],
  listCalendars: [{ gives: 200, ask: {} }, badCursor],
  getCalendar: [
    { gives: 200, ask: { params: { name: "sched.workdays" } } },
    { gives: "notFound", ask: { params: { name: "sched.none" } } },
  ],
}
