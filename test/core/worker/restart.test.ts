// Servers that stop, die, come again and are several; and what of the attempts of their workers goes on. Names in brackets
// are scenarios.
import { afterEach, describe, expect, test } from "vitest"
import { jobRow, startAt } from "../engine/world.ts"
import { ackOf, busy, helloOf, worldsThatEnd } from "./deskWorld.ts"
import type { TestWorker } from "./testWorker.ts"

const desks = worldsThatEnd(afterEach)
const jobs = [jobRow("work")]

/** Every start of these workers. */
const starts = (...workers: ReadonlyArray<TestWorker>) => workers.flatMap(({ begun }) => begun)

describe("a server that stops", () => {
  test("[SC-S43] restarts during 20 runs: 20 starts, 20 ends, no attempt used twice", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const workers = ["a", "b", "c", "d"].map((name) =>
      world.work({
        url: first.url,
        name,
        handlers: { work: busy(world, 8000) },
        who: { slots: 5 },
        random: () => 0.3,
      }),
    )
    await world.advance(10)
    const ids = await Promise.all(Array.from({ length: 20 }, () => first.send("work")))
    await world.advance(1000)
    expect(starts(...workers)).toHaveLength(20)
    const drained = first.member.run(first.member.engine.drain(0))
    await world.advance(100)
    await drained
    for (const worker of workers) worker.url = "memory://second/"
    const second = await world.serve({ jobs, name: "second" })
    await world.advance(2000)
    expect(second.desk.list().map(({ inHand }) => inHand)).toEqual([5, 5, 5, 5])
    await world.advance(20_000)
    expect(starts(...workers)).toHaveLength(20)
    for (const row of await world.rows(ids))
      expect(row).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    // Each was begun under the first one, which told of it.
    expect(second.member.events.filter(({ kind }) => kind === "started")).toEqual([])
    expect(second.member.events.filter(({ kind }) => kind === "ended")).toHaveLength(20)
  })

  test("[SC-S43] dies during 20 runs and comes again within the lease: the same", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const workers = ["a", "b", "c", "d"].map((name, index) =>
      world.work({
        url: first.url,
        name,
        handlers: { work: busy(world, 8000) },
        who: { slots: 5 },
        random: () => (index + 1) / 6,
      }),
    )
    await world.advance(10)
    const ids = await Promise.all(Array.from({ length: 20 }, () => first.send("work")))
    await world.advance(1000)
    for (const worker of workers) worker.url = "memory://second/"
    await first.crash()
    // The grace for a cut is short: the next one is there at once.
    await world.serve({ jobs, name: "second" })
    await world.advance(30_000)
    expect(starts(...workers)).toHaveLength(20)
    for (const row of await world.rows(ids))
      expect(row).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
  })

  test("[SC-S42][SC-S43] dies with 100 workers at work and lets in 25 a second: all come again and go on", async () => {
    const world = desks()
    const workers = { hellosPerSecondMax: 25 }
    const first = await world.serve({ jobs, name: "first" })
    let random = 0.37
    const next = (): number => (random = (random * 7919) % 1)
    const many = Array.from({ length: 100 }, (_, index) =>
      world.work({
        url: first.url,
        name: `w${index}`,
        handlers: { work: busy(world, 20_000) },
        random: next,
      }),
    )
    await world.advance(1000)
    const ids = await Promise.all(many.map(() => first.send("work")))
    await world.advance(1000)
    for (const worker of many) worker.url = "memory://second/"
    const drained = first.member.run(first.member.engine.drain(0))
    await world.advance(0)
    await drained
    const second = await world.serve({ jobs, name: "second", workers })
    await world.advance(60_000)
    expect(second.told().filter((each) => each.endsWith("denied")).length).toBeGreaterThan(0)
    const rows = await world.rows(ids)
    const kept = rows.filter(({ attempt }) => attempt === 1)
    for (const row of rows) expect(row.state).toBe("succeeded")
    // Within the four seconds that a handler goes on, 25 at once and 25 a second.
    expect(kept.length).toBeGreaterThanOrEqual(90)
  })

  test("what it did not give to anybody, and what waits at a worker, goes back; no attempt, no loss", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 60_000) },
      who: { slots: 1, prefetch: 3 },
    })
    await world.advance(10)
    const ids = await Promise.all(Array.from({ length: 5 }, () => server.send("work")))
    await world.advance(1000)
    const drained = server.member.run(server.member.engine.drain(5000))
    await world.advance(500)
    await drained
    const rows = await world.rows(ids)
    expect(rows.filter(({ state }) => state === "ready")).toHaveLength(4)
    for (const row of rows.filter(({ state }) => state === "ready"))
      expect(row).toMatchObject({ attempt: 0, losses: 0, node: null })
    expect(worker.begun).toHaveLength(1)
    // Nobody comes for what was begun: the lease ends, and the attempt is used.
    const other = await world.serve({ jobs, own: ["work"] })
    await world.advance(7000)
    const begun = await world.row(worker.begun[0]?.run ?? "")
    expect(begun).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(other.member.events.some(({ kind }) => kind === "reclaimed")).toBe(true)
  })

  test("with nothing begun it leaves at once", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 1000) } })
    await world.advance(100)
    const drained = server.member.run(server.member.engine.drain(0))
    await world.advance(100)
    await drained
    expect(await world.driver.nodes()).toEqual([])
    expect(server.desk.list()).toEqual([])
    expect(worker.state.phase).not.toBe("open")
    expect(worker.over).toBe(null)
  })

  test("takes no new worker while it stops, and lets those that it has resume", async () => {
    const world = desks()
    const own = jobRow("own")
    const server = await world.serve({
      jobs: [...jobs, own],
      own: ["own"],
      handler: (_, signal) => world.sleep(4000, signal),
    })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 3000) }, random: () => 0.1 })
    await world.advance(10)
    const id = await server.send("work")
    await server.send("own")
    await world.advance(500)
    const drained = server.member.run(server.member.engine.drain(30_000))
    await world.advance(100)
    world.link().cut()
    const peer = await world.peer(server)
    peer.send(helloOf())
    await world.advance(100)
    expect(peer.closed).toMatchObject({ code: 1012 })
    await world.advance(3000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(worker.begun).toHaveLength(1)
    await world.advance(2000)
    await drained
  })

  test("[SC-S40] a claim that answers after the stop began: all of it goes back", async () => {
    for (let delay = 20; delay <= 500; delay += 40) {
      const world = desks()
      const slow = new Proxy(world.driver, {
        get: (target, name) => {
          const value = target[name as keyof typeof target] as any
          if (name !== "claim") return typeof value === "function" ? value.bind(target) : value
          return async (wish: any) => {
            const runs = await value.call(target, wish)
            if (runs.length > 0) await world.sleep(delay, new AbortController().signal)
            return runs
          }
        },
      })
      const server = await world.serve({ jobs, driver: slow })
      const worker = world.work({ url: server.url, handlers: { work: busy(world, 1000) }, who: { slots: 5 } })
      await world.advance(10)
      const ids = await Promise.all(Array.from({ length: 5 }, () => server.send("work")))
      await world.advance(10)
      const drained = server.member.run(server.member.engine.drain(0))
      await world.advance(1000)
      await drained
      expect(worker.begun).toEqual([])
      for (const row of await world.rows(ids))
        expect(row).toMatchObject({ state: "ready", attempt: 0, losses: 0 })
    }
  })

  test("a scope that ends without a drain leaves what was begun to the next server", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const worker = world.work({
      url: first.url,
      handlers: { work: busy(world, 5000) },
      who: { slots: 1, prefetch: 1 },
      random: () => 0.3,
    })
    await world.advance(10)
    const ids = [await first.send("work"), await first.send("work")]
    await world.advance(1000)
    const closed = first.member.close()
    await world.advance(10)
    await closed
    worker.url = "memory://second/"
    await world.serve({ jobs, name: "second" })
    await world.advance(30_000)
    const [begun, waiting] = await world.rows(ids)
    expect(begun).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    expect(waiting).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(worker.begun).toHaveLength(2)
  })
})

