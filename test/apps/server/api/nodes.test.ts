// Nodes, workers and the server itself over HTTP: a real server with workers, and an engine
// without.
import { afterAll, beforeAll, expect, test } from "vitest"
import { job } from "uhrwerk"
import { infoHandlers } from "../../../../apps/server/api/info.ts"
import { nodeHandlers } from "../../../../apps/server/api/nodes.ts"
import { workerHandlers } from "../../../../apps/server/api/workers.ts"
import { type RunningServer, serve } from "../../../../apps/server/mod.ts"
import { rawWorker } from "../RawWorker.ts"
import { until } from "../project.ts"
import { callAs, callerOf } from "./callers.ts"
import { startWorld, type World } from "./world.ts"

let server: RunningServer
let world: World
beforeAll(async () => {
  world = await startWorld({ jobs: [job("plain", { run: () => 1 })], storage: "memory:", poll: "50ms" })
  server = await serve(
    {
      jobs: [job("echo", { run: (input) => input })],
      storage: "memory:",
      poll: "50ms",
      worker: { concurrency: 0 },
    },
    { port: 0, guard: false },
  )
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
  await server.stop({ grace: 0 })
})

const ask = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  })
  return { status: response.status, body: (await response.json()) as any }
}
const names = async (): Promise<ReadonlyArray<string>> =>
  (await ask("GET", "/v1/workers")).body.items.map(({ name }: any) => name)

test("getInfo > which server, which store, and who asks", async () => {
  const { status, body } = await world.ask("GET", "/v1/info")
  expect(status).toBe(200)
  expect(body).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    node: world.engine.node(),
    draining: false,
    store: { name: "memory", durable: false, shared: true, cautions: [] },
    caller: { kind: "local", role: "admin", namespace: null },
  })
  expect(body.startedAt).toBeLessThanOrEqual(body.storeNow)
  const seen = await callAs(infoHandlers.getInfo, world.parts, callerOf("mail"), {})
  expect(seen.body.caller).toEqual({ kind: "key", name: "ann", role: "admin", namespace: "mail" })
})

test("listNodes > with their leases, and which one answers", async () => {
  const { body } = await ask("GET", "/v1/nodes")
  expect(body).toMatchObject({
    items: [{ id: server.engine.node(), isLive: true, isThis: true, draining: null, workers: 0 }],
    cursor: null,
  })
  expect((await world.ask("GET", "/v1/nodes")).body.items).toMatchObject([{ workers: null }])
  expect((await ask("GET", "/v1/nodes?cursor=%20")).body.code).toBe("badCursor")
})

test("drainNode > it takes nothing new until it is resumed", async () => {
  const node = world.engine.node()
  const drained = await world.ask("POST", `/v1/nodes/${node}/drain`, { reason: "a new kernel", grace: "1s" })
  expect([drained.status, drained.body]).toEqual([200, { node, draining: true }])
  const { id } = (await world.ask("POST", "/v1/runs", { job: "plain" })).body
  expect((await world.ask("GET", "/v1/nodes")).body.items[0].draining).toMatchObject({
    reason: "a new kernel",
  })
  expect((await world.ask("GET", "/v1/info")).body.draining).toBe(true)
  expect((await world.ask("GET", `/v1/runs/${id}`)).body.state).toBe("ready")
  expect((await world.ask("POST", `/v1/nodes/${node}/resume`)).body).toEqual({ node, draining: false })
  const state = async () => (await world.ask("GET", `/v1/runs/${id}`)).body.state
  await until("the run", state, (is) => is === "succeeded")
  expect((await world.ask("GET", "/v1/nodes")).body.items[0].draining).toBe(null)
})

test("drainNode > what is no node, and no span, is refused", async () => {
  const node = world.engine.node()
  for (const action of ["drain", "resume"])
    expect((await world.ask("POST", `/v1/nodes/none/${action}`)).body.code).toBe("notFound")
  for (const grace of ["soon", -1, "25h"])
    expect((await world.ask("POST", `/v1/nodes/${node}/drain`, { grace })).body.code).toBe("invalidInput")
  expect((await world.ask("POST", `/v1/nodes/${node}/drain`, { reason: "" })).body.code).toBe("invalidBody")
  expect(world.engine.isDraining()).toBe(false)
})

