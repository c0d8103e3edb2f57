// Webhooks over real receivers: signed, at least once, tried again later and later, by one server of a store, over crashes;
// and the places that nothing is sent to (negative test 19).
import * as Result from "effect/Result"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkRules } from "../../../../adapters/executor-http/Request.ts"
import type { AskedStore } from "../../../../apps/server/api/ApiParts.ts"
import { type Journal, makeJournal } from "../../../../apps/server/events/Journal.ts"
import { openSharedStore, type SharedStore } from "../../../../apps/server/SharedStore.ts"
import {
  type Deliverer,
  type DelivererOptions,
  failingMillisMax,
  retryDelays,
  startDeliverer,
} from "../../../../apps/server/webhooks/Deliverer.ts"
import { sendEvent } from "../../../../apps/server/webhooks/sendEvent.ts"
import {
  allWebhooks,
  type Delivery,
  kinds,
  newSecret,
  newState,
  stateRecord,
  type Webhook,
  webhookRecord,
} from "../../../../apps/server/webhooks/Webhook.ts"
import { checkConfig } from "../../../../apps/sdk/config.ts"
import { startWorld, type World } from "../api/world.ts"
import { config, greet, until } from "../project.ts"
import { closeAll, isSigned, receiver } from "./hooks.ts"

const hour = 3_600_000
const rulesOf = (...ports: ReadonlyArray<number>) =>
  Result.getOrThrow(
    checkRules("rules", {
      origins: ports.map((port) => `http://127.0.0.1:${port}`),
      networks: ["127.0.0.1"],
    }),
  )

let shared: SharedStore
let store: AskedStore
let journal: Journal
let now: number
const deliverers: Array<Deliverer> = []
const worlds: Array<World> = []
const troubles: Array<string> = []
beforeEach(async () => {
  shared = await openSharedStore(await checkConfig({ jobs: [greet], storage: "memory:" }))
  store = shared.store
  journal = makeJournal({ store, onTrouble: (error) => troubles.push(String(error)) })
  journal.start(() => "n1")
  now = Date.now()
  troubles.length = 0
})
afterEach(async () => {
  await Promise.all(deliverers.splice(0).map((each) => each.stop()))
  for (const each of worlds.splice(0)) await each.stop()
  await journal.stop(0)
  await shared.close()
  await closeAll()
})

const deliver = (port: number, more: Partial<DelivererOptions> = {}): Deliverer => {
  const deliverer = startDeliverer({
    store,
    journal,
    rules: rulesOf(port),
    onTrouble: (error) => troubles.push(String(error)),
    now: () => now,
    random: () => 0.5,
    lookMillis: 20,
    ...more,
  })
  deliverers.push(deliverer)
  return deliverer
}
const hook = async (port: number, more: Partial<Webhook> = {}): Promise<Webhook> => {
  const webhook: Webhook = {
    id: "11111111-1111-4111-8111-111111111111",
    name: "test",
    url: `http://127.0.0.1:${port}/hook`,
    types: [],
    jobs: [],
    enabled: true,
    note: null,
    createdAt: now,
    secrets: [{ text: newSecret(), until: null }],
    version: 1,
    ...more,
  }
  await store.putRecords([
    stateRecord(webhook.id, newState(await journal.newest()), 0),
    webhookRecord(webhook, 0),
  ])
  return webhook
}
const hear = (scheduleId: string, count = 1): void => {
  for (let at = 0; at < count; at++)
    journal.hear({ kind: "occurrence", scheduleId, at, count: 1, reason: "missed" })
}
const deliveries = async (): Promise<ReadonlyArray<Delivery>> =>
  (await store.records({ kind: kinds.delivery, order: "ascending", limit: 1_000 })).map(
    ({ body }) => JSON.parse(body) as Delivery,
  )
const settled = (count: number, state: Delivery["state"], tries = 1) =>
  until(
    `${count} ${state}`,
    deliveries,
    (all) => all.filter((each) => each.state === state && each.attempts.length >= tries).length >= count,
  )

