// All routes of the HTTP API, by name.
import { accessApi } from "./access.ts"
import { deadApi } from "./dead.ts"
import { operationsApi } from "./operations.ts"
import { flowsApi } from "./flows.ts"
import { infoApi } from "./info.ts"
import { nodesApi } from "./nodes.ts"
import { queuesApi } from "./queues.ts"
import { runsApi } from "./runs.ts"
import { schedulesApi } from "./schedules.ts"
import { eventsApi } from "./events.ts"
import { metricsApi } from "./metrics.ts"
import { webhooksApi } from "./webhooks.ts"
import { workersApi } from "./workers.ts"

export * from "./Endpoint.ts"
export * from "./problemCodes.ts"

/** By name: the name is also that of the client's method. */
export const api = {
  ...runsApi,
  ...schedulesApi,
  ...deadApi,
  ...operationsApi,
  ...workersApi,
  ...accessApi,
  ...flowsApi,
  ...queuesApi,
  ...nodesApi,
  ...infoApi,
  ...eventsApi,
  ...webhooksApi,
  ...metricsApi,
} as const

/** The name of a route. */
export type ApiName = keyof typeof api
