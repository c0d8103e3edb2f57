// Examples for the routes of flows, queues, nodes and the server itself.
import { flow, job } from "uhrwerk"
import type { flowsApi } from "../../../../apps/api/flows.ts"
import type { infoApi } from "../../../../apps/api/info.ts"
import type { nodesApi } from "../../../../apps/api/nodes.ts"
import type { queuesApi } from "../../../../apps/api/queues.ts"
import { until } from "../../server/project.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {
  jobs: [
    flow("flows.fails", { retry: { max: 1 } }, (f) => {
      f.step("one", {
        retry: { max: 1 },
        run: () => {
          throw new Error("no connection")
        },
      })
    }),
    // Its first step waits until somebody marks it.
    flow("flows.held", {}, (f) => {
      const wait = f.step("wait", {
        run: (_, ctx) =>
          new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve())),
      })
      f.step("after", { needs: { wait }, run: () => "after" })
    }),
    job("flows.plain", { queue: "flows.queue", run: () => 1 }),
  ],
}

const started = async ({ ask, engine }: Stage, name: string, state: string): Promise<string> => {
  const { id } = await ask("POST", "/v1/runs", { job: name })
  await until(
    `it is ${state}`,
    () => engine.run(id as string),
    (run) => run?.state === state,
  )
  return id as string
}
const ofFailed = async (stage: Stage) => ({ params: { id: await started(stage, "flows.fails", "dead") } })
/** One for all, as each takes a slot for as long as nobody marks it. */
let held: string | undefined
const ofHeld = async (stage: Stage) => {
  const known = held === undefined ? undefined : await stage.engine.run(held)
  if (known?.state !== "blocked") held = await started(stage, "flows.held", "blocked")
  return { params: { id: held ?? "" } }
}
const none = { params: { id: "01997f3e-8a00-7000-8000-00000000dead" } }
const badCursor = { gives: "badCursor", ask: { query: { cursor: "of another list" } } } as const
const mark = { step: "wait", as: "skipped", reason: "not needed" }

/** A node that does nothing but hold a lease: to drain the one that all examples run on would stop them. */
const ofNode = async ({ store }: Stage) => {
  await store.join({ id: "flows-node", host: "here", pid: 1, runtime: "test" }, 600_000)
  return { params: { node: "flows-node" } }
}

export const examples: Examples<typeof flowsApi & typeof queuesApi & typeof nodesApi & typeof infoApi> = {
  listFlows: [{ gives: 200, ask: {} }, badCursor],
  getFlow: [
    { gives: 200, ask: { params: { name: "flows.held" } } },
    { gives: 200, ask: { params: { name: "flows.held" }, query: { format: "mermaid" } } },
    { gives: 200, ask: { params: { name: "flows.held" }, query: { format: "dot" } } },
    { gives: "notFound", ask: { params: { name: "flows.none" } } },
  ],
  getFlowRun: [
    { gives: 200, ask: ofFailed },
    { gives: "notFound", ask: none },
    {
      gives: "badCursor",
      ask: async (stage) => ({ ...(await ofFailed(stage)), query: { cursor: "of another list" } }),
    },
  ],
  rerunFlow: [
    { gives: 200, ask: async (stage) => ({ ...(await ofFailed(stage)), body: {} }) },
    { gives: "notFound", ask: { ...none, body: {} } },
    { gives: "conflict", ask: async (stage) => ({ ...(await ofHeld(stage)), body: {} }) },
    {
      gives: "invalidInput",
      ask: async (stage) => ({ ...(await ofFailed(stage)), body: { from: ["novel"] } }),
    },
  ],
  markStep: [
    { gives: 200, ask: async (stage) => ({ ...(await ofHeld(stage)), body: mark }) },
    { gives: "notFound", ask: { ...none, body: mark } },
    {
      gives: "conflict",
      ask: async (stage) => ({ ...(await ofFailed(stage)), body: { ...mark, step: "one" } }),
    },
    {
      gives: "invalidInput",
      ask: async (stage) => ({ ...(await ofHeld(stage)), body: { ...mark, output: 1 } }),
    },
    {
      gives: "invalidPayload",
      ask: async (stage) => ({
        ...(await ofHeld(stage)),
        body: { ...mark, as: "succeeded", output: "x".repeat(300_000) },
      }),
    },
  ],
  listQueues: [{ gives: 200, ask: {} }, badCursor],
  getQueue: [
    { gives: 200, ask: { params: { queue: "flows.queue" } } },
    {
      gives: 200,
      ask: async ({ ask }) => {
        await ask("POST", "/v1/queues/flows.queue/pause", { note: "moving" })
        return { params: { queue: "flows.queue" } }
      },
    },
    { gives: "notFound", ask: { params: { queue: "flows.none" } } },
  ],
  pauseQueue: [
    { gives: 200, ask: { params: { queue: "flows.queue" }, body: { note: "moving" } } },
    { gives: "invalidInput", ask: { params: { queue: " blank" } } },
  ],
  resumeQueue: [
    { gives: 200, ask: { params: { queue: "flows.queue" } } },
    { gives: "invalidInput", ask: { params: { queue: " blank" } } },
  ],
  listNodes: [{ gives: 200, ask: {} }, badCursor],
  drainNode: [
    { gives: 200, ask: async (stage) => ({ ...(await ofNode(stage)), body: { grace: "5s" } }) },
    { gives: "notFound", ask: { params: { node: "nobody" } } },
    { gives: "invalidInput", ask: async (stage) => ({ ...(await ofNode(stage)), body: { grace: "soon" } }) },
  ],
  resumeNode: [
    { gives: 200, ask: ofNode },
    { gives: "notFound", ask: { params: { node: "nobody" } } },
  ],
  getInfo: [{ gives: 200, ask: {} }],
}