describe("delivery", () => {
  test("events come signed, in order, each once, and only those that are wanted", async () => {
    const { port, got } = await receiver(() => 204)
    const { secrets } = await hook(port, { types: ["uhrwerk.schedule.*"], jobs: ["mail.*", "greet"] })
    deliver(port)
    hear("other", 5)
    hear("mail.digest", 20)
    hear("greet")
    journal.hear({ kind: "trouble", doing: "a", error: "b" })
    await settled(21, "delivered")
    const events = got.map(({ body }) => JSON.parse(body))
    expect(new Set(events.map(({ id }) => id)).size).toBe(21)
    expect(events.length).toBe(21)
    expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set(["mail.digest", "greet"]))
    const secret = secrets[0]?.text ?? ""
    expect(got.every((each) => isSigned(each, secret))).toBe(true)
    expect(got.some((each) => isSigned(each, newSecret()))).toBe(false)
    expect(got.some((each) => isSigned({ ...each, body: `${each.body} ` }, secret))).toBe(false)
    expect(got[0]?.headers).toMatchObject({
      "webhook-id": events[0].id,
      "content-type": "application/cloudevents+json; charset=utf-8",
    })
    expect(troubles).toEqual([])
  })

  test("what failed is tried again by itself, with the same id, until it succeeds", async () => {
    const { port, got } = await receiver((_, count) => (count <= 3 ? 500 : 200))
    await hook(port)
    deliver(port)
    hear("greet")
    for (const [place, delay] of retryDelays.slice(0, 3).entries()) {
      const [delivery] = await settled(1, "pending", place + 1)
      expect(delivery?.nextAt).toBe(now + delay)
      now += delay + 1
    }
    const [delivery] = await settled(1, "delivered")
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 500, 500, 200])
    expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
    expect(await store.records({ kind: kinds.pending, order: "ascending", limit: 10 })).toEqual([])
  })

  test("after eight tries in about a day it has failed; the others went on", async () => {
    expect(retryDelays.length).toBe(7)
    expect(retryDelays.reduce((sum, each) => sum + each) / hour).toBeCloseTo(23.6, 0)
    const { port } = await receiver(({ body }) => (body.includes('"poison"') ? 500 : 200))
    await hook(port)
    deliver(port)
    hear("poison")
    await settled(1, "pending")
    for (const [place, delay] of retryDelays.entries()) {
      await until("a try", deliveries, (all) => all.some(({ attempts }) => attempts.length === place + 1))
      now += delay + 1
      hear("greet")
      await settled(place + 1, "delivered")
    }
    await settled(1, "failed", 8)
    const [{ enabled } = { enabled: false }] = await allWebhooks(store)
    expect(enabled).toBe(true)
  })

  test("a receiver that is down gets one new event now and then; the rest waits in the journal and comes", async () => {
    let isUp = false
    const { port, got } = await receiver(() => (isUp ? 200 : 503))
    await hook(port)
    deliver(port)
    hear("greet", 100)
    await settled(8, "pending")
    now += 5_001
    await settled(9, "pending")
    expect(got.length).toBe(9)
    isUp = true
    now += hour
    await settled(100, "delivered")
    expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(100)
  })

  test("three days without a success, or a 410, disable it, with a note", async () => {
    const { port } = await receiver(() => 500)
    const gone = await receiver(() => 410)
    await hook(port)
    await hook(gone.port, { id: "22222222-2222-4222-8222-222222222222" })
    deliver(port, { rules: rulesOf(port, gone.port) })
    hear("greet")
    await settled(1, "pending")
    await settled(1, "failed")
    now += failingMillisMax + 1
    const all = await until(
      "both disabled",
      () => allWebhooks(store),
      (hooks) => hooks.every(({ enabled }) => !enabled),
    )
    expect(all.map(({ note }) => note)).toEqual([
      "Disabled: no delivery succeeded for three days",
      "Disabled: the receiver answered 410 Gone",
    ])
  })

  test("a receiver that never answers costs the time-out", async () => {
    const { port } = await receiver(() => undefined)
    const webhook = await hook(port)
    const event = { id: "e1" } as never
    const sent = await sendEvent(webhook, event, { rules: rulesOf(port), now: () => now, timeoutMillis: 50 })
    expect(sent.attempt).toMatchObject({ status: null, error: "No answer within 50 ms" })
  })
})

