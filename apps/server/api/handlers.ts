// All handlers of the API.
import type { api } from "../../api/mod.ts"
import { accessHandlers } from "./access.ts"
import { deadHandlers } from "./dead.ts"
import type { Handlers } from "./Handler.ts"
import { jobHandlers } from "./jobs.ts"
import { operationHandlers } from "./operations.ts"
import { runHandlers } from "./runs.ts"
import { scheduleHandlers } from "./schedules.ts"
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
}
