// `/v1/jobs`, `/v1/schedules` and `/v1/calendars` over a real engine: each answer that is documented, and what others may
// not see or change.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { calendar, cron, every, flow, job } from "uhrwerk"
import { until } from "../project.ts"
import { startWorld, type World } from "./world.ts"

const workdays = calendar("workdays", {
  zone: "Europe/Berlin",
  weekdays: ["mon", "tue", "wed", "thu", "fri"],
})
const held = Promise.withResolvers<void>()
let world: World
beforeAll(async () => {
  world = await startWorld({
    jobs: [
      job<unknown, void>("mail.digest", {
        on: cron("0 9 1 1 *", { tz: "Europe/Berlin", only: workdays }),
        run: () => {},
      }),
      job("shop.count", { on: every("365d"), run: () => {} }),
      job("slow", { on: cron("0 0 1 1 *"), run: () => held.promise }),
      flow("etl", {}, (f) => void f.step("one", { run: () => 1 })),
    ],
    calendars: [workdays],
    storage: "memory:",
  })
})
afterAll(async () => {
  held.resolve()
  expect(world.faults).toEqual([])
  await world.stop()
})
const ask: World["ask"] = (...args) => world.ask(...args)
const path = (id: string, rest = ""): string => `/v1/schedules/${encodeURIComponent(id)}${rest}`
const make = async (id: string, more: object = {}) =>
  ask("POST", "/v1/schedules", { id, job: "mail.digest", on: { every: "1h" }, ...more })

describe("jobs and calendars", () => {
  test("jobs and flows are listed by name, in pages, with their schedules and counts", async () => {
    const first = await ask("GET", "/v1/jobs?limit=2")
    expect(first.body.items.map(({ name, kind }: any) => [name, kind])).toEqual([
      ["etl", "flow"],
      ["mail.digest", "job"],
    ])
    const rest = await ask("GET", `/v1/jobs?limit=2&cursor=${first.body.cursor}`)
    expect(rest.body).toMatchObject({ items: [{ name: "shop.count" }, { name: "slow" }], cursor: null })
    await until(
      "its first run is counted",
      async () => (await ask("GET", "/v1/jobs/shop.count")).body.counts,
      ({ succeeded }) => succeeded === 1,
    )
    expect((await ask("GET", "/v1/jobs/shop.count")).body).toMatchObject({
      schedules: ["shop.count"],
      isDefined: true,
    })
    expect((await ask("GET", "/v1/jobs/none")).status).toBe(404)
    expect((await ask("GET", `/v1/schedules?cursor=${first.body.cursor}`)).body.code).toBe("badCursor")
  })

  test("calendars, and who keeps to them", async () => {
    const { body } = await ask("GET", "/v1/calendars")
    expect(body.items).toMatchObject([
      { name: "workdays", zone: "Europe/Berlin", schedules: ["mail.digest"] },
    ])
    expect((await ask("GET", "/v1/calendars/workdays")).body).toEqual(body.items[0])
    expect((await ask("GET", "/v1/calendars/none")).status).toBe(404)
  })
})

