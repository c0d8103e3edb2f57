// All handlers of the API.
import type { api } from "../../api/mod.ts"
import { flowHandlers } from "./flows.ts"
import type { Handlers } from "./Handler.ts"
import { infoHandlers } from "./info.ts"
import { nodeHandlers } from "./nodes.ts"
import { queueHandlers } from "./queues.ts"
import { runHandlers } from "./runs.ts"
import { workerHandlers } from "./workers.ts"

/** By the names of their routes. */
export const handlers: Handlers<typeof api> = {
  ...runHandlers,
  ...workerHandlers,
  ...flowHandlers,
  ...queueHandlers,
  ...nodeHandlers,
  ...infoHandlers,
}
