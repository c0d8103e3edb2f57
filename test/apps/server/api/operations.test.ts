// `/v1/operations`, and cancelling runs by a filter, over a real engine.
import { afterAll, beforeAll, expect, test } from "vitest"
import { job } from "uhrwerk"
import { makeOperations } from "../../../../apps/server/Operations.ts"
import { startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  const run = () => undefined
  world = await startWorld({
    jobs: [job("mail", { run, queue: "fast" }), job("post", { run, queue: "slow" })],
    storage: "memory:",
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

const cancelRuns = (filter: object, more: object = {}) =>
  world.ask("POST", "/v1/runs/cancel", { filter, ...more })

test("runs of a filter are cancelled, with a reason, and nothing else is", async () => {
  const send = async (queue: string): Promise<string> =>
    (await world.ask("POST", "/v1/runs", { job: "mail", delay: "1h", queue })).body.id
  const [slow, fast] = [await send("slow"), await send("fast")]
  const filter = { state: "scheduled", queue: "slow" }
  const dry = await cancelRuns(filter, { dryRun: true })
  expect([dry.status, dry.body]).toEqual([200, { total: { value: 1, exact: true }, sample: [slow] }])
  const begun = await cancelRuns(filter, { reason: "Not wanted" })
  expect(begun.status).toBe(202)
  const operations = makeOperations({ store: world.store, self: "test", onTrouble: () => undefined })
  const where = begun.headers.get("location") ?? ""
  for (let tick = 0; tick < 5; tick++) await operations.tick()
  expect((await world.ask("GET", where)).body).toMatchObject({ state: "succeeded", done: 1, failed: 0 })
  const states = await Promise.all([slow, fast].map((id) => world.ask("GET", `/v1/runs/${id}`)))
  expect(states.map(({ body }) => body.state)).toEqual(["cancelled", "scheduled"])
  expect(states[0]?.body.reason).toContain("Not wanted")
})

test("a state in which a run has ended is refused", async () => {
  const { status, body } = await cancelRuns({ state: "succeeded" })
  expect([status, body.errors[0].pointer]).toEqual([422, "/filter/state"])
})

test("an operation can be stopped, once, and is listed with the others, the newest first", async () => {
  const { body: first } = await cancelRuns({ job: "none" })
  const { body: second } = await cancelRuns({ job: "none" })
  const stopped = await world.ask("POST", `/v1/operations/${second.id}/cancel`)
  expect([stopped.status, stopped.body.cancelAsked]).toEqual([202, true])
  const operations = makeOperations({ store: world.store, self: "test", onTrouble: () => undefined })
  for (let tick = 0; tick < 20; tick++) await operations.tick()
  expect((await world.ask("GET", `/v1/operations/${second.id}`)).body.state).toBe("cancelled")
  expect((await world.ask("POST", `/v1/operations/${second.id}/cancel`)).body.code).toBe("conflict")

  const page = await world.ask("GET", "/v1/operations?limit=1")
  expect(page.body.items.map(({ id }: { id: string }) => id)).toEqual([second.id])
  const next = await world.ask("GET", `/v1/operations?limit=1&cursor=${page.body.cursor}`)
  expect(next.body.items).toMatchObject([{ id: first.id, state: "succeeded" }])
  expect(Object.keys(next.body.items[0])).not.toContain("owner")
})

test("an id that is none, or of nothing, is not found", async () => {
  for (const id of ["x", "0199a1b2-0000-7000-8000-000000000001"])
    expect((await world.ask("GET", `/v1/operations/${id}`)).status).toBe(404)
})
