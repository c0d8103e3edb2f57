// All handlers of the API.
import type { api } from "../../api/mod.ts"
import { eventHandlers } from "./events.ts"
import type { Handlers } from "./Handler.ts"
import { metricHandlers } from "./metrics.ts"
import { runHandlers } from "./runs.ts"
import { webhookHandlers } from "./webhooks.ts"
import { workerHandlers } from "./workers.ts"

/** By the names of their routes. */
export const handlers: Handlers<typeof api> = {
  ...runHandlers,
  ...workerHandlers,
  ...eventHandlers,
  ...webhookHandlers,
  ...metricHandlers,
}
