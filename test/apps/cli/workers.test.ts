// `uhrwerk worker list`, and `run explain` of a run that waits for a worker: read from a store in which nodes left their
// reports, as the desk leaves them.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { placementIn } from "../../../apps/sdk/checkWork.ts"
import type { Config } from "../../../apps/sdk/config.ts"
import { job, onWorkers } from "../../../apps/sdk/mod.ts"
import { serve } from "../../../apps/server/mod.ts"
import { worker } from "../../../apps/worker/mod.ts"
import { encodeReport } from "../../../core/worker/WorkerReport.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { viewOf } from "../../core/worker/views.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-workers-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const project = join(folder, "project")
const withStore = async (use: (store: ReturnType<typeof sqliteDriver>) => Promise<void>): Promise<void> => {
  const store = sqliteDriver({ file: join(folder, "a.db"), now: () => Date.now() })
  await use(store)
  await store.close()
}
const report = (workers: ReadonlyArray<WorkerView>, bytesMax?: number): Promise<void> =>
  withStore(async (store) => {
    expect(await store.reportWorkers("n1", encodeReport(workers, bytesMax))).toBe(true)
  })
const uhrwerk = (...args: ReadonlyArray<string>) => inProcess(args, project)

beforeAll(async () => {
  mkdirSync(project)
  const code = `
    import { flow, job, onWorkers } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
    const encode = job("video.encode", { run: onWorkers({ where: "gpu > 1" }) })
    const etl = flow("etl", {}, (f) => {
      f.step("load", { run: onWorkers({ where: "zone = a" }) })
      f.map("each", { over: () => [1], run: onWorkers({ where: "zone = b" }) })
    })
    export default { jobs: [encode, etl, job("here", { run: () => {} })], storage: "sqlite:../a.db" }
  `
  writeFileSync(join(project, "uhrwerk.config.mjs"), code)
  await withStore(async (store) => {
    await store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 3_600_000)
    const jobs = ["video.encode", "etl/load", "etl/each[]", "etl/each", "here"]
    await store.enqueue(jobs.map((job, index) => newRun(index + 1, { job })))
  })
})

describe("worker list", () => {
  test("nobody serves workers, or none is connected: says what to start", async () => {
    expect(await uhrwerk("worker", "list")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^NAME +NODE +STATUS/),
      stderr: "No engine on this store serves workers. One that does: uhrwerk serve\n",
    })
    await report([])
    expect((await uhrwerk("worker", "list")).stderr).toBe(
      "No worker is connected. Start one: uhrwerk worker\n",
    )
    expect(await uhrwerk("worker", "list", "-o", "json")).toEqual({ code: 0, stdout: "[]\n", stderr: "" })
  })

  test("a line for each, by name; all that is known as JSON", async () => {
    const workers = [
      viewOf("w2", {
        status: "draining",
        runtime: "python 3.11",
        version: "2.0",
        slots: 2,
        prefetch: 1,
        inHand: 3,
      }),
      viewOf("w1", {
        labels: { region: "eu", gpu: 2 },
        queues: ["mail", "video"],
        heardAt: Date.now() - 4000,
      }),
    ]
    await report(workers)
    const { stdout, stderr } = await uhrwerk("worker", "list")
    const [head, first, second] = stdout.split("\n").map((line) => line.split(/ {2,}/))
    expect(head).toEqual([
      "NAME",
      "NODE",
      "STATUS",
      "RUNTIME",
      "VERSION",
      "JOBS",
      "QUEUES",
      "SLOTS",
      "IN HAND",
      "LABELS",
      "HEARD",
    ])
    expect(first?.slice(0, 10)).toEqual([
      "w1",
      "n1",
      "alive",
      "node 24.21.0",
      "1.0.0",
      "1",
      "mail, video",
      "4",
      "0",
      "region=eu gpu=2",
    ])
    expect(first?.[10]).toMatch(/^\d+\.\d s ago$/)
    expect(second?.slice(0, 10)).toEqual([
      "w2",
      "n1",
      "draining",
      "python 3.11",
      "2.0",
      "1",
      "all",
      "2 + 1",
      "3",
      "-",
    ])
    expect(stderr).toBe("")
    const json = await uhrwerk("worker", "list", "-o", "json")
    expect(JSON.parse(json.stdout)).toEqual([workers[1], workers[0]])
  })

  test("what a report had no place for is said", async () => {
    await report(
      Array.from({ length: 9 }, (_, n) => viewOf(`w${n}`)),
      1000,
    )
    const { stdout, stderr } = await uhrwerk("worker", "list")
    const shown = stdout.trim().split("\n").length - 1
    expect(shown).toBeGreaterThan(0)
    expect(stderr).toBe(`${9 - shown} more are connected, and nothing is told of them here.\n`)
  })

  test("takes no argument", async () => {
    expect(await uhrwerk("worker", "list", "w1")).toMatchObject({ code: 2 })
  })
})

