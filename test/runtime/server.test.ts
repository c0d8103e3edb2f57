// A server on whichever runtime runs this file: one port for HTTP and for a worker with a token, until it is stopped.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { job } from "uhrwerk"
import { serve } from "uhrwerk/server"
import { sqliteDriver } from "uhrwerk/sqlite"
import { createToken } from "../../apps/server/Credentials.ts"
import { rawWorker } from "../apps/server/RawWorker.ts"
import { type Answer, until } from "../apps/server/project.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-server-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("a run is sent over HTTP, carried out by a worker with a token, and read again", async () => {
  const file = join(folder, "a.db")
  const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  const { token } = await createToken(store, { name: "mailers" })
  await store.close()
  const jobs = [job("echo", { run: () => "here" })]
  const server = await serve(
    { jobs, storage: `sqlite:${file}`, worker: { concurrency: 0 }, poll: "50ms" },
    { port: 0, guard: false },
  )
  const { url, workerUrl, stop } = server
  try {
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await (await rawWorker(workerUrl, { token: "wrong" })).closed).code).toBe(4401)
    const worker = await rawWorker(workerUrl, { token })
    await worker.welcome
    const sent = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ job: "echo", input: { at: "äöü€😀", n: [1.5, null] } }),
    })
    expect(sent.status).toBe(201)
    const { id } = (await sent.json()) as Answer
    const run = await until(
      "the run",
      async () => (await (await fetch(`${url}/v1/runs/${id}`)).json()) as Answer,
      ({ state }) => state === "succeeded",
    )
    expect(run["output"]).toEqual({ at: "äöü€😀", n: [1.5, null] })
    await stop({ grace: "100ms" })
    expect((await worker.closed).code).toBe(1012)
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
  } finally {
    await stop({ grace: 0 })
  }
})
