// What may come from whoever connects: each thing that is wrong has its code, an event that says so, and no effect on
// a worker that is at work meanwhile.
import * as Effect from "effect/Effect"
import { afterEach, describe, expect, test } from "vitest"
import type { WorkersConfig } from "../../../core/worker/WorkersConfig.ts"
import { jobRow } from "../engine/world.ts"
import {
  ackOf,
  busy,
  type DeskWorld,
  helloOf,
  type Peer,
  protocol,
  type ServeOptions,
  type Server,
  worldsThatEnd,
} from "./deskWorld.ts"
import type { TestWorker } from "./testWorker.ts"

const desks = worldsThatEnd(afterEach)
const jobs = [jobRow("work"), jobRow("other", { queue: "reports" })]

interface Scene {
  readonly world: DeskWorld
  readonly server: Server
  readonly good: TestWorker
  /** The run that the good worker is at. */
  readonly run: string
}

/** A server with a worker that is at work for ten seconds. */
const scene = async (options: Partial<ServeOptions> = {}): Promise<Scene> => {
  const world = desks()
  const server = await world.serve({ jobs, ...options })
  const good = world.work({
    url: server.url,
    name: "good",
    handlers: { work: busy(world, 10_000) },
    headers: { authorization: "Bearer sesame" },
  })
  await world.advance(10)
  const run = await server.send("work")
  await world.advance(10)
  return { world, server, good, run }
}

/** The good worker ends its attempt as if nothing had been. */
const unharmed = async ({ world, server, good, run }: Scene): Promise<void> => {
  await world.advance(11_000)
  expect(await world.row(run)).toMatchObject({ state: "succeeded", attempt: 1 })
  expect(good.begun).toHaveLength(1)
  expect(server.told().filter((each) => each.startsWith("good"))).toEqual(["good connected"])
}

const reasonsOf = (server: Server, what: string): ReadonlyArray<string | null> =>
  server.member.events.flatMap((event) =>
    event.kind === "worker" && event.what === what ? [event.reason] : [],
  )

const nested = `{"a":`.repeat(10_000) + "1" + "}".repeat(10_000)

describe("the first message", () => {
  const cases: ReadonlyArray<readonly [name: string, frame: unknown, code: number, error: string | null]> = [
    ["no JSON", "{nonsense", 4400, "badJson"],
    ["JSON that is no object", "[1]", 4400, "noObject"],
    ["10,000 levels of JSON", nested, 4400, "tooDeep"],
    ["an unknown type", { type: "sing", id: "1" }, 4400, "unknownType"],
    ["a missing field", { ...helloOf(), slots: undefined }, 4400, "badField"],
    ["a wrong field", helloOf({ slots: -1 }), 4400, "badField"],
    ["no hello", { type: "heartbeat", id: "1", at: 1 }, 4400, null],
    ["a message of a server", { type: "bye", id: "1", reason: 1 }, 4400, "badField"],
    ["a frame over the limit", helloOf({ version: "x".repeat(1_100_000) }), 1009, null],
  ]
  for (const [name, frame, code, error] of cases)
    test(`${name}: ${code}${error === null ? "" : ` and the error ${error}`}`, async () => {
      const all = await scene()
      // Its own side has no limit.
      const peer = await all.world.peer(all.server, { limits: { frameBytesMax: 1e9 } })
      peer.send(frame)
      await all.world.advance(10)
      expect(peer.closed).toMatchObject({ code })
      expect(peer.closed?.reason).not.toBe("")
      expect(peer.said.map((message) => message.code ?? message.type)).toEqual(error === null ? [] : [error])
      expect(reasonsOf(all.server, "denied")).toHaveLength(1)
      await unharmed(all)
    })

  test("silence after the upgrade: 4408 in five seconds", async () => {
    const all = await scene()
    const peer = await all.world.peer(all.server)
    await all.world.advance(4900)
    expect(peer.closed).toBe(null)
    await all.world.advance(200)
    expect(peer.closed).toMatchObject({ code: 4408 })
    await unharmed(all)
  })

  test("a hello before its check is over, and more after it: 4400", async () => {
    const all = await scene({
      workers: {
        admit: () =>
          Effect.delay(Effect.succeed({ kind: "granted", grant: { id: null, queues: null } }), 1000),
      },
    })
    await all.world.advance(2000)
    const peer = await all.world.peer(all.server)
    peer.send(helloOf())
    peer.send({ type: "heartbeat", id: "2", at: 1 })
    await all.world.advance(2000)
    expect(peer.closed).toMatchObject({ code: 4400 })
    expect(peer.said).toEqual([])
    expect(all.server.desk.list().map(({ name }) => name)).toEqual(["good"])
  })

  test("[SC-S45] no version in common: 4406 with what is spoken, and the run waits", async () => {
    for (const protocols of [
      ["uhrwerk.worker.v-1"],
      ["uhrwerk.worker.v0"],
      ["uhrwerk.worker.v2"],
      ["x"],
      [],
    ]) {
      const all = await scene()
      const waiting = await all.server.send("other")
      const peer = await all.world.peer(all.server, { protocols })
      peer.send(helloOf({ jobs: ["other"] }))
      await all.world.advance(100)
      expect(peer.closed).toMatchObject({ code: 4406 })
      expect(peer.closed?.reason).toContain(protocol)
      expect(reasonsOf(all.server, "denied")).toHaveLength(1)
      expect(await all.world.row(waiting)).toMatchObject({ state: "ready", attempt: 0 })
      await unharmed(all)
    }
  })

  test("[SC-S45] a newer version beside ours: ours is spoken", async () => {
    const { world, server } = await scene()
    const peer = await world.peer(server, { protocols: ["uhrwerk.worker.v9", protocol] })
    peer.send(helloOf())
    await world.advance(10)
    expect(peer.said[0]).toMatchObject({ type: "welcome" })
  })
})

