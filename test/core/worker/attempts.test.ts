// Attempts in the hands of workers, seen by the store: given, begun, ended, lost, cancelled, too slow. Names in brackets
// are scenarios.
import { afterEach, describe, expect, test } from "vitest"
import { lossMax } from "../../../core/domain/Transition.ts"
import { jobRow } from "../engine/world.ts"
import { ackOf, busy, deaf, helloOf, worldsThatEnd } from "./deskWorld.ts"
import { type Attempt, Ends, type TestHandler } from "./testWorker.ts"

const desks = worldsThatEnd(afterEach)
const jobs = [jobRow("work")]

describe("an attempt at a worker", () => {
  test("is claimed, begun, settled and told of, with input and output as they are", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const inputs: Array<string | null> = []
    const worker = world.work({
      url: server.url,
      handlers: { work: ({ assign }) => (inputs.push(assign.input), { b: 1, a: [12345678901] }) },
    })
    await world.advance(1)
    const id = await server.send("work", { z: 1, a: 2 })
    await world.advance(1)
    expect(await world.row(id)).toMatchObject({
      state: "succeeded",
      attempt: 1,
      output: '{"b":1,"a":[12345678901]}',
      startAcknowledged: true,
    })
    expect(inputs).toEqual(['{"z":1,"a":2}'])
    expect(worker.acknowledged).toEqual([`${id} 1 settled`])
    const kinds = server.member.events.flatMap((event) => ("run" in event ? [event.kind] : []))
    expect(kinds).toEqual(["started", "ended"])
    expect(server.desk.list()).toMatchObject([{ name: "worker", inHand: 0, status: "alive" }])
  })

  test("that fails is retried by the job's policy, and dead after the last one", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    world.work({
      url: server.url,
      handlers: {
        work: () => {
          throw new Error("no luck")
        },
      },
    })
    const id = await server.send("work")
    await world.advance(10_000)
    expect(await world.row(id)).toMatchObject({
      state: "dead",
      attempt: 3,
      error: { message: "Error: no luck" },
    })
  })

  test("may be snoozed, declined and released", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    let turnOf = 0
    const outcomes = [
      { kind: "snoozed", delayMillis: 1000 },
      { kind: "released" },
      { kind: "declined", reason: "nothing to do" },
    ] as const
    world.work({ url: server.url, handlers: { work: () => new Ends(outcomes[turnOf++]!) } })
    const id = await server.send("work")
    await world.advance(500)
    expect(await world.row(id)).toMatchObject({ state: "scheduled", attempt: 0 })
    await world.advance(2000)
    expect(await world.row(id)).toMatchObject({ state: "skipped", reason: "nothing to do", attempt: 1 })
    expect(turnOf).toBe(3)
  })

  test("reports progress and lines of its log as events of its run, and nothing after its end", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    let hold: Attempt | undefined
    world.work({
      url: server.url,
      handlers: {
        work: async (attempt) => {
          hold = attempt
          attempt.report({ type: "progress", percent: 40, note: "half" })
          attempt.report({ type: "log", lines: [{ at: 1, level: "info", text: "hello" }], dropped: 2 })
          await world.sleep(10, attempt.signal)
        },
      },
    })
    const id = await server.send("work")
    await world.advance(100)
    hold?.report({ type: "progress", percent: 100 })
    await world.advance(100)
    const told = server.member.events.flatMap((event) =>
      event.kind === "progress" || event.kind === "log" ? [[event.run.id, event]] : [],
    )
    expect(told).toMatchObject([
      [id, { kind: "progress", percent: 40, note: "half" }],
      [id, { kind: "log", line: "(2 lines were too many, and are left out)" }],
      [id, { kind: "log", line: "hello" }],
    ])
  })

  test("[SC-S13] goes on as long as its worker lives: twenty leases, one start", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 100_000) } })
    const id = await server.send("work")
    await world.advance(101_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
    expect(worker.begun).toHaveLength(1)
    expect(server.told()).toEqual(["worker connected"])
  })
})

