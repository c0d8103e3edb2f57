// The cron benchmark in a process of its own, tiny: what it reports, that all sides answer alike, and that planning
// leaves one occurrence and one run for each schedule.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { aimsOf, type Report } from "../../benchmarks/cron/report.ts"

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

const tiny = "--answers 3000 --rounds 1 --parsed 2000 --parsed-peer 50 --planned 450".split(" ")
const sides = {
  ours: expect.any(Number),
  croner: expect.any(Number),
  cronParser: expect.any(Number),
}

describe("benchmarks > cron", () => {
  test("a tiny run reports every figure, and all is as it should be", { timeout: 60_000 }, async () => {
    const { code, out, err } = await run("cron", "--json", ...tiny)
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    expect(report.environment).toMatchObject({
      runtime: expect.any(String),
      peers: { croner: expect.stringMatching(/^\d/), "cron-parser": expect.stringMatching(/^\d/) },
      loadBefore: [expect.any(Number), expect.any(Number), expect.any(Number)],
      loadAfter: [expect.any(Number), expect.any(Number), expect.any(Number)],
    })
    const ratio = { croner: expect.any(Number), cronParser: expect.any(Number) }
    expect(report.figures.answers).toEqual(
      ["*/5 * * * *", "0 9 * * 1-5"].flatMap((text) =>
        ["next", "previous", "between", "parse"].map((operation) => ({
          operation,
          text,
          nanos: sides,
          ratio,
        })),
      ),
    )
    expect(report.figures.memory).toEqual({
      bytesEach: sides,
      counts: { ours: 2000, croner: 50, cronParser: 50 },
    })
    // However it is measured, an object that is kept weighs something.
    expect(report.figures.memory?.bytesEach.ours).toBeGreaterThan(50)
    expect(report.figures.planning).toMatchObject({
      schedules: 450,
      cpuMillis: expect.any(Number),
      wallMillis: expect.any(Number),
      eventLoop: {
        p50Millis: expect.any(Number),
        p99Millis: expect.any(Number),
        maxMillis: expect.any(Number),
      },
      exact: 450,
      runs: 450,
      occurrences: 450,
      started: 0,
    })
    expect(report.aims).toHaveLength(8)
    expect(report.differences).toEqual([])
    expect(report.troubles).toEqual([])
  })

  test("an aim is met at its bound and missed beyond it", () => {
    const verdicts = (ours: number, cpuMillis: number, exact: number) =>
      aimsOf({
        answers: [
          {
            operation: "next",
            text: "* * * * *",
            nanos: { ours: 1, croner: 50, cronParser: 19 },
            ratio: { croner: 50, cronParser: 19 },
          },
        ],
        memory: {
          bytesEach: { ours, croner: 1, cronParser: 1 },
          counts: { ours: 1, croner: 1, cronParser: 1 },
        },
        planning: {
          schedules: 50_000,
          cpuMillis,
          cpuMicrosEach: 1,
          wallMillis: 1,
          eventLoop: { p50Millis: 1, p99Millis: 50, maxMillis: 50 },
          exact,
          runs: 1,
          occurrences: 1,
          started: 0,
        },
      }).map(({ verdict }) => verdict)
    expect(verdicts(1024, 500, 50_000)).toEqual(["met", "missed", "met", "met", "missed", "met"])
    expect(verdicts(1025, 501, 49_999)).toEqual(["met", "missed", "missed", "missed", "missed", "missed"])
  })

  test("a wrong option is named", async () => {
    expect(await run("cron", "--planned", "0")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--planned"),
    })
    expect(await run("cron", "--only", "colour")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--only"),
    })
  })
})