describe("of several servers", () => {
  test("one delivers; when it stops, the next goes on behind what was delivered", async () => {
    const { port, got } = await receiver(() => 200)
    await hook(port)
    const first = deliver(port)
    deliver(port)
    deliver(port)
    hear("greet", 30)
    await settled(30, "delivered")
    expect(got.length).toBe(30)
    await first.stop()
    hear("greet", 30)
    await settled(60, "delivered")
    expect(got.length).toBe(60)
  })

  test("one that dies between a try and its record is followed by one that repeats it, and leaves out nothing", async () => {
    const { port, got } = await receiver(() => 200)
    await hook(port)
    let isDead = false
    // Dies with the first delivery that it would store.
    const dying: AskedStore = {
      ...store,
      putRecords: (records) => {
        isDead ||= records.some(({ kind }) => kind === kinds.delivery)
        return isDead ? Promise.reject(new Error("dead")) : store.putRecords(records)
      },
      deleteRecords: (kind, ids) =>
        isDead ? Promise.reject(new Error("dead")) : store.deleteRecords(kind, ids),
    }
    deliver(port, { store: dying, leaseMillis: 300 })
    hear("greet", 3)
    await until(
      "a try",
      () => got.length,
      (count) => count >= 1,
    )
    await deliverers.shift()?.stop()
    deliver(port, { leaseMillis: 300 })
    await settled(3, "delivered")
    expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(3)
    expect(got.length).toBeGreaterThan(3)
  })
})

describe("nothing is sent (negative test 19)", () => {
  const send = async (
    url: string,
    resolve?: (host: string) => Promise<ReadonlyArray<{ address: string; family: number }>>,
  ) => {
    const webhook = { url, secrets: [{ text: newSecret(), until: null }] } as unknown as Webhook
    const { attempt } = await sendEvent(webhook, { id: "e1" } as never, {
      rules: Result.getOrThrow(checkRules("rules", {})),
      now: () => now,
      ...(resolve === undefined ? {} : { resolve }),
    })
    return attempt
  }
  test.each([
    "https://127.0.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://[::ffff:10.0.0.1]/",
    "https://[::1]/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://10.0.0.1/",
    "http://8.8.8.8/",
    "ftp://example.com/",
    "https://user:pw@example.com/",
  ])("to %s, nor is a webhook made of it", async (url) => {
    expect(await send(url)).toMatchObject({
      status: null,
      error: expect.stringMatching(/public|https|server|password/),
    })
    const world = await startWorld(config)
    worlds.push(world)
    const answer = await world.ask("POST", "/v1/webhooks", { name: "x", url })
    expect([answer.status, answer.body.code, answer.body.errors?.[0]?.pointer]).toEqual([
      422,
      "invalidInput",
      "/url",
    ])
    expect(answer.text).not.toContain("pw")
  })

  test("to a name that stands for a private address, or for a public and a private one", async () => {
    for (const addresses of [["10.0.0.7"], ["8.8.8.8", "127.0.0.1"], ["::ffff:169.254.169.254"]])
      expect(
        await send("https://rebind.example/", async () =>
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        ),
      ).toMatchObject({ status: null, error: "Its host has an address that is not public" })
  })

  test("a name is looked up once for each try, so that a second answer changes nothing", async () => {
    const { port, got } = await receiver(() => 200)
    let asked = 0
    const webhook = {
      url: `http://localhost:${port}/`,
      secrets: [{ text: newSecret(), until: null }],
    } as unknown as Webhook
    const rules = Result.getOrThrow(
      checkRules("rules", { origins: [`http://localhost:${port}`], networks: ["127.0.0.1"] }),
    )
    const { attempt } = await sendEvent(webhook, { id: "e1" } as never, {
      rules,
      now: () => now,
      resolve: async () => [{ address: asked++ === 0 ? "127.0.0.1" : "10.0.0.1", family: 4 }],
    })
    expect([attempt.status, asked, got.length]).toEqual([200, 1, 1])
  })

  test("to where a redirect points", async () => {
    const target = await receiver(() => 200)
    const { port } = await receiver(() => 307, { location: `http://127.0.0.1:${target.port}/` })
    await hook(port)
    deliver(port, { rules: rulesOf(port, target.port) })
    hear("greet")
    const [delivery] = await settled(1, "pending")
    expect(delivery?.attempts[0]).toMatchObject({
      status: 307,
      error: expect.stringContaining("not followed"),
    })
    expect(target.got.length).toBe(0)
  })
})

