// What the simulation found, made small: promises that a desk broke in one of its seeds (test/simulation/regressions.ts).
import { afterEach, expect, test } from "vitest"
import { jobRow } from "../engine/world.ts"
import { ackOf, busy, helloOf, worldsThatEnd } from "./deskWorld.ts"

const desks = worldsThatEnd(afterEach)

test("a drain hands back what a claim gave whose answer was lost", async () => {
  const world = desks()
  const server = await world.serve({ jobs: [jobRow("work")] })
  world.work({ url: server.url, handlers: { work: () => 1 } })
  await world.advance(1)
  server.faults.set("claim", "after")
  server.faults.set("carried", "before")
  const id = await server.send("work")
  await world.advance(10)
  expect((await world.row(id)).state).toBe("running")
  server.faults.delete("claim")
  world.lineTime.after(100, () => server.faults.delete("carried"))
  await server.drain(0)
  expect(await world.row(id)).toMatchObject({ state: "ready", node: null, attempt: 0 })
})

test("a part of a broadcast whose worker went away goes to whoever may have it elsewhere", async () => {
  const world = desks()
  const jobs = [
    jobRow("work", { placement: { by: "leastLoaded", where: "region = eu", broadcast: true } }),
    jobRow("long"),
  ]
  const who = { labels: { region: "eu" } }
  const first = await world.serve({ name: "s1", jobs })
  const full = world.work({
    url: first.url,
    name: "full",
    who: { ...who, slots: 1 },
    handlers: { work: () => 1, long: busy(world, 60_000) },
  })
  await world.advance(10)
  await first.send("long")
  await world.advance(10)
  const free = world.work({ url: first.url, name: "free", who, handlers: { work: () => 2 } })
  await world.advance(10)
  const whole = await first.send("work")
  await world.advance(100)
  full.kill()
  free.kill()
  const second = await world.serve({ name: "s2", jobs })
  world.work({ url: second.url, name: "other", who, handlers: { work: () => 3 } })
  await world.advance(40_000)
  expect((await world.row(whole)).state).toBe("succeeded")
})

test("a run that nobody starts in time expires, while no worker is there to claim for", async () => {
  const world = desks()
  const server = await world.serve({ jobs: [jobRow("work")] })
  const id = await server.send("work", null, { startWithinMillis: 500 })
  await world.advance(3000)
  expect((await world.row(id)).state).toBe("expired")
})

test("who goes on with a run that was handed back meanwhile is told that it is stale, and the run is carried out", async () => {
  const world = desks()
  const server = await world.serve({ jobs: [jobRow("work")] })
  const capabilities: ReadonlyArray<string> = []
  const peer = await world.peer(server)
  peer.send(helloOf({ capabilities }))
  await world.advance(10)
  const id = await server.send("work")
  await world.advance(10)
  const given = peer.said.at(-1)
  peer.send(ackOf(given, "waiting"))
  await world.advance(10)
  // It is cut, and comes again while the store does not take that the run was given back.
  server.faults.set("settle", "before")
  peer.connection.terminate()
  await world.advance(10)
  const again = await world.peer(server)
  const { run, attempt, token } = given
  again.send(helloOf({ capabilities, connection: 2, inHand: [{ run, attempt, token, state: "running" }] }))
  await world.advance(10)
  expect(again.said.find(({ type }) => type === "welcome")?.inHand).toMatchObject([{ verdict: "stale" }])
  server.faults.delete("settle")
  await world.advance(3000)
  expect(again.said.filter(({ type }) => type === "assign")).toMatchObject([
    { run: id, attempt: 1, token: 2 },
  ])
})
