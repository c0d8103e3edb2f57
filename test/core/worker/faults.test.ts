// A store that fails before or after it has done what the desk asked of it, and desk and dispatcher under one node: whatever
// answer is lost, no run is begun twice, and none stays behind.
import * as Effect from "effect/Effect"
import { afterEach, describe, expect, test } from "vitest"
import { type Fault, jobRow } from "../engine/world.ts"
import { ackOf, busy, type DeskWorld, helloOf, worldsThatEnd } from "./deskWorld.ts"
import { Ends } from "./testWorker.ts"

const desks = worldsThatEnd(afterEach)
const jobs = [jobRow("work")]
const faults: ReadonlyArray<Fault> = ["before", "after"]

describe("a store that fails", () => {
  for (const fault of faults)
    test(`${fault} it has claimed: every run is begun once, by workers and by the engine itself`, async () => {
      const world = desks()
      const own: Array<string> = []
      const server = await world.serve({
        jobs: [...jobs, jobRow("own")],
        own: ["work", "own"],
        slots: 3,
        handler: async ({ run }, signal) => {
          own.push(run.id)
          await world.sleep(300, signal)
        },
      })
      const worker = world.work({
        url: server.url,
        handlers: { work: busy(world, 300), own: busy(world, 300) },
        who: { slots: 3, prefetch: 3 },
      })
      await world.advance(10)
      const ids: Array<string> = []
      for (let round = 0; round < 15; round++) {
        ids.push(await server.send(round % 2 === 0 ? "work" : "own"))
        ids.push(await server.send("work"))
        if (round % 3 === 1) server.faults.set("claim", fault)
        if (round % 3 === 2) server.faults.clear()
        await world.advance(170)
      }
      server.faults.clear()
      await world.advance(10_000)
      const begun = [...own, ...worker.begun.map(({ run }) => run)]
      expect([...begun].sort()).toEqual([...ids].sort())
      expect(own.length).toBeGreaterThan(0)
      expect(worker.begun.length).toBeGreaterThan(0)
      for (const row of await world.rows(ids)) expect(row).toMatchObject({ state: "succeeded", attempt: 1 })
      expect(server.member.events.some(({ kind }) => kind === "trouble")).toBe(true)
    })

  for (const fault of faults)
    test(`${fault} it has settled: the outcome is applied once, acknowledged when that is known`, async () => {
      const world = desks()
      const server = await world.serve({ jobs })
      const worker = world.work({ url: server.url, handlers: { work: busy(world, 100) } })
      await world.advance(10)
      const id = await server.send("work")
      await world.advance(50)
      server.faults.set("settle", fault)
      await world.advance(1000)
      expect(worker.acknowledged).toEqual([])
      server.faults.clear()
      await world.advance(3000)
      expect(worker.acknowledged).toEqual([`${id} 1 settled`])
      expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
      expect(worker.begun).toHaveLength(1)
    })

  for (const fault of faults)
    test(`${fault} it has adopted: the worker comes again and goes on, and its run is not begun here`, async () => {
      const world = desks()
      const first = await world.serve({ jobs, name: "first" })
      const worker = world.work({
        url: first.url,
        handlers: { work: busy(world, 12_000) },
        random: () => 0.3,
      })
      await world.advance(10)
      const id = await first.send("work")
      await world.advance(1000)
      const own: Array<string> = []
      const second = await world.serve({
        jobs,
        name: "second",
        own: ["work"],
        handler: ({ run }) => void own.push(run.id),
      })
      second.faults.set("adopt", fault)
      worker.url = second.url
      const closed = first.member.close()
      await world.advance(0)
      await closed
      await world.advance(200)
      expect(second.told()).toEqual(["worker denied"])
      // The dispatcher, in doubt itself, asks what the node holds.
      second.faults.set("claim", "after")
      await world.advance(500)
      second.faults.clear()
      await world.advance(500)
      expect(own).toEqual([])
      if (fault === "after") {
        await world.advance(30_000)
        expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
        expect(worker.begun).toHaveLength(1)
      }
    })

  test("after it has adopted, and the worker never comes again: the run goes on within 16 s", async () => {
    const world = desks()
    const first = await world.serve({ jobs, name: "first" })
    const worker = world.work({ url: first.url, handlers: { work: busy(world, 60_000) }, random: () => 0.3 })
    await world.advance(10)
    const id = await first.send("work")
    await world.advance(1000)
    const second = await world.serve({ jobs, name: "second" })
    second.faults.set("adopt", "after")
    worker.url = second.url
    const closed = first.member.close()
    await world.advance(0)
    await closed
    await world.advance(200)
    worker.kill()
    second.faults.clear()
    expect(await world.row(id)).toMatchObject({ state: "running", node: second.member.engine.node() })
    const other = world.work({ url: second.url, name: "other", handlers: { work: () => "done" } })
    await world.advance(17_000)
    expect(other.begun).toHaveLength(1)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
  })

  for (const operation of ["started", "get", "reportWorkers", "stepInputs"] as const)
    test(`at ${operation} for a while: nothing is lost, and all goes on afterwards`, async () => {
      const world = desks()
      const server = await world.serve({ jobs })
      let worker = world.work({ url: server.url, handlers: { work: busy(world, 500) }, who: { slots: 2 } })
      await world.advance(10)
      server.faults.set(operation, "before")
      const ids: Array<string> = []
      for (let count = 0; count < 6; count++) ids.push(await server.send("work"))
      await world.advance(700)
      worker.kill()
      await world.advance(2000)
      server.faults.clear()
      worker = world.work({
        url: server.url,
        incarnation: "again",
        handlers: { work: busy(world, 500) },
        who: { slots: 2 },
      })
      await world.advance(10_000)
      for (const row of await world.rows(ids)) expect(row).toMatchObject({ state: "succeeded" })
      expect(server.desk.list()).toMatchObject([{ inHand: 0 }])
    })
})

