// The example workers at the real server, with a token of theirs: runs come back with their outputs, failures with their
// messages, logs and progress arrive, and a worker that is told to stop leaves nothing behind.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { job, onWorkers } from "../../../apps/sdk/mod.ts"
import { createToken } from "../../../apps/server/Credentials.ts"
import { type RunningServer, serve } from "../../../apps/server/mod.ts"
import { launchCommand, type Started } from "../../../apps/worker-test/mod.ts"

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "uhrwerk-examples-"))
let server: RunningServer | undefined
let started: Started | undefined
afterEach(async () => {
  started?.kill()
  await server?.stop({ grace: 0 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const workers = [
  { name: "python", command: ["python3", at("apps/examples/workers/python/worker.py")] },
  {
    name: "deno",
    command: [
      at("node_modules/.bin/deno"),
      "run",
      "--allow-net",
      "--allow-env",
      at("apps/examples/workers/deno/worker.ts"),
    ],
  },
]

test.for(workers)("$name", { timeout: 60_000 }, async ({ name, command }, { skip }) => {
  const [program = ""] = command
  skip(spawnSync(program, ["--version"], { stdio: "ignore" }).status !== 0, `there is no ${program}`)
  const echo = job<{ n: number }, { n: number }>("kit.echo", { run: onWorkers() })
  const fail = job<{ message: string; retryable: boolean }>("kit.fail", { run: onWorkers() })
  const sleep = job<{ millis: number }>("kit.sleep", { timeout: "300ms", run: onWorkers() })
  const file = join(folder, `${name}.db`)
  const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  const { token } = await createToken(store, { name: "examples" })
  await store.close()
  server = await serve(
    { jobs: [echo, fail, sleep], storage: `sqlite:${file}`, poll: "50ms" },
    { port: 0, guard: false },
  )
  const { workerUrl, engine } = server
  started = launchCommand(command)({
    UHRWERK_URL: workerUrl,
    UHRWERK_TOKEN: token,
    UHRWERK_WORKER: name,
    UHRWERK_SLOTS: "4",
    UHRWERK_PREFETCH: "4",
    UHRWERK_DRAIN_MILLIS: "2000",
  })
  await expect
    .poll(() => engine.workers?.list().map((each) => each.name), { timeout: 20_000 })
    .toEqual([name])

  const timeout = "20s"
  const runs = await Promise.all(Array.from({ length: 40 }, (_, n) => echo.send({ n })))
  const outputs = await Promise.all(runs.map((run) => run.result({ timeout })))
  expect(outputs).toEqual(runs.map((_, n) => ({ n })))
  await expect(
    (await fail.send({ message: "no such account", retryable: false })).result({ timeout }),
  ).rejects.toThrow("no such account")
  await expect((await sleep.send({ millis: 20_000 })).result({ timeout })).rejects.toThrow(/time|stopped/i)

  started.terminate()
  expect(await started.exited).toEqual({ code: 0, signal: null })
  await expect.poll(() => engine.workers?.list(), { timeout: 5_000 }).toEqual([])
})
