// `GET /v1/events`: what a client of a stream gets, over real servers and in the app: resuming without loss and repeat, also
// over a restart of the server, filters, namespaces, comments, and what is refused or cut.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, test } from "vitest"
import { eventHandlers } from "../../../../apps/server/api/events.ts"
import type { Call, Caller } from "../../../../apps/server/api/Handler.ts"
import type { eventsApi } from "../../../../apps/api/events.ts"
import { makeEventStreams } from "../../../../apps/server/events/EventStreams.ts"
import { origin } from "../../../../apps/server/events/Position.ts"
import { type RunningServer, serve } from "../../../../apps/server/mod.ts"
import { makeClient } from "../../../../apps/client/mod.ts"
import { job } from "../../../../apps/sdk/mod.ts"
import { dropSchemas, missing, schemaName, url } from "../../../adapters/store-sql/postgres/server.ts"
import { startWorld, type World } from "../api/world.ts"
import { broken, config, greet, until } from "../project.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-events-"))
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await dropSchemas()
})
const servers: Array<RunningServer> = []
const worlds: Array<World> = []
const leavers: Array<() => void> = []
afterEach(async () => {
  for (const leave of leavers.splice(0)) leave()
  await Promise.all(servers.splice(0).map((each) => each.stop({ grace: 0 })))
  for (const each of worlds.splice(0)) await each.stop()
})

interface Seen {
  readonly id: string
  readonly event: any
}
/** A client as an EventSource is one: keeps the last id, and collects events. */
const follow = async (url: string, headers: Record<string, string> = {}) => {
  const leave = new AbortController()
  leavers.push(() => leave.abort())
  const response = await fetch(url, { headers, signal: leave.signal })
  const seen: Array<Seen> = []
  const state = { lastId: "", comments: 0, isOver: false, text: "" }
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      state.text += decoder.decode(chunk, { stream: true })
      for (let at = state.text.indexOf("\n\n"); at >= 0; at = state.text.indexOf("\n\n")) {
        const block = state.text.slice(0, at).split("\n")
        state.text = state.text.slice(at + 2)
        const field = (name: string) =>
          block.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        state.lastId = field("id") ?? state.lastId
        if (block.includes(":")) state.comments++
        const data = field("data")
        if (data !== undefined) seen.push({ id: state.lastId, event: JSON.parse(data) })
      }
    }
  }
  const over = read()
    .catch(() => undefined)
    .finally(() => (state.isOver = true))
  return { response, seen, state, over, leave: () => leave.abort() }
}
const start = async (more: object = {}) => {
  const server = await serve({ ...config, ...more }, { port: 0, guard: false })
  servers.push(server)
  return server
}
const ends = (seen: ReadonlyArray<Seen>) => seen.filter(({ event }) => event.type === "uhrwerk.run.ended")