describe("schedules", () => {
  test("one of the config is read with what comes, and is changed there only", async () => {
    const read = await ask("GET", path("mail.digest", "?next=3"))
    expect(read.body).toMatchObject({ id: "mail.digest", fromConfig: true, overlap: "skip", pausedAt: null })
    expect(read.body.words).toContain("Europe/Berlin")
    expect(read.body.next).toHaveLength(3)
    expect(read.headers.get("etag")).toMatch(/^"/)
    const edit = await ask("PUT", path("mail.digest"), { job: "mail.digest", on: { every: "1h" } })
    expect([edit.status, edit.body.code]).toEqual([409, "conflict"])
    expect((await ask("DELETE", path("mail.digest"))).status).toBe(409)
  })

  test("one is made, found, changed by its tag, and removed", async () => {
    const made = await make("customer 7/ä", { input: { to: 7 }, overlap: "queueOne", countMax: 5 })
    expect([made.status, made.headers.get("location")]).toEqual([201, path("customer 7/ä")])
    expect(made.body).toMatchObject({
      words: "every 1h",
      input: { to: 7 },
      overlap: "queueOne",
      fromConfig: false,
    })
    const again = await make("customer 7/ä")
    expect([again.status, again.body.code]).toEqual([409, "idTaken"])
    expect((await make("shop.count")).status).toBe(409)

    const tag = made.headers.get("etag") ?? ""
    const body = { job: "mail.digest", on: { cron: "0 9 * * *", tz: "Europe/Berlin" } }
    const edited = await ask("PUT", path("customer 7/ä"), body, { headers: { "if-match": tag } })
    expect([edited.status, edited.body.words]).toEqual([200, expect.stringContaining("9")])
    expect(edited.body.createdAt).toBe(made.body.createdAt)
    const late = await ask("PUT", path("customer 7/ä"), body, { headers: { "if-match": tag } })
    expect([late.status, late.body.code]).toEqual([412, "changed"])
    expect(
      (await ask("DELETE", path("customer 7/ä"), undefined, { headers: { "if-match": tag } })).status,
    ).toBe(412)
    const now = edited.headers.get("etag") ?? ""
    expect(
      (await ask("DELETE", path("customer 7/ä"), undefined, { headers: { "if-match": now } })).status,
    ).toBe(204)
    expect((await ask("GET", path("customer 7/ä"))).status).toBe(404)
    expect((await ask("DELETE", path("customer 7/ä"))).status).toBe(404)
  })

  test.each([
    [{ on: { cron: "61 * * * *" } }, "invalidInput", "/on"],
    [{ on: { cron: "0 0 30 2 *" } }, "invalidInput", "/on"],
    [{ on: { cron: "0 9 * * *", tz: "Mars/Base" } }, "invalidInput", "/on"],
    [{ on: { every: "soon" } }, "invalidInput", "/on"],
    [{ on: { every: "1h" }, only: "nowhere" }, "invalidInput", "/on"],
    [{ on: { every: "1h" }, catchUpMax: 3 }, "invalidInput", "/on"],
    [{ job: "none" }, "unknownJob", "/job"],
    [{ on: { hourly: true } }, "invalidBody", "/on"],
    [{ priority: 3 }, "invalidBody", "/priority"],
  ])("%j is refused, and nothing is stored", async (more, code, pointer) => {
    const { status, body } = await make("bad", more)
    expect([status, body.code]).toEqual([422, code])
    expect(body.errors[0].pointer).toMatch(new RegExp(`^${pointer}`))
    expect((await ask("GET", path("bad"))).status).toBe(404)
    const { id: _, ...preview } = { id: "", job: "mail.digest", on: { every: "1h" }, ...more }
    expect((await ask("POST", "/v1/schedules/preview", preview)).body.code).toBe(code)
  })

  test("a preview stores nothing, and says what clock changes and calendars do", async () => {
    const before = await world.engine.schedules()
    const { status, body } = await ask("POST", "/v1/schedules/preview?next=400", {
      job: "mail.digest",
      on: { cron: "30 2 * * *", tz: "Europe/Berlin" },
    })
    expect(status).toBe(422)
    const right = await ask("POST", "/v1/schedules/preview?next=200", {
      job: "mail.digest",
      on: { cron: "30 2 * * 0", tz: "Europe/Berlin" },
    })
    expect(right.body.next).toHaveLength(200)
    expect(right.body.next.some(({ notes }: any) => notes.length > 0)).toBe(true)
    expect(await world.engine.schedules()).toEqual(before)
    expect(body.code).toBe("invalidRequest")
  })

  test("pause with a note, resume, skip, run now, backfill, and the ledger of all that", async () => {
    await make("hand", { on: { every: "1h", startAt: Date.now() + 3_600_000 } })
    const paused = await ask("POST", path("hand", "/pause"), { note: "moving" })
    expect(paused.body).toMatchObject({ pausedNote: "moving", pausedAt: expect.any(Number) })
    expect((await ask("GET", "/v1/schedules?paused=true")).body.items.map(({ id }: any) => id)).toEqual([
      "hand",
    ])
    expect((await ask("POST", path("hand", "/resume"))).body.pausedAt).toBeNull()
    expect((await ask("POST", path("hand", "/pause"))).status).toBe(200)
    await ask("POST", path("hand", "/resume"))
    const next = (await ask("GET", path("hand"))).body.nextAt
    expect((await ask("POST", path("hand", "/skip"))).body).toEqual({ skippedAt: next })
    const run = await ask("POST", path("hand", "/run"))
    expect([run.status, run.headers.get("location")]).toEqual([201, `/v1/runs/${run.body.runId}`])
    const from = Date.now() - 7_200_000
    const dry = await ask("POST", path("shop.count", "/backfill"), { from, dryRun: true })
    expect([dry.status, dry.body.more]).toEqual([200, false])
    const wrong = await ask("POST", path("shop.count", "/backfill"), { from: "never" })
    expect([wrong.status, wrong.body.code]).toEqual([422, "invalidInput"])
    const first = await ask("GET", path("hand", "/occurrences?limit=1"))
    expect(first.body.items).toMatchObject([
      { at: next, reason: "skipped", runId: null, trigger: { kind: "every" } },
    ])
    const rest = await ask("GET", path("hand", `/occurrences?cursor=${first.body.cursor}`))
    expect(rest.body).toMatchObject({ items: [{ runId: run.body.runId, reason: null }], cursor: null })
    await ask("DELETE", path("hand"))
    expect((await ask("GET", path("hand", "/occurrences"))).body.items).toHaveLength(2)
  })

  test("run now while its last run is alive, where its overlap forbids it", async () => {
    const run = await ask("POST", path("slow", "/run"))
    expect(run.status).toBe(201)
    const again = await ask("POST", path("slow", "/run"))
    expect([again.status, again.body.code]).toEqual([409, "conflict"])
  })

  test.each([
    ["GET", ""],
    ["PUT", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/skip"],
    ["POST", "/run"],
    ["POST", "/backfill"],
    ["GET", "/occurrences"],
  ])("%s %s of none: 404", async (method, rest) => {
    const body =
      method === "PUT" ? { job: "slow", on: { every: "1h" } } : rest === "/backfill" ? { from: 0 } : undefined
    const answer = await ask(method, path("none", rest), body)
    expect([answer.status, answer.body.code]).toEqual([404, "notFound"])
  })
})

test("a key of a namespace sees and makes its own only", async () => {
  const key = await world.makeKey({ role: "operator", namespace: "mail" })
  const admin = await world.makeKey({ role: "admin" })
  const own = (method: string, address: string, body?: unknown) => ask(method, address, body, { key })
  expect((await own("GET", "/v1/jobs")).body.items.map(({ name }: any) => name)).toEqual(["mail.digest"])
  expect((await own("GET", "/v1/schedules")).body.items.map(({ id }: any) => id)).toEqual(["mail.digest"])
  expect((await own("GET", path("shop.count"))).status).toBe(404)
  expect((await own("GET", path("shop.count", "/occurrences"))).status).toBe(404)
  expect((await own("POST", path("shop.count", "/run"))).status).toBe(404)
  const schedule = { job: "mail.digest", on: { every: "1h" } }
  expect((await own("POST", "/v1/schedules", { id: "shop.x", ...schedule })).status).toBe(422)
  expect(
    (await own("POST", "/v1/schedules", { id: "mail.x", ...schedule, job: "shop.count" })).body.code,
  ).toBe("unknownJob")
  expect((await own("POST", "/v1/schedules", { id: "mail.x", ...schedule })).status).toBe(201)
  const taken = await own("PUT", path("mail.x"), { ...schedule, job: "shop.count" })
  expect([taken.status, taken.body.code]).toEqual([422, "unknownJob"])
  expect((await ask("DELETE", path("mail.x"), undefined, { key: admin })).status).toBe(204)
})