describe("beside a server", () => {
  test("a worker is listed while it is there, and what it has in hand", { timeout: 60_000 }, async () => {
    const hold = Promise.withResolvers<void>()
    const storage = `sqlite:${join(folder, "served.db")}` as const
    const away = job("away", { run: onWorkers() })
    const server = await serve({ jobs: [away], storage }, { port: 0, guard: false })
    const at = async (): Promise<ReadonlyArray<unknown>> => {
      const { stdout } = await uhrwerk("worker", "list", "-o", "json", "--storage", storage)
      return JSON.parse(stdout) as ReadonlyArray<unknown>
    }
    const options = { url: server.workerUrl, name: "w1", labels: { gpu: 2 }, version: "3.1", concurrency: 2 }
    const jobs = [job("away", { run: () => hold.promise })]
    const started = await worker({ ...options, jobs, guard: false }).start()
    try {
      const wanted = {
        name: "w1",
        status: "alive",
        labels: { gpu: 2 },
        version: "3.1",
        slots: 2,
        jobs: ["away"],
      }
      await expect.poll(at, { timeout: 20_000 }).toMatchObject([{ ...wanted, inHand: 0 }])
      await away.send()
      await expect.poll(at, { timeout: 20_000 }).toMatchObject([{ ...wanted, inHand: 1 }])
      hold.resolve()
      await started.stop()
      await expect.poll(at, { timeout: 20_000 }).toEqual([])
    } finally {
      hold.resolve()
      await started.stop({ grace: 0 })
      await server.stop({ grace: 0 })
    }
  })
})

describe("run explain of a run that waits for a worker", () => {
  const why = async (n: number): Promise<string> => (await uhrwerk("run", "explain", runId(n))).stdout

  test("of a job, a step, and the items of a list: each by its own rule", async () => {
    await report([])
    expect(await why(1)).toMatch(/^Ready for .*; no worker is connected\.\n$/)
    const jobs = ["video.encode", "etl/load", "etl/each[]", "etl/each", "here"]
    await report([viewOf("w1", { jobs, labels: { gpu: 1, zone: "c" } })])
    expect(await why(1)).toContain('does not match `gpu > 1`: "w1" lacks `gpu > 1` (gpu is 1).')
    expect(await why(2)).toContain('does not match `zone = a`: "w1" lacks `zone = a` (zone is "c").')
    expect(await why(3)).toContain("does not match `zone = b`")
    await report([viewOf("w1", { jobs, labels: { gpu: 2 } })])
    expect(await why(1)).toContain("a worker that fits has room")
    // What the engine does itself has nothing to do with workers.
    for (const n of [4, 5]) expect(await why(n)).toMatch(/^Ready for [^;]*; an engine is running(?!.*worker)/)
  })

  test("of an engine without slots of its own: every job, but not what only says which steps there are", async () => {
    const file = join(project, "uhrwerk.config.mjs")
    const code = readFileSync(file, "utf8")
    writeFileSync(join(project, "bare.mjs"), code.replace("storage:", "worker: { concurrency: 0 }, storage:"))
    const { default: config } = (await import(join(project, "bare.mjs"))) as { readonly default: Config }
    const of = (name: string) => placementIn(config, name)
    expect(["here", "etl", "etl/each", "gone"].map(of)).toEqual([null, undefined, undefined, undefined])
    expect(["video.encode", "etl/load", "etl/each[]"].map((name) => of(name)?.rule?.text)).toEqual([
      "gpu > 1",
      "zone = a",
      "zone = b",
    ])
  })

  test("a node whose lease has ended has no say", async () => {
    await withStore(async (store) => {
      await store.join({ id: "n0", host: "h", pid: 2, runtime: "r" }, 1)
      await store.reportWorkers("n0", encodeReport([viewOf("old", { jobs: ["video.encode"] })]))
      await new Promise((resolve) => setTimeout(resolve, 10))
    })
    expect(await why(1)).toContain("no engine is running on this store")
    expect((await uhrwerk("worker", "list")).stderr).toContain("No engine on this store serves workers")
    await withStore(async (store) => {
      await store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 3_600_000)
    })
    expect(await why(1)).toContain("no engine that is running serves workers")
  })
})
