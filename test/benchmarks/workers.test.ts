// The benchmark of workers in processes of its own, tiny: what it reports, and that every run was begun and has ended.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { frames, messagesPerRun } from "../../benchmarks/workers/frames.ts"
import { connectionCounts, type Figures, summaryOf } from "../../benchmarks/workers/measure.ts"
import { aimsOf, human, type Report } from "../../benchmarks/workers/report.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 230_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const small =
  "--store memory --runs 40 --in-flight 16 --rounds 1 --samples 10 --rate 50 --load-span 400 --idle 5 --idle-span 300"

describe("benchmarks > workers", () => {
  test(
    "a tiny run measures the echo and the server with each kind of worker",
    { timeout: 240_000 },
    async () => {
      const { code, out, err } = await run("workers", "--json", ...small.split(" "))
      expect(code, `${err}\n${out}`).toBe(0)
      const report = JSON.parse(out) as Report
      expect(report.troubles).toEqual([])
      const { throughput = [], latency = [], idle } = report.figures
      expect(throughput.map(({ name, connections }) => [name, connections])).toEqual(
        connectionCounts.flatMap((connections) =>
          ["echo", "memory, bare workers", "memory, real workers"].map((name) => [name, connections]),
        ),
      )
      for (const { store, workers, perSecond, ratio, messagesPerSecond, framesPerSecond } of throughput) {
        expect(perSecond).toBeGreaterThan(0)
        if (store === null) expect(ratio).toBeNull()
        else expect(ratio).toBeGreaterThan(0)
        // Acknowledgements are joined: a frame may have many, but there are never more frames than messages, nearly.
        if (workers === "bare") expect(framesPerSecond).toBeLessThan(messagesPerSecond * 3)
      }
      expect(latency.map(({ load, count }) => [load, count])).toEqual([
        ["one at a time", 10],
        ["rate", 20],
      ])
      expect(idle).toMatchObject({ workers: 5, serverCpuPercent: expect.any(Number) })
      expect(human(report)).toContain("memory, bare workers")
    },
  )

  const round = (perSecond: number, messages: number, serverCpuMicros: number) => ({
    perSecond,
    messagesPerSecond: perSecond * messages,
    framesPerSecond: perSecond,
    serverCpuMicros,
    loadCpuMicros: 1,
  })

  test("a ratio is that of messages to those of the echo in the same round, and rounds that failed count nowhere", () => {
    const floors = [round(1000, 2, 10), round(2000, 2, 10), undefined]
    const ours = [round(250, messagesPerRun, 40), undefined, round(900, messagesPerRun, 40)]
    expect(summaryOf(ours, floors)).toMatchObject({
      perSecond: 575,
      ratio: 0.5,
      cpuRatio: 0.5,
      rounds: [250, 900],
    })
    expect(summaryOf(floors, null)).toMatchObject({ perSecond: 1500, ratio: null, cpuRatio: null })
  })

  test("aims are of bare workers and of idle ones, and can be missed", () => {
    const side = (workers: "bare" | "real" | "echo", ratio: number | null) => ({
      ...summaryOf([round(1, 4, 1)], null),
      name: workers,
      connections: 4,
      workers,
      store: workers === "echo" ? null : ("memory" as const),
      ratio,
    })
    const idle = {
      workers: 1000,
      aloneCpuPercent: 0,
      loadCpuPercent: 1,
      rssKibPerWorker: 1,
      heapKibPerWorker: 1,
    }
    const figures = (ratio: number, serverCpuPercent: number): Figures => ({
      throughput: [side("echo", null), side("bare", ratio), side("real", 0.1)],
      idle: { ...idle, serverCpuPercent },
    })
    expect(aimsOf(figures(0.34, 4.9)).map(({ verdict }) => verdict)).toEqual(["met", "met"])
    expect(aimsOf(figures(0.33, 5)).map(({ verdict }) => verdict)).toEqual(["missed", "missed"])
  })

  test("the echo's frames are those of a run", () => {
    expect(frames.map((frame) => (JSON.parse(frame) as { type: string }).type)).toEqual([
      "assign",
      "ack",
      "result",
      "ack",
    ])
  })

  test.each([
    [["--runs", "0"], "--runs"],
    [["--only", "speed"], "--only"],
    [["--store", "paper"], "--store"],
  ])("%j is refused, by the name of the option", async (args, option) => {
    const { code, err } = await run("workers", ...args)
    expect([code, err]).toEqual([2, expect.stringContaining(option)])
  })
})
