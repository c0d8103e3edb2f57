// `/v1/info`: which server answers, on which store, and who asks.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { instant, instantOrNull } from "./fields.ts"

const textOrNull = Schema.NullOr(Schema.String)

/** The routes. */
export const infoApi = {
  getInfo: endpoint({
    name: "getInfo",
    method: "get",
    path: "/v1/info",
    tag: "server",
    role: "viewer",
    summary: "Read about the server",
    success: [
      {
        status: 200,
        description: "The server.",
        schema: Schema.Struct({
          version: Schema.String,
          runtime: Schema.String,
          node: Schema.String,
          startedAt: instantOrNull.annotate({
            description: "By the store's clock; `null`: the node has just lost its lease.",
          }),
          draining: Schema.Boolean,
          store: Schema.Struct({
            name: Schema.String,
            durable: Schema.Boolean.annotate({
              description: "What was acknowledged outlives the process and a power failure.",
            }),
            shared: Schema.Boolean.annotate({ description: "Several nodes may use it at once." }),
            cautions: Schema.Array(Schema.String).annotate({
              description: "What whoever runs it should know before something breaks.",
            }),
          }),
          storeNow: instant.annotate({ description: "The store's clock, which decides." }),
          serverNow: instant,
          zoneData: textOrNull.annotate({
            description: "The release of the zone data; `null`: the runtime does not say.",
          }),
          caller: Schema.Struct({
            kind: Schema.String,
            name: Schema.String,
            role: Schema.Literals(["viewer", "operator", "admin"]),
            namespace: textOrNull.annotate({ description: "What it sees; `null`: everything." }),
          }),
        }),
      },
    ],
    problems: [],
  }),
}
