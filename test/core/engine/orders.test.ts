// Queues that are paused and nodes that drain, in whole engines over one store, in virtual time.
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { drainRecord, ordersOf, workerRecord } from "../../../core/engine/NodeOrders.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { pausedFilter, pausedIn, pauseQueue, pausedMax, resumeQueue } from "../../../core/run/PausedQueues.ts"
import { busy, makeDeskWorld, type DeskWorld } from "../worker/deskWorld.ts"
import { type Faults, faulty, jobRow, makeWorld, type Member, type World } from "./world.ts"

const second = 1000
const order = { kind: "drain", graceMillis: second, reason: "a new kernel", by: null, at: 0 } as const
const done = () => "done"
const slow = jobRow("slow", { queue: "slow" })
const fast = jobRow("fast")

const send = (member: Member, job: string, more: object = {}): Promise<string> =>
  member.run(Effect.map(member.engine.enqueue({ job, input: null, ...more }), ({ id }) => id))

const states = async (driver: StoreDriver, ids: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  (await driver.get(ids)).map(({ state }) => state)

/** As a command beside the engines does it. */
const beside = <A, E>(driver: StoreDriver, effect: Effect.Effect<A, E, never>): Promise<A> =>
  Effect.runPromise(effect)
const pauseBeside = (driver: StoreDriver, queue: string, note: string | null = null) =>
  beside(driver, Effect.provide(pauseQueue(queue, note, null), contextDriver(driver)))
const resumeBeside = (driver: StoreDriver, queue: string) =>
  beside(driver, Effect.provide(resumeQueue(queue), contextDriver(driver)))

describe("a paused queue", () => {
  let world: World
  beforeEach(() => {
    world = makeWorld()
  })
  afterEach(() => world.end())

  test("its runs wait as ready while those of others start, and start at once when it goes on", async () => {
    const node = await world.start({ jobs: [slow, fast] })
    await node.run(node.engine.pauseQueue("slow", "the mill is cleaned", "ann"))
    const ids = [await send(node, "slow"), await send(node, "fast")]
    await world.advance(10 * second)
    expect(await states(world.driver, ids)).toEqual(["ready", "succeeded"])
    expect(pausedIn(await world.driver.records(pausedFilter))).toEqual([
      { queue: "slow", note: "the mill is cleaned", by: "ann", at: world.now() - 10 * second },
    ])
    expect(await node.run(node.engine.resumeQueue("slow"))).toBe(true)
    await world.advance(0)
    expect(await states(world.driver, ids)).toEqual(["succeeded", "succeeded"])
    expect(await node.run(node.engine.resumeQueue("slow"))).toBe(false)
  })

  test("what runs goes on, and what is due later waits as well", async () => {
    const handler = (_: unknown, signal: AbortSignal) => world.sleep(5 * second, signal)
    const node = await world.start({ jobs: [slow], handler })
    const running = await send(node, "slow")
    await world.advance(second)
    await node.run(node.engine.pauseQueue("slow"))
    const later = await send(node, "slow", { dueAt: world.now() + 2 * second })
    await world.advance(20 * second)
    expect(await states(world.driver, [running, later])).toEqual(["succeeded", "ready"])
  })

  test("every node leaves it alone two seconds after it was paused beside them, and goes on two after", async () => {
    await world.start({ name: "a", jobs: [slow] })
    const b = await world.start({ name: "b", jobs: [slow] })
    await world.advance(100)
    await pauseBeside(world.driver, "slow")
    await world.advance(2 * second)
    const id = await send(b, "slow")
    await world.advance(30 * second)
    expect(await states(world.driver, [id])).toEqual(["ready"])
    expect(await resumeBeside(world.driver, "slow")).toBe(true)
    await world.advance(2 * second)
    expect(await states(world.driver, [id])).toEqual(["succeeded"])
  })

  test("one that starts later claims nothing of it before it has looked", async () => {
    const a = await world.start({ name: "a", jobs: [slow], slots: 1 })
    await a.run(a.engine.pauseQueue("slow"))
    const id = await send(a, "slow")
    await a.close()
    await world.start({ name: "b", jobs: [slow] })
    await world.advance(10 * second)
    expect(await states(world.driver, [id])).toEqual(["ready"])
    expect(world.executions).toEqual([])
  })

  test("the time to start goes by: what is too late expires, although nothing is claimed", async () => {
    const node = await world.start({ jobs: [slow] })
    await node.run(node.engine.pauseQueue("slow"))
    const id = await send(node, "slow", { startWithinMillis: 5 * second })
    await world.advance(3 * second)
    expect(await states(world.driver, [id])).toEqual(["ready"])
    await world.advance(5 * second)
    expect(await states(world.driver, [id])).toEqual(["expired"])
  })

  test("while the store does not tell, what it told last holds, and trouble is told once", async () => {
    const faults: Faults = new Map()
    const node = await world.start({ jobs: [slow, fast], driver: faulty(world.driver, faults) })
    await node.run(node.engine.pauseQueue("slow"))
    faults.set("records", "before")
    await world.advance(20 * second)
    const ids = [await send(node, "slow"), await send(node, "fast")]
    await world.advance(5 * second)
    expect(await states(world.driver, ids)).toEqual(["ready", "succeeded"])
    // What is missing is said, once for each thing that cannot be done.
    const doings = node.events.flatMap((event) => (event.kind === "trouble" ? [event.doing] : []))
    expect(doings.length).toBeGreaterThan(0)
    expect(new Set(doings).size).toBe(doings.length)
    faults.clear()
    await resumeBeside(world.driver, "slow")
    await world.advance(2 * second)
    expect(await states(world.driver, ids)).toEqual(["succeeded", "succeeded"])
  })

  test("a store without records runs everything", async () => {
    const lacks = new Set<PropertyKey>(["records", "putRecords", "deleteRecords", "pruneRecords"])
    const driver = new Proxy(world.driver, {
      get: (target, name) => (lacks.has(name) ? undefined : target[name as keyof StoreDriver]),
    })
    const node = await world.start({ jobs: [slow], driver })
    const id = await send(node, "slow")
    await world.advance(10 * second)
    expect(await states(world.driver, [id])).toEqual(["succeeded"])
    // What is missing is said, once for each thing that cannot be done.
    const doings = node.events.flatMap((event) => (event.kind === "trouble" ? [event.doing] : []))
    expect(doings.length).toBeGreaterThan(0)
    expect(new Set(doings).size).toBe(doings.length)
    await expect(node.run(node.engine.pauseQueue("slow"))).rejects.toMatchObject({ _tag: "StoreError" })
  })

  test("names of any letters can be paused, and what is no queue is refused", async () => {
    const odd = jobRow("odd", { queue: "Aufträge / 100 %" })
    const node = await world.start({ jobs: [odd] })
    await node.run(node.engine.pauseQueue("Aufträge / 100 %"))
    const id = await send(node, "odd")
    await world.advance(5 * second)
    expect(await states(world.driver, [id])).toEqual(["ready"])
    for (const name of ["", " a", "\ud800", "\u6f22".repeat(128)])
      await expect(node.run(node.engine.pauseQueue(name))).rejects.toMatchObject({ _tag: "InvalidInput" })
    await expect(node.run(node.engine.pauseQueue("a", "n".repeat(513)))).rejects.toMatchObject({
      _tag: "InvalidInput",
    })
  })

  test("no more are paused than a node reads of", async () => {
    for (let each = 0; each < pausedMax; each++) await pauseBeside(world.driver, `queue-${each}`)
    await expect(pauseBeside(world.driver, "one-more")).rejects.toMatchObject({ _tag: "InvalidInput" })
    await pauseBeside(world.driver, "queue-7", "again")
    expect(await resumeBeside(world.driver, "queue-7")).toBe(true)
    await pauseBeside(world.driver, "one-more")
  })
})

describe("a node that drains", () => {
  let world: World
  beforeEach(() => {
    world = makeWorld()
  })
  afterEach(() => world.end())

  test("takes nothing new until it is told to go on, while the others do", async () => {
    const a = await world.start({ name: "a", jobs: [fast] })
    await world.driver.putRecords([drainRecord(a.engine.node(), order, world.now())])
    await a.run(a.engine.readOrders)
    expect(a.engine.isDraining()).toBe(true)
    const id = await send(a, "fast")
    await world.advance(5 * second)
    expect(await states(world.driver, [id])).toEqual(["ready"])
    await world.start({ name: "b", jobs: [fast] })
    await world.advance(2 * second)
    expect(world.executions.map(({ engine }) => engine)).toEqual(["b"])
    await world.driver.deleteRecords("node-order", [a.engine.node()])
    await world.advance(2 * second)
    expect(a.engine.isDraining()).toBe(false)
  })

  test("goes on to drain under the id that it has after its lease was taken", async () => {
    const faults: Faults = new Map()
    const a = await world.start({ name: "a", jobs: [fast], driver: faulty(world.driver, faults) })
    const before = a.engine.node()
    await world.driver.putRecords([drainRecord(before, order, world.now())])
    await world.advance(2 * second)
    await world.driver.leave(before)
    await world.advance(5 * second)
    expect(a.engine.node()).not.toBe(before)
    expect(a.engine.isDraining()).toBe(true)
    const ids = (await world.driver.records(ordersOf())).map(({ id }) => id)
    expect(ids).toEqual([a.engine.node()])
  })

  test("its order does not expire while it lives, and does when it is gone", async () => {
    const a = await world.start({ name: "a", jobs: [fast], pollMillis: 60_000, leaseMillis: 600_000 })
    await world.driver.putRecords([drainRecord(a.engine.node(), order, world.now())])
    for (let hour = 0; hour < 30; hour++) await world.advance(3600 * second)
    expect(a.engine.isDraining()).toBe(true)
    await a.close()
    await world.advance(25 * 3600 * second)
    expect(await world.driver.records(ordersOf())).toEqual([])
  })
})

describe("workers", () => {
  let world: DeskWorld
  beforeEach(() => {
    world = makeDeskWorld()
  })
  afterEach(() => world.end())

  test("are given nothing of a paused queue, and what waits for them starts when it goes on", async () => {
    const server = await world.serve({ jobs: [slow, fast] })
    world.work({ name: "w", url: server.url, handlers: { slow: done, fast: done } })
    await world.advance(second)
    const { run, engine } = server.member
    await run(engine.pauseQueue("slow"))
    const ids = [await server.send("slow"), await server.send("fast")]
    await world.advance(5 * second)
    expect(await states(world.driver, ids)).toEqual(["ready", "succeeded"])
    await run(engine.resumeQueue("slow"))
    await world.advance(second)
    expect(await states(world.driver, ids)).toEqual(["succeeded", "succeeded"])
  })

  test("of a node that drains finish and go, and come again when it goes on", async () => {
    const server = await world.serve({ jobs: [fast] })
    world.work({ name: "w", url: server.url, handlers: { fast: busy(world, 3 * second) } })
    await world.advance(second)
    const running = await server.send("fast")
    await world.advance(second)
    const { run, engine } = server.member
    await world.driver.putRecords([
      drainRecord(engine.node(), { ...order, graceMillis: 60_000 }, world.now()),
    ])
    await run(engine.readOrders)
    expect(server.desk.list()).toMatchObject([{ name: "w", status: "draining", inHand: 1 }])
    await world.advance(10 * second)
    expect(server.desk.list()).toEqual([])
    const waiting = await server.send("fast")
    await world.advance(10 * second)
    expect(await states(world.driver, [running, waiting])).toEqual(["succeeded", "ready"])
    await world.driver.deleteRecords("node-order", [engine.node()])
    await world.advance(60 * second)
    expect(await states(world.driver, [waiting])).toEqual(["succeeded"])
  })

  test("are drained or disconnected by an order of somebody else, once", async () => {
    const server = await world.serve({ jobs: [fast] })
    for (const name of ["drained", "cut"]) world.work({ name, url: server.url, handlers: { fast: done } })
    await world.advance(second)
    const node = server.member.engine.node()
    await world.driver.putRecords([
      workerRecord(
        node,
        "1",
        { kind: "drainWorker", worker: "drained", graceMillis: 0, reason: "a" },
        world.now(),
      ),
      workerRecord(node, "2", { kind: "disconnectWorker", worker: "cut", reason: "b" }, world.now()),
      workerRecord(node, "3", { kind: "disconnectWorker", worker: "nobody", reason: "c" }, world.now()),
    ])
    await world.advance(2 * second)
    expect(server.told()).toEqual(expect.arrayContaining(["drained over", "cut over"]))
    expect(await world.driver.records(ordersOf())).toEqual([])
    const before = server.told().filter((what) => what === "cut over").length
    await world.advance(60 * second)
    expect(server.told().filter((what) => what === "cut over")).toHaveLength(before)
  })
})
