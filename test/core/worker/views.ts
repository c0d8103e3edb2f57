// Workers as their server tells of them, for tests.
import type { WorkerView } from "../../../core/worker/WorkerView.ts"

/** A worker of this name, alive, with defaults. */
export const viewOf = (name: string, fields: Partial<WorkerView> = {}): WorkerView => ({
  name,
  node: "n1",
  status: "alive",
  runtime: "node 24.21.0",
  version: "1.0.0",
  jobs: ["report"],
  unable: [],
  queues: null,
  labels: {},
  slots: 4,
  prefetch: 0,
  inHand: 0,
  load: null,
  credential: null,
  address: "127.0.0.1:5000",
  connectedAt: 1000,
  heardAt: 2000,
  ...fields,
})
