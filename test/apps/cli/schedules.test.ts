// `uhrwerk schedule show | pause | resume`: beside a store, with and without an engine that hears of it.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { cron, engine, every, job } from "../../../apps/sdk/mod.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-schedules-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (...args: ReadonlyArray<string>) => inProcess(["schedule", ...args], folder)
const nextAt = Date.UTC(2027, 2, 27, 1, 30)

beforeAll(async () => {
  const store = sqliteDriver({ file: join(folder, "uhrwerk.db"), now: () => Date.now() })
  const schedule = {
    job: "report",
    input: null,
    overlap: "skip",
    fromConfig: true,
    cursor: 0,
    zoneData: null,
    createdAt: 0,
  } as const
  const trigger = { kind: "cron", expression: "30 2 * * *", zone: "Europe/Berlin" } as const
  await store.putSchedules([
    { ...schedule, id: "nightly", trigger, nextAt },
    { ...schedule, id: "moved", trigger: { ...trigger, dialect: "croner" }, nextAt },
    { ...schedule, id: "often", trigger: { kind: "every", periodMillis: 60_000, startAt: 0 }, nextAt },
    { ...schedule, id: "over", trigger: { kind: "at", at: 0 }, nextAt: null },
    { ...schedule, id: "delay", trigger: { kind: "after", delayMillis: 1000 }, nextAt: null },
  ])
  const occurrence = { at: 5000, lastAt: 5000, count: 1, runId: runId(1), reason: null, nominalAt: null }
  const missed = { at: 1000, lastAt: 4000, count: 4, runId: null, reason: "missed", nominalAt: null } as const
  const place = { scheduleId: "nightly", version: 1, cursor: 5000, nextAt, waitsUntil: null }
  const step = { ...place, cancelRunId: null, lastRunId: runId(1), zoneData: null }
  await store.fire([{ ...step, occurrences: [missed, occurrence], runs: [newRun(1)] }])
  await store.close()
})

describe("schedule show", () => {
  test("tells its words, zone, cursor, last run, what comes and what came", async () => {
    const { code, stdout } = await at("show", "nightly")
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /starts +cron 30 2 \* \* \* Europe\/Berlin\nin words +at 02:30 every day, Europe\/Berlin time/,
    )
    expect(stdout).toMatch(/\nstate +active\ndecided +all instants up to 1970-01-01 \S+:05\.000/)
    expect(stdout).toMatch(
      new RegExp(`\\nlast run +${runId(1)} ready\\nwhy +Ready for .*no engine is running`),
    )
    expect(stdout).toMatch(
      /\nNext:\n {2}Sat 2027-03-27 02:30:00 \+01:00 Europe\/Berlin \(.*\)\n {2}Sun 2027-03-28 03:00:00 \+02:00 Europe\/Berlin \(.*\) {2}02:30 does not exist on this day: it runs at 03:00\n/,
    )
    expect(stdout).toMatch(
      new RegExp(`\\nLast:\\nAT +BECAME +LATE\\n.* ${runId(1)} .*\\n.* missed \\(4 instants\\) `),
    )
    const [row] = JSON.parse((await at("show", "nightly", "-o", "json")).stdout) as [Record<string, unknown>]
    expect(row).toMatchObject({ id: "nightly", lastRun: { id: runId(1) }, occurrences: [{}, {}] })
    expect(row["next"]).toHaveLength(5)
  })

  test.each([
    [
      "moved",
      /starts +cron 30 2 \* \* \* Europe\/Berlin \(croner\)\nin words +as croner reads it\n[^]*Next:\n {2}Sat 2027-03-27 02:30:00 \+01:00 Europe\/Berlin \(.*\)\n/,
    ],
    ["often", /Next:\n(?: {2}2027.*\n){5}\nLast: nothing yet\n$/],
    ["over", /Next: nothing comes any more\n/],
    ["delay", /Next: when its last run has ended\n/],
  ])("of %s", async (id, text) => expect((await at("show", id)).stdout).toMatch(text))
})

describe("schedule pause and resume", () => {
  test("say what is so now, also the second time", async () => {
    expect(await at("pause", "often")).toMatchObject({
      code: 0,
      stdout: "often paused\n",
      stderr: expect.stringContaining("uhrwerk schedule resume often"),
    })
    expect((await at("pause", "often")).stderr).toMatch(/was paused already, since /)
    expect((await at("show", "often")).stdout).toMatch(
      /state +paused since [^]*Next: nothing while it is paused/,
    )
    expect(await at("resume", "often")).toMatchObject({ code: 0, stdout: "often active\n" })
    expect((await at("resume", "often")).stderr).toMatch(/was not paused/)
  })

  test("of a schedule that is not there end with 3", async () => {
    for (const word of ["show", "pause", "resume"]) {
      expect(await at(word, "nothing")).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/no schedule "nothing".*uhrwerk schedule list/),
      })
    }
  })

  test("are noticed by a running engine within its poll", { timeout: 30_000 }, async () => {
    const storage = `sqlite:${join(folder, "live.db")}` as const
    const beat = job("beat", { on: every("50ms"), run: () => {} })
    const later = job("later", { on: cron("0 0 1 1 *"), run: () => {} })
    const running = await engine({ jobs: [beat, later], storage, poll: "100ms" }).start()
    let starts = 0
    running.on((event) => void (event.kind === "started" ? starts++ : 0))
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await until(() => starts > 2)
    expect((await at("pause", "beat", "--storage", storage)).code).toBe(0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const paused = starts
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(starts).toBe(paused)
    expect((await at("resume", "beat", "--storage", storage)).code).toBe(0)
    await until(() => starts > paused)
    await running.stop()
  })
})
