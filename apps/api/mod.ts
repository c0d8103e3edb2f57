// All routes of the HTTP API, by name.
import { eventsApi } from "./events.ts"
import { metricsApi } from "./metrics.ts"
import { runsApi } from "./runs.ts"
import { webhooksApi } from "./webhooks.ts"
import { workersApi } from "./workers.ts"

export * from "./Endpoint.ts"
export * from "./problemCodes.ts"

/** By name: the name is also that of the client's method. */
export const api = { ...runsApi, ...workersApi, ...eventsApi, ...webhooksApi, ...metricsApi } as const

/** The name of a route. */
export type ApiName = keyof typeof api