describe("credits", () => {
  test("a worker has at most its slots and its prefetch in hand, and begins no more than its slots", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 1000) },
      who: { slots: 2, prefetch: 3 },
    })
    for (let count = 0; count < 20; count++) await server.send("work")
    await world.advance(500)
    expect(server.desk.list()).toMatchObject([{ inHand: 5, slots: 2, prefetch: 3 }])
    expect(worker.running).toHaveLength(2)
    const states = server.desk.inHandOf("worker").map(({ state }) => state)
    expect(states.sort()).toEqual(["started", "started", "waiting", "waiting", "waiting"])
    expect((await world.driver.carried(server.member.engine.node(), 100)).length).toBe(5)
    await world.advance(11_000)
    expect(worker.begun).toHaveLength(20)
  })

  test("a worker without slots is given nothing, and a heartbeat with more gets it some", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const peer = await world.peer(server)
    peer.send(helloOf({ slots: 0 }))
    const id = await server.send("work")
    await world.advance(2000)
    expect(await world.row(id)).toMatchObject({ state: "ready" })
    peer.send({ type: "heartbeat", id: "w2", at: 0, slots: 1 })
    await world.advance(10)
    expect(peer.said.map(({ type }) => type)).toEqual(["welcome", "heartbeat", "assign"])
  })

  test("[SC-S19] what waits at a worker with one slot is neither given away nor begun twice", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const handlers = { work: busy(world, 30_000) }
    const a = world.work({ url: server.url, name: "a", handlers, who: { slots: 1, prefetch: 5 } })
    await world.advance(10)
    const ids = await Promise.all(Array.from({ length: 6 }, () => server.send("work")))
    await world.advance(100)
    const b = world.work({ url: server.url, name: "b", handlers, who: { slots: 1, prefetch: 5 } })
    await world.advance(200_000)
    expect(a.begun).toHaveLength(6)
    expect(b.begun).toHaveLength(0)
    for (const row of await world.rows(ids))
      expect(row).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
  })

  test("a peer that does not read is given nothing until it has", async () => {
    const world = desks()
    const server = await world.serve({ jobs, limits: { bufferedBytesHigh: 2000 } })
    const peer = await world.peer(server)
    peer.send(helloOf({ slots: 100 }))
    await world.advance(10)
    world.link().pause("toClient")
    for (let count = 0; count < 100; count++) await server.send("work", "x".repeat(500))
    await world.advance(2000)
    const given = (await world.driver.carried(server.member.engine.node(), 1000)).length
    expect(given).toBeGreaterThan(0)
    expect(given).toBeLessThan(10)
    world.link().resume("toClient")
    await world.advance(2000)
    expect((await world.driver.carried(server.member.engine.node(), 1000)).length).toBe(100)
  })

  test("[SC-S20] slots are never lost: ten cuts, failures, time-outs and cancels later all of them work", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [jobRow("work", { timeoutMillis: 700 })] })
    const handlers: Record<string, TestHandler> = {
      work: (attempt) => {
        const kind = JSON.parse(attempt.assign.input ?? "0") as number
        if (kind === 1) throw new Error("one")
        if (kind === 2) return deaf(world, 2000)(attempt)
        return busy(world, kind === 3 ? 650 : 300)(attempt)
      },
    }
    let worker = world.work({ url: server.url, handlers, who: { slots: 5 } })
    for (let round = 0; round < 10; round++) {
      const ids = await Promise.all([0, 1, 2, 3, 3].map((kind) => server.send("work", kind)))
      await world.advance(200)
      await server.member.run(server.member.engine.cancel(ids.slice(3, 4), "not needed"))
      await world.advance(200)
      if (round % 2 === 0) world.link().cut()
      else {
        worker.kill()
        worker = world.work({ url: server.url, incarnation: `again-${round}`, handlers, who: { slots: 5 } })
      }
      await world.advance(15_000)
    }
    expect(server.desk.list()).toMatchObject([{ inHand: 0 }])
    await Promise.all(Array.from({ length: 5 }, () => server.send("work", 3)))
    await world.advance(100)
    expect(worker.running).toHaveLength(5)
  })
})