describe("desk and dispatcher under one node", () => {
  test("a run that the node adopts while its dispatcher is in doubt is not begun by it", async () => {
    const world = desks()
    const gate: { open: () => void; wait: Promise<void> } = { open: () => undefined, wait: Promise.resolve() }
    const slow = new Proxy(world.driver, {
      get: (target, name) => {
        const value = target[name as keyof typeof target] as any
        if (name !== "adopt") return typeof value === "function" ? value.bind(target) : value
        return async (...all: ReadonlyArray<unknown>) => {
          const answer = value.apply(target, all)
          await gate.wait
          return answer
        }
      },
    })
    const first = await world.serve({ jobs, name: "first" })
    const worker = world.work({ url: first.url, handlers: { work: busy(world, 5000) }, random: () => 0.3 })
    await world.advance(10)
    const id = await first.send("work")
    await world.advance(1000)
    const own: Array<string> = []
    const second = await world.serve({
      jobs,
      name: "second",
      own: ["work"],
      driver: slow,
      handler: ({ run }) => void own.push(run.id),
    })
    gate.wait = new Promise((resolve) => (gate.open = resolve))
    worker.url = second.url
    const closed = first.member.close()
    await world.advance(0)
    await closed
    // It is adopted, and the answer is on its way while the dispatcher asks what the node holds.
    await world.advance(200)
    expect((await world.row(id)).node).toBe(second.member.engine.node())
    second.faults.set("claim", "after")
    await world.advance(1200)
    second.faults.clear()
    await world.advance(1200)
    gate.open()
    await world.advance(10_000)
    expect(own).toEqual([])
    expect(worker.begun).toHaveLength(1)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1, token: 1 })
  })
})

