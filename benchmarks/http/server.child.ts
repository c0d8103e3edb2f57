// What is measured, in a process of its own: `server.child.ts floor|server|store memory|sqlite FOLDER`. The floor is a bare
// Hono route that reads JSON and answers JSON on the same transport; the server is `serve`; the store has no HTTP at all.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Hono } from "hono"
import { serve as listen } from "../../adapters/transport-websocket/mod.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { checkConfig, type Config } from "../../apps/sdk/config.ts"
import { job } from "../../apps/sdk/job.ts"
import { serve } from "../../apps/server/mod.ts"
import { openSharedStore } from "../../apps/server/SharedStore.ts"
import { newRun } from "../store/Side.ts"
import { answerAll } from "../workers/Child.ts"

const [kind = "", storage = "", folder = ""] = process.argv.slice(2)
const place = mkdtempSync(join(folder, "uhrwerk-bench-"))
process.on("exit", () => rmSync(place, { recursive: true, force: true }))

const noop = job<{ readonly n: number }, void>("noop", { queue: "bench", run: () => undefined })
// It runs nothing itself: what is measured is how runs come in.
const config: Config = {
  jobs: [noop],
  storage: storage === "sqlite" ? `sqlite:${join(place, "bench.db")}` : "memory:",
  worker: { concurrency: 0 },
}

const startFloor = async (): Promise<string> => {
  const id = "01997f3e-8a00-7000-8000-000000000001"
  const app = new Hono()
  app.post("/v1/runs", async (c) => c.json({ id, ...(await c.req.json<object>()) }, 201))
  app.post("/v1/runs/batch", async (c) => {
    const { runs } = await c.req.json<{ readonly runs: ReadonlyArray<unknown> }>()
    return c.json({ items: runs.map(() => ({ id, created: true, problem: null })) })
  })
  const { url } = await listen({
    onConnection: (connection) => {
      connection.close(1000, "")
      return { onFrame: () => undefined, onClose: () => undefined }
    },
    fetch: (request) => app.fetch(request),
  })
  return new URL(url.replace(/^ws/, "http")).origin
}

if (kind === "floor") {
  const url = await startFloor()
  await answerAll({ url: () => ({ url }) })
} else if (kind === "store") {
  const { store } = await openSharedStore(await checkConfig(config))
  const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)
  await answerAll({
    enqueue: async ({ runs, batch, inFlight }) => {
      let sent = 0
      const from = performance.now()
      const lane = async (): Promise<void> => {
        while (sent < runs) {
          const count = Math.min(batch, runs - sent)
          const first = sent
          sent += count
          await store.enqueue(Array.from({ length: count }, (_, n) => newRun(ids(), first + n)))
        }
      }
      await Promise.all(Array.from({ length: inFlight }, lane))
      return { wallMillis: performance.now() - from }
    },
  })
} else {
  const server = await serve(config, { port: 0, rate: null, guard: false })
  await answerAll({
    url: () => ({ url: server.url }),
    counts: async () => ({ runs: (await server.engine.counts()).reduce((sum, { count }) => sum + count, 0) }),
    /** A history of so many in all, that does not move. */
    fill: async ({ runs }) => {
      const there = (await server.engine.counts()).reduce((sum, { count }) => sum + count, 0)
      for (let from = there; from < runs; from += 10_000)
        await server.engine.sendAll(
          noop,
          Array.from({ length: Math.min(10_000, runs - from) }, (_, n) => ({ n: from + n })),
        )
    },
  })
}
