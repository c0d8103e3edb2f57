// The engine benchmark in a process of its own, tiny: what it reports, and that floor and engine do the same.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import type { Report } from "../../benchmarks/engine/report.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 60_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const sizes = "--runs 200 --single 20 --samples 20 --slots 50 --senders 30 --pending 20 --idle-pending 100"
const tiny = `${sizes} --spread 1000 --window 500 --idle-span 300`.split(" ")

const rate = {
  perSecond: { median: expect.any(Number), best: expect.any(Number), rounds: expect.any(Array) },
  cpuMicrosPerRun: { median: expect.any(Number), best: expect.any(Number), rounds: expect.any(Array) },
}
const comparison = (runs: number) => ({
  runs,
  floor: rate,
  engine: rate,
  ratio: { wall: expect.any(Number), wallRounds: expect.any(Array), cpu: expect.any(Number) },
})
const millis = { p50Millis: expect.any(Number), p99Millis: expect.any(Number), maxMillis: expect.any(Number) }
const tally = {
  transactions: expect.any(Number),
  empty: expect.any(Number),
  rowsOnAverage: expect.any(Number),
}

describe("benchmarks > engine", () => {
  test("a tiny run reports every figure, and both databases agree", { timeout: 60_000 }, async () => {
    const { code, out, err } = await run("engine", "--json", ...tiny)
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    expect(report.environment).toMatchObject({
      runtime: expect.any(String),
      sqlite: expect.stringMatching(/^3\./),
      cores: expect.any(Number),
      loadBefore: [expect.any(Number), expect.any(Number), expect.any(Number)],
      loadAfter: [expect.any(Number), expect.any(Number), expect.any(Number)],
    })
    expect(report.figures).toEqual({
      enqueue: comparison(200),
      single: comparison(20),
      drain: {
        ...comparison(200),
        startMillis: [expect.any(Number), expect.any(Number), expect.any(Number)],
        eventLoop: millis,
      },
      latency: { count: 20, ...millis },
      lateness: { pending: 20, due: 10, count: 10, early: 0, missing: 0, ...millis },
      latenessMemory: { pending: 20, due: 10, count: 10, early: 0, missing: 0, ...millis },
      idle: {
        pending: 100,
        measuredMillis: expect.any(Number),
        cpuPercent: expect.any(Number),
        rssMib: expect.any(Number),
        rssBeforeMib: expect.any(Number),
        started: 0,
      },
    })
    expect(report.figures.drain?.floor.perSecond.rounds).toHaveLength(3)
    expect(report.floor).toEqual({
      transactions: { enqueue: tally, claim: tally, settle: tally },
      foreignStatements: [],
      differences: [],
    })
    expect(report.aims.map(({ name }) => name)).toEqual([
      "drain, engine / floor, wall",
      "runs started early, SQLite",
      "lateness p99 on SQLite, ms",
      "runs started early, memory",
      "lateness p99 on memory, ms",
      "idle CPU, % of a core",
    ])
    expect(report.troubles).toEqual([])
  })

  test("an unknown name lists what there is, a wrong option is named", async () => {
    expect(await run("nothing")).toMatchObject({ code: 2, err: expect.stringContaining("engine") })
    expect(await run("engine", "--runs", "many")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--runs"),
    })
  })
})
