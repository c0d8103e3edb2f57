// Placement through real desks: which workers carry out the runs of a job that says where they go, broadcasts from their
// expansion to their list of outputs, and that what waits is explained by what the desk left in the store.
import * as Result from "effect/Result"
import { afterEach, describe, expect, test } from "vitest"
import type { Placement } from "../../../core/domain/Placement.ts"
import { compilePlacement } from "../../../core/worker/Placement.ts"
import { decodeReport } from "../../../core/worker/WorkerReport.ts"
import { whyWaits } from "../../../core/worker/WhyWaits.ts"
import { jobRow } from "../engine/world.ts"
import { busy, type DeskWorld, type Server, worldsThatEnd } from "./deskWorld.ts"
import type { TestWorker, TestWorkerOptions } from "./testWorker.ts"

const desks = worldsThatEnd(afterEach)
const placed = (fields: Partial<Placement>) =>
  jobRow("work", { placement: { by: "leastLoaded", where: null, broadcast: false, ...fields } })

/** A worker whose handler says whose it is. */
const workerOf = (
  world: DeskWorld,
  server: Server,
  name: string,
  who: TestWorkerOptions["who"] = {},
  handlers: TestWorkerOptions["handlers"] = { work: () => name },
): TestWorker => world.work({ url: server.url, name, who, handlers })

/** Who carried out each of these, by their outputs. */
const whose = async (world: DeskWorld, ids: ReadonlyArray<string>): Promise<ReadonlyArray<string | null>> => {
  const outputs = new Map((await world.rows(ids)).map(({ id, output }) => [id, output]))
  return ids.map((id) => {
    const output = outputs.get(id) ?? null
    return output === null ? null : (JSON.parse(output) as string)
  })
}
const sendAll = async (server: Server, inputs: ReadonlyArray<unknown>): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (const input of inputs) ids.push(await server.send("work", input))
  return ids
}

describe("placed runs", () => {
  test("go to workers that match the rule, and wait while there is none", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [placed({ where: "region = eu and gpu > 1" })] })
    const wrong = workerOf(world, server, "wrong", { labels: { region: "us", gpu: 8 }, slots: 10 })
    await world.advance(1)
    const ids = await sendAll(server, [1, 2, 3])
    await world.advance(10_000)
    expect(await whose(world, ids)).toEqual([null, null, null])
    workerOf(world, server, "right", { labels: { region: "eu", gpu: 2 } })
    await world.advance(100)
    expect(await whose(world, ids)).toEqual(["right", "right", "right"])
    expect(wrong.begun).toEqual([])
  })

  test("in turn: each worker gets as many", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [placed({ by: "roundRobin" })] })
    const workers = ["w1", "w2", "w3"].map((name) => workerOf(world, server, name, { slots: 9 }))
    await world.advance(1)
    const ids: Array<string> = []
    // One after the other, so that the load of all is the same each time.
    for (let n = 0; n < 9; n++) {
      ids.push(await server.send("work"))
      await world.advance(10)
    }
    expect(workers.map(({ begun }) => begun.length)).toEqual([3, 3, 3])
    expect(new Set((await whose(world, ids)).slice(0, 3)).size).toBe(3)
  })

  test("by a field: one value, one worker, also on another server", async () => {
    const world = desks()
    const job = placed({ by: { hash: "customer" } })
    const customers = Array.from({ length: 24 }, (_, n) => ({ customer: `c${n % 6}`, n }))
    const first = await world.serve({ name: "s1", jobs: [job] })
    const some = ["w1", "w2", "w3"].map((name) => workerOf(world, first, name, { slots: 24 }))
    await world.advance(1)
    const before = await sendAll(first, customers)
    await world.advance(100)
    const owners = await whose(world, before)
    customers.forEach((_, n) => expect(owners[n]).toBe(owners[n % 6]))
    expect(new Set(owners).size).toBeGreaterThan(1)
    await first.crash()
    const second = await world.serve({ name: "s2", jobs: [job] })
    for (const worker of some) worker.kill()
    for (const name of ["w3", "w1", "w2"])
      workerOf(world, second, name, { slots: 24, incarnation: `${name}-2` })
    await world.advance(1)
    const after = await sendAll(second, customers)
    await world.advance(100)
    expect(await whose(world, after)).toEqual(owners)
  })

  test("a full worker's values go to others, and come back to it", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [placed({ by: { hash: "customer" } })] })
    for (const name of ["w1", "w2"])
      workerOf(
        world,
        server,
        name,
        {},
        {
          work: async (attempt) => {
            await busy(world, 100)(attempt)
            return name
          },
        },
      )
    await world.advance(1)
    const two = await sendAll(server, [{ customer: "c" }, { customer: "c" }])
    await world.advance(150)
    const [own, other] = await whose(world, two)
    expect(new Set([own, other])).toEqual(new Set(["w1", "w2"]))
    const again = await sendAll(server, [{ customer: "c" }])
    await world.advance(150)
    expect(await whose(world, again)).toEqual([own])
  })
})

