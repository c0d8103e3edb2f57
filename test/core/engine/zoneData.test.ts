// Nodes and runtimes with different zone data: one run per wall time whoever plans it, and the difference is told.
import { expect, test } from "vitest"
import type { Trigger } from "../../../core/domain/Schedule.ts"
import { zoneOf } from "../../../core/trigger/Zone.ts"
import type { ZoneSource } from "../../../core/trigger/ZoneData.ts"
import { jobRow, makeWorld, scheduleRow } from "./world.ts"

const day = 86_400_000
const hour = 3_600_000
const nine: Trigger = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" }

/** The rules of 2026 as the host has them: summer time from 29 March, 01:00 UTC. */
const ruleA: ZoneSource = { version: "2026a" }
/** The same zone in a release in which summer time was abolished. */
const ruleB: ZoneSource = { version: "2026b", find: () => zoneOf("Etc/GMT-1") }

/** Both agree until the 29th, and differ by an hour afterwards. */
const beforeChange = Date.UTC(2026, 2, 27, 12)

// Days in moments: nobody looks at the store without a reason.
const slow = { pollMillis: 600_000, leaseMillis: 86_400_000 }

const nominalDays = (executions: ReadonlyArray<{ nominalAt: number | null }>): ReadonlyArray<string> =>
  executions.map(({ nominalAt }) => new Date(nominalAt ?? 0).toISOString().slice(0, 10))

test("SC-S30 two nodes with different zone data side by side: one run a day, and a warning that names both", async () => {
  const world = makeWorld()
  const common = { jobs: [jobRow("daily")], schedules: [scheduleRow("daily", nine)], ...slow }
  world.time.moveTo(beforeChange)
  const a = await world.start({ name: "a", zones: ruleA, ...common })
  const b = await world.start({ name: "b", zones: ruleB, ...common })
  await world.advance(10 * day)
  const days = nominalDays(world.executions)
  expect(days).toEqual([...new Set(days)])
  expect(days).toHaveLength(10)
  // Each at one of the two instants that the nodes call nine o'clock.
  for (const { nominalAt } of world.executions) expect([7 * hour, 8 * hour]).toContain((nominalAt ?? 0) % day)
  const told = [...a.events, ...b.events].filter((event) => event.kind === "zoneData")
  expect(told.length).toBeGreaterThan(0)
  expect(told.length).toBeLessThanOrEqual(4)
  const text = JSON.stringify(told)
  expect(text).toContain("2026a ")
  expect(text).toContain("2026b ")
  const ledger = await world.ledger("daily")
  expect(ledger.every(({ zoneData }) => /^2026[ab] [0-9a-f]{8} (3600|7200)$/.test(zoneData ?? ""))).toBe(true)
  await Promise.all([a.close(), b.close()])
})

test.each([
  ["older to newer", ruleA, ruleB, 7 * hour, 8 * hour],
  ["newer to older", ruleB, ruleA, 8 * hour, 7 * hour],
])(
  "a restart with other zone data, %s: the stored next instant is named anew and reported, no day is lost or doubled",
  async (_, first, second, firstAt, secondAt) => {
    const world = makeWorld()
    const common = { jobs: [jobRow("daily")], schedules: [scheduleRow("daily", nine)], ...slow }
    world.time.moveTo(beforeChange)
    const one = await world.start({ zones: first, ...common })
    // Just behind nine o'clock of the 31st, as the first one sees it.
    await world.advance(Date.UTC(2026, 2, 31) + firstAt + 60_000 - beforeChange)
    await one.close()
    const two = await world.start({ zones: second, ...common })
    await world.advance(3 * day)
    const since = world.executions.filter(({ nominalAt }) => (nominalAt ?? 0) >= Date.UTC(2026, 2, 30))
    expect(since.map(({ nominalAt }) => nominalAt)).toEqual(
      [firstAt, day + firstAt, 2 * day + secondAt, 3 * day + secondAt, 4 * day + secondAt]
        .map((at) => Date.UTC(2026, 2, 30) + at)
        .filter((at) => at <= world.time.now()),
    )
    expect(two.events.filter((event) => event.kind === "zoneData")).toMatchObject([
      {
        scheduleId: "daily",
        stored: expect.stringContaining(first.version ?? ""),
        own: expect.stringContaining(second.version ?? ""),
        before: Date.UTC(2026, 3, 1) + firstAt,
        after: Date.UTC(2026, 3, 1) + secondAt,
      },
    ])
    await two.close()
  },
)

test("a schedule of every five minutes means elapsed time: none is left out at a change of zone data", async () => {
  const world = makeWorld()
  const trigger: Trigger = { kind: "cron", expression: "*/5 * * * *", zone: "Europe/Berlin" }
  const common = { jobs: [jobRow("often")], schedules: [scheduleRow("often", trigger)], ...slow }
  const from = Date.UTC(2026, 2, 31, 7)
  world.time.moveTo(from)
  const two = await world.start({ zones: ruleA, ...common })
  await world.advance(12 * 60_000)
  await two.close()
  const three = await world.start({ zones: ruleB, ...common })
  await world.advance(12 * 60_000)
  const minutes = world.executions
    .map(({ nominalAt }) => ((nominalAt ?? 0) - from) / 60_000)
    .filter((minute) => minute > 0)
  expect(minutes).toEqual([5, 10, 15, 20])
  expect(three.events.filter((event) => event.kind === "zoneData")).toEqual([])
  await three.close()
})

test("the same data under another release is no difference", async () => {
  const world = makeWorld()
  const common = { jobs: [jobRow("daily")], schedules: [scheduleRow("daily", nine)], ...slow }
  const one = await world.start({ zones: ruleA, ...common })
  await world.advance(2 * day)
  await one.close()
  const two = await world.start({ zones: { version: "2027z" }, ...common })
  await world.advance(2 * day)
  expect(two.events.filter((event) => event.kind === "zoneData")).toEqual([])
  expect(nominalDays(world.executions)).toEqual(["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"])
  await two.close()
})