describe("over a real server", () => {
  test("a run is told as it starts and ends, with ids that grow; a client that left goes on behind its last one", async () => {
    const { url: base, engine } = await start()
    const client = await follow(`${base}/v1/events?type=uhrwerk.run.*`)
    expect(client.response.status).toBe(200)
    expect(client.response.headers.get("content-type")).toBe("text/event-stream")
    await until(
      "an id at once",
      () => client.state.lastId,
      (id) => id !== "",
    )
    const { id } = await engine.send(greet, { name: "Ada" })
    await until(
      "both",
      () => client.seen.length,
      (count) => count >= 2,
    )
    expect(client.seen.map(({ event }) => [event.type, event.subject])).toEqual([
      ["uhrwerk.run.started", id],
      ["uhrwerk.run.ended", id],
    ])
    expect(client.seen[1]?.event).toMatchObject({
      specversion: "1.0",
      id: client.seen[1]?.id,
      source: `/nodes/${engine.node()}`,
      data: { job: "greet", state: "succeeded", attempt: 1, output: "hello Ada" },
    })
    client.leave()
    await client.over
    const more = await engine.send(greet, { name: "Bob" })
    for (const again of [
      await follow(`${base}/v1/events?type=uhrwerk.run.*`, { "last-event-id": client.state.lastId }),
      await follow(`${base}/v1/events?type=uhrwerk.run.*&after=${client.state.lastId}`),
    ]) {
      await until(
        "both of the next",
        () => again.seen.length,
        (count) => count >= 2,
      )
      expect(again.seen.map(({ event }) => event.subject)).toEqual([more.id, more.id])
    }
  })

  test("over restarts of the server on a file nothing is lost and nothing comes twice", async () => {
    const storage = `sqlite:${join(folder, "restart.db")}`
    const sent: Array<string> = []
    const got: Array<Seen> = []
    let lastId = ""
    for (let round = 0; round < 3; round++) {
      const server = await start({ storage })
      const client = await follow(
        `${server.url}/v1/events?job=greet`,
        lastId === "" ? {} : { "last-event-id": lastId },
      )
      await until(
        "an id",
        () => client.state.lastId,
        (id) => id !== "",
      )
      // Not waited for: some end in the stop, and are told by the next stream.
      const answers = await server.engine.sendAll(
        greet,
        Array.from({ length: 40 }, () => ({ name: "x" })),
      )
      sent.push(...answers.map(({ id }) => id))
      if (round === 1) {
        // A client that goes in the middle.
        await until(
          "some",
          () => client.seen.length,
          (count) => count > 5,
        )
        client.leave()
      }
      await server.stop({ grace: "5s" })
      await client.over
      got.push(...client.seen)
      lastId = client.state.lastId
    }
    const server = await start({ storage })
    const client = await follow(`${server.url}/v1/events?job=greet`, { "last-event-id": lastId })
    await until(
      "all ends",
      () => ends([...got, ...client.seen]).length,
      (count) => count >= sent.length,
    )
    got.push(...client.seen)
    const endedIds = ends(got).map(({ event }) => event.subject as string)
    expect(endedIds.length).toBe(sent.length)
    expect(new Set(endedIds)).toEqual(new Set(sent))
    expect(new Set(got.map(({ id }) => id)).size).toBe(got.length)
    expect(got.some(({ event }) => event.type === "uhrwerk.gap")).toBe(false)
  })

  test.skipIf(missing !== null)(
    "two servers on one store: a client of either sees what both do, and may go on at the other one",
    async () => {
      const storage = `${url}?schema=${schemaName()}` as const
      const one = await start({ storage })
      const two = await start({ storage })
      const path = "/v1/events?type=uhrwerk.run.ended"
      const clients = await Promise.all([follow(one.url + path), follow(two.url + path)])
      await until("ids", () => clients.every(({ state }) => state.lastId !== ""), Boolean)
      const send = (server: RunningServer) =>
        server.engine.sendAll(
          greet,
          Array.from({ length: 100 }, () => ({ name: "x" })),
        )
      const sent = (await Promise.all([send(one), send(two)])).flat().map(({ id }) => id)
      await until("all", () => clients.every(({ seen }) => seen.length >= 200), Boolean)
      const subjects = ({ seen }: { readonly seen: ReadonlyArray<Seen> }) =>
        seen.map(({ event }) => event.subject as string)
      expect(subjects(clients[0]).length).toBe(200)
      expect(new Set(subjects(clients[0]))).toEqual(new Set(sent))
      // One order for all.
      expect(subjects(clients[1])).toEqual(subjects(clients[0]))
      expect(new Set(clients[0].seen.map(({ event }) => event.source)).size).toBe(2)
      const there = await follow(two.url + path, { "last-event-id": clients[0].seen[99]?.id ?? "" })
      await until(
        "the rest",
        () => there.seen.length,
        (count) => count >= 100,
      )
      expect(subjects(there)).toEqual(subjects(clients[0]).slice(100))
    },
  )

  test("a client that goes away leaves no stream behind, and a stop ends streams with `retry`", async () => {
    const world = await startWorld(config)
    worlds.push(world)
    const { url, stop } = await start()
    const clients = await Promise.all([follow(`${url}/v1/events`), follow(`${url}/v1/events`)])
    clients[0].leave()
    await stop({ grace: 0 })
    await clients[1].over
    expect(clients[1].state.isOver).toBe(true)
    const gone = new AbortController()
    const response = await world.app.request(
      "http://127.0.0.1:8080/v1/events",
      { signal: gone.signal },
      { remoteAddress: "127.0.0.1" },
    )
    expect(response.status).toBe(200)
    expect(world.outlets.streams.size()).toBe(1)
    gone.abort()
    expect(world.outlets.streams.size()).toBe(0)
  })
})

