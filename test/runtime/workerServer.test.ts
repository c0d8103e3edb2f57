// The worker and the server together, each as its user starts it, over one SQLite file: every kind of end, and a restart of
// the server in the middle of a run.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type Config, flow, job, NonRetryable, onWorkers } from "uhrwerk"
import { type RunningServer, serve } from "uhrwerk/server"
import { type RunningWorker, worker, type WorkerOptions } from "uhrwerk/worker"
import { until } from "../common/scriptedServer.ts"

let folder = ""
let servers: Array<RunningServer> = []
let workers: Array<RunningWorker> = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-both-"))
})
afterEach(async () => {
  for (const each of workers) await each.stop({ grace: 0 })
  for (const each of servers) await each.stop({ grace: 0 })
  workers = []
  servers = []
  rmSync(folder, { recursive: true, force: true })
})

// What the server knows of the jobs, and what the worker does for them.
const echo = job<unknown, unknown>("echo", { run: onWorkers() })
const failing = job<string>("failing", { run: onWorkers(), retry: { max: 2, delay: "20ms" } })
const limited = job("limited", { run: onWorkers(), timeout: "200ms", retry: { max: 1 } })
const long = job("long", { run: onWorkers<string>() })
const block = job<number, string>("block", { run: onWorkers() })
const etl = flow("etl", {}, (f) => {
  const extract = f.step("extract", { run: onWorkers<{ rows: number }>() })
  return f.step("load", { needs: { extract }, run: ({ extract }) => extract.rows * 2 })
})
// Here the last step is done by workers, which know the flow and have a function in its place.
const sum = flow("sum", {}, (f) => {
  const a = f.step("a", { run: () => ({ n: 20 }) })
  return f.step("b", { needs: { a }, run: onWorkers<number>() })
})
const sumThere = flow("sum", {}, (f) => {
  const a = f.step("a", { run: () => ({ n: 20 }) })
  f.step("b", { needs: { a }, run: ({ a }) => a.n + 1 })
})
const config = (): Config => ({
  jobs: [echo, failing, limited, long, block, etl, sum],
  storage: `sqlite:${join(folder, "a.db")}`,
  poll: "50ms",
})

let release = (): void => {}
const handlers = [
  job("echo", { run: (input: unknown) => input }),
  job("failing", {
    run: (kind: string): void => {
      throw kind === "never" ? new NonRetryable("never") : new Error("again")
    },
  }),
  job("limited", { run: async (_: void, ctx) => ctx.sleep("1h") }),
  job("long", {
    run: (_: void, { signal }) =>
      new Promise<string>((resolve, reject) => {
        release = () => resolve("done")
        signal.addEventListener("abort", () => reject(signal.reason as Error))
      }),
  }),
  job("etl/extract", { run: () => ({ rows: 4 }) }),
  sumThere,
]

const open = async (port = 0): Promise<RunningServer> => {
  const server = await serve(config(), { port, guard: false })
  servers.push(server)
  return server
}
const enter = async (server: RunningServer, options: Partial<WorkerOptions> = {}): Promise<RunningWorker> => {
  const each = await worker({
    url: server.workerUrl,
    jobs: handlers,
    concurrency: 2,
    name: "w-1",
    guard: false,
    ...options,
  } as WorkerOptions).start()
  workers.push(each)
  await until("a session", () => each.state().phase === "connected")
  return each
}
/** Waits until a handler was called. */
const begun = async (each: RunningWorker, work: () => Promise<unknown>): Promise<void> => {
  let count = 0
  const off = each.on(({ kind }) => void (kind === "started" && count++))
  await work()
  await until("the start", () => count > 0)
  off()
}

test("runs of all kinds come to their ends", async () => {
  const server = await open()
  await enter(server)
  expect(await (await echo.send({ n: [1.5, null], text: "äöü€😀" })).result()).toEqual({
    n: [1.5, null],
    text: "äöü€😀",
  })
  const again = await failing.send("again")
  const never = await failing.send("never")
  const late = await limited.send()
  for (const each of [again, never, late]) await expect(each.result()).rejects.toThrow()
  const rows = await Promise.all([again, never, late].map(({ id }) => server.engine.run(id)))
  expect(rows.map((run) => [run?.state, run?.attempt, run?.error?.name])).toEqual([
    ["dead", 2, "Error"],
    ["dead", 1, "NonRetryable"],
    ["dead", 1, "Timeout"],
  ])
  expect(await (await etl.send()).result()).toBe(8)
  expect(await (await sum.send()).result()).toBe(21)
})

test("a cancel reaches the handler", async () => {
  const server = await open()
  const each = await enter(server)
  const stopping: Array<string> = []
  each.on((event) => void (event.kind === "stopping" && stopping.push(event.reason)))
  let id = ""
  await begun(each, async () => (id = (await long.send()).id))
  await server.engine.cancel(id)
  await until("the end", () => each.state().inHand.length === 0)
  expect(stopping).toEqual(["cancelled"])
  expect((await server.engine.run(id))?.state).toBe("cancelled")
})

test("a worker that drains hands its run to the next one, and no attempt is used", async () => {
  const server = await open()
  const first = await enter(server)
  let sent: Awaited<ReturnType<typeof long.send>> | undefined
  await begun(first, async () => (sent = await long.send()))
  const second = await enter(server, { name: "w-2" })
  await begun(second, async () =>
    expect(await first.stop({ grace: 0 })).toMatchObject({ why: "drained", unacknowledged: 0 }),
  )
  release()
  expect(await sent?.result()).toBe("done")
  expect((await server.engine.run(sent?.id ?? ""))?.attempt).toBe(1)
})

test("a restart of the server: the handler goes on, and the attempt counts once", async () => {
  const server = await open()
  const each = await enter(server)
  const events: Array<string> = []
  each.on(({ kind }) => events.push(kind))
  let id = ""
  await begun(each, async () => (id = (await long.send()).id))
  await server.stop({ grace: 0 })
  const later = await open(Number(new URL(server.url).port))
  await until("another session", () => each.state().phase === "connected", 20_000)
  release()
  await until("the end", () => events.includes("acknowledged"))
  expect(events).not.toContain("stopping")
  expect(await later.engine.run(id)).toMatchObject({ state: "succeeded", attempt: 1, output: '"done"' })
})

test("a handler in a thread blocks, and the server has no doubt about its worker", async () => {
  const server = await serve(config(), {
    port: 0,
    guard: false,
    workers: { terms: { heartbeatMillis: 200, suspectMillis: 1_000, lostMillis: 4_000 } },
  })
  servers.push(server)
  const each = await enter(server, {
    jobs: undefined,
    config: fileURLToPath(new URL("./roomConfig.ts", import.meta.url)),
    handlers: "thread",
  })
  const statuses = new Set<string | undefined>()
  const watch = setInterval(() => statuses.add(server.engine.workers?.list()[0]?.status), 50)
  try {
    expect(await (await block.send(3_000)).result({ timeout: "30s" })).toBe("blocked")
  } finally {
    clearInterval(watch)
  }
  expect([...statuses]).toEqual(["alive"])
  expect(each.state().strays).toBe(0)
})
