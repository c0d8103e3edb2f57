// `uhrwerk calendar list | show`, and what `schedule show` says of calendars, beside a store that an engine left.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { calendar, cron, engine, job } from "../../../apps/sdk/mod.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-calendars-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(async () => {
  const never = calendar("never", { days: ["2020-01-01"] })
  const workdays = calendar("workdays", {
    zone: "Europe/Berlin",
    weekdays: ["mon", "tue", "wed", "thu", "fri"],
  })
  const on = cron("0 9 * * *", { tz: "Europe/Berlin", only: workdays, closed: "hold", jitter: "10m" })
  const jobs = [job("report", { on, run: () => {} })]
  const app = await engine({
    jobs,
    calendars: [never],
    storage: `sqlite:${join(folder, "uhrwerk.db")}`,
  }).start({
    guard: false,
  })
  await app.stop()
})

test("calendar list tells whether each is open now, until when, and who names it", async () => {
  const { code, stdout } = await inProcess(["calendar", "list"], folder)
  expect(code).toBe(0)
  expect(stdout).toMatch(/never +UTC +closed +for ten years at least +-/)
  expect(stdout).toMatch(/workdays +Europe\/Berlin +(open|closed) +(Sat|Mon) \S+ 00:00:00 \S+ +report/)
})

test("calendar show tells the rule and the next changes; -o json gives the same as data", async () => {
  const { stdout } = await inProcess(["calendar", "show", "workdays"], folder)
  expect(stdout).toMatch(/rule +\{"weekdays":\["mon","tue","wed","thu","fri"\]\}/)
  expect(stdout).toMatch(
    /Next:\n(?: {2}(?:opens |closes) (?:Sat|Mon) \S+ 00:00:00 \S+ Europe\/Berlin \(.*\)\n){6}/,
  )
  const [row] = JSON.parse(
    (await inProcess(["calendar", "show", "workdays", "-o", "json"], folder)).stdout,
  ) as [Record<string, unknown>]
  expect(row).toMatchObject({
    name: "workdays",
    schedules: ["report"],
    definition: { zone: "Europe/Berlin" },
  })
  expect(await inProcess(["calendar", "show", "other"], folder)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/no calendar "other".*uhrwerk calendar list/),
  })
})

test("schedule show tells what its calendars and its jitter do", async () => {
  const { stdout } = await inProcess(["schedule", "show", "report"], folder)
  expect(stdout).toMatch(
    /only +in calendar workdays\nclosed +held until it opens\njitter +each start .* later\n/,
  )
  expect(stdout).toMatch(/Next:\n(?: {2}(?:Mon|Tue|Wed|Thu|Fri) .* s later by jitter\n){5}/)
})
