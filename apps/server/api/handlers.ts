// All handlers of the API.
import type { api } from "../../api/mod.ts"
import { accessHandlers } from "./access.ts"
import { deadHandlers } from "./dead.ts"
import type { Handlers } from "./Handler.ts"
import { jobHandlers } from "./jobs.ts"
import { operationHandlers } from "./operations.ts"
import { flowHandlers } from "./flows.ts"
import { infoHandlers } from "./info.ts"
import { nodeHandlers } from "./nodes.ts"
import { queueHandlers } from "./queues.ts"
import { runHandlers } from "./runs.ts"
import { scheduleHandlers } from "./schedules.ts"
import { eventHandlers } from "./events.ts"
import { metricHandlers } from "./metrics.ts"
import { webhookHandlers } from "./webhooks.ts"
import { workerHandlers } from "./workers.ts"

/** By the names of their routes. */
export const handlers: Handlers<typeof api> = {
  ...runHandlers,
  ...scheduleHandlers,
  ...jobHandlers,
  ...deadHandlers,
  ...operationHandlers,
  ...workerHandlers,
  ...accessHandlers,
  ...flowHandlers,
  ...queueHandlers,
  ...nodeHandlers,
  ...infoHandlers,
  ...eventHandlers,
  ...webhookHandlers,
  ...metricHandlers,
}