describe("a connection that is cut", () => {
  test("keeps the attempt of a worker that resumes in time: one start, one end", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 2000) } })
    const id = await server.send("work")
    await world.advance(1000)
    world.link().cut()
    await world.advance(3000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(worker.begun).toHaveLength(1)
    expect(server.told()).toEqual(["worker connected", "worker cut", "worker resumed"])
  })

  test("keeps an end that came while there was none, and settles it once", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 1000) }, random: () => 0.9 })
    const id = await server.send("work")
    await world.advance(900)
    world.link().cut()
    await world.advance(300)
    expect(await world.row(id)).toMatchObject({ state: "running" })
    await world.advance(2000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(worker.acknowledged).toEqual([`${id} 1 settled`])
  })

  test("gives its runs to others within a second when nobody comes back, and uses the attempt", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const a = world.work({ url: server.url, name: "a", handlers: { work: busy(world, 60_000) } })
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(1000)
    const b = world.work({ url: server.url, name: "b", handlers: { work: busy(world, 100) } })
    await world.advance(10)
    const killedAt = world.now()
    a.kill()
    await world.advance(1000)
    expect(b.begun).toMatchObject([{ run: id, attempt: 2, token: 2 }])
    expect((b.begun[0]?.at ?? 0) - killedAt).toBeLessThanOrEqual(1000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
    const attempts = await world.driver.attempts(id)
    expect(attempts).toMatchObject([{ attempt: 1, error: { name: "WorkerLost", kind: "lost" } }])
    expect(attempts[0]?.error.message).toContain('"a"')
  })

  test("of a worker that cannot resume: at once", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const peer = await world.peer(server)
    peer.send(helloOf({ capabilities: [] }))
    const id = await server.send("work")
    await world.advance(10)
    peer.send(ackOf(peer.said.at(-1), "started"))
    await world.advance(10)
    expect(await world.row(id)).toMatchObject({ state: "running", startAcknowledged: true })
    peer.connection.terminate()
    await world.advance(10)
    expect(await world.row(id)).toMatchObject({ state: "retrying", attempt: 1, dueAt: world.now() - 10 })
  })

  test("[SC-S15] before the start uses no attempt, at most so many times, and then the run is dead", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const id = await server.send("work", { kept: true })
    for (let loss = 1; loss <= lossMax; loss++) {
      const peer = await world.peer(server)
      peer.send(helloOf({ incarnation: `i${loss}` }))
      await world.advance(10)
      expect(peer.said.at(-1)).toMatchObject({ type: "assign", run: id, attempt: 1, input: '{"kept":true}' })
      peer.connection.terminate()
      await world.advance(1000)
      expect(await world.row(id)).toMatchObject({ state: "ready", attempt: 0, losses: loss })
    }
    const last = await world.peer(server)
    last.send(helloOf({ incarnation: "last" }))
    await world.advance(10)
    last.connection.terminate()
    await world.advance(1000)
    expect(await world.row(id)).toMatchObject({ state: "dead", error: { name: "NeverStarted" } })
  })

  test("[SC-S41] half open: suspect within two beats; the worker notices too, comes again, and goes on", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 30_000) } })
    const id = await server.send("work")
    await world.advance(1000)
    world.link().vanish("toServer")
    world.link().vanish("toClient")
    await world.advance(11_000)
    expect(server.told()).toEqual(["worker connected", "worker suspect", "worker resumed"])
    await world.advance(30_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
    expect(worker.begun).toHaveLength(1)
  })

  test("[SC-S18] silent for good: told to stop, then lost within 16 s, and only then begun elsewhere", async () => {
    let isReached = true
    const world = desks({ reaches: () => isReached })
    const server = await world.serve({ jobs })
    const a = world.work({ url: server.url, name: "a", handlers: { work: busy(world, 60_000) } })
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(1000)
    const link = world.link()
    const b = world.work({ url: server.url, name: "b", handlers: { work: busy(world, 100) } })
    await world.advance(10)
    const silentAt = world.now()
    isReached = false
    link.vanish("toServer")
    link.vanish("toClient")
    await world.advance(16_000)
    expect(b.begun).toMatchObject([{ run: id, attempt: 2 }])
    expect((b.begun[0]?.at ?? 0) - silentAt).toBeLessThanOrEqual(16_000)
    expect(a.begun).toMatchObject([{ stopped: "leaseLost" }])
    expect(a.begun[0]?.endedAt ?? Infinity).toBeLessThanOrEqual(b.begun[0]?.at ?? 0)
    isReached = true
    await world.advance(60_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(a.acknowledged).toEqual([`${id} 1 stale`])
    expect(server.told()).toEqual(["a connected", "b connected", "a suspect", "a over", "a connected"])
  })

  test("[SC-S10][SC-S11] a frozen worker's outcome is stale, changes nothing, and it takes further runs", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const a = world.work({ url: server.url, name: "a", handlers: { work: () => "of a" } })
    await world.advance(10)
    // It had begun, and stands still before it can tell the end.
    const handler = busy(world, 3000)
    const frozen = world.work({ url: server.url, name: "z", handlers: { slow: handler, work: handler } })
    a.kill()
    await world.advance(1000)
    const id = await server.send("work")
    await world.advance(100)
    expect(frozen.begun).toMatchObject([{ run: id, attempt: 1 }])
    frozen.freeze()
    const b = world.work({ url: server.url, name: "b", handlers: { work: () => "of b" } })
    await world.advance(20_000)
    expect(b.begun).toMatchObject([{ run: id, attempt: 2 }])
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '"of b"' })
    b.kill()
    frozen.thaw()
    await world.advance(5000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '"of b"', token: 2 })
    expect(frozen.acknowledged).toEqual([`${id} 1 stale`])
    const next = await server.send("work")
    await world.advance(5000)
    expect(await world.row(next)).toMatchObject({ state: "succeeded" })
    expect(server.told()).toContain("z over")
  })
})

