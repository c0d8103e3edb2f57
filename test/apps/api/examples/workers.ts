// Examples for the routes of workers.
import type { workersApi } from "../../../../apps/api/workers.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {}

let count = 0
const ofConnected = async ({ connect }: Stage) => {
  const worker = `workers-${++count}`
  await connect(worker)
  return { params: { worker } }
}
/** One of another node, as that told of it. */
const ofElsewhere = async ({ connect, engine, store }: Stage) => {
  const worker = `workers-${++count}`
  const raw = await connect(worker)
  const view = engine.workers?.list().find(({ name }) => name === worker)
  raw.close()
  await store.join({ id: "workers-node", host: "there", pid: 1, runtime: "test" }, 600_000)
  const report = { workers: [{ ...view, node: "workers-node" }], leftOut: 0 }
  await store.reportWorkers("workers-node", JSON.stringify(report))
  return { params: { worker }, body: { node: "workers-node" } }
}
const none = { params: { worker: "nobody" } }

export const examples: Examples<typeof workersApi> = {
  listWorkers: [
    {
      gives: 200,
      ask: async (stage) => {
        await ofConnected(stage)
        return {}
      },
    },
    { gives: "badCursor", ask: { query: { cursor: "of another list" } } },
  ],
  getWorker: [
    { gives: 200, ask: ofConnected },
    { gives: "notFound", ask: none },
  ],
  drainWorker: [
    { gives: 200, ask: ofConnected },
    { gives: 202, ask: ofElsewhere },
    { gives: "notFound", ask: none },
    {
      gives: "invalidInput",
      ask: async (stage) => ({ ...(await ofConnected(stage)), body: { grace: "soon" } }),
    },
  ],
  disconnectWorker: [
    { gives: 200, ask: ofConnected },
    { gives: 202, ask: ofElsewhere },
    { gives: "notFound", ask: none },
  ],
}
