// `/v1/operations`: bulk work that is done on the server, and cancelling runs by a filter.
import * as Schema from "effect/Schema"
import { bulkFields, bulkSuccess, bulkText, OperationView, RunsFilter } from "./bulkFields.ts"
import { endpoint } from "./Endpoint.ts"
import { listOf, page, text } from "./fields.ts"

const id = Schema.Struct({ id: text(36, "The id of an operation.") })

/** The routes. */
export const operationsApi = {
  cancelRuns: endpoint({
    name: "cancelRuns",
    method: "post",
    path: "/v1/runs/cancel",
    tag: "runs",
    role: "operator",
    summary: "Cancel all runs of a filter",
    description: `${bulkText} A run that was found in the wanted state is cancelled also if it has started in the moment since.`,
    body: Schema.Struct({
      filter: RunsFilter,
      reason: Schema.optionalKey(text(200, "For who reads the runs; default: who cancelled them.")),
      ...bulkFields,
    }),
    success: bulkSuccess,
    problems: ["invalidInput", "tooMany"],
  }),
  listOperations: endpoint({
    name: "listOperations",
    method: "get",
    path: "/v1/operations",
    tag: "operations",
    role: "viewer",
    summary: "List operations",
    description: "The newest first; each is kept for 30 days after its end.",
    query: Schema.Struct(page),
    success: [{ status: 200, description: "A page of operations.", schema: listOf(OperationView) }],
    problems: ["badCursor"],
  }),
  getOperation: endpoint({
    name: "getOperation",
    method: "get",
    path: "/v1/operations/{id}",
    tag: "operations",
    role: "viewer",
    summary: "Read an operation",
    params: id,
    success: [{ status: 200, description: "The operation.", schema: OperationView }],
    problems: ["notFound"],
  }),
  cancelOperation: endpoint({
    name: "cancelOperation",
    method: "post",
    path: "/v1/operations/{id}/cancel",
    tag: "operations",
    role: "operator",
    summary: "Stop an operation",
    description:
      "What it did stays done. It ends after the page under way, at most 200 runs or letters, within about a second.",
    params: id,
    success: [{ status: 202, description: "It ends.", schema: OperationView }],
    problems: ["notFound", "conflict"],
  }),
}
