// Who gets what, and what is left when sessions come and go in unusual orders.
import { afterEach, describe, expect, test } from "vitest"
import { jobRow } from "../engine/world.ts"
import { ackOf, busy, deaf, helloOf, worldsThatEnd } from "./deskWorld.ts"

const desks = worldsThatEnd(afterEach)
const jobs = [jobRow("x"), jobRow("y", { queue: "others" })]

describe("workers with different jobs", () => {
  test("share each job by who can do it; a long backlog of one does not starve the other", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const both = world.work({
      url: server.url,
      name: "both",
      handlers: { x: busy(world, 100), y: busy(world, 100) },
      who: { slots: 2 },
    })
    const one = world.work({ url: server.url, name: "one", handlers: { x: busy(world, 100) } })
    await world.advance(10)
    const { member } = server
    const many = Array.from({ length: 500 }, () => ({ job: "x", input: null }))
    await member.run(member.engine.enqueueAll(many))
    const few = await member.run(
      member.engine.enqueueAll(Array.from({ length: 6 }, () => ({ job: "y", input: null }))),
    )
    await world.advance(3000)
    for (const { id } of few) expect(await world.row(id)).toMatchObject({ state: "succeeded" })
    expect(both.begun.length).toBeGreaterThan(40)
    expect(one.begun.length).toBeGreaterThan(20)
  })

  test("two hundred kinds of workers: each is found by its runs", async () => {
    const world = desks()
    const kinds = Array.from({ length: 200 }, (_, index) =>
      jobRow(`job-${index}`, { queue: `q${index % 7}` }),
    )
    const server = await world.serve({ jobs: kinds, workers: { hellosPerSecondMax: 1000 } })
    const workers = kinds.map(({ name }, index) =>
      world.work({
        url: server.url,
        name: `w${index}`,
        handlers: { [name]: () => index, [kinds[(index + 1) % 200]!.name]: () => index },
      }),
    )
    await world.advance(1000)
    const ids = await Promise.all(kinds.map(({ name }) => server.send(name)))
    await world.advance(3000)
    for (const row of await world.rows(ids)) expect(row).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(workers.reduce((sum, { begun }) => sum + begun.length, 0)).toBe(200)
  })
})

describe("a part of a broadcast that waits here", () => {
  test("goes back when nobody here can do it any more", async () => {
    const world = desks()
    const placement = { by: "leastLoaded", where: null, broadcast: true } as const
    const server = await world.serve({ jobs: [jobRow("all", { placement }), jobRow("long")] })
    const handlers = { all: () => "slow", long: busy(world, 60_000) }
    const slow = world.work({ url: server.url, name: "slow", handlers })
    await world.advance(10)
    await server.send("long")
    await world.advance(10)
    const quick = world.work({ url: server.url, name: "quick", handlers: { all: () => "quick" } })
    await world.advance(10)
    const id = await server.send("all")
    await world.advance(100)
    quick.kill()
    slow.kill()
    await world.advance(3000)
    expect(await world.driver.carried(server.member.engine.node(), 100)).toEqual([])
    const other = await world.serve({ jobs: [jobRow("all", { placement })] })
    world.work({ url: other.url, name: "other", handlers: { all: () => "other" } })
    await world.advance(3000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '["quick","other"]' })
  })
})