/** A handler that says whose it is, and which part it was given. */
const shardTeller = (name: string): TestWorkerOptions["handlers"] => ({
  work: ({ assign }) => ({ name, shard: assign.shard, input: assign.input }),
})

describe("a broadcast", () => {
  const broadcast = (where: string | null = null) => placed({ where, broadcast: true })
  test("is one run for each worker that fits, with its part and the input of the whole", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [broadcast("zone in (a, b)")] })
    for (const [name, zone] of [
      ["w3", "a"],
      ["w1", "b"],
      ["w2", "c"],
    ] as const)
      workerOf(world, server, name, { labels: { zone } }, shardTeller(name))
    await world.advance(1)
    const id = await server.send("work", { clear: "all" })
    await world.advance(100)
    const whole = await world.row(id)
    expect(whole.state).toBe("succeeded")
    expect(JSON.parse(whole.output ?? "null")).toEqual([
      { name: "w1", shard: { index: 0, count: 2 }, input: '{"clear":"all"}' },
      { name: "w3", shard: { index: 1, count: 2 }, input: '{"clear":"all"}' },
    ])
  })

  test("waits while no worker fits", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [broadcast("zone = a")] })
    workerOf(world, server, "w1", { labels: { zone: "b" } }, shardTeller("w1"))
    await world.advance(1)
    const id = await server.send("work")
    await world.advance(5000)
    expect(await world.row(id)).toMatchObject({ state: "ready", attempt: 0 })
    workerOf(world, server, "w2", { labels: { zone: "a" } }, shardTeller("w2"))
    await world.advance(100)
    expect(JSON.parse((await world.row(id)).output ?? "null")).toMatchObject([{ name: "w2" }])
  })

  test("a part waits for its own worker while that is busy", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [broadcast(), jobRow("long")] })
    const slow = workerOf(world, server, "slow", {}, { ...shardTeller("slow"), long: busy(world, 3000) })
    const free = workerOf(world, server, "free", { slots: 5 }, shardTeller("free"))
    await world.advance(1)
    await server.send("long")
    await world.advance(10)
    expect(slow.begun).toHaveLength(1)
    const id = await server.send("work")
    await world.advance(1000)
    expect((await world.row(id)).state).toBe("blocked")
    expect(free.begun).toHaveLength(1)
    await world.advance(3000)
    expect(JSON.parse((await world.row(id)).output ?? "null")).toMatchObject([
      { name: "free" },
      { name: "slow" },
    ])
  })

  test("a part whose worker is gone is done by another one, so that the whole ends", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [broadcast(), jobRow("long")] })
    const slow = workerOf(world, server, "slow", {}, { ...shardTeller("slow"), long: busy(world, 60_000) })
    workerOf(world, server, "free", { slots: 5 }, shardTeller("free"))
    await world.advance(1)
    await server.send("long")
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(1000)
    expect((await world.row(id)).state).toBe("blocked")
    slow.kill()
    await world.advance(30_000)
    const whole = await world.row(id)
    expect(whole.state).toBe("succeeded")
    expect(JSON.parse(whole.output ?? "null")).toMatchObject([
      { name: "free", shard: { index: 0 } },
      { name: "free", shard: { index: 1 } },
    ])
  })

  test("one part that fails for good makes the whole fail, and the others are done all the same", async () => {
    const world = desks()
    const server = await world.serve({ jobs: [broadcast()] })
    const bad = workerOf(
      world,
      server,
      "bad",
      {},
      {
        work: () => {
          throw new Error("no disk")
        },
      },
    )
    const good = workerOf(world, server, "good", {}, shardTeller("good"))
    await world.advance(1)
    const id = await server.send("work")
    await world.advance(20_000)
    expect((await world.row(id)).state).toBe("dead")
    expect(bad.begun).toHaveLength(3)
    expect(good.begun).toHaveLength(1)
  })
})