describe("a worker that comes from another server", () => {
  test("an end that the first server stored and could not acknowledge is told once more, and applied once", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const worker = world.work({ url: first.url, handlers: { work: busy(world, 1000) }, random: () => 0.3 })
    await world.advance(10)
    const id = await first.send("work")
    await world.advance(900)
    world.link().vanish("toClient")
    await world.advance(200)
    expect(await world.row(id)).toMatchObject({ state: "succeeded" })
    worker.url = "memory://second/"
    await first.crash()
    await world.serve({ jobs, name: "second" })
    await world.advance(15_000)
    expect(worker.acknowledged).toEqual([`${id} 1 settled`])
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
  })

  test("the first one finds that the run is another's, and leaves it alone", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const second = await world.serve({ jobs, name: "second" })
    const worker = world.work({ url: first.url, handlers: { work: busy(world, 5000) }, random: () => 0.1 })
    await world.advance(10)
    const id = await first.send("work")
    await world.advance(1000)
    worker.url = second.url
    world.link().cut()
    await world.advance(100)
    expect((await world.row(id)).node).toBe(second.member.engine.node())
    await world.advance(20_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    expect(worker.begun).toHaveLength(1)
    expect(first.desk.list()).toEqual([])
  })

  test("what was given to another in the meantime is stale, and its handler is told", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const second = await world.serve({ jobs, name: "second" })
    const other = world.work({ url: second.url, name: "other", handlers: { work: busy(world, 100) } })
    const worker = world.work({ url: first.url, handlers: { work: busy(world, 50_000) }, random: () => 0.99 })
    await world.advance(10)
    const id = await first.send("work")
    await world.advance(100)
    const mine = worker.begun.length === 1
    if (mine) {
      await first.crash()
      await world.advance(12_000)
      worker.url = second.url
      await world.advance(30_000)
      expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
      expect(worker.begun[0]?.stopped).toBe("leaseLost")
    } else expect(other.begun).toHaveLength(1)
  })
})

