// `uhrwerk queue ...`, and what is asked of nodes and workers: on a store in memory, which a config of its own opens for
// each command as its file would be opened.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { encodeReport } from "../../../core/worker/WorkerReport.ts"
import { viewOf } from "../../core/worker/views.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-queues-"))
const memory = memoryDriver({ now: () => Date.now() })
const shared: StoreDriver = { ...memory, close: () => undefined }
const held = globalThis as { uhrwerkTestStore?: StoreDriver }

beforeAll(async () => {
  held.uhrwerkTestStore = shared
  mkdirSync(join(folder, "empty"))
  writeFileSync(
    join(folder, "uhrwerk.config.mjs"),
    `import { job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
    import { layerMemory } from ${JSON.stringify(moduleUrl("adapters/store-memory/mod.ts"))}
    export default {
      jobs: [job("mail", { queue: "mail", run: () => {} }), job("plain", { run: () => {} })],
      storage: { name: "shared", layer: layerMemory, open: async () => globalThis.uhrwerkTestStore },
    }`,
  )
  await memory.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 3_600_000)
  await memory.enqueue([newRun(1, { job: "mail", queue: "mail" })])
})
afterAll(() => {
  delete held.uhrwerkTestStore
  rmSync(folder, { recursive: true, force: true })
})
const uhrwerk = (...args: ReadonlyArray<string>) => inProcess(args, folder)
const rowsOf = async (...args: ReadonlyArray<string>) =>
  JSON.parse((await uhrwerk(...args, "-o", "json")).stdout)

test("queue pause > it is paused with its note, and explain says so, until it is resumed", async () => {
  expect(await uhrwerk("queue", "pause", "mail", "--note", "the mail server moves")).toMatchObject({
    code: 0,
    stdout: "mail paused\n",
    stderr: "Nothing of queue mail starts any more; engines on this store follow within two seconds.\n",
  })
  const rows = await rowsOf("queue", "list")
  expect(rows).toMatchObject([
    { queue: "default", ready: 0, running: 0, paused: null },
    { queue: "mail", ready: 1, running: 0, paused: { note: "the mail server moves", by: null } },
  ])
  expect((await uhrwerk("queue", "list")).stdout).toMatch(/mail +1 +\S+.* 0 +since .*: the mail server moves/)
  const explained = await uhrwerk("run", "explain", runId(1))
  expect(explained.stdout).toMatch(/queue "mail" is paused since .* \(the mail server moves\)\.\n$/)
  expect(explained.stderr).toBe("Let it go on: uhrwerk queue resume mail\n")
  expect((await uhrwerk("queue", "pause", "mail")).stderr).toMatch(/It was paused already, since /)
  expect(await uhrwerk("queue", "resume", "mail")).toMatchObject({ code: 0, stdout: "mail resumed\n" })
  expect((await uhrwerk("queue", "resume", "mail")).stderr).toBe("Queue mail was not paused.\n")
  expect((await uhrwerk("run", "explain", runId(1))).stdout).not.toMatch(/paused/)
})

test("queue pause > a name that nobody uses is told, and what is no name is refused", async () => {
  expect((await uhrwerk("queue", "pause", "mial")).stderr).toMatch(/is the name right\?\n$/)
  expect((await rowsOf("queue", "list")).map(({ queue }: any) => queue)).toEqual(["default", "mail", "mial"])
  await uhrwerk("queue", "resume", "mial")
  expect((await uhrwerk("queue", "pause", " a")).code).toBe(2)
  expect((await uhrwerk("queue", "pause")).code).toBe(2)
  expect((await uhrwerk("queue", "pause", "a", "--note", "n".repeat(513))).code).toBe(2)
})

test("node drain > the node is told until it is resumed, and the list says so", async () => {
  expect(await uhrwerk("node", "drain", "n1", "--reason", "a new kernel")).toMatchObject({
    code: 0,
    stdout: "n1 draining\n",
  })
  expect(await rowsOf("node", "list")).toMatchObject([
    { id: "n1", state: "draining", draining: { reason: "a new kernel" } },
  ])
  expect(await uhrwerk("node", "resume", "n1")).toMatchObject({ code: 0, stdout: "n1 live\n" })
  expect(await rowsOf("node", "list")).toMatchObject([{ id: "n1", state: "live", draining: null }])
  expect((await uhrwerk("node", "drain", "n2")).code).toBe(3)
  expect((await uhrwerk("node", "drain", "n1", "--grace", "soon")).code).toBe(2)
  expect((await uhrwerk("node", "drain", "n1", "--reason", "r".repeat(257))).code).toBe(2)
})

test("worker drain, worker disconnect > the node of the worker is told", async () => {
  await memory.reportWorkers("n1", encodeReport([viewOf("w1", { node: "n1" })]))
  expect(await uhrwerk("worker", "drain", "w1", "--grace", "5s")).toMatchObject({
    code: 0,
    stdout: "w1 told\n",
  })
  expect(await uhrwerk("worker", "disconnect", "w1", "--node", "n1")).toMatchObject({ code: 0 })
  const rows = await memory.records({ kind: "node-order", prefix: "n1/", order: "ascending", limit: 9 })
  const orders = rows.map(({ body }) => JSON.parse(body)).toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
  expect(orders).toEqual([
    { kind: "disconnectWorker", worker: "w1", reason: "disconnected from the command line" },
    { kind: "drainWorker", worker: "w1", graceMillis: 5000, reason: "drained from the command line" },
  ])
  expect((await uhrwerk("worker", "drain", "w2")).code).toBe(3)
  expect((await uhrwerk("worker", "drain", "w1", "--node", "n2")).code).toBe(3)
})
