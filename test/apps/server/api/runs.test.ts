// `/v1/runs` over a real engine.
import { afterAll, beforeAll, expect, test } from "vitest"
import { job } from "uhrwerk"
import { startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld({
    jobs: [job("mail.digest", { run: () => ({ sent: 3 }) })],
    storage: "memory:",
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

test("sendRun > what was sent can be read", async () => {
  const sent = await world.ask("POST", "/v1/runs", { job: "mail.digest", delay: "1h" })
  expect([sent.status, sent.body.state]).toEqual([201, "scheduled"])
  const read = await world.ask("GET", sent.headers.get("location") ?? "")
  expect([read.status, read.body]).toEqual([200, sent.body])
})