describe("parts of a broadcast that wait for their worker", () => {
  const placement = { by: "leastLoaded", where: null, broadcast: true } as const
  const placed = [jobRow("work", { placement }), jobRow("long")]
  /** A broadcast of which one part waits for a busy worker. */
  const waiting = async (world: DeskWorld) => {
    const server = await world.serve({ jobs: placed })
    const slow = world.work({
      url: server.url,
      name: "slow",
      handlers: { work: () => "slow", long: busy(world, 5000) },
      random: () => 0.2,
    })
    await world.advance(10)
    await server.send("long")
    await world.advance(10)
    const free = world.work({ url: server.url, name: "free", handlers: { work: () => "free" } })
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(100)
    const held = await world.driver.carried(server.member.engine.node(), 100)
    const part = held.find(({ parentId }) => parentId === id)
    expect(part).toMatchObject({ startAcknowledged: false })
    return { server, slow, free, id, part: part?.id ?? "" }
  }

  test("are not begun when they are cancelled, by a hint or without one", async () => {
    for (const byTool of [false, true]) {
      const world = desks()
      const { server, slow, id, part } = await waiting(world)
      if (byTool) await world.driver.cancel([id], "not needed")
      else await server.member.run(server.member.engine.cancel([id], "not needed"))
      await world.advance(10_000)
      expect(await world.row(id)).toMatchObject({ state: "cancelled" })
      expect(await world.row(part)).toMatchObject({ state: "cancelled" })
      expect(slow.begun).toHaveLength(1)
    }
  })

  test("wait for a worker that resumes", async () => {
    const world = desks()
    const { slow, id } = await waiting(world)
    world.network.links()[0]?.cut()
    await world.advance(10_000)
    expect(slow.begun).toHaveLength(2)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '["free","slow"]' })
  })

  test("go back when the server stops, and are done elsewhere", async () => {
    const world = desks()
    const { server, slow, id, part } = await waiting(world)
    const drained = server.member.run(server.member.engine.drain(0))
    await world.advance(200)
    await drained
    expect(await world.row(part)).toMatchObject({ state: "ready", attempt: 0, losses: 0 })
    slow.kill()
    const other = await world.serve({ jobs: placed })
    world.work({ url: other.url, name: "other", handlers: { work: () => "other" } })
    await world.advance(10_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '["free","other"]' })
  })

  test("are forgotten with the lease, and begun once by whoever has them then", async () => {
    const world = desks()
    const { server, slow, id, part } = await waiting(world)
    const rescuer = await world.serve({ jobs: placed })
    const other = world.work({ url: rescuer.url, name: "other", handlers: { work: () => "other" } })
    server.faults.set("renew", "before")
    await world.advance(10_000)
    server.faults.clear()
    await world.advance(10_000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '["free","other"]' })
    expect(other.begun).toMatchObject([{ run: part, attempt: 1 }])
    expect(slow.begun.map(({ run }) => run)).not.toContain(part)
  })
})