describe("over a real server, by the client", () => {
  test("the stream of a key ends within 5 s of the key's end, and no other one", async () => {
    const { url } = await start({ storage: `sqlite:${join(folder, "keys.db")}` })
    const first = await makeClient({ url }).createKey({ body: { name: "admin", role: "admin" } })
    const admin = makeClient({ url, key: first.key ?? "" })
    const reader = await admin.createKey({ body: { name: "reader", role: "viewer" } })
    const one = await follow(`${url}/v1/events`, { authorization: `Bearer ${reader.key}` })
    const other = await follow(`${url}/v1/events`, { authorization: `Bearer ${first.key}` })
    const begun = [one, other]
    await until("both", () => begun.every(({ state }) => state.lastId !== ""), Boolean)
    await admin.revokeKey({ params: { id: reader.id } })
    await until("its end", () => one.state.isOver, Boolean, 5_000)
    expect(other.state.isOver).toBe(false)
    const again = await follow(`${url}/v1/events`, { authorization: `Bearer ${reader.key}` })
    expect(again.response.status).toBe(401)
  })

  test("`client.stream` goes on over a restart, also before its first event, without loss or repeat", async () => {
    const storage = `sqlite:${join(folder, "client.db")}` as const
    const one = await start({ storage })
    const port = Number(new URL(one.url).port)
    let begun = false
    let open = (): void => {}
    const later = new Promise<void>((resolve) => (open = resolve))
    const client = makeClient({
      url: one.url,
      fetch: async (...given) => {
        if (begun) await later
        const response = await fetch(...given)
        begun ||= response.status === 200
        return response
      },
    })
    const leave = new AbortController()
    leavers.push(() => leave.abort())
    const ids: Array<string | null> = []
    const ended: Array<string> = []
    const read = async (): Promise<void> => {
      const query = { type: "uhrwerk.run.ended", job: "greet" }
      for await (const { id, data } of client.stream.streamEvents({ query, signal: leave.signal })) {
        ids.push(id)
        ended.push((data as { readonly subject: string }).subject)
      }
    }
    const over = read().catch((error: unknown) => error)
    const sendTo = async ({ engine }: RunningServer) =>
      (
        await engine.sendAll(
          greet,
          Array.from({ length: 20 }, () => ({ name: "x" })),
        )
      ).map(({ id }) => id)
    const sent: Array<string> = []
    const again = async (): Promise<RunningServer> => {
      const server = await serve({ ...config, storage }, { port, guard: false })
      servers.push(server)
      return server
    }
    await until("the stream", () => begun, Boolean)
    await one.stop({ grace: "5s" })
    // It was told where it stood, and no event: what happens before it is back must come, too.
    const two = await again()
    sent.push(...(await sendTo(two)))
    // Until they are told, as a stream that began anew would begin behind them.
    const told = await follow(`${two.url}/v1/events?job=greet&after=oldest`)
    await until("them", () => ends(told.seen).length >= sent.length, Boolean)
    open()
    await until("those", () => ended.length >= sent.length, Boolean, 20_000)
    sent.push(...(await sendTo(two)))
    await two.stop({ grace: "5s" })
    const three = await again()
    sent.push(...(await sendTo(three)))
    await until("all", () => ended.length >= sent.length, Boolean, 20_000)
    leave.abort()
    await over
    expect(ended.length).toBe(sent.length)
    expect(new Set(ended)).toEqual(new Set(sent))
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe("what is told", () => {
  const asWorld = async () => {
    const secretive = job<object, object>("mail.secret", { run: () => ({ password: "hunter2", ok: true }) })
    const big = job<object, string>("mail.big", { run: () => "x".repeat(5_000) })
    const world = await startWorld({ ...config, jobs: [greet, broken, secretive, big] })
    worlds.push(world)
    return { world, secretive, big }
  }
  /** All that is kept, for a caller and a query, until there are so many. */
  const told = async (
    world: World,
    query: Record<string, unknown>,
    namespace: string | null,
    count: number,
  ) => {
    const caller: Caller = { kind: "key", id: "k1", name: "k1", role: "viewer", namespace }
    const gone = new AbortController()
    const call = {
      query: { after: "oldest", ...query },
      caller,
      headers: new Headers(),
      signal: gone.signal,
      parts: { outlets: world.outlets },
    } as unknown as Call<(typeof eventsApi)["streamEvents"]>
    const { stream } = await eventHandlers.streamEvents(call)
    const reader = (stream as ReadableStream<Uint8Array>).getReader()
    let text = ""
    const events = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json))
    while (events().length < count) {
      const { value, done } = await reader.read()
      if (done) break
      text += new TextDecoder().decode(value)
    }
    await reader.cancel()
    return events()
  }

  test("secrets are not, large outputs are left out, and the error of a dead run is", async () => {
    const { world, secretive, big } = await asWorld()
    await (await world.engine.send(secretive, {})).result()
    await (await world.engine.send(big, {})).result()
    const { id } = await world.engine.send(broken, {} as never)
    const type = ["uhrwerk.run.ended", "uhrwerk.run.dead"]
    const events = await told(world, { type }, null, 3)
    expect(events.map(({ type, data }) => [type, data.job])).toEqual([
      ["uhrwerk.run.ended", "mail.secret"],
      ["uhrwerk.run.ended", "mail.big"],
      ["uhrwerk.run.dead", "broken"],
    ])
    expect(events[0].data.output).toEqual({ password: "[redacted]", ok: true })
    expect(events[1].data).toMatchObject({ outputLeftOut: true })
    expect(events[1].data).not.toHaveProperty("output")
    expect(events[2]).toMatchObject({ subject: id, data: { state: "dead", error: { name: "Error" } } })
    expect(JSON.stringify(events)).not.toContain("hunter2")
  })

  test("a run that somebody cancels while it waits is", async () => {
    const { world } = await asWorld()
    const { id } = await world.engine.send(greet, { name: "x" }, { delay: "1h" })
    await world.engine.cancel(id, "changed my mind, password=hunter2")
    await world.engine.cancel(id)
    const type = "uhrwerk.run.cancelled"
    const [event] = await told(world, { type }, null, 1)
    expect(event).toMatchObject({
      type,
      subject: id,
      data: { job: "greet", state: "cancelled", reason: expect.stringContaining("[redacted]") },
    })
    await (await world.engine.send(greet, { name: "x" })).result()
    const all = await told(world, { job: "greet" }, null, 3)
    expect(all.filter((each) => each.type === type).length).toBe(1)
  })

  test("filters by job, run and type; a namespace sees its own and nothing of nodes", async () => {
    const { world, secretive } = await asWorld()
    const mail = await world.engine.send(secretive, {})
    await mail.result()
    world.outlets.hear({ kind: "trouble", doing: "a", error: "b" })
    const other = await world.engine.send(greet, { name: "x" })
    await other.result()
    const subjects = (events: ReadonlyArray<any>) => events.map(({ subject }) => subject)
    expect(subjects(await told(world, { job: "mail.*" }, null, 2))).toEqual([mail.id, mail.id])
    expect(subjects(await told(world, { run: other.id }, null, 2))).toEqual([other.id, other.id])
    expect((await told(world, { type: "uhrwerk.node.trouble" }, null, 1))[0].data.doing).toBe("a")
    await (await world.engine.send(secretive, {})).result()
    const own = await told(world, {}, "mail", 4)
    expect(own.map(({ data }) => data.job)).toEqual(Array(4).fill("mail.secret"))
  })

  test("of a place that is not kept any more a gap is told, and the id after it is good to resume", async () => {
    const { world } = await asWorld()
    await (await world.engine.send(greet, { name: "x" })).result()
    const [first, second] = await told(world, {}, null, 2)
    const events = await told(world, { after: first.id.replace(/.{8}$/, "ffffffff") }, null, 3)
    expect(events.map(({ type }) => type)).toEqual(["uhrwerk.gap", first.type, second.type])
    expect((await told(world, { after: events[0].id }, null, 1))[0].id).toBe(first.id)
  })

  test("what is no id is refused", async () => {
    const { world } = await asWorld()
    const wrong = await world.ask("GET", "/v1/events?after=17")
    expect([wrong.status, wrong.body.code]).toEqual([422, "invalidRequest"])
    const header = await world.ask("GET", "/v1/events", undefined, { headers: { "last-event-id": "x y" } })
    expect([header.status, header.body.code]).toEqual([400, "badHeader"])
    expect((await world.ask("GET", "/v1/events?types=a")).status).toBe(422)
  })
})

describe("streams are bounded", () => {
  const quiet = (stopped = { now: false }) => ({
    read: async () => ({ batches: [] }),
    wait: (_: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (signal.aborted) return resolve()
        signal.addEventListener("abort", () => resolve())
      }),
    isStopped: () => stopped.now,
  })
  const filter = { types: [], jobs: [], run: null, namespace: null }
  const request = () => ({
    filter,
    from: origin,
    signal: new AbortController().signal,
  })

  test("in silence a comment comes", async () => {
    const streams = makeEventStreams({ journal: quiet(), beatMillis: 10 })
    const reader = (streams.open(request()) as ReadableStream<Uint8Array>).getReader()
    let text = ""
    while (text.split(":\n\n").length < 3) text += new TextDecoder().decode((await reader.read()).value)
    expect(text).toBe("retry: 1000\nid: 000000000000-000-00000000\n\n:\n\n:\n\n")
    await reader.cancel()
    expect(streams.size()).toBe(0)
  })

  test("one that is not read is cut; one more than there may be is none", async () => {
    const slow = makeEventStreams({ journal: quiet(), slowMillis: 20 })
    const unread = slow.open(request())
    await until("the cut", slow.size, (size) => size === 0)
    await expect(unread?.getReader().read()).rejects.toThrow("does not read")
    const few = makeEventStreams({ journal: quiet(), streamsMax: 2 })
    expect([few.open(request()), few.open(request()), few.open(request())].map(Boolean)).toEqual([
      true,
      true,
      false,
    ])
  })

  test("after the stop of the journal each ends with `retry`", async () => {
    const stopped = { now: false }
    const streams = makeEventStreams({ journal: quiet(stopped), beatMillis: 10 })
    const stream = streams.open(request()) as ReadableStream<Uint8Array>
    stopped.now = true
    const text = await new Response(stream).text()
    expect(text).toMatch(/retry: 1000\n:\n\n$/)
    await streams.stop()
    expect(streams.size()).toBe(0)
  })
})
