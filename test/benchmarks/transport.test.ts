// The transport benchmark in a process of its own, tiny: what it reports, and that every answer came and was right.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { contenders, nameOf } from "../../benchmarks/transport/contenders.ts"
import { costOf, type Measured } from "../../benchmarks/transport/measure.ts"
import { human, ratiosOf, type Report } from "../../benchmarks/transport/report.ts"

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

const tiny = "--messages 40 --connections 2 --window 3 --single 10 --requests 10 --rounds 1".split(" ")
const cost = {
  perSecond: expect.any(Number),
  p50Micros: expect.any(Number),
  cpuMicros: expect.any(Number),
  cpuMicrosBest: expect.any(Number),
  cpuRounds: [expect.any(Number)],
}

describe("benchmarks > transport", () => {
  test("a tiny run measures every server on its runtime", { timeout: 180_000 }, async () => {
    const { code, out, err } = await run("transport", "--json", ...tiny)
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    expect(report.troubles).toEqual([])
    expect(report.figures).toEqual(
      contenders.map((each) => ({
        ...each,
        name: nameOf(each),
        figures: { echo: cost, single: cost, http: cost },
        rssMib: expect.any(Number),
      })),
    )
    const ratio = { echo: expect.any(Number), single: expect.any(Number), http: expect.any(Number) }
    expect(report.ratios).toEqual(
      ["ws on node", "ws on bun", "Bun.serve", "ws on deno", "Deno.serve"].map((name) => ({
        name,
        ...ratio,
      })),
    )
    for (const { name } of report.figures) expect(human(report)).toContain(name)
  })

  test("costs are medians by message, and ratios are of CPU", () => {
    const rounds = [
      { count: 100, wallMillis: 10, p50Micros: 5, cpuMicros: 300 },
      { count: 100, wallMillis: 20, p50Micros: 7, cpuMicros: 900 },
      { count: 100, wallMillis: 40, p50Micros: 9, cpuMicros: 600 },
    ]
    const ours = costOf(rounds)
    expect(ours).toEqual({
      perSecond: 5_000,
      p50Micros: 7,
      cpuMicros: 6,
      cpuMicrosBest: 3,
      cpuRounds: [3, 9, 6],
    })
    const measured = (side: "ours" | "bare", cpuMicros: number): Measured => ({
      runtime: "bun",
      kind: "ws",
      side,
      name: nameOf({ runtime: "bun", kind: "ws", side }),
      figures: { echo: { ...ours, cpuMicros } },
      rssMib: 1,
    })
    expect(ratiosOf([measured("ours", 6), measured("bare", 4)])).toEqual([{ name: "ws on bun", echo: 1.5 }])
  })

  test.each([
    [["--messages", "0"], "--messages"],
    [["--only", "speed"], "--only"],
  ])("%j is refused, by the name of the option", async (args, option) => {
    const { code, err } = await run("transport", ...args)
    expect([code, err]).toEqual([2, expect.stringContaining(option)])
  })
})