describe("a broadcast over several nodes", () => {
  const start = async (world: DeskWorld) => {
    const jobs = [placed({ where: "zone = a", broadcast: true })]
    const servers = [
      await world.serve({ name: "s1", jobs }),
      await world.serve({ name: "s2", jobs }),
      await world.serve({ name: "s3", jobs }),
    ] as const
    const who = { labels: { zone: "a" } }
    const workers = ["w1", "w2", "w3", "w4"].map((name, n) =>
      workerOf(world, servers[n % 2] as Server, name, who, shardTeller(name)),
    )
    workerOf(world, servers[0], "else", { labels: { zone: "b" } }, shardTeller("else"))
    // What each node says of its workers is there for the others.
    await world.advance(3_000)
    return { servers, workers }
  }

  test("is for the workers of all of them, one part each, whichever node claims what", async () => {
    const world = desks()
    const { servers, workers } = await start(world)
    for (let round = 0; round < 10; round++) {
      const id = await (servers[round % 3] as Server).send("work")
      await world.advance(10_000)
      const whole = await world.row(id)
      expect(whole.state).toBe("succeeded")
      expect(JSON.parse(whole.output ?? "null")).toMatchObject(
        ["w1", "w2", "w3", "w4"].map((name, index) => ({ name, shard: { index, count: 4 } })),
      )
    }
    expect(workers.map(({ begun }) => begun.length)).toEqual([10, 10, 10, 10])
  })

  test("a part whose worker is gone, and its node with it, goes to another one", async () => {
    const world = desks()
    const { servers, workers } = await start(world)
    const id = await servers[0].send("work")
    await servers[1].crash()
    workers[1]?.kill()
    workers[3]?.kill()
    await world.advance(60_000)
    const whole = await world.row(id)
    expect(whole.state).toBe("succeeded")
    expect(
      (JSON.parse(whole.output ?? "null") as ReadonlyArray<{ name: string }>).map(({ name }) => name),
    ).toEqual(["w1", expect.stringMatching(/w1|w3/), "w3", expect.stringMatching(/w1|w3/)])
  })
})

describe("why a run waits, by the desk's own report", () => {
  test("names what is missing, from nobody to no room", async () => {
    const world = desks()
    const placement: Placement = { by: "leastLoaded", where: "gpu > 1 and version >= 2", broadcast: false }
    const server = await world.serve({ jobs: [placed(placement), jobRow("other")] })
    const compiled = Result.getOrThrow(compilePlacement("run", placement))
    const why = async (): Promise<string | null> => {
      await world.advance(12_000)
      const reports = (await world.driver.workers()).map(({ workers }) => decodeReport(workers))
      return whyWaits({ job: "work", queue: "default" }, compiled, reports)?.why ?? null
    }
    await server.send("work")
    expect(await why()).toBe("no worker is connected")
    const other = workerOf(world, server, "w1", {}, { other: () => 1 })
    expect(await why()).toBe('no connected worker has a handler for job "work" (connected is "w1")')
    other.kill()
    const old = workerOf(world, server, "w2", { labels: { gpu: 2 }, version: "1.9" })
    expect(await why()).toContain('`version >= 2` is asked for, and there is "1.9"')
    old.kill()
    const long = { work: busy(world, 600_000) }
    workerOf(world, server, "w3", { labels: { gpu: 2 }, version: "2.0" }, long)
    await server.send("work")
    expect(await why()).toBe("the only worker that fits has no room: 1 run in hand, 1 slot")
    workerOf(world, server, "w4", { labels: { gpu: 2 }, version: "2.0", slots: 5 }, long)
    expect(await why()).toBe(null)
  })
})
