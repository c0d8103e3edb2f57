// `/v1/workers`: the workers of all nodes.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"

/** The routes. */
export const workersApi = {
  listWorkers: endpoint({
    name: "listWorkers",
    method: "get",
    path: "/v1/workers",
    tag: "workers",
    role: "viewer",
    summary: "List workers",
    description:
      "Those of this server as they are now, and those of the other nodes on its store as each said last.",
    success: [
      {
        status: 200,
        description: "The workers.",
        schema: Schema.Struct({
          workers: Schema.Array(Schema.Unknown),
          leftOut: Schema.Int.annotate({ description: "How many more there are than nodes could tell of." }),
        }),
      },
    ],
    problems: [],
  }),
}
