// `/metrics`: what monitoring reads.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"

/** The routes. */
export const metricsApi = {
  getMetrics: endpoint({
    name: "getMetrics",
    method: "get",
    path: "/metrics",
    tag: "metrics",
    role: "viewer",
    summary: "Read metrics",
    description:
      'In the text format of Prometheus, 0.0.4. Of the whole store, so not for keys of a namespace. A server that is started with `metrics: "open"` asks for no key here.',
    success: [{ status: 200, description: "The metrics.", schema: Schema.String, type: "text/plain" }],
    problems: [],
  }),
}
