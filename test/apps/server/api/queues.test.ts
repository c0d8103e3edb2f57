// Queues over HTTP, on a real engine: what waits in them, and letting one rest.
import { afterAll, beforeAll, expect, test } from "vitest"
import { job } from "uhrwerk"
import { queueHandlers } from "../../../../apps/server/api/queues.ts"
import { until } from "../project.ts"
import { callAs, callerOf } from "./callers.ts"
import { startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld({
    jobs: [
      job("mail", { queue: "mail", run: () => "sent" }),
      job("report", { queue: "Berichte / 1", run: () => "written" }),
      job("plain", { run: () => 1 }),
    ],
    storage: "memory:",
    poll: "50ms",
    worker: { concurrency: 3 },
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

const send = async (name: string): Promise<string> =>
  (await world.ask("POST", "/v1/runs", { job: name })).body.id
const state = async (id: string): Promise<string> => (await world.ask("GET", `/v1/runs/${id}`)).body.state

test("listQueues > those of the config by name, in pages", async () => {
  const first = await world.ask("GET", "/v1/queues?limit=2")
  expect(first.body.items).toEqual(
    ["Berichte / 1", "default"].map((queue) => ({
      queue,
      ready: 0,
      oldestDueAt: null,
      oldestAgeMillis: null,
      running: 0,
      paused: null,
      workers: 0,
      slots: 3,
    })),
  )
  const second = await world.ask("GET", `/v1/queues?limit=2&cursor=${first.body.cursor}`)
  expect([second.body.items.map(({ queue }: any) => queue), second.body.cursor]).toEqual([["mail"], null])
  expect((await world.ask("GET", "/v1/queues?cursor=%20")).body.code).toBe("badCursor")
})

test("pauseQueue > what waits in it stays ready and is counted, until it goes on", async () => {
  const paused = await world.ask("POST", "/v1/queues/mail/pause", { note: "the mail server moves" })
  expect([paused.status, paused.body]).toEqual([
    200,
    {
      queue: "mail",
      paused: { note: "the mail server moves", by: expect.any(String), at: expect.any(Number) },
    },
  ])
  const ids = [await send("mail"), await send("mail")]
  const other = await send("plain")
  await until(
    "the other run",
    () => state(other),
    (is) => is === "succeeded",
  )
  expect(await Promise.all(ids.map(state))).toEqual(["ready", "ready"])
  const { body } = await world.ask("GET", "/v1/queues/mail")
  expect(body).toMatchObject({ queue: "mail", ready: 2, running: 0, paused: paused.body.paused })
  expect(body.oldestAgeMillis).toBeGreaterThanOrEqual(0)
  const resumed = await world.ask("POST", "/v1/queues/mail/resume")
  expect([resumed.status, resumed.body]).toEqual([200, { queue: "mail", paused: null }])
  for (const id of ids)
    await until(
      "a run",
      () => state(id),
      (is) => is === "succeeded",
    )
  expect((await world.ask("POST", "/v1/queues/mail/resume")).status).toBe(200)
})

test("pauseQueue > names of any letters, and queues of other configs, are fine; what is no name is refused", async () => {
  const odd = encodeURIComponent("Berichte / 1")
  for (const name of [odd, "elsewhere"]) {
    expect((await world.ask("POST", `/v1/queues/${name}/pause`)).status).toBe(200)
    expect((await world.ask("GET", `/v1/queues/${name}`)).body.paused).toMatchObject({ note: null })
    await world.ask("POST", `/v1/queues/${name}/resume`)
  }
  expect((await world.ask("GET", "/v1/queues/elsewhere")).body.code).toBe("notFound")
  expect((await world.ask("POST", "/v1/queues/%20a/pause")).body.code).toBe("invalidInput")
  expect((await world.ask("POST", "/v1/queues/a/pause", { note: "n".repeat(513) })).body.code).toBe(
    "invalidBody",
  )
  expect((await world.ask("POST", "/v1/queues/a/pause", { why: "a" })).body.code).toBe("invalidBody")
})

test("a caller with a namespace learns nothing of queues, and pauses none", async () => {
  const caller = callerOf("mail")
  const params = { queue: "mail" }
  const { listQueues, getQueue, pauseQueue, resumeQueue } = queueHandlers
  expect([
    await callAs(listQueues, world.parts, caller, {}),
    await callAs(getQueue, world.parts, caller, { params }),
    await callAs(pauseQueue, world.parts, caller, { params }),
    await callAs(resumeQueue, world.parts, caller, { params }),
  ]).toEqual(Array.from({ length: 4 }, () => ({ status: 403, code: "forbidden" })))
  expect((await world.ask("GET", "/v1/queues/mail")).body.paused).toBe(null)
})