describe("the API", () => {
  const begin = async (answer: (count: number) => number = () => 200) => {
    const { port, got } = await receiver((_, count) => answer(count))
    const world = await startWorld({
      ...config,
      executors: { request: { origins: [`http://127.0.0.1:${port}`], networks: ["127.0.0.1"] } },
    })
    worlds.push(world)
    const made = await world.ask("POST", "/v1/webhooks", {
      name: "test",
      url: `http://127.0.0.1:${port}/hook`,
      types: ["uhrwerk.run.ended"],
    })
    expect(made.status).toBe(201)
    return { world, got, made, path: `/v1/webhooks/${made.body.id}` }
  }

  test("a webhook is made, with its secret once, and gets what ends; deliveries are listed in pages and resent", async () => {
    const { world, got, made, path } = await begin()
    expect(made.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    for (const each of [path, "/v1/webhooks"])
      expect((await world.ask("GET", each)).text).not.toContain("whsec_")
    for (let index = 0; index < 3; index++) await (await world.engine.send(greet, { name: "x" })).result()
    await until(
      "three",
      () => got.length,
      (count) => count >= 3,
    )
    expect(isSigned(got[0] ?? { headers: {}, body: "" }, made.body.secret)).toBe(true)
    const list = await until(
      "the list",
      async () => (await world.ask("GET", `${path}/deliveries?limit=2`)).body,
      ({ items, cursor }) => items.length === 2 && cursor !== null,
    )
    const next = (await world.ask("GET", `${path}/deliveries?limit=2&cursor=${list.cursor}`)).body
    expect(next).toMatchObject({ items: [{ state: "delivered", attempts: [{ status: 200 }] }], cursor: null })
    const ids = [...list.items, ...next.items].map(({ event }) => event.id)
    expect(ids.every((each, place) => place === 0 || each < ids[place - 1])).toBe(true)
    const again = await world.ask("POST", `${path}/deliveries/${ids[1]}/resend`)
    expect([again.status, again.body.state]).toEqual([202, "pending"])
    await until(
      "it again",
      () => got.filter(({ headers }) => headers["webhook-id"] === ids[1]).length,
      (count) => count === 2,
    )
    expect((await world.ask("POST", `${path}/deliveries/no-such/resend`)).status).toBe(404)
    expect((await world.ask("GET", `${path}/deliveries?cursor=abc`)).body.code).toBe("badCursor")
    expect(world.faults).toEqual([])
  })

  test("an edit says its version; a new secret signs beside the old one; a test is answered with what came of it", async () => {
    const { world, got, made, path } = await begin((count) => (count === 1 ? 200 : 500))
    const etag = made.headers.get("etag") ?? ""
    const edited = await world.ask("PATCH", path, { name: "other" }, { headers: { "if-match": etag } })
    expect([edited.status, edited.body.name]).toEqual([200, "other"])
    const stale = await world.ask("PATCH", path, { name: "third" }, { headers: { "if-match": etag } })
    expect([stale.status, stale.body.code]).toEqual([412, "changed"])
    expect((await world.ask("PATCH", path, { secret: "whsec_x" })).status).toBe(422)
    expect((await world.ask("PATCH", path, { url: "https://10.0.0.1/" })).body.code).toBe("invalidInput")
    const rotated = await world.ask("POST", `${path}/secret`)
    expect(rotated.body.secret).not.toBe(made.body.secret)
    const tested = await world.ask("POST", `${path}/test`)
    expect(tested.body).toMatchObject({ status: 200, error: null })
    const [request = { headers: {}, body: "" }] = got
    expect(JSON.parse(request.body).type).toBe("uhrwerk.webhook.test")
    for (const secret of [made.body.secret, rotated.body.secret]) expect(isSigned(request, secret)).toBe(true)
    expect((await world.ask("POST", `${path}/test`)).body).toMatchObject({
      status: 500,
      error: "Answered with 500",
    })
  })

  test("one that is disabled gets nothing, and begins anew with what happens next; a deleted one is gone", async () => {
    const { world, got, path } = await begin()
    await world.ask("PATCH", path, { enabled: false })
    await (await world.engine.send(greet, { name: "unheard" })).result()
    await until(
      "it is kept",
      () => world.outlets.journal.newest(),
      ({ batch }) => batch > 0,
    )
    await world.ask("PATCH", path, { enabled: true })
    const { id, result } = await world.engine.send(greet, { name: "heard" })
    await result()
    await until(
      "one",
      () => got.length,
      (count) => count > 0,
    )
    expect(got.map(({ body }) => JSON.parse(body).subject)).toEqual([id])
    expect((await world.ask("DELETE", path)).status).toBe(204)
    for (const [method, each] of [
      ["GET", path],
      ["DELETE", path],
      ["POST", `${path}/test`],
      ["GET", "/v1/webhooks/x"],
    ] as const)
      expect((await world.ask(method, each)).status).toBe(404)
    expect((await world.ask("GET", "/v1/webhooks")).body).toEqual({ items: [], cursor: null })
  })
})