describe("several nodes on one store", () => {
  test("[SC-S17] three desks and a dispatcher: 600 runs, each begun once, and nobody starves", async () => {
    const world = desks()
    const own: Array<string> = []
    const servers = [
      await world.serve({ jobs, name: "a" }),
      await world.serve({ jobs, name: "b" }),
      // Its own process and its workers claim under one node.
      await world.serve({
        jobs,
        name: "c",
        own: ["work"],
        slots: 10,
        handler: async ({ run }, signal) => {
          own.push(run.id)
          await world.sleep(500, signal)
        },
      }),
    ]
    const workers = servers.flatMap((server) =>
      [1, 2, 3, 4].map((each) =>
        world.work({
          url: server.url,
          name: `${server.name}${each}`,
          handlers: { work: busy(world, 500) },
          who: { slots: 5, prefetch: 5 },
        }),
      ),
    )
    await world.advance(10)
    const requests = Array.from({ length: 600 }, () => ({ job: "work", input: null }))
    const [server] = servers
    const sent = await server!.member.run(server!.member.engine.enqueueAll(requests))
    await world.advance(30_000)
    for (const { id } of sent)
      expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    expect(new Set([...own, ...starts(...workers).map(({ run }) => run)]).size).toBe(600)
    expect(own.length + starts(...workers).length).toBe(600)
    expect(own.length).toBeGreaterThan(0)
    for (const worker of workers) expect(worker.begun.length).toBeGreaterThan(0)
  })

  test("a node that loses its lease tells its workers to stop, and claims again under a new name", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const rescuer = await world.serve({ jobs, name: "rescuer" })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 60_000) },
      who: { slots: 1, prefetch: 1 },
    })
    await world.advance(10)
    const ids = [await server.send("work"), await server.send("work")]
    await world.advance(100)
    expect(worker.begun).toHaveLength(1)
    server.faults.set("renew", "before")
    await world.advance(4500)
    expect(worker.begun).toMatchObject([{ stopped: "leaseLost" }])
    const rescue = world.work({ url: rescuer.url, name: "rescue", handlers: { work: busy(world, 100) } })
    await world.advance(3000)
    server.faults.clear()
    await world.advance(3000)
    expect(new Set(rescue.begun.map(({ run }) => run))).toEqual(new Set(ids))
    for (const row of await world.rows(ids)) expect(row.state).toBe("succeeded")
    expect(server.desk.list()).toMatchObject([{ inHand: 0, status: "alive" }])
    rescue.kill()
    await world.advance(1000)
    const next = await server.send("work")
    await world.advance(1000)
    expect(worker.running).toEqual([next])
    const reports = await world.driver.workers()
    expect(reports.map(({ node }) => node)).toContain(server.member.engine.node())
  })

  test("a claim that answers after the lease was lost gives nobody anything", async () => {
    const world = desks()
    let delay = 0
    const slow = new Proxy(world.driver, {
      get: (target, name) => {
        const value = target[name as keyof typeof target] as any
        if (name !== "claim") return typeof value === "function" ? value.bind(target) : value
        return async (wish: any) => {
          const runs = await value.call(target, wish)
          if (runs.length > 0) await world.sleep(delay, new AbortController().signal)
          return runs
        }
      },
    })
    const server = await world.serve({ jobs, driver: slow })
    const rescuer = await world.serve({ jobs, name: "rescuer" })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 10_000) } })
    await world.advance(10)
    delay = 7000
    const id = await server.send("work")
    await world.advance(10)
    server.faults.set("renew", "before")
    await world.advance(5500)
    server.faults.clear()
    const other = world.work({ url: rescuer.url, name: "other", handlers: { work: busy(world, 10_000) } })
    await world.advance(20_000)
    expect(other.begun).toMatchObject([{ run: id, token: 2 }])
    expect(worker.begun).toEqual([])
  })

  test("[SC-S12] the reclaimer of another node is late: what was settled meanwhile stays settled", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const peer = await world.peer(server)
    peer.send(helloOf())
    const id = await server.send("work")
    await world.advance(10)
    const assign = peer.said.at(-1)
    peer.send(ackOf(assign, "started"))
    await world.advance(10)
    const before = await world.row(id)
    // Another node has its lease in view and finds it ended, while the outcome is on its way.
    server.faults.set("renew", "before")
    await world.advance(4900)
    peer.send({
      type: "result",
      id: "r",
      run: id,
      attempt: 1,
      token: assign.token,
      outcome: { kind: "succeeded", output: "1" },
    })
    await world.advance(5)
    const rescuer = await world.serve({ jobs, own: ["work"] })
    await world.advance(5000)
    expect(before.startedAt).toBeGreaterThanOrEqual(startAt)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: "1", attempt: 1, token: 1 })
    expect(rescuer.member.events.filter(({ kind }) => kind === "reclaimed")).toEqual([])
  })
})