describe("who is let in", () => {
  const admit: WorkersConfig["admit"] = ({ token, worker }) =>
    Effect.sync(() =>
      token !== "sesame"
        ? { kind: "denied", close: "token", reason: "the token is not known" }
        : worker === "mallory"
          ? { kind: "denied", close: "notAllowed", reason: 'the token does not allow the name "mallory"' }
          : { kind: "granted", grant: { id: "key-1", queues: ["default"] } },
    )

  test("a wrong token and none: 4401; one in the header or in hello is good", async () => {
    const all = await scene({ workers: { admit } })
    const { world, server } = all
    for (const [headers, token, code] of [
      [{}, undefined, 4401],
      [{ authorization: "Bearer wrong" }, undefined, 4401],
      [{ authorization: "Basic sesame" }, undefined, 4401],
      [{ authorization: "Bearer wrong" }, "sesame", 4401],
      [{}, "sesame", null],
      [{ authorization: "bearer  sesame" }, undefined, null],
    ] as const) {
      const peer = await world.peer(server, { headers })
      peer.send(helloOf({ token, incarnation: JSON.stringify([headers, token]).replaceAll(/\W/g, "") }))
      await world.advance(10)
      expect(peer.closed?.code ?? null).toBe(code)
    }
    expect(reasonsOf(server, "denied")).toEqual(Array.from({ length: 4 }, () => "the token is not known"))
    await unharmed(all)
  })

  test("a name or a queue that the token does not allow: 4403", async () => {
    const all = await scene({ workers: { admit } })
    const { world, server } = all
    const headers = { authorization: "Bearer sesame" }
    const mallory = await world.peer(server, { headers })
    mallory.send(helloOf({ worker: "mallory" }))
    const greedy = await world.peer(server, { headers })
    greedy.send(helloOf({ queues: ["default", "reports"] }))
    await world.advance(10)
    expect(mallory.closed).toMatchObject({ code: 4403 })
    expect(greedy.closed).toEqual({ code: 4403, reason: 'the token does not allow the queue "reports"' })
    await unharmed(all)
  })

  test("a token of one queue gets no run of another", async () => {
    const all = await scene({ workers: { admit } })
    const { world, server } = all
    const peer = await world.peer(server, { headers: { authorization: "Bearer sesame" } })
    peer.send(helloOf({ jobs: ["work", "other"], slots: 5 }))
    const other = await server.send("other")
    const own = await server.send("work")
    await world.advance(2000)
    expect(peer.said.filter(({ type }) => type === "assign").map(({ run }) => run)).toEqual([own])
    expect(await world.row(other)).toMatchObject({ state: "ready", attempt: 0 })
  })

  test("a check that fails, and one that takes too long: 4500 and 1013, and the door stays open", async () => {
    let mode: "die" | "hang" | "grant" = "grant"
    const all = await scene({
      workers: {
        admit: () =>
          Effect.suspend(() =>
            mode === "die"
              ? Effect.die(new Error("broken"))
              : mode === "hang"
                ? Effect.never
                : Effect.succeed({ kind: "granted" as const, grant: { id: null, queues: null } }),
          ),
      },
    })
    const { world, server } = all
    const codes: Array<number | null> = []
    for (const each of ["die", "hang", "grant"] as const) {
      mode = each
      const peer = await world.peer(server)
      peer.send(helloOf())
      await world.advance(6000)
      codes.push(peer.closed?.code ?? null)
    }
    expect(codes).toEqual([4500, 1013, null])
  })

  test("a token that is revoked: 4401 at once, its runs go on elsewhere, and others stay", async () => {
    let next = "key-1"
    const all = await scene({
      workers: {
        admit: ({ worker }) =>
          Effect.sync(() => ({
            kind: "granted",
            grant: { id: worker === "good" ? "key-good" : next, queues: null },
          })),
      },
    })
    const { world, server, good } = all
    const bad = world.work({ url: server.url, name: "bad", handlers: { work: busy(world, 30_000) } })
    next = "key-1"
    await world.advance(10)
    const id = await server.send("work")
    await world.advance(100)
    server.desk.keepOnly(new Set(["key-good"]))
    await world.advance(10)
    expect(bad.over).toMatchObject({ code: 4401 })
    expect(await world.row(id)).toMatchObject({ state: "retrying", attempt: 1 })
    await world.advance(20_000)
    expect(good.begun.map(({ run }) => run)).toEqual([all.run, id])
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(server.told()).toEqual(["good connected", "bad connected", "bad over"])
  })

  test("sessions without a credential end when credentials begin to count", async () => {
    const { world, server, good } = await scene()
    server.desk.keepOnly(new Set(["key-1"]))
    await world.advance(10)
    expect(good.over).toMatchObject({ code: 4401 })
    expect(server.desk.list()).toEqual([])
  })

  test("too many hellos in one second: 1013 for those beyond, and later they are welcome", async () => {
    const { world, server } = await scene({ workers: { hellosPerSecondMax: 20 } })
    await world.advance(2000)
    const peers: Array<Peer> = []
    for (let count = 0; count < 30; count++) {
      const peer = await world.peer(server)
      peer.send(helloOf({ worker: `w${count}`, incarnation: `i${count}` }))
      peers.push(peer)
    }
    await world.advance(10)
    expect(peers.filter(({ closed }) => closed?.code === 1013)).toHaveLength(10)
    await world.advance(1000)
    const late = await world.peer(server)
    late.send(helloOf({ worker: "late" }))
    await world.advance(10)
    expect(late.said[0]).toMatchObject({ type: "welcome" })
  })
})

