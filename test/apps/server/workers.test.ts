// Both ends together: a server whose own process does nothing, workers that are processes of the command line, and a
// hundred runs, while one of the workers is killed.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, expect, test } from "vitest"
import { createToken } from "../../../apps/server/Credentials.ts"
import { type RunningServer, serve } from "../../../apps/server/mod.ts"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import type { Config } from "../../../apps/sdk/mod.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { moduleUrl } from "../cli/cli.ts"
import { type Answer, until } from "./project.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-workers-"))
const children: Array<ChildProcess> = []
let server: RunningServer | undefined
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await server?.stop({ grace: 0 })
  rmSync(folder, { recursive: true, force: true })
})

const many = 100

test("a hundred runs are done by two workers, though one is killed among them", async () => {
  const ledger = join(folder, "ledger.txt")
  writeFileSync(ledger, "")
  const file = join(folder, "uhrwerk.config.ts")
  writeFileSync(
    file,
    `import { appendFileSync } from "node:fs"
import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const tell = (line) => appendFileSync(${JSON.stringify(ledger)}, line + "\\n")
export default defineConfig({
  jobs: [
    job("work", {
      retry: { max: 3, delay: "50ms" },
      run: async ({ n }, { run }) => {
        tell(["begun", run.id, process.pid].join(" "))
        await new Promise((resolve) => setTimeout(resolve, 100))
        tell(["done", run.id, process.pid].join(" "))
        return { n, pid: process.pid }
      },
    }),
  ],
  storage: ${JSON.stringify(`sqlite:${join(folder, "a.db")}`)},
  worker: { concurrency: 0 },
  poll: "100ms",
})
`,
  )
  const store = sqliteDriver({ file: join(folder, "a.db"), role: "tool", now: () => Date.now() })
  const { token } = await createToken(store, { name: "workers" })
  await store.close()
  writeFileSync(join(folder, "token"), token, { mode: 0o600 })
  const config = ((await import(file)) as { readonly default: Config }).default
  server = await serve(config, { port: 0, guard: false })
  const { url, workerUrl, engine } = server
  const startWorker = (name: string): ChildProcess => {
    const script = fileURLToPath(moduleUrl("apps/cli/main.ts"))
    const child = spawn(
      process.execPath,
      [
        ...(process.versions["deno"] === undefined ? [] : ["run", "-A"]),
        script,
        "worker",
        "--config",
        file,
        "--url",
        workerUrl,
        "--name",
        name,
        "--token-file",
        join(folder, "token"),
        "--concurrency",
        "4",
      ],
      { cwd: folder, stdio: "ignore" },
    )
    children.push(child)
    return child
  }
  const [one, two] = [startWorker("one"), startWorker("two")]
  const listed = async (): Promise<ReadonlyArray<WorkerView>> =>
    ((await (await fetch(`${url}/v1/workers`)).json()) as { items: ReadonlyArray<WorkerView> }).items
  const both = await until("both workers", listed, (workers) => workers.length === 2, 30_000)
  expect(both).toMatchObject([
    { name: "one", jobs: ["work"], slots: 4, status: "alive" },
    { name: "two", jobs: ["work"], slots: 4, status: "alive" },
  ])

  const ids: Array<string> = []
  for (let n = 0; n < many; n++) {
    const response = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ job: "work", input: { n } }),
    })
    expect(response.status).toBe(201)
    ids.push(((await response.json()) as Answer)["id"] as string)
  }
  const succeeded = async (): Promise<number> =>
    (await engine.counts()).reduce((sum, { state, count }) => sum + (state === "succeeded" ? count : 0), 0)
  // While it has something in hand, so that something of it has to be done again.
  await until(
    "one is at work",
    () => engine.workers?.inHandOf("one") ?? [],
    (hand) => hand.some(({ state }) => state === "started"),
    30_000,
  )
  one.kill("SIGKILL")
  await until("all", succeeded, (count) => count === many, 40_000)

  const lines = readFileSync(ledger, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(" "))
  const runs = await Promise.all(ids.map((id) => engine.run(id)))
  for (const [n, run] of runs.entries()) {
    const output = JSON.parse(run?.output ?? "null") as { readonly n: number; readonly pid: number }
    expect(output.n).toBe(n)
    // Its outcome is that of an attempt that was done, and none was begun twice.
    expect(
      lines.filter(([what, id, pid]) => what === "done" && id === run?.id && pid === String(output.pid)),
    ).toHaveLength(1)
    // An acknowledgement may be lost with the process, and then its attempt is not counted.
    const begun = lines.filter(([what, id]) => what === "begun" && id === run?.id).length
    expect(begun).toBeGreaterThanOrEqual(run?.attempt ?? 1)
    expect(begun).toBeLessThanOrEqual((run?.attempt ?? 0) + (run?.losses ?? 0))
  }
  expect(runs.filter((run) => run?.attempt === 2).length).toBeGreaterThan(0)
  expect(await listed()).toMatchObject([{ name: "two" }])

  // The other one drains, and says by its code that all is well.
  const ended = new Promise<number | null>((resolve) => two.on("exit", resolve))
  // With `kill` of the child itself Deno says that the signal ended it, whatever it ended with.
  process.kill(two.pid as number, "SIGTERM")
  expect(await ended).toBe(0)
  await until("nobody is there", listed, (workers) => workers.length === 0)
})