describe("an attempt that is to stop", () => {
  test("a cancel reaches the worker; what it says afterwards is stale", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 60_000) } })
    const id = await server.send("work")
    await world.advance(1000)
    await server.member.run(server.member.engine.cancel([id], "not needed"))
    await world.advance(10)
    expect(worker.begun).toMatchObject([{ stopped: "cancelled" }])
    expect(worker.acknowledged).toEqual([`${id} 1 stale`])
    expect(await world.row(id)).toMatchObject({ state: "cancelled", reason: "not needed" })
    expect(server.desk.list()).toMatchObject([{ inHand: 0 }])
  })

  test("a cancel by a tool, of which no hint comes, is noticed within a poll", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 60_000) } })
    const id = await server.send("work")
    await world.advance(1000)
    await world.driver.cancel([id], "by hand")
    await world.advance(1100)
    expect(worker.begun).toMatchObject([{ stopped: "cancelled" }])
    expect(server.desk.list()).toMatchObject([{ inHand: 0 }])
  })

  test("a cancel of what waits at the worker: it is never begun", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 3000) },
      who: { slots: 1, prefetch: 1 },
    })
    const first = await server.send("work")
    const second = await server.send("work")
    await world.advance(100)
    await server.member.run(server.member.engine.cancel([second], "not needed"))
    await world.advance(10_000)
    expect(worker.begun.map(({ run }) => run)).toEqual([first])
    expect(await world.row(second)).toMatchObject({ state: "cancelled" })
  })

  test("[SC-S38] a handler that does not obey its limit: retried after the grace, its late result refused", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [jobRow("work", { timeoutMillis: 1000 })] })
    const worker = world.work({ url: server.url, name: "a", handlers: { work: deaf(world, 12_000) } })
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(5900)
    expect(worker.begun).toMatchObject([{ stopped: "timeout", endedAt: null }])
    expect(await world.row(id)).toMatchObject({ state: "running", attempt: 1 })
    const b = world.work({ url: server.url, name: "b", handlers: { work: () => "of b" } })
    await world.advance(3000)
    expect(b.begun).toMatchObject([{ run: id, attempt: 2 }])
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '"of b"' })
    const [first] = await world.driver.attempts(id)
    expect(first).toMatchObject({ attempt: 1, error: { name: "Timeout", kind: "timeout" } })
    await world.advance(10_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '"of b"' })
    // Its slot works again.
    b.kill()
    await world.advance(1000)
    const next = await server.send("work")
    await world.advance(100)
    expect(worker.running).toEqual([next])
  })

  test("a handler that obeys its limit ends its attempt at once", async () => {
    const world = desks()
    const server = await world.serve({
      jobs: [jobRow("work", { timeoutMillis: 1000, retry: { ...jobs[0]!.retry, attemptMax: 1 } })],
    })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 60_000) } })
    const id = await server.send("work")
    await world.advance(1100)
    expect(worker.begun).toMatchObject([{ stopped: "timeout" }])
    expect(await world.row(id)).toMatchObject({ state: "dead", attempt: 1 })
  })

  test("disconnect: what it had begun is lost and goes on elsewhere, and the worker comes again", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({ url: server.url, handlers: { work: busy(world, 2000) } })
    const id = await server.send("work")
    await world.advance(1000)
    expect(server.desk.disconnect("worker", "it misbehaves")).toBe(true)
    expect(server.desk.disconnect("nobody", "")).toBe(false)
    await world.advance(10)
    expect(await world.row(id)).toMatchObject({ state: "retrying", attempt: 1, dueAt: world.now() - 10 })
    await world.advance(6000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(worker.begun).toHaveLength(2)
  })

  test("a drain of one worker: it ends what it has begun, hands back the rest, and looks for another server", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 2000) },
      who: { slots: 1, prefetch: 2 },
    })
    const ids = await Promise.all([1, 2, 3].map((each) => server.send("work", each)))
    await world.advance(1000)
    const other = world.work({ url: server.url, name: "other", handlers: { work: busy(world, 100) } })
    await world.advance(10)
    expect(server.desk.drain("worker", 5000, "new version")).toBe(true)
    expect(server.desk.drain("nobody", 5000, "")).toBe(false)
    await world.advance(500)
    expect(other.begun).toHaveLength(2)
    expect(server.desk.list().map(({ name, status }) => [name, status])).toContainEqual([
      "worker",
      "draining",
    ])
    await world.advance(1000)
    expect((await world.rows(ids)).map(({ state, attempt }) => [state, attempt])).toEqual(
      ids.map(() => ["succeeded", 1]),
    )
    expect(server.told()).toContain("worker over")
    // It comes back as a new one.
    await world.advance(5000)
    expect(worker.over).toBe(null)
    expect(server.desk.list().map(({ name }) => name)).toContain("worker")
  })

  test("a worker's own drain: nothing new, bye, and no attempt is used", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const worker = world.work({
      url: server.url,
      handlers: { work: busy(world, 60_000) },
      who: { slots: 1, prefetch: 1 },
    })
    const ids = [await server.send("work"), await server.send("work")]
    await world.advance(1000)
    worker.step({ kind: "drain", graceMillis: 2000, reason: "SIGTERM" })
    await world.advance(3000)
    expect(worker.over).toMatchObject({ code: 1000 })
    for (const row of await world.rows(ids))
      expect(row).toMatchObject({ state: "ready", attempt: 0, losses: 0 })
    expect(server.desk.list()).toEqual([])
  })
})
