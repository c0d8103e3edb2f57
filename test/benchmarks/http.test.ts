// The benchmark of the HTTP API in processes of its own, tiny: what it reports, and that its aims can be missed.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { aimsOf, human, type Report } from "../../benchmarks/http/report.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, "http", ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 230_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

describe("benchmarks > http", () => {
  test("a tiny run measures each store beside the floor", { timeout: 240_000 }, async () => {
    const sizes = "--runs 300 --singles 20 --rounds 1 --small 100 --large 300 --samples 10"
    const { code, out, err } = await run("--json", ...sizes.split(" "))
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    const { enqueue = [], list = [] } = report.figures
    expect(enqueue.map(({ store }) => store)).toEqual(["memory", "sqlite"])
    for (const { store: _, ...figures } of enqueue)
      for (const value of Object.values(figures)) expect(value).toBeGreaterThan(0)
    expect(list.map(({ small, large }) => [small.runs, large.runs])).toEqual([
      [100, 300],
      [100, 300],
    ])
    expect(report.aims).toHaveLength(4)
    expect(human(report)).toContain("of the bare route")
  })

  test("aims are met and missed", () => {
    const enqueue = (batchesToStore: number) => ({
      store: "memory" as const,
      singlesPerSecond: 1,
      singlesToFloor: 1,
      batchesPerSecond: 1,
      batchesToFloor: 1,
      storePerSecond: 1,
      batchesToStore,
    })
    const times = { runs: 1, p50Millis: 1, p95Millis: 1 }
    const list = (ratio: number) => ({ store: "sqlite" as const, small: times, large: times, ratio })
    const verdicts = (figures: Parameters<typeof aimsOf>[0]) => aimsOf(figures).map(({ verdict }) => verdict)
    expect(verdicts({ enqueue: [enqueue(0.6), enqueue(0.59)] })).toEqual(["met", "missed"])
    expect(verdicts({ list: [list(1.5), list(1.51)] })).toEqual(["met", "missed"])
    expect(verdicts({})).toEqual([])
  })

  test("a wrong option is named", async () => {
    const { code, err } = await run("--batch", "0")
    expect([code, err]).toEqual([2, expect.stringContaining("--batch")])
  })
})
