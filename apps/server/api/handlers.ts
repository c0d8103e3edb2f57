// All handlers of the API.
import type { api } from "../../api/mod.ts"
import type { Handlers } from "./Handler.ts"
import { deadHandlers } from "./dead.ts"
import { operationHandlers } from "./operations.ts"
import { runHandlers } from "./runs.ts"
import { workerHandlers } from "./workers.ts"

/** By the names of their routes. */
export const handlers: Handlers<typeof api> = {
  ...runHandlers,
  ...workerHandlers,
  ...operationHandlers,
  ...deadHandlers,
}
