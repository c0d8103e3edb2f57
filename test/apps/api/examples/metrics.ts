// Examples for the route of metrics.
import type { metricsApi } from "../../../../apps/api/metrics.ts"
import type { Examples } from "./Example.ts"

export const config = {}

export const examples: Examples<typeof metricsApi> = { getMetrics: [{ gives: 200, ask: {} }] }