describe("the name of a worker", () => {
  test("[SC-S14] taken by a newer process: 4409 for the older, whose runs go on at once", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const handlers = { work: busy(world, 5000) }
    const old = world.work({ url: server.url, name: "w", incarnation: "i1", handlers, who: { slots: 5 } })
    await world.advance(10)
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => server.send("work")))
    await world.advance(1000)
    const young = world.work({ url: server.url, name: "w", incarnation: "i2", handlers, who: { slots: 5 } })
    await world.advance(1000)
    expect(old.over).toMatchObject({ code: 4409 })
    expect(young.begun.map(({ run }) => run).sort()).toEqual([...ids].sort())
    await world.advance(10_000)
    for (const row of await world.rows(ids)) expect(row).toMatchObject({ state: "succeeded", attempt: 2 })
    expect(server.desk.list()).toHaveLength(1)
  })

  test("a hello of the same process that arrives after a later one is passed over", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const second = await world.peer(server)
    second.send(helloOf({ connection: 2 }))
    await world.advance(10)
    const first = await world.peer(server)
    first.send(helloOf({ connection: 1 }))
    await world.advance(10)
    expect(first.closed).toMatchObject({ code: 4409 })
    expect(second.closed).toBe(null)
    expect(server.desk.list()).toHaveLength(1)
  })

  test("two hellos of one name at once: one session, and the later process has it", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    const peers = await Promise.all([world.peer(server), world.peer(server)])
    peers.forEach((peer, index) => peer.send(helloOf({ incarnation: `i${index}` })))
    await world.advance(10)
    expect(peers.map(({ closed }) => closed?.code ?? null)).toEqual([4409, null])
    expect(server.desk.list()).toHaveLength(1)
  })

  test("a connection that goes while its hello is checked leaves nothing behind", async () => {
    const world = desks()
    const server = await world.serve({
      jobs,
      workers: {
        admit: () =>
          Effect.delay(Effect.succeed({ kind: "granted", grant: { id: null, queues: null } }), 1000),
      },
    })
    const peer = await world.peer(server)
    peer.send(helloOf())
    await world.advance(10)
    peer.connection.terminate()
    await world.advance(5000)
    expect(server.desk.list()).toEqual([])
    expect(server.told()).toEqual([])
  })
})