describe("flows that workers expand", () => {
  const flowJobs = [jobRow("flow", { expands: true }), jobRow("step"), jobRow("secret", { queue: "secrets" })]
  const step = (id: string, needs: ReadonlyArray<string>, job = "step", queue = "default") => ({
    id,
    needs,
    job,
    queue,
    priority: 0,
    attemptMax: 1,
  })
  const definition = (steps: ReadonlyArray<ReturnType<typeof step>>, output: string | null = null) => ({
    kind: "expanded" as const,
    expansion: {
      kind: "flow" as const,
      definition: {
        name: "flow",
        version: "1",
        steps,
        output,
        failFast: true,
        timeoutMillis: null as number | null,
      },
    },
    retryable: false,
  })

  test("a good one is carried out, step by step, with what the steps may read", async () => {
    const world = desks()
    const server = await world.serve({ jobs: flowJobs })
    const seen: Array<unknown> = []
    world.work({
      url: server.url,
      handlers: {
        flow: () => new Ends(definition([step("a", []), step("b", ["a"])], "b")),
        step: ({ assign }) => {
          seen.push(assign.step)
          return `out ${assign.step?.place}`
        },
      },
    })
    const id = await server.send("flow", { x: 1 })
    await world.advance(3000)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: '"out 1"' })
    expect(seen).toMatchObject([
      { place: 0, parent: id, input: '{"x":1}', needs: [] },
      { place: 1, parent: id, needs: [{ id: "a", state: "succeeded", output: '"out 0"' }] },
    ])
  })

  const whole = definition([step("a", [])])
  const { definition: ofWhole } = whole.expansion
  const forever = {
    ...whole,
    expansion: { ...whole.expansion, definition: { ...ofWhole, timeoutMillis: 31_557_600_000_000_000 / 4 } },
  }
  const bad: ReadonlyArray<readonly [name: string, outcome: ReturnType<typeof definition>, text: RegExp]> = [
    ["a cycle", definition([step("a", ["b"]), step("b", ["a"])]), /circle|cycle/],
    ["an unknown job", definition([step("a", [], "nothing")]), /does not know/],
    ["a queue that its token does not allow", definition([step("a", [], "secret", "secrets")]), /not allow/],
    ["a step twice", definition([step("a", []), step("a", [])]), /"a"/],
    ["a need that is not there", definition([step("a", ["z"])]), /"z"/],
    ["a queue that no job has", definition([step("a", [], "step", "nowhere")]), /no job has/],
    ["a limit of a million years", forever, /100 years/],
    ["an output that is no step", definition([step("a", [])], "z"), /no step is called "z"/],
  ]
  for (const [name, outcome, text] of bad)
    test(`${name}: the run fails for good as a payload failure, and nothing is stored of it`, async () => {
      const world = desks()
      const server = await world.serve({
        jobs: flowJobs,
        workers: {
          admit: () =>
            Effect.succeed({
              kind: "granted",
              grant: { id: "key", queues: name === "a queue that no job has" ? null : ["default"] },
            }),
        },
      })
      const worker = world.work({
        url: server.url,
        handlers: { flow: () => new Ends(outcome), step: () => 1, secret: () => 1 },
      })
      const id = await server.send("flow")
      await world.advance(5000)
      const row = await world.row(id)
      expect(row).toMatchObject({ state: "dead", attempt: 1, error: { kind: "payload" } })
      expect(row.error?.message).toMatch(text)
      expect(worker.begun).toHaveLength(1)
      expect(worker.state.phase).toBe("open")
    })

  test("a worker that does not know flows is not given one", async () => {
    const world = desks()
    const server = await world.serve({ jobs: flowJobs })
    const peer = await world.peer(server)
    peer.send(helloOf({ jobs: ["flow", "step"], slots: 5 }))
    const id = await server.send("flow")
    const plain = await server.send("step")
    await world.advance(3000)
    expect(peer.said.filter(({ type }) => type === "assign").map(({ run }) => run)).toEqual([plain])
    peer.send(ackOf(peer.said.at(-1), "started"))
    const result = { ...definition([step("a", [])]) }
    peer.send({ type: "result", id: "r", run: plain, attempt: 1, token: 1, outcome: result })
    await world.advance(10)
    expect(peer.closed).toMatchObject({ code: 4400 })
    expect(await world.row(id)).toMatchObject({ state: "ready" })
  })
})

describe("spans that a worker names", () => {
  test("a snooze and a wait before the next attempt are 100 years at the most", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const outcomes = [
      { kind: "snoozed", delayMillis: 8.64e15 },
      {
        kind: "failed",
        error: { name: "E", message: "later", kind: "error" },
        retryable: true,
        retryAfterMillis: 8.64e15,
      },
    ] as const
    let count = 0
    world.work({ url: server.url, handlers: { work: () => new Ends(outcomes[count++]!) } })
    const ids = [await server.send("work")]
    await world.advance(100)
    ids.push(await server.send("work"))
    await world.advance(100)
    for (const { dueAt } of await world.rows(ids)) {
      expect(new Date(dueAt).getUTCFullYear()).toBeGreaterThanOrEqual(2125)
      expect(new Date(dueAt).getUTCFullYear()).toBeLessThanOrEqual(2126)
    }
  })
})

describe("a crowd", () => {
  test("1,000 workers connect within seconds, do 3,000 runs, and leave nothing behind when they go", async () => {
    const world = desks()
    const server = await world.serve({
      jobs,
      limits: { connectionsMax: 2000 },
      workers: { hellosPerSecondMax: 500 },
    })
    let random = 0.37
    const next = (): number => (random = (random * 7919) % 1)
    const workers = Array.from({ length: 1000 }, (_, index) =>
      world.work({
        url: server.url,
        name: `w${index}`,
        handlers: { work: busy(world, 100) },
        random: next,
      }),
    )
    await world.advance(20_000)
    expect(server.desk.list()).toHaveLength(1000)
    const requests = Array.from({ length: 3000 }, () => ({ job: "work", input: null }))
    await server.member.run(server.member.engine.enqueueAll(requests))
    await world.advance(5000)
    const counts = workers.map(({ begun }) => begun.length)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3000)
    expect(Math.max(...counts)).toBeLessThanOrEqual(4)
    for (const worker of workers) worker.kill()
    await world.advance(2000)
    expect(server.desk.list()).toEqual([])
  })
})
