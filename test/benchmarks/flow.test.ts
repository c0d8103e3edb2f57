// The flow benchmark in a process of its own, tiny: what it reports, and that each flow ran to its end.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { type Cost, costOf } from "../../benchmarks/flow/measure.ts"
import { aimsOf, type Report } from "../../benchmarks/flow/report.ts"
import { edgesOf, shapeNames } from "../../benchmarks/flow/shapes.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 120_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const tiny = "--small 110 --large 220 --rounds 1 --only mesh --only fan".split(" ")
const turns = { p50Millis: expect.any(Number), p99Millis: expect.any(Number), maxMillis: expect.any(Number) }
const cost = (steps: number, edges: number) => ({
  steps,
  edges,
  wallMillis: expect.any(Number),
  cpuMillis: expect.any(Number),
  startMillis: expect.any(Number),
  eventLoop: turns,
  rssBeforeMib: expect.any(Number),
  rssPeakMib: expect.any(Number),
  wallMicrosPerStep: expect.any(Number),
  cpuMicrosPerStep: expect.any(Number),
  wallRounds: [expect.any(Number)],
})
const ratio = { steps: 2, wall: expect.any(Number), cpu: expect.any(Number) }

describe("benchmarks > flow", () => {
  test("a tiny run reports every figure, and every step ran once", { timeout: 120_000 }, async () => {
    const { code, out, err } = await run("flow", "--json", ...tiny)
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    expect(report.environment).toMatchObject({
      runtime: expect.any(String),
      loadBefore: [expect.any(Number), expect.any(Number), expect.any(Number)],
      loadAfter: [expect.any(Number), expect.any(Number), expect.any(Number)],
    })
    expect(report.figures).toEqual([
      { shape: "mesh", small: cost(110, 1000), large: cost(220, 12_000), ratio },
      { shape: "fan", small: cost(110, 217), large: cost(220, 437), ratio },
    ])
    expect(report.aims).toHaveLength(5)
    expect(report.troubles).toEqual([])
  })

  test("the shapes have the needs that they are named for", () => {
    const edges = shapeNames.map((shape) => [1000, 10_000].map((size) => edgesOf(shape, size)))
    expect(edges).toEqual([
      [999, 9999],
      [2700, 29_700],
      [90_000, 990_000],
      [1997, 19_997],
    ])
  })

  test("the best of the rounds counts, and an aim is met at its bound and missed beyond it", () => {
    const round = (steps: number, wallMillis: number, p99Millis: number) => ({
      steps,
      edges: 1,
      wallMillis,
      cpuMillis: wallMillis,
      startMillis: 1,
      eventLoop: { p50Millis: 1, p99Millis, maxMillis: 90 },
      rssBeforeMib: 1,
      rssPeakMib: 2,
      troubles: [],
    })
    const small = costOf([round(1000, 120, 9), round(1000, 100, 9)])
    expect(small).toMatchObject({ wallMillis: 100, wallMicrosPerStep: 100, wallRounds: [120, 100] })
    const verdicts = (large: Cost) =>
      aimsOf([
        {
          shape: "chain",
          small,
          large,
          ratio: { steps: 10, wall: large.wallMillis / 100, cpu: large.cpuMillis / 100 },
        },
      ]).map(({ verdict }) => verdict)
    expect(verdicts(costOf([round(10_000, 1200, 49)]))).toEqual(["met", "met", "met"])
    expect(verdicts(costOf([round(10_000, 1201, 50)]))).toEqual(["missed", "missed", "missed"])
  })

  test("a wrong option is named", async () => {
    const wrong = async (option: string, ...args: ReadonlyArray<string>): Promise<void> =>
      expect(await run("flow", ...args)).toMatchObject({ code: 2, err: expect.stringContaining(option) })
    await wrong("--large", "--large", "20001")
    await wrong("--only", "--only", "colour")
    await wrong("--small", "--small", "100", "--large", "100")
  })
})
