// The peers benchmark in a process of its own, tiny: with the sides that need no package, and with those of npm where they
// are installed already; a test installs nothing.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { installed, versions } from "../../benchmarks/peers/packages.ts"
import { aimsOf, type Report, type SideReport, sideReport } from "../../benchmarks/peers/report.ts"
import { loadSide, sideNames } from "../../benchmarks/peers/sides.ts"
import { missing, url } from "../adapters/store-sql/postgres/server.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 170_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const sizes = "--runs 300 --single 10 --inflight 100 --concurrency 20 --samples 5 --delayed 20 --spread 300"
const tiny = `${sizes} --rounds 1`.split(" ")

const peersOfPostgres = ["graphile-worker", "pg-boss"] as const
const areInstalled = peersOfPostgres.every((name) => installed(name) === versions[name])
const sides = ["uhrwerk-postgres", "uhrwerk-sqlite", ...(areInstalled ? peersOfPostgres : [])]

const rate = {
  perSecond: { median: expect.any(Number), best: expect.any(Number), rounds: [expect.any(Number)] },
  cpuMillisPer1000: expect.any(Number),
}

describe("benchmarks > peers", () => {
  test.skipIf(missing !== null)(
    `a tiny run of ${sides.join(", ")} reports every figure, and each job ran once`,
    { timeout: 180_000 },
    async () => {
      const { code, out, err } = await run(
        "peers",
        "--json",
        "--postgres",
        url,
        "--sides",
        sides.join(),
        ...tiny,
      )
      expect(code, `${err}\n${out}`).toBe(0)
      const report = JSON.parse(out) as Report
      expect(report.figures.map(({ side }) => side)).toEqual(sides)
      for (const side of report.figures)
        expect(side).toMatchObject({
          version: expect.stringMatching(/^\d/),
          keeps: expect.any(String),
          single: { jobs: 10, ...rate },
          inflight: { jobs: 100, ...rate },
          bulk: { jobs: 300, ...rate },
          drain: { jobs: 300, toFirstMillis: expect.any(Number), ...rate },
          latency: { count: 5 },
          lateness: { count: 20, missing: 0 },
        })
      expect(report.environment.servers.durability).toEqual([expect.stringContaining("PostgreSQL: fsync")])
      expect(report.troubles).toEqual([])
      expect(report.aims).toHaveLength(areInstalled ? 5 : 2)
    },
  )

  test("every side says what was set, by which page, and what it keeps", async () => {
    for (const name of sideNames) {
      const { info } = await loadSide(name)
      expect(info.keeps).not.toBe("")
      expect(info.settings.length).toBeGreaterThan(0)
      for (const { set, page } of info.settings) expect([set, page]).not.toContain("")
    }
  })

  test("ours over PostgreSQL is judged beside the best PostgreSQL peer only, at the bounds", () => {
    const side = (
      name: SideReport["side"],
      store: SideReport["store"],
      perSecond: number,
      p50Millis: number,
    ) =>
      ({
        side: name,
        store,
        drain: { perSecond: { median: perSecond } },
        bulk: { perSecond: { median: perSecond } },
        latency: { p50Millis },
        lateness: { p99Millis: perSecond === 150 ? 20 : 21, missing: 0, early: 0 },
      }) as unknown as SideReport
    const others = [
      side("graphile-worker", "PostgreSQL", 100, 20),
      side("pg-boss", "PostgreSQL", 50, 10),
      side("bullmq", "Redis", 1000, 1),
    ]
    const verdicts = (perSecond: number, p50Millis: number) =>
      aimsOf([side("uhrwerk-postgres", "PostgreSQL", perSecond, p50Millis), ...others]).map(
        ({ verdict }) => verdict,
      )
    expect(verdicts(150, 5)).toEqual(["met", "met", "met", "met", "met"])
    expect(verdicts(149, 5.1)).toEqual(["missed", "missed", "missed", "missed", "met"])
  })

  test("rates are the medians of the rounds, and spans are of all samples", () => {
    const work = (wallMillis: number) => ({ jobs: 100, wallMillis, cpuMillis: wallMillis / 10 })
    const round = (wallMillis: number, latency: number) => ({
      bulk: work(wallMillis),
      latency: [latency, latency],
      troubles: [],
    })
    const info = { store: "PostgreSQL", settings: [], keeps: "all", polls: false } as const
    const report = sideReport("pg-boss", info, "1.0.0", [round(100, 1), round(50, 2), round(200, 3)])
    expect(report.bulk).toEqual({
      jobs: 100,
      perSecond: { median: 1000, best: 2000, rounds: [1000, 2000, 500] },
      cpuMillisPer1000: 100,
    })
    expect(report.latency).toEqual({ count: 6, p50Millis: 2, p99Millis: 3, maxMillis: 3 })
    expect(report.drain).toBeUndefined()
  })

  test("a wrong option is named", async () => {
    const wrong = async (option: string, ...args: ReadonlyArray<string>): Promise<void> =>
      expect(await run("peers", ...args)).toMatchObject({ code: 2, err: expect.stringContaining(option) })
    await wrong("--sides", "--sides", "uhrwerk-postgres,cron")
    await wrong("--redis", "--redis", "postgres://127.0.0.1")
    await wrong("--runs", "--runs", "0")
  })
})
