// The example project in full, on a SQLite file and in real time: every job but `machine.summary`, which may
// take 15 seconds, comes to the end that its README promises, and a restart goes on from there.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type Config, engine, type Run, type RunningEngine } from "../../../apps/sdk/mod.ts"

const waitMillis = 20_000
const once = ["parser.flaky", "welcome.later", "zones"] as const
/** The steps that run each time; `compare` fails, and `unknown` runs only where there is something to say. */
const steps = ["read", "table", "pages", "report", "welcome"] as const

let folder: string
let config: Config
let running: RunningEngine | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "uhrwerk-examples-"))
  vi.stubEnv("UHRWERK_EXAMPLE_DB", join(folder, "runs.db"))
  vi.stubEnv("UHRWERK_EXAMPLE_OUTPUT", join(folder, "output"))
  config = (await import("../../../apps/examples/uhrwerk.config.ts")).default
})

afterAll(async () => {
  await running?.stop({ grace: "1s" })
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

const output = (name: string): Promise<string> => readFile(join(folder, "output", name), "utf8")

/** A run of each job that has ended, by the job. */
const ended = async (engine: RunningEngine): Promise<ReadonlyMap<string, Run>> => {
  const runs = await engine.runs({ limit: 200 })
  return new Map(runs.filter(({ endedAt }) => endedAt !== null).map((run) => [run.job, run]))
}

test(
  "every job comes to its end, and a restart starts nothing before its time",
  { timeout: 25_000 },
  async () => {
    const lines: Array<string> = []
    const started = await engine(config).start({
      onEvent: (event) => {
        if (event.kind === "log") lines.push(event.line)
      },
    })
    running = started
    const ends = await vi.waitFor(
      async () => {
        const ends = await ended(started)
        expect([...ends.keys()]).toEqual(expect.arrayContaining([...once, "parser.broken", "machine.sample"]))
        return ends
      },
      { timeout: waitMillis, interval: 100 },
    )
    const outputOf = (job: string) => JSON.parse(ends.get(job)?.output ?? "null") as Record<string, unknown>
    for (const job of [...once, "machine.sample"])
      expect(ends.get(job)).toMatchObject({ job, state: "succeeded" })

    // The flow: one page with a row for each line of data, and one for each continent.
    const file = await readFile(new URL("../../../apps/examples/data/zone1970.tab", import.meta.url), "utf8")
    const zones = file.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length
    const page = await output("zones.md")
    const rowsOf = (text: string) => text.match(/^\| \w+\/.*\|$/gm) ?? []
    const rows = rowsOf(page.slice(page.indexOf("## All zones")))
    expect(zones).toBeGreaterThan(300)
    expect(rows).toHaveLength(zones)
    expect(rows.find((row) => row.includes("Europe/Berlin"))).toMatch(
      /\| 52\.5000 \| 13\.3667 \| \+0[12]:00 \|$/,
    )
    expect(outputOf("zones")).toMatchObject({
      path: join(folder, "output", "zones.md"),
      bytes: new TextEncoder().encode(page).length,
      zones,
      compared: "failed",
    })
    const pages = (await readdir(join(folder, "output"))).filter((name) => /^zones-\w+\.md$/.test(name))
    expect(outputOf("zones")).toMatchObject({ pages: pages.length })
    const perPage = await Promise.all(pages.map(async (name) => rowsOf(await output(name)).length))
    expect(perPage.reduce((sum, count) => sum + count, 0)).toBe(zones)
    const flowRun = ends.get("zones") as Run
    const view = await started.flow(flowRun.id)
    expect(Object.fromEntries(view?.steps.map(({ id, state }) => [id, state]) ?? [])).toEqual({
      ...Object.fromEntries(steps.map((id) => [id, "succeeded"])),
      compare: "failed",
      unknown: expect.stringMatching(/^(skipped|succeeded)$/),
    })
    const items = (await started.runs({ limit: 200 })).filter(({ job }) => job === "zones/pages[]")
    expect(items).toHaveLength(pages.length)
    expect(items.every(({ state, chainId }) => state === "succeeded" && chainId === flowRun.id)).toBe(true)

    // The delayed one-shot: not early, and sent by the flow.
    const welcome = ends.get("welcome.later") as Run
    expect(outputOf("zones")).toMatchObject({ welcome: welcome.id })
    expect(welcome.dueAt - welcome.createdAt).toBe(3000)
    expect(welcome.startedAt).toBeGreaterThanOrEqual(welcome.dueAt)
    expect(await output("welcome.log")).toBe(`${outputOf("welcome.later")["line"] as string}\n`)

    // The retries: two failures, with the reason of the second one, then success.
    expect(ends.get("parser.flaky")).toMatchObject({ attempt: 3, attemptMax: 5 })
    expect(outputOf("parser.flaky")).toMatchObject({ attempt: 3, zones })

    // The dead letter.
    expect(await started.deadLetters()).toMatchObject([
      {
        job: "parser.broken",
        runId: ends.get("parser.broken")?.id,
        attempt: 1,
        error: {
          name: "NonRetryable",
          message: 'zones-damaged.tab:9: "+5230+0132" is not a position in ISO 6709',
        },
      },
    ])

    // The samples.
    const db = new DatabaseSync(join(folder, "output", "machine.db"))
    const samples = db.prepare("select * from samples").all()
    expect(() => db.exec("insert into samples select 99, 'x', 'no number', 0, 0, 0, 0, 0")).toThrow(/INTEGER/)
    db.close()
    expect(samples.map((row) => row["run_id"])).toContain(ends.get("machine.sample")?.id)
    for (const sample of samples) {
      const { load, memory_used, memory_total, disk_used, disk_total } = sample as Record<string, number>
      expect(load).toBeGreaterThanOrEqual(0)
      expect(memory_used).toBeGreaterThan(0)
      expect(memory_used).toBeLessThan(memory_total as number)
      expect(disk_used).toBeLessThanOrEqual(disk_total as number)
    }
    expect(lines).toContainEqual(expect.stringMatching(/^load \d+\.\d\d, memory [\d.]+ of [\d.]+ GiB, disk /))
    expect((await readdir(join(folder, "output"))).filter((name) => name.endsWith(".tmp"))).toEqual([])

    await started.stop()
    const again = await engine(config).start()
    running = again
    await vi.waitFor(
      async () => {
        const sampled = (await again.counts()).find(
          ({ job, state }) => job === "machine.sample" && state === "succeeded",
        )
        expect(sampled?.count).toBeGreaterThan(samples.length)
      },
      { timeout: 8000, interval: 100 },
    )
    // The flow and its steps are not started again: their schedule is kept.
    const counts = (await again.counts()).filter(({ job }) => !/^(machine\.|zones\/)/.test(job))
    expect(counts.sort((a, b) => (a.job < b.job ? -1 : 1))).toEqual(
      ["parser.broken", ...once].map((job) => ({
        job,
        state: job === "parser.broken" ? "dead" : "succeeded",
        count: 1,
      })),
    )
  },
)

test("the summary sums up the span before its instant, and says when there is none", async () => {
  const { machineSummary } = await import("../../../apps/examples/jobs/machineSummary.ts")
  const { withMachineDb } = await import("../../../apps/examples/machine/MachineDb.ts")
  const noon = Date.parse("2026-01-01T12:00:00Z")
  const logged: Array<string> = []
  const { run } = machineSummary.options
  if (typeof run !== "function") throw new Error("The job has no function")
  const summarise = (nominalAt: number) =>
    run(undefined, {
      run: { nominalAt: new Date(nominalAt) },
      log: (line: string) => logged.push(line),
    } as never)

  await withMachineDb((db) => {
    const add = db.prepare(
      "insert into samples (run_id, at, load, memory_used, memory_total, disk_used, disk_total) values (?, ?, ?, ?, 100, 1, 2)",
    )
    add.run("before", noon - 1, 9, 90)
    add.run("first", noon, 0.5, 10)
    add.run("last", noon + 14_999, 1.5, 21)
    add.run("after", noon + 15_000, 9, 90)
  })
  const summary = { samples: 2, loadAverage: 1, loadMax: 1.5, memoryAverage: 15, memoryMax: 21 }
  expect(await summarise(noon + 15_000)).toEqual({ since: "2026-01-01T12:00:00Z", ...summary })
  expect(await summarise(noon + 15_000)).toEqual({ since: "2026-01-01T12:00:00Z", ...summary })
  expect(await summarise(noon - 600_000)).toMatchObject({
    samples: 0,
    note: expect.stringMatching(/no samples/),
  })
  expect(logged.at(-1)).toBe("2026-01-01T11:49:45Z: no samples yet")
  const rows = await withMachineDb((db) => db.prepare("select * from summaries where at <= ?").all(noon))
  expect(rows).toHaveLength(1)
})
