// `/metrics`, for those who see all of the store: names of jobs and queues are in it.
import type { metricsApi } from "../../api/metrics.ts"
import { metricsType } from "../metrics/text.ts"
import { refuse } from "../problems.ts"
import type { Handlers } from "./Handler.ts"

/** Behind the routes. */
export const metricHandlers: Handlers<typeof metricsApi> = {
  getMetrics: async ({ caller, parts }) => {
    if (caller.namespace !== null)
      throw refuse("forbidden", "Metrics are of all jobs; this key is for those of a namespace.")
    return {
      status: 200,
      headers: { "content-type": metricsType },
      stream: await parts.outlets.metrics.text(),
    }
  },
}