test("listWorkers, getWorker > those that are connected, in pages, with what they have in hand", async () => {
  const workers = []
  for (const name of ["b", "a", "c"]) {
    const worker = await rawWorker(server.workerUrl, { name })
    await worker.welcome
    workers.push(worker)
  }
  const first = await ask("GET", "/v1/workers?limit=2")
  expect(first.body.items).toMatchObject([
    { name: "a", status: "alive", jobs: ["echo"], queues: null },
    { name: "b" },
  ])
  const second = await ask("GET", `/v1/workers?limit=2&cursor=${first.body.cursor}`)
  expect(second.body).toMatchObject({ items: [{ name: "c" }], cursor: null, leftOut: 0 })
  const one = await ask("GET", "/v1/workers/a")
  expect([one.status, one.body]).toEqual([
    200,
    { ...first.body.items[0], heardAt: one.body.heardAt, attempts: [] },
  ])
  expect((await ask("GET", "/v1/workers/none")).body.code).toBe("notFound")
  expect((await ask("GET", "/v1/workers/a?node=other")).body.code).toBe("notFound")
  for (const worker of workers) worker.close()
})

test("drainWorker, disconnectWorker > it is told, and goes", async () => {
  for (const action of ["drain", "disconnect"]) {
    const worker = await rawWorker(server.workerUrl, { name: action })
    await worker.welcome
    const told = await ask("POST", `/v1/workers/${action}/${action}`, { reason: "a test" })
    expect([told.status, told.body]).toEqual([200, { worker: action, node: server.engine.node() }])
    await until("its end", names, (all) => action === "drain" || !all.includes(action))
    if (action === "drain") {
      const status = async () => (await ask("GET", "/v1/workers/drain")).body.status
      expect(await until("its drain", status, (is) => is !== "alive")).toBe("draining")
    }
    worker.close()
  }
  expect((await ask("POST", "/v1/workers/none/drain")).body.code).toBe("notFound")
  expect((await ask("POST", "/v1/workers/none/disconnect")).body.code).toBe("notFound")
  expect((await ask("POST", "/v1/workers/none/drain", { grace: "soon" })).body.code).toBe("invalidInput")
})

test("drainWorker > a worker of another node is told by that node", async () => {
  const worker = await rawWorker(server.workerUrl, { name: "far" })
  await worker.welcome
  const [view] = server.engine.workers?.list().filter(({ name }) => name === "far") ?? []
  const report = {
    node: "other-node",
    workers: JSON.stringify({ workers: [{ ...view, node: "other-node" }], leftOut: 0 }),
  }
  const parts = { ...world.parts, reports: async () => [report] }
  const params = { worker: "far" }
  expect(await callAs(workerHandlers.drainWorker, parts, callerOf(null), { params })).toEqual({
    status: 202,
    body: { worker: "far", node: "other-node" },
  })
  const rows = await world.store.records({
    kind: "node-order",
    prefix: "other-node/",
    order: "ascending",
    limit: 9,
  })
  expect(rows.map(({ body }) => JSON.parse(body))).toEqual([
    { kind: "drainWorker", worker: "far", graceMillis: 30_000, reason: "an operator drains it" },
  ])
  expect((await callAs(workerHandlers.getWorker, parts, callerOf(null), { params })).body.attempts).toBe(null)
  worker.close()
})

test("a caller with a namespace learns nothing of nodes and workers, and moves none", async () => {
  const caller = callerOf("plain")
  const node = { params: { node: world.engine.node() } }
  const worker = { params: { worker: "a" } }
  expect([
    await callAs(nodeHandlers.listNodes, world.parts, caller, {}),
    await callAs(nodeHandlers.drainNode, world.parts, caller, node),
    await callAs(nodeHandlers.resumeNode, world.parts, caller, node),
    await callAs(workerHandlers.listWorkers, world.parts, caller, {}),
    await callAs(workerHandlers.getWorker, world.parts, caller, worker),
    await callAs(workerHandlers.drainWorker, world.parts, caller, worker),
    await callAs(workerHandlers.disconnectWorker, world.parts, caller, worker),
  ]).toEqual(Array.from({ length: 7 }, () => ({ status: 403, code: "forbidden" })))
  expect(world.engine.isDraining()).toBe(false)
})