describe("sessions in unusual orders", () => {
  test("an outcome that is on its way when its worker vanishes counts, and nobody else begins", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { x: busy(world, 100) } })
    await world.advance(10)
    const id = await server.send("x")
    await world.advance(50)
    server.faults.set("settle", "before")
    await world.advance(100)
    worker.kill()
    await world.advance(3000)
    expect(server.desk.list()).toEqual([])
    const other = world.work({ url: server.url, name: "other", handlers: { x: () => "again" } })
    server.faults.clear()
    await world.advance(5000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, output: '"done"' })
    expect(other.begun).toEqual([])
  })

  test("a connection that was given up is not listened to, and the new one goes on with all", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const first = await world.peer(server)
    first.send(helloOf({ jobs: ["x"], slots: 2 }))
    const id = await server.send("x")
    await world.advance(10)
    const assign = first.said.at(-1)
    first.send(ackOf(assign, "started"))
    await world.advance(10)
    const second = await world.peer(server)
    const inHand = [{ run: id, attempt: 1, token: 1, state: "running" }]
    second.send(helloOf({ jobs: ["x"], slots: 2, connection: 2, inHand }))
    const result = (output: string) => ({
      type: "result",
      id: "r",
      run: id,
      attempt: 1,
      token: 1,
      outcome: { kind: "succeeded", output },
    })
    await world.advance(10)
    first.send(result("1"))
    await world.advance(10)
    expect(first.closed).toMatchObject({ code: 4409 })
    expect(second.said[0]).toMatchObject({ type: "welcome", resumed: true, inHand: [{ verdict: "keep" }] })
    expect(await world.row(id)).toMatchObject({ state: "running" })
    second.send(result("2"))
    await world.advance(10)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: "2" })
  })

  test("the same process without `resume`: a new session, which keeps what it names", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const first = await world.peer(server)
    first.send(helloOf({ jobs: ["x"], slots: 3, capabilities: [] }))
    const ids = [await server.send("x"), await server.send("x")]
    await world.advance(10)
    for (const assign of first.said.filter(({ type }) => type === "assign"))
      first.send(ackOf(assign, "started"))
    await world.advance(10)
    const second = await world.peer(server)
    const inHand = [{ run: ids[0], attempt: 1, token: 1, state: "running" }]
    second.send(helloOf({ jobs: ["x"], slots: 3, capabilities: [], connection: 2, inHand }))
    await world.advance(10)
    expect(first.closed).toMatchObject({ code: 4409 })
    expect(second.said[0]).toMatchObject({ type: "welcome", resumed: false, inHand: [{ verdict: "keep" }] })
    // What it does not name is lost at once, and comes again.
    expect(server.desk.inHandOf("raw")).toMatchObject([
      { run: ids[0], job: "x", state: "started", attempt: 1 },
      { run: ids[1], job: "x", state: "sent", attempt: 2 },
    ])
    second.send({
      type: "result",
      id: "r",
      run: ids[0],
      attempt: 1,
      token: 1,
      outcome: { kind: "succeeded", output: null },
    })
    await world.advance(10)
    expect(await world.row(ids[0]!)).toMatchObject({ state: "succeeded", attempt: 1 })
  })

  test("a new process that names what the old one had: kept and carried on, or stale and begun anew, never both", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const first = await world.peer(server)
    first.send(helloOf({ jobs: ["x"], incarnation: "i1" }))
    const id = await server.send("x")
    await world.advance(10)
    first.send(ackOf(first.said.at(-1), "started"))
    await world.advance(10)
    const second = await world.peer(server)
    const inHand = [{ run: id, attempt: 1, token: 1, state: "running" }]
    second.send(helloOf({ jobs: ["x"], incarnation: "i2", inHand }))
    await world.advance(2000)
    const [{ verdict }] = second.said[0].inHand
    const assigns = second.said.filter(({ type }) => type === "assign")
    expect(assigns.map(({ attempt }) => attempt)).toEqual(verdict === "keep" ? [] : [2])
    expect(await world.row(id)).toMatchObject({ state: "running", attempt: verdict === "keep" ? 1 : 2 })
  })

  test("a run that no frame can carry fails for good, and its worker goes on", async () => {
    const world = desks()
    const server = await world.serve({ jobs, workers: { terms: { frameBytesMax: 4096 } } })
    world.work({ url: server.url, handlers: { x: () => 1 } })
    await world.advance(10)
    const large = await server.send("x", "y".repeat(5000))
    const small = await server.send("x", "y")
    await world.advance(1000)
    expect(await world.row(large)).toMatchObject({ state: "dead", attempt: 1, error: { kind: "payload" } })
    expect(await world.row(small)).toMatchObject({ state: "succeeded" })
  })

  test("the same where only the transport has the lower limit", async () => {
    const world = desks()
    const server = await world.serve({ jobs, limits: { frameBytesMax: 4096 } })
    world.work({ url: server.url, handlers: { x: () => 1 } })
    await world.advance(10)
    const large = await server.send("x", "y".repeat(5000))
    const small = await server.send("x", "y")
    await world.advance(1000)
    expect(await world.row(large)).toMatchObject({ state: "dead", attempt: 1, error: { kind: "payload" } })
    expect(await world.row(small)).toMatchObject({ state: "succeeded" })
  })

  test("a peer that acknowledges nothing of a drain holds the stop up by two seconds, not more", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const peer = await world.peer(server)
    peer.send(helloOf({ jobs: ["x"], slots: 2 }))
    const ids = [await server.send("x"), await server.send("x")]
    await world.advance(10)
    let stopped = false
    const drained = server.member.run(server.member.engine.drain(0)).then(() => (stopped = true))
    await world.advance(2200)
    expect(stopped).toBe(true)
    await drained
    expect(peer.closed).toMatchObject({ code: 1012 })
    for (const row of await world.rows(ids))
      expect(row).toMatchObject({ state: "ready", attempt: 0, losses: 0 })
  })

  test("the limit of time of an attempt goes on over a restart of its server", async () => {
    const world = desks()
    const limited = [jobRow("x", { timeoutMillis: 10_000, retry: { ...jobs[0]!.retry, attemptMax: 1 } })]
    const first = await world.serve({ jobs: limited, name: "first" })
    const worker = world.work({
      url: first.url,
      handlers: { x: deaf(world, 60_000) },
      random: () => 0.3,
    })
    await world.advance(10)
    const id = await first.send("x")
    await world.advance(6000)
    const drained = first.member.run(first.member.engine.drain(0))
    await world.advance(10)
    await drained
    worker.url = "memory://second/"
    await world.serve({ jobs: limited, name: "second" })
    await world.advance(3900)
    expect(worker.begun).toMatchObject([{ stopped: null }])
    await world.advance(200)
    expect(worker.begun).toMatchObject([{ stopped: "timeout" }])
    await world.advance(5100)
    expect(await world.row(id)).toMatchObject({ state: "dead", attempt: 1, error: { kind: "timeout" } })
  })

  test("a store for one engine: the start ends the earlier lease, and workers have the time of one to come", async () => {
    const world = desks()
    const exclusive = new Proxy(world.driver, {
      get: (target, name) => {
        const value = target[name as keyof typeof target] as any
        if (name === "capabilities") return { ...value, shared: false }
        if (name !== "join") return typeof value === "function" ? value.bind(target) : value
        return async (...all: ReadonlyArray<unknown>) => {
          for (const { id } of await target.nodes()) await target.leave(id)
          return value.apply(target, all)
        }
      },
    })
    const first = await world.serve({ jobs, name: "first", driver: exclusive })
    const handlers = { x: busy(world, 10_000) }
    const back = world.work({ url: first.url, name: "back", handlers, random: () => 0.3 })
    const gone = world.work({ url: first.url, name: "gone", handlers })
    await world.advance(10)
    const ids = [await first.send("x"), await first.send("x")]
    await world.advance(1000)
    expect([back.begun.length, gone.begun.length]).toEqual([1, 1])
    back.url = "memory://second/"
    gone.kill()
    await first.crash()
    const second = await world.serve({ jobs, name: "second", driver: exclusive })
    await world.advance(4000)
    expect(second.member.events.filter(({ kind }) => kind === "reclaimed")).toEqual([])
    await world.advance(30_000)
    const of = (run: string | undefined) => world.row(run ?? "")
    expect(await of(back.begun[0]?.run)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    expect(await of(gone.begun[0]?.run)).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(ids).toHaveLength(2)
  })
})