describe("a session", () => {
  const seated = async (fields: Record<string, unknown> = {}) => {
    const all = await scene()
    const peer = await all.world.peer(all.server)
    peer.send(helloOf({ jobs: ["other"], ...fields }))
    await all.world.advance(10)
    expect(peer.said[0]).toMatchObject({ type: "welcome" })
    peer.said.length = 0
    return { ...all, peer }
  }

  const cases: ReadonlyArray<readonly [name: string, frame: unknown, code: number | null, error: string]> = [
    ["no JSON", "{nonsense", 4400, "badJson"],
    ["10,000 levels of JSON", nested, 4400, "tooDeep"],
    ["an unknown type", { type: "sing", id: "1" }, null, "unknownType"],
    ["a missing field", { type: "result", id: "1", run: "r", attempt: 1 }, 4400, "badField"],
    ["a message of the other side", { type: "welcome", id: "1" }, 4400, "wrongSide"],
    ["a second hello", helloOf({ connection: 7, jobs: ["other"] }), 4400, "badField"],
  ]
  for (const [name, frame, code, error] of cases)
    test(`${name}: error ${error}${code === null ? ", and it goes on" : ` and ${code}`}`, async () => {
      const all = await seated()
      all.peer.send(frame)
      await all.world.advance(10)
      expect(all.peer.said.map((message) => message.code)).toEqual([error])
      expect(all.peer.closed?.code ?? null).toBe(code)
      await unharmed(all)
    })

  test("a frame that was refused is told of", async () => {
    const all = await seated()
    all.peer.send("{nonsense")
    await all.world.advance(10)
    expect(reasonsOf(all.server, "refused")).toHaveLength(1)
  })

  test("a flood: 4429, after which it may come again with what is left", async () => {
    const all = await seated()
    for (let count = 0; count < 300; count++) all.peer.send({ type: "heartbeat", id: `${count}`, at: 1 })
    await all.world.advance(10)
    expect(all.peer.closed).toMatchObject({ code: 4429 })
    await unharmed(all)
  })

  test("the outcome of a foreign run is stale, whatever it says, and changes nothing", async () => {
    const all = await seated()
    const { world, server, peer, run } = all
    const key = { run, attempt: 1, token: 1 }
    const forged = { kind: "succeeded", output: '"forged"' }
    peer.send({ type: "result", id: "1", ...key, outcome: forged })
    peer.send({ type: "ack", id: "2", acks: [{ ...key, result: "refused", reason: "full" }] })
    peer.send({ type: "progress", id: "3", ...key, percent: 99 })
    peer.send({ type: "result", id: "4", run: "nothing", attempt: 1, token: 1, outcome: forged })
    await world.advance(10)
    expect(peer.said.flatMap(({ acks }) => acks ?? []).map(({ result }) => result)).toEqual([
      "stale",
      "stale",
    ])
    expect(server.member.events.filter(({ kind }) => kind === "progress")).toEqual([])
    await unharmed(all)
  })

  test("a foreign run in a hello is stale: of another worker, of the engine itself, of a job it does not have", async () => {
    const world = desks()
    const server = await world.serve({
      jobs: [...jobs, jobRow("own")],
      own: ["own"],
      handler: ({ run }, signal) => (run.job === "own" ? world.sleep(5000, signal) : undefined),
    })
    const good = world.work({ url: server.url, name: "good", handlers: { work: busy(world, 5000) } })
    await world.advance(10)
    const theirs = await server.send("work")
    const own = await server.send("own")
    await world.advance(100)
    const peer = await world.peer(server)
    const inHand = [theirs, own].map((run) => ({ run, attempt: 1, token: 1, state: "running" }))
    peer.send(helloOf({ jobs: ["work", "own"], slots: 5, inHand }))
    await world.advance(10)
    expect(peer.said[0].inHand.map(({ verdict }: any) => verdict)).toEqual(["stale", "stale"])
    const outcome = { kind: "succeeded", output: '"forged"' }
    for (const { run } of inHand) peer.send({ type: "result", id: run, run, attempt: 1, token: 1, outcome })
    await world.advance(10_000)
    for (const row of await world.rows([theirs, own])) {
      expect(row).toMatchObject({ state: "succeeded", attempt: 1 })
      expect(row.output).not.toBe('"forged"')
    }
    expect(good.begun).toHaveLength(1)
  })

  test("a settlement that is replayed is acknowledged again and applied once", async () => {
    const all = await seated({ jobs: ["other"] })
    const { world, server, peer } = all
    const id = await server.send("other")
    await world.advance(10)
    const assign = peer.said.at(-1)
    peer.send(ackOf(assign, "started"))
    const result = (output: string) => ({
      type: "result",
      id: output,
      run: id,
      attempt: 1,
      token: 1,
      outcome: { kind: "succeeded", output },
    })
    peer.send(result("1"))
    await world.advance(10)
    peer.send(result("2"))
    peer.send(result("1"))
    await world.advance(10)
    expect(peer.said.flatMap(({ acks }) => acks ?? []).map(({ result }) => result)).toEqual([
      "settled",
      "settled",
      "settled",
    ])
    expect(await world.row(id)).toMatchObject({ state: "succeeded", output: "1" })
    const ended = server.member.events.filter((event) => event.kind === "ended" && event.run.id === id)
    expect(ended).toHaveLength(1)
    await unharmed(all)
  })

  test("a run for which it says that the handler is missing: not offered again, waits, and others get it", async () => {
    const all = await seated({ jobs: ["other"] })
    const { world, server, peer } = all
    const id = await server.send("other")
    await world.advance(10)
    peer.send(ackOf(peer.said.at(-1), "refused", "noHandler"))
    await world.advance(10_000)
    expect(peer.said.filter(({ type }) => type === "assign")).toHaveLength(1)
    expect(await world.row(id)).toMatchObject({ state: "ready", attempt: 0, losses: 0 })
    expect(server.desk.list().find(({ name }) => name === "raw")).toMatchObject({ unable: ["other"] })
    world.work({ url: server.url, name: "able", handlers: { other: () => "done" } })
    await world.advance(100)
    expect(await world.row(id)).toMatchObject({ state: "succeeded", attempt: 1 })
  })

  test("a job that no worker has a handler for waits, and the store knows who is there", async () => {
    const world = desks()
    const server = await world.serve({ jobs })
    world.work({ url: server.url, name: "good", handlers: { work: () => 1 } })
    const id = await server.send("other")
    await world.advance(5000)
    expect(await world.row(id)).toMatchObject({ state: "ready", attempt: 0 })
    const [report] = await world.driver.workers()
    expect(JSON.parse(report?.workers ?? "{}")).toMatchObject({
      workers: [{ name: "good", status: "alive", jobs: ["work"], slots: 1 }],
      leftOut: 0,
    })
  })
})
